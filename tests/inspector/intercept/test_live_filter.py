"""Filters on frames that are still on their way."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from acp_inspector.filter.errors import FilterError
from acp_inspector.intercept.live_filter import (
    MAX_PENDING,
    MAX_REQUEST_BYTES,
    LiveFilters,
)
from tests.inspector.talks import Said, answer, ask, frames, prompt


def test_a_response_is_matched_by_its_request() -> None:
    matching = LiveFilters()
    is_meant = matching.compile("method == session/new and result")
    meant: list[int] = []
    for frame in frames(
        ask("client", 1, "session/new"),
        ask("agent", 1, "session/request_permission"),
        answer("client", 1, {}),
        answer("agent", 1, {}),
        answer("agent", 1, {}),
    ):
        matching.add(frame)
        meant += [frame.seq] if is_meant(frame) else []
    assert meant == [4]


def test_a_frame_of_a_dialect_is_matched_by_what_it_means() -> None:
    filters = LiveFilters()
    is_chunk = filters.compile("update == agent_message_chunk")
    is_prompt = filters.compile("$.params.prompt[0].text == hi and method == session/prompt")
    chunk = {"sessionId": "s1", "content": [{"type": "text", "text": "Hello"}]}
    blocks = [{"type": "text", "text": "hi"}]
    meant: list[str] = []
    for frame in frames(
        ask("client", 1, "initialize", clientCapabilities={"readTextFile": True}),
        answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"image": True}}),
        ask("client", 2, "session/prompt", sessionId="s1", content=blocks),
        ("agent", {"method": "session/update", "params": chunk}),
    ):
        filters.add(frame)
        meant += ["chunk"] * is_chunk(frame) + ["prompt"] * is_prompt(frame)
    assert meant == ["prompt", "chunk"]
    assert filters.needs_every_frame


def test_a_filter_that_comes_later_knows_the_dialect_by_the_first_frames() -> None:
    talk = frames(
        ask("client", 1, "initialize", clientCapabilities={"readTextFile": True}),
        answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"image": True}}),
        ask("client", 2, "session/new", mode="ask"),
        answer("agent", 2, {"sessionId": "s1", "mode": "ask"}),
        ask("client", 3, "session/set_mode", mode="architect"),
        ask("client", 4, "session/prompt", sessionId="s1", content=[]),
    )
    filters = LiveFilters(earlier=lambda: talk[:4])
    matches = filters.compile("session == s1 and method == session/set_mode")
    filters.add(talk[4])
    assert matches(talk[4])
    assert filters.needs_every_frame


def test_of_official_traffic_only_the_first_frames_are_read() -> None:
    talk = frames(
        ask("client", 1, "initialize", clientCapabilities={"fs": {}}),
        answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"auth": {}}}),
        *[prompt(number, "hi") for number in range(2, 50)],
    )
    read: list[int] = []
    filters = LiveFilters(earlier=lambda: (read.append(each.seq) or each for each in talk))
    filters.compile("method == session/prompt")
    assert read == [1, 2]
    assert not filters.needs_every_frame


def test_frames_that_still_wait_are_not_read_twice() -> None:
    talk = frames(
        ask("client", 1, "initialize", clientCapabilities={"readTextFile": True}),
        ask("client", 2, "session/new", mode="ask"),
        answer("agent", 2, {"sessionId": "s1", "mode": "ask"}),
    )
    filters = LiveFilters(earlier=lambda: talk)
    matches = filters.compile("$.result.modes.currentModeId == ask", lambda: {"agent": 3})
    filters.add(talk[2])
    assert matches(talk[2])


@pytest.mark.parametrize(
    ("dialect", "opening", "sent", "edited", "expression"),
    [
        (
            "continuum",
            (ask("client", 1, "session/new", mode="ask"),),
            answer("agent", 1, {"sessionId": "s1", "mode": "ask"}),
            answer("agent", 1, {"sessionId": "s1", "mode": "code"}),
            "method == session/new and $.result.modes.currentModeId == code",
        ),
        (
            "acpex",
            (),
            ask("client", 1, "session/prompt", sessionId="s1", content=[]),
            ask(
                "client",
                1,
                "session/prompt",
                sessionId="s1",
                content=[{"type": "text", "text": "hi"}],
            ),
            "$.params.prompt[0].text == hi",
        ),
        (
            "openoxide",
            (),
            ("agent", b'{"type":"text_delta","session_id":"s1","text":"a"}'),
            ("agent", b'{"type":"text_delta","session_id":"s1","text":"b"}'),
            "update == agent_message_chunk and $.params.update.content.text == b",
        ),
    ],
)
def test_what_a_rule_has_changed_is_matched_by_what_it_means(
    dialect: str, opening: tuple[Said, ...], sent: Said, edited: Said, expression: str
) -> None:
    filters = LiveFilters(dialect)
    matches = filters.compile(expression)
    *before, frame, changed = frames(*opening, sent, edited)
    for each in (*before, frame):
        filters.add(each)
    assert not matches(frame)
    changed = replace(frame, data=changed.data)
    assert matches(changed)
    # Reading the changed one has changed nothing.
    assert matches(replace(frame, data=changed.data))


def test_official_traffic_is_not_followed_any_more_once_it_is_known() -> None:
    filters = LiveFilters()
    assert not filters.needs_every_frame
    filters.compile("method == session/prompt")
    assert filters.needs_every_frame
    for frame in frames(
        ask("client", 1, "initialize", clientCapabilities={"fs": {}}),
        answer("agent", 1, {"protocolVersion": 1, "agentCapabilities": {"auth": {}}}),
    ):
        filters.add(frame)
    assert not filters.needs_every_frame


def test_a_frame_is_parsed_once_for_all_filters() -> None:
    matching = LiveFilters()
    one, other = matching.compile("method == session/prompt"), matching.compile("from == client")
    (frame,) = frames(prompt(1, "hi"))
    matching.add(frame)
    assert one(frame)
    assert other(frame)


def test_who_interferes_with_nothing_does_not_pay_for_the_language() -> None:
    program = "import sys, acp_inspector.intercept.controller; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not {"lark", "asyncio", "anyio", "pydantic", "tomllib", "typing_extensions"} & loaded
    assert not any(name.startswith("acp_inspector.filter") for name in loaded)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("turn == 1", "turn"),
        ("from == agent and finding >= error", "finding"),
        ("rule ~ x or method == y", "rule"),
        ("not edited", "edited"),
        ("marked", "marked"),
        ("pending", "pending"),
        ("stderr", "stderr"),
        ("event == exit", "event"),
    ],
)
def test_what_could_never_be_met_is_refused_in_place(expression: str, name: str) -> None:
    with pytest.raises(FilterError, match=f"`{name}`") as refused:
        LiveFilters().compile(expression)
    assert expression[refused.value.position :].startswith(name)


def test_what_may_still_be_met_by_frames_is_taken() -> None:
    matching = LiveFilters()
    assert matching.compile("error or malformed or stderr")
    assert matching.compile("")


def test_a_response_has_the_method_of_its_request_once() -> None:
    filters = LiveFilters()
    matches = filters.compile("method == m")
    request, response, again = frames(
        ask("client", 1, "m", a=1), answer("agent", 1, {}), answer("agent", 1, {})
    )
    for frame, expected in ((request, True), (response, True), (again, False)):
        filters.add(frame)
        assert matches(frame) is expected


def test_the_oldest_requests_are_forgotten() -> None:
    filters = LiveFilters()
    matches = filters.compile("method == m")
    for frame in frames(*(ask("client", number, "m") for number in range(MAX_PENDING + 5))):
        filters.add(frame)
    forgotten, kept = frames(answer("agent", 4, {}), answer("agent", 5, {}))
    filters.add(forgotten)
    assert not matches(forgotten)
    filters.add(kept)
    assert matches(kept)


def test_of_a_very_long_request_only_the_method_is_kept_once_another_is_sent() -> None:
    filters = LiveFilters()
    by_method, by_session = filters.compile("method == m"), filters.compile("session == s1")
    long, other, response = frames(
        ask("client", 1, "m", sessionId="s1", text="x" * MAX_REQUEST_BYTES),
        ask("client", 2, "other"),
        answer("agent", 1, {}),
    )
    filters.add(long)
    assert by_session(long)
    filters.add(other)
    filters.add(response)
    assert by_method(response)
    assert not by_session(response)
