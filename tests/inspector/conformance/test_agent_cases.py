"""Each case for agents passes a correct agent, and fails an agent with its defect."""

from __future__ import annotations

import json
import os
from typing import Any

import anyio
import pytest

from acp_inspector.conformance.agent.judge import agent_suite
from acp_inspector.conformance.model import PROFILES, Profile
from acp_inspector.conformance.wire import MAX_BYTES, MAX_MESSAGES
from acp_protocol.errors import OperationTimeoutError, RemoteProtocolError
from tests.inspector.conformance.agent_defects import DEFECTS, written
from tests.inspector.conformance.judging import PROMPTS, AnyProfile, cases_of, judge
from tests.inspector.conformance.scripted_agent import Defect, Message

NOT_PLAYED = {
    "v1": set[str](),
    "v1-unstable": set[str](),
    "v2": {"prompt.audio"},
    "v2-batch": {"prompt.audio"},
}
"""Cases that the correct agent does not pass: it offers less, so that others can be played."""
FAILED = {"fail", "advice"}
PLAYS_ALL = "FUZZ_EXAMPLES" in os.environ
"""Whether each defect is played with all cases, as `make fuzz` wants."""


@pytest.mark.parametrize("profile", [*PROFILES, "v2-batch"])
async def test_correct_agent_passes_every_case(profile: AnyProfile) -> None:
    report = await judge(profile, timeout=20)
    others = {each.case.id: each.reason for each in report.results if each.verdict != "pass"}
    assert others.keys() == NOT_PLAYED[profile], others
    assert report.is_passed


@pytest.mark.long
@pytest.mark.parametrize("profile", ["v1-unstable", "v2"])
async def test_every_case_can_be_played_alone(profile: Profile) -> None:
    """Also one of both versions; half of those are played in each."""
    for number, case in enumerate(agent_suite().cases.values()):
        is_both = {"v1-unstable", "v2"} <= set(case.profiles)
        if case.only:
            continue
        if profile not in case.profiles or (is_both and (profile == "v2") == number % 2):
            continue
        (result,) = (await judge(profile, patterns=[case.id], timeout=20)).results
        assert result.verdict == "pass" or case.id in NOT_PLAYED[profile], result


@pytest.mark.parametrize(
    ("defect", "case"),
    [("logout fails", "authentication.logout"), ("no cancel", "methods.baseline")],
)
async def test_the_user_is_logged_out_only_if_a_login_is_named(defect: str, case: str) -> None:
    (named,) = (await judge("v1", DEFECTS[defect], ["authentication.logout"])).results
    assert named.verdict == "fail"
    (result,) = (await judge("v1", DEFECTS[defect], [case], auth_method=None)).results
    assert result.verdict in {"pass", "not reached"}
    assert ("--auth" in result.reason) == (case == "authentication.logout")


@pytest.mark.parametrize("dialect", ["continuum", "openoxide"])
def test_dialects_without_servers_have_no_cases_about_them(dialect: str) -> None:
    assert not agent_suite().select("v1", ["mcp.*"], dialect=dialect)


async def test_what_is_only_advised_does_not_fail() -> None:
    report = await judge("v1", DEFECTS["early sessions"], ["initialize.no-session-before"])
    assert (report.counts["advice"], report.counts["fail"], report.has_failed) == (1, 0, False)


def test_no_agent_fails_for_duties_of_its_client() -> None:
    advised = [
        "initialize.no-session-before",
        "session.new-relative-cwd",
        "initialize.version-as-text",
        "authentication.unknown-method",
    ]
    cases = agent_suite().cases
    assert [each for each in advised if set(cases[each].advice) != set(cases[each].profiles)] == []
    assert set(cases["options.bad-value"].advice) == {"v1", "v1-unstable"}
    assert cases["close.silent"].profiles == ("v2",)


async def test_agent_that_changes_the_address_of_a_server_is_told_so() -> None:
    defect = Defect("", flags=frozenset({"calls-elsewhere"}))
    (result,) = (await judge("v1", defect, ["mcp.http-connects"], timeout=1)).results
    assert result.verdict == "fail"
    assert result.reason.endswith("it called another address than the one that was named")


async def test_session_may_come_into_the_list_a_little_later() -> None:
    defect = Defect("", flags=frozenset({"lists-late"}))
    (result,) = (await judge("v1", defect, ["list.holds-session"])).results
    assert result.verdict == "pass", result.reason


@pytest.mark.parametrize("profile", ["v1", "v2"])
async def test_cancelled_permission_is_not_reached_where_the_agent_asks_nothing(
    profile: Profile,
) -> None:
    defect = Defect("", flags=frozenset({"asks-nothing"}))
    (result,) = (await judge(profile, defect, ["cancel.permission"])).results
    assert (result.verdict, result.reason) == ("not reached", "no permission was requested")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}', "-32700 with no id, not"),
        (
            b'{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"No"}}',
            "-32700 with the id 7",
        ),
        (b'{"jsonrpc":"2.0","id":{},"error":{"code":-1,"message":""}}', "-1 with an invalid id,"),
        (b"Parse error", "no error came, but the response to a later request did"),
    ],
)
async def test_failure_says_which_error_came_instead(error: bytes, reason: str) -> None:
    defect = Defect("", written("error parse", lambda _: error))
    (result,) = (await judge("v1", defect, ["jsonrpc.parse-error"])).results
    assert result.verdict == "fail"
    assert reason in result.reason


@pytest.mark.parametrize(
    ("prompts", "verdict"),
    [
        (PROMPTS, "fail"),
        ({"text": "hello"}, "pass"),
        ({"text": "hello", "slow": "hello"}, "not reached"),
    ],
    ids=["slow", "none is known", "not slow"],
)
async def test_short_turn_may_be_over_before_its_cancellation_is_read(
    prompts: dict[str, str], verdict: str
) -> None:
    defect = Defect("", flags=frozenset({"cancel-ends"}))
    (result,) = (await judge("v1", defect, ["cancel.same-write"], prompts=prompts)).results
    assert result.verdict == verdict


@pytest.mark.parametrize("memory", ["", "forgets"])
async def test_sessions_of_an_agent_without_close_are_opened_again(memory: str) -> None:
    report = await judge("v1", Defect("", flags=frozenset({"no-close", memory})), timeout=20)
    others = {each.case.id: each.verdict for each in report.results if each.verdict != "pass"}
    assert others == dict.fromkeys(("close.succeeds", "close.ends", "close.cancels"), "not offered")


async def test_prompt_for_an_unknown_session_may_end_with_refusal() -> None:
    defect = Defect("", flags=frozenset({"refuses-in-turn"}))
    report = await judge("v1", defect, ["session.unknown-prompt"])
    assert report.counts["pass"] == 1


async def test_agent_that_sends_nothing_is_not_judged() -> None:
    with pytest.raises(OperationTimeoutError, match="initialize took longer"):
        await judge("v1", Defect("", lambda _, message: None), timeout=0.05)


async def test_agent_that_only_floods_is_not_judged() -> None:
    flood = Defect("", lambda _, message: [b"y"] * 99)
    with pytest.raises(RemoteProtocolError, match="floods: it sent more than 20 messages"):
        await judge("v1", flood, max_messages=20)


def in_an_array(wanted: str) -> Defect:
    """Send the result of a method in an array, which may hold what a case waits for."""
    return Defect(
        "", lambda tag, message: json.dumps([message]).encode() if tag == wanted else message
    )


SENDS_ARRAYS = (
    "the agent sends arrays of messages (batches), which ACP does not have; "
    "--dialect v2-batch accepts them"
)


async def test_agent_that_opens_with_an_array_is_not_judged() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        await judge("v1", in_an_array("result initialize"), timeout=60)
    assert str(caught.value) == SENDS_ARRAYS


async def test_agent_that_sends_an_array_fails_the_case_without_a_wait() -> None:
    with anyio.fail_after(20):
        defect = in_an_array("result session/new")
        report = await judge("v1", defect, ["session.new"], timeout=60)
    assert [each.reason for each in report.results] == [SENDS_ARRAYS]


async def test_agent_that_sends_nothing_later_is_given_up() -> None:
    first = iter([True])
    mute = Defect("", lambda _, message: message if next(first, False) else None)
    report = await judge("v1", mute, timeout=0.05)
    assert report.counts["pass"] == 0
    reasons = {each.reason for each in report.results if each.verdict == "not reached"}
    assert any(each.startswith("the agent sent nothing on ") for each in reasons)


@pytest.mark.parametrize("request_", ["authenticate", "session/new"])
async def test_agent_that_opens_no_session_is_given_up(request_: str) -> None:
    silent = Defect("", lambda tag, message: None if tag == f"result {request_}" else message)
    report = await judge("v1", silent, timeout=0.5)
    reasons = [each.reason for each in report.results if each.verdict == "not reached"]
    given_up = f"the agent did not respond to {request_} on "
    assert sum(each.startswith(given_up) for each in reasons) > 40


@pytest.mark.parametrize("unanswered", [1, 3])
async def test_agent_that_opens_its_first_session_late_is_judged_by_the_others(
    unanswered: int,
) -> None:
    lost = iter([True] * unanswered)

    def lose(tag: str, message: Message) -> Message | None:
        return None if tag == "result session/new" and next(lost, False) else message

    report = await judge("v1", Defect("", lose), timeout=2)
    assert report.counts["not reached"] + report.counts["fail"] <= unanswered


@pytest.mark.long
@pytest.mark.parametrize(("messages", "bytes_"), [(300, MAX_BYTES), (MAX_MESSAGES, 300_000)])
async def test_agent_that_floods_is_given_up(messages: int, bytes_: int) -> None:
    def flood(tag: str, message: Message) -> Any:
        return [b"y" * 1000] * 500 if tag == "result session/new" else message

    report = await judge(
        "v1", Defect("", flood), timeout=2, max_messages=messages, max_bytes=bytes_
    )
    found = {each.case.id: each for each in report.results}
    assert found["session.new"].verdict == "fail"
    assert "the agent floods: it sent more than 300" in found["session.new"].reason
    assert any(
        each.verdict == "not reached" and each.reason.endswith(" connections")
        for each in report.results
    )


def with_others(defect: Defect, profile: AnyProfile, number: int) -> list[str]:
    """Return the cases of a defect with a part of the others, another one for each number.

    One that spreads to several cases gets a sixth, any other a thirtieth.
    """
    cases = [*defect.cases.split(), *defect.shown_by.split()]
    others = [case.id for case in cases_of(agent_suite(), profile) if case.id not in cases]
    parts = 30 if len(cases) == 1 or defect.shown_by else 6
    return cases + (others if PLAYS_ALL else others[number % parts :: parts])


@pytest.mark.parametrize(
    ("name", "profile", "number"),
    [
        pytest.param(
            *(name, profile, number),
            id=f"{name}-{profile}",
            marks=[pytest.mark.long] * (number % 4 != 0),
        )
        for number, (name, defect) in enumerate(DEFECTS.items())
        for profile in defect.versions
    ],
)
async def test_defect_fails_its_cases_and_no_other(
    name: str, profile: AnyProfile, number: int
) -> None:
    defect = DEFECTS[name]
    cases = defect.cases.split()
    if defect.is_alone:
        report = await judge(profile, defect, cases, timeout=1)
    else:
        report = await judge(profile, defect, with_others(defect, profile, number), timeout=20)
    failed = {each.case.id: each.reason for each in report.results if each.verdict in FAILED}
    assert failed.keys() == set(cases), failed
    for result in report.results:
        assert result.verdict != "fail" or profile not in result.case.advice
        if result.verdict in FAILED:
            assert result.reason
            assert result.frames, result.case.id


def test_every_case_has_a_defect() -> None:
    proved = {id_ for defect in DEFECTS.values() for id_ in defect.cases.split()}
    assert agent_suite().cases.keys() == proved
