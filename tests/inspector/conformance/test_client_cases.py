"""Each case for clients passes a correct client, and fails a client with its defect."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from acp_inspector.conformance.client.judge import client_suite, judge_client
from acp_inspector.conformance.client.stage import PERSONAS, ClientOptions, Persona
from acp_inspector.conformance.model import PROFILES, Profile, Report
from acp_inspector.conformance.wire import MAX_MESSAGES
from acp_inspector.journal import Frame, Journal
from acp_inspector.lint.engine import lint
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Json, encode_error, encode_request, parse
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.memory import memory_pair
from tests.inspector.conformance.client_defects import DEFECTS
from tests.inspector.conformance.judging import AnyProfile, cases_of, judge_scripted_client
from tests.inspector.conformance.scripted_agent import Defect

FAILED = {"fail", "advice"}
PLAYS_ALL = "FUZZ_EXAMPLES" in os.environ
"""Whether each defect is played in all its versions, as `make fuzz` wants, or in one of them."""
UNSTABLE, ARRAYS = (
    pytest.param(profile, marks=pytest.mark.long) for profile in ("v1-unstable", "v2-batch")
)
"""They differ little from the profiles that are played more often."""


@pytest.mark.parametrize("profile", ["v1", UNSTABLE, "v2", ARRAYS])
@pytest.mark.parametrize("persona", PERSONAS)
async def test_correct_client_fails_no_case_and_passes_those_of_the_persona(
    persona: Persona, profile: AnyProfile, tmp_path: Path
) -> None:
    report = await judge_scripted_client(persona, tmp_path, profile=profile)
    assert not report.counts["fail"], [each for each in report.results if each.verdict == "fail"]
    others = {
        each.case.id
        for each in report.results
        if each.case.persona == persona and each.verdict != "pass"
    }
    assert all(id_.endswith("not-offered") for id_ in others - {"slow.late-updates"}), others
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("profile", PROFILES)
async def test_client_need_not_answer_another_version_of_jsonrpc(
    profile: Profile, tmp_path: Path
) -> None:
    """Dropping such a request is as good as an error, whatever it asks for."""
    defect = Defect("", flags=frozenset({"ignores-jsonrpc-1"}))
    report = await judge_scripted_client("hostile", tmp_path, defect, profile=profile)
    failed = {each.case.id: each.reason for each in report.results if each.verdict in FAILED}
    assert not failed


@pytest.mark.parametrize("profile", PROFILES)
async def test_client_that_cancels_a_turn_still_takes_updates(
    profile: Profile, tmp_path: Path
) -> None:
    defect = Defect("", flags=frozenset({"cancels"}))
    report = await judge_scripted_client(
        "slow", tmp_path, defect, ["slow.late-updates", "slow.patient"], profile=profile
    )
    verdicts = {each.case.id: each.verdict for each in report.results}
    assert verdicts["slow.late-updates"] == "pass", report.results


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        pytest.param(name, profile, marks=[pytest.mark.long] * (number % 4 != 0))
        for number, (name, each) in enumerate(DEFECTS.items())
        for place, profile in enumerate(each.profiles)
        if PLAYS_ALL or place == number % len(each.profiles)
    ],
)
async def test_defect_fails_its_cases_and_no_other(
    name: str, profile: AnyProfile, tmp_path: Path
) -> None:
    persona, defect = DEFECTS[name].persona, DEFECTS[name].defect
    known = {each.id for each in cases_of(client_suite(), profile)}
    cases = [each for each in defect.cases.split() if each in known]
    if defect.is_alone:
        report = await judge_scripted_client(
            persona, tmp_path, defect, cases, profile=profile, timeout=1
        )
    else:
        report = await judge_scripted_client(persona, tmp_path, defect, profile=profile)
    failed = {each.case.id: each.reason for each in report.results if each.verdict in FAILED}
    assert failed.keys() == set(cases), failed


@pytest.mark.parametrize("profile", ["v1", "v2", "v2-batch"])
def test_every_case_has_a_defect(profile: AnyProfile) -> None:
    as_good: dict[str, str] = {"v2-batch": "v2"}
    proved = {
        id_
        for each in DEFECTS.values()
        if {profile, as_good.get(profile, profile)} & set(each.profiles)
        for id_ in each.defect.cases.split()
    }
    assert {each.id for each in cases_of(client_suite(), profile)} <= proved


async def test_client_of_version_1_reaches_no_case_of_version_2(tmp_path: Path) -> None:
    defect = Defect("", flags=frozenset({"older"}))
    report = await judge_scripted_client("slow", tmp_path, defect, profile="v2")
    reasons = {each.reason for each in report.results if each.case.persona == "slow"}
    assert "the client does not speak version 2" in reasons
    assert not report.counts["fail"]


@pytest.mark.parametrize(
    ("dialect", "found"),
    [
        ("continuum", [-32002, -32002, None, None]),
        ("acpex", [None] * 4),
        ("openoxide", [None] * 4),
    ],
)
async def test_nothing_is_served_before_initialize_where_the_dialect_demands_it(
    dialect: str, found: list[int | None]
) -> None:
    """Continuum Router, "Initialization Handshake": a client may try whether that is so."""
    theirs, ours = memory_pair()
    translated = DialectTransport(ours, "agent", open_dialect(dialect, "/"))

    async def ask(id_: int, method: str, **params: Json) -> Json:
        await theirs.send(encode_request(id_, method, params))
        while get(reply := parse(await theirs.receive()), "id") != id_:
            pass
        return get(get(reply, "error"), "code")

    reports: list[Report] = []
    options = ClientOptions(dialect=dialect)
    cases = client_suite().select("v1", ["no.such"], dialect=dialect)
    async with BackgroundTasks() as tasks:
        tasks.start_soon(
            judge_client, translated, ours.close_sending, cases, options, reports.append
        )
        codes = [
            await ask(1, "session/new", mode="code"),
            await ask(2, "session/prompt", sessionId="session-1", content=[]),
            await ask(3, "initialize", protocolVersion=1, clientCapabilities={}),
            await ask(4, "session/new", mode="code"),
        ]
        await theirs.aclose()
        await ours.aclose()
    assert codes == found


async def test_files_in_the_root_have_paths_with_one_slash() -> None:
    theirs, ours = memory_pair()
    cases = client_suite().select("v1", ["files.*"])
    flags: Json = {"readTextFile": True, "writeTextFile": True}
    reports: list[Report] = []
    paths: list[Json] = []

    async def refuse() -> None:
        """Refuse what is requested until the turn ends."""
        while get(message := parse(await theirs.receive()), "id") != "prompt":
            paths.append(get(get(message, "params"), "path"))
            if get(message, "id") is not None and get(message, "method") is not None:
                await theirs.send(encode_error(get(message, "id"), -32603, "no"))

    async with BackgroundTasks() as tasks:
        tasks.start_soon(
            judge_client, ours, ours.close_sending, cases, ClientOptions(), reports.append
        )
        claims: Json = {"protocolVersion": 1, "clientCapabilities": {"fs": flags}}
        place: Json = {"cwd": "/", "mcpServers": []}
        await theirs.send(encode_request("first", "initialize", claims))
        await theirs.send(encode_request("new", "session/new", place))
        prompt: Json = {"sessionId": "session-1", "prompt": []}
        await theirs.send(encode_request("prompt", "session/prompt", prompt))
        await refuse()
        await theirs.aclose()
        await ours.aclose()
    assert {"/acp-conform-note.txt", "/no-such-file-0000"} <= set(paths)
    assert not any(path.startswith("//") for path in paths if isinstance(path, str))


async def test_client_that_floods_is_told_so() -> None:
    theirs, ours = memory_pair()
    reports: list[Report] = []

    async def flood() -> None:
        with suppress(ConnectionClosedError):
            for _ in range(MAX_MESSAGES + 1):
                await theirs.send(b"y")

    options = ClientOptions("slow", "v1", timeout=20, settle=0.02, delay=0.05)
    cases = client_suite().select("v1", ["*"])
    async with BackgroundTasks() as tasks:
        tasks.start_soon(flood)
        await judge_client(ours, ours.close_sending, cases, options, reports.append)
        await ours.aclose()
        await theirs.aclose()
    reasons = {each.reason for each in reports[-1].results if each.case.persona == "slow"}
    assert f"the client floods: it sent more than {MAX_MESSAGES} messages" in reasons


@pytest.mark.parametrize("profile", ["v1", UNSTABLE, "v2"])
@pytest.mark.parametrize("persona", ["chatty", "slow"])
async def test_personas_without_tricks_follow_the_protocol(
    persona: Persona, profile: Profile, tmp_path: Path
) -> None:
    journal = Journal()
    await judge_scripted_client(persona, tmp_path, profile=profile, journal=journal)
    report = lint(journal.entries, unstable=profile == "v1-unstable")
    ours = {
        each.seq for each in journal.entries if isinstance(each, Frame) and each.side == "agent"
    }
    assert not [
        each for each in report.findings if ours.issuperset(each.frames) and each.severity != "info"
    ]
