"""Decisions by kind and scope."""

from __future__ import annotations

import pytest

from acp_agent.permissions import ModeId, Permissions, Verdict
from acp_agent.tools.tool import Call, Kind, Outcome, Report
from acp_protocol.jsonrpc import Json
from tests.agent.conftest import selected


def call(kind: Kind, scope: str = "", title: str = "Read") -> Call:
    async def run(report: Report) -> Outcome:
        del report
        return Outcome("")

    return Call(title, kind, run, scope=scope)


@pytest.mark.parametrize(
    ("mode", "kind", "verdict"),
    [
        ("ask", "read", "allow"),
        ("ask", "search", "allow"),
        ("ask", "edit", None),
        ("ask", "delete", None),
        ("ask", "execute", None),
        ("code", "execute", "allow"),
        ("code", "delete", "allow"),
        ("architect", "read", "allow"),
        ("architect", "edit", "forbidden"),
        ("architect", "execute", "forbidden"),
    ],
)
def test_the_mode_and_the_kind_decide(mode: ModeId, kind: Kind, verdict: Verdict | None) -> None:
    permissions = Permissions()
    permissions.mode = mode
    assert permissions.known(call(kind)) == verdict


def test_a_title_decides_nothing() -> None:
    permissions = Permissions()
    assert permissions.known(call("delete", title="Read notes.md")) is None


@pytest.mark.parametrize(
    ("answer", "verdict", "is_remembered"),
    [
        (selected("allow"), "allow", False),
        (selected("allow-always"), "allow", True),
        (selected("reject"), "reject", False),
        (selected("reject-always"), "reject", True),
        (selected("allow_once"), "reject", False),
        (selected(""), "reject", False),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled", False),
        ({"outcome": {"outcome": "approved", "optionId": "allow"}}, "reject", False),
        ({"outcome": {"outcome": "selected", "optionId": 1}}, "reject", False),
        ({"outcome": "selected", "optionId": "allow"}, "reject", False),
        ({"outcome": None}, "reject", False),
        (None, "reject", False),
        ([], "reject", False),
        ("allow", "reject", False),
    ],
)
def test_an_answer_means(answer: Json, verdict: Verdict, is_remembered: bool) -> None:
    permissions = Permissions()
    wanted = call("execute", "ls")
    assert permissions.decided(wanted, answer) == verdict
    assert permissions.known(wanted) == (verdict if is_remembered else None)


def test_always_is_bound_to_kind_and_scope() -> None:
    permissions = Permissions()
    permissions.decided(call("execute", "ls"), selected("allow-always"))
    assert permissions.known(call("execute", "ls")) == "allow"
    assert permissions.known(call("execute", "rm")) is None
    assert permissions.known(call("delete", "ls")) is None
    assert Permissions().known(call("execute", "ls")) is None


def test_a_mode_that_forbids_outweighs_an_earlier_always() -> None:
    permissions = Permissions()
    permissions.decided(call("edit"), selected("allow-always"))
    permissions.mode = "architect"
    assert permissions.known(call("edit")) == "forbidden"


def test_the_options_spell_out_what_always_means() -> None:
    options = Permissions().options(call("execute", "ls"))
    assert [option["name"] for option in options] == [
        "Allow",
        "Always allow execute ls",
        "Reject",
        "Always reject execute ls",
    ]
    assert len({option["optionId"] for option in options}) == 4
