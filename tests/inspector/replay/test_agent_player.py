"""The agent of a recording, played for a client that says what a test wants."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.compare.tolerances import TOLERANCES
from acp_inspector.compare.tolerances import ToleranceName as Tolerance
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.replay.agent_player import AgentPlayer
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.parts import connections
from acp_inspector.replay.result import ReplayResult
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import Side, encode_frame, wire_frame
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.jsonrpc import encode
from acp_protocol.transport.memory import MemoryTransport, memory_pair
from acp_protocol.transport.stdio import StreamTransport
from tests.inspector.talks import Said, answer, ask, batch, chunk, encoded, frames, prompt, update

LIMIT = 10.0
"""Seconds after which a play counts as hung."""
OPENING: list[Said] = [
    ask("client", 1, "initialize", protocolVersion=1),
    answer("agent", 1, {"protocolVersion": 1}),
    ask("client", 2, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 2, {"sessionId": "s1"}),
]
END = {"stopReason": "end_turn"}
CANCEL = {"outcome": {"outcome": "cancelled"}}
CONSENT: list[Said] = [
    *OPENING,
    prompt(3, "edit"),
    update("tool_call", toolCallId="c1", title="Edit /w/a"),
    ask("agent", 7, "session/request_permission", sessionId="s1", toolCall={}, options=[]),
    answer("client", 7, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    chunk("done"),
    answer("agent", 3, END),
]
TWO: list[Said] = [
    *OPENING,
    ask("client", 3, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 3, {"sessionId": "s2"}),
    prompt(4, "one"),
    prompt(5, "two", session="s2"),
    chunk("1a"),
    chunk("2a", session="s2"),
    chunk("1b"),
    chunk("2b", session="s2"),
    answer("agent", 5, END),
    answer("agent", 4, END),
]


class Client:
    """A client; its requests have ids of their own."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._id = 100
        self.received: list[dict[str, Any]] = []

    async def send(self, said: Said) -> None:
        _, what = said
        await self._transport.send(what if isinstance(what, bytes) else encoded(what))

    async def has_ended(self) -> bool:
        """Return whether nothing more comes."""
        try:
            await self._transport.receive()
        except ConnectionClosedError:
            return True
        return False

    async def flood(self) -> None:
        """Send notifications until the agent is gone."""
        with suppress(ConnectionClosedError):
            while True:
                await self.send(("client", {"method": "_x/progress", "params": {}}))

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self._transport.receive())
        self.received.append(message)
        return message

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return its response."""
        id_ = await self.begin(method, **params)
        return await self.response(id_)

    async def begin(self, method: str, **params: Any) -> int:
        self._id += 1
        await self.send(ask("client", self._id, method, **params))
        return self._id

    async def response(self, id_: int) -> dict[str, Any]:
        while True:
            message = await self.receive()
            if "method" not in message and message["id"] == id_:
                return message

    async def until(self, method: str) -> dict[str, Any]:
        while (message := await self.receive()).get("method") != method:
            pass
        return message

    async def open(self, cwd: str = "/live") -> str:
        await self.request("initialize", protocolVersion=1)
        return await self.session(cwd)

    async def session(self, cwd: str = "/live") -> str:
        opened = await self.request("session/new", cwd=cwd, mcpServers=[])
        return opened["result"]["sessionId"]

    async def prompt(self, text: str, session: str = "s1") -> dict[str, Any]:
        return await self.request("session/prompt", sessionId=session, prompt=blocks(text))

    def texts(self, session: str = "s1") -> list[str]:
        params = [each["params"] for each in self.received if "update" in each.get("params", {})]
        mine = [each["update"] for each in params if each["sessionId"] == session]
        return [each["content"]["text"] for each in mine if "content" in each]


@dataclass
class Play:
    """What came of a play."""

    result: ReplayResult | None = None
    notes: Sequence[str] = ()

    @property
    def errors(self) -> str:
        assert self.result is not None
        return "\n".join(self.result.errors)

    @property
    def is_passed(self) -> bool:
        assert self.result is not None
        return self.result.is_passed

    @property
    def tolerated(self) -> Mapping[Tolerance, int]:
        assert self.result is not None
        return self.result.tolerated

    def steps(self) -> list[str]:
        assert self.result is not None
        return [f"{each.name} {each.path}".strip() for each in self.result.differences]


def blocks(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


@asynccontextmanager
async def playing(
    said: Sequence[Said] | Sequence[Entry],
    *,
    is_complete: bool = True,
    timeout: float = 5.0,
    quiet: float = 0.05,
    max_unrecorded: int = 1000,
    **options: Any,
) -> AsyncGenerator[tuple[Client, Play]]:
    """Play a recording; the client leaves when the block ends."""
    entries: list[Any] = list(said)
    if entries and isinstance(entries[0], tuple):
        entries = [*frames(*entries)]
    ours, theirs = memory_pair()
    player = AgentPlayer(AgentScript(entries, is_complete=is_complete), ours, **options)
    play = Play()

    async def run() -> None:
        try:
            await player.play(timeout=timeout, quiet=quiet, max_unrecorded=max_unrecorded)
        finally:
            await ours.aclose()

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                yield Client(theirs), play
            finally:
                await theirs.aclose()
    play.result, play.notes = player.result(), player.notes


async def test_a_client_that_does_as_recorded_passes_with_ids_and_a_directory_of_its_own() -> None:
    said: list[Said] = [
        *OPENING,
        prompt(3, "look at /w/a"),
        chunk("see /w/a"),
        answer("agent", 3, END),
    ]
    async with playing(said) as (client, play):
        await client.open("/live")
        response = await client.prompt("look at /live/a")
    assert response == {"jsonrpc": "2.0", "id": 103, "result": END}
    assert client.texts() == ["see /live/a"]
    assert play.is_passed, play.result
    assert play.result is not None
    assert play.result.render() == "pass: 4 agent frames played, 3 steps compared"


async def test_a_request_of_the_agent_waits_where_the_recorded_one_did() -> None:
    async with playing(CONSENT, quiet=0.01) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        asked = await client.until("session/request_permission")
        assert asked["id"] == 7
        with anyio.move_on_after(0.2) as waiting:
            await client.receive()
        assert waiting.cancelled_caught
        chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        await client.send(answer("client", 7, chosen))
        await client.response(id_)
    assert client.texts() == ["done"]
    assert play.is_passed


async def test_another_decision_fails_and_the_turn_goes_on() -> None:
    async with playing(CONSENT) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
        await client.send(answer("client", 7, CANCEL))
        assert (await client.response(id_))["result"] == END
    assert "response to session/request_permission $.result.outcome.outcome" in play.steps()


async def test_an_id_that_the_client_makes_is_used_from_then_on() -> None:
    said: list[Said] = [
        *OPENING,
        prompt(3, "run"),
        ask("agent", "a", "terminal/create", sessionId="s1", command="ls"),
        answer("client", "a", {"terminalId": "recorded"}),
        ask("agent", "b", "terminal/release", sessionId="s1", terminalId="recorded"),
        answer("client", "b", {}),
        answer("agent", 3, END),
    ]
    async with playing(said) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("run"))
        assert (await client.receive())["id"] == "a"
        await client.send(answer("client", "a", {"terminalId": "live"}))
        assert (await client.receive())["params"]["terminalId"] == "live"
        await client.send(answer("client", "b", {}))
        await client.response(id_)
    assert play.is_passed


async def test_two_sessions_interleave_as_recorded_where_the_client_does_the_same() -> None:
    async with playing(TWO, quiet=5.0) as (client, play):
        await client.open()
        await client.session()
        first = await client.begin("session/prompt", sessionId="s1", prompt=blocks("one"))
        await client.begin("session/prompt", sessionId="s2", prompt=blocks("two"))
        await client.response(first)
    order = [each["params"]["update"]["content"]["text"] for each in client.received[3:-2]]
    assert order == ["1a", "2a", "1b", "2b"]
    assert play.is_passed


async def test_sessions_that_are_prompted_one_after_the_other_are_served_too() -> None:
    async with playing(TWO) as (client, play):
        await client.open()
        await client.session()
        await client.prompt("two", "s2")
        await client.prompt("one", "s1")
    assert (client.texts("s1"), client.texts("s2")) == (["1a", "1b"], ["2a", "2b"])
    assert play.is_passed


async def test_prompts_in_another_order_get_their_own_responses_and_the_order_is_reported() -> None:
    said: list[Said] = [
        *OPENING,
        *(prompt(3, "one"), chunk("1"), answer("agent", 3, END)),
        *(prompt(4, "two"), chunk("2"), answer("agent", 4, END)),
    ]
    async with playing(said) as (client, play):
        await client.open()
        await client.prompt("two")
        await client.prompt("one")
    assert client.texts() == ["2", "1"]
    assert play.errors == ""
    assert not play.is_passed


SETTINGS: list[Said] = [
    *OPENING,
    ask("client", 3, "session/set_mode", sessionId="s1", modeId="code"),
    answer("agent", 3, {}),
    ask("client", 4, "session/set_model", sessionId="s1", modelId="big"),
    answer("agent", 4, {}),
    *(prompt(5, "hi"), chunk("1"), answer("agent", 5, END)),
]
STRICT: dict[str, Any] = {"tolerances": TOLERANCES - {"request-order"}}


@pytest.mark.parametrize("is_strict", [False, True])
async def test_requests_that_touch_different_things_may_come_in_another_order(
    is_strict: bool,
) -> None:
    options = STRICT if is_strict else {}
    async with playing(SETTINGS, options=options) as (client, play):
        await client.open()
        await client.request("session/set_model", sessionId="s1", modelId="big")
        await client.request("session/set_mode", sessionId="s1", modeId="code")
        await client.prompt("hi")
    assert play.is_passed is not is_strict
    assert play.tolerated == ({} if is_strict else {"request-order": 1})


async def test_a_setting_that_comes_after_the_prompt_fails() -> None:
    async with playing(SETTINGS) as (client, play):
        await client.open()
        await client.request("session/set_mode", sessionId="s1", modeId="code")
        await client.prompt("hi")
        await client.request("session/set_model", sessionId="s1", modelId="big")
    assert play.steps() == ["session/set_model"] * 2


@pytest.mark.parametrize(("is_parallel", "passes"), [(True, True), (False, False)])
async def test_requests_that_may_depend_on_each_other_keep_their_order_unless_they_were_parallel(
    is_parallel: bool, passes: bool
) -> None:
    options: list[Said] = [
        ask("client", 3, "session/set_config_option", sessionId="s1", configId="a", value="x"),
        answer("agent", 3, {"configOptions": []}),
        ask("client", 4, "session/set_config_option", sessionId="s1", configId="b", value="y"),
        answer("agent", 4, {"configOptions": []}),
    ]
    if is_parallel:
        options[1], options[2] = options[2], options[1]
    async with playing([*OPENING, *options]) as (client, play):
        session = {"sessionId": await client.open()}
        await client.request("session/set_config_option", **session, configId="b", value="y")
        await client.request("session/set_config_option", **session, configId="a", value="x")
    assert play.is_passed is passes


async def test_parallel_prompts_of_one_session_keep_their_order() -> None:
    """In version 2 the second one waits in the agent."""
    said: list[Said] = [
        *OPENING,
        *(prompt(3, "one"), prompt(4, "two"), answer("agent", 3, END), answer("agent", 4, END)),
    ]
    async with playing(said) as (client, play):
        await client.open()
        for text in ("two", "one"):
            await client.begin("session/prompt", sessionId="s1", prompt=blocks(text))
        await client.response(104)
    assert not play.is_passed


async def test_sessions_may_be_opened_in_another_order_if_their_directories_tell_them_apart() -> (
    None
):
    said: list[Said] = [
        *OPENING[:2],
        ask("client", 2, "session/new", cwd="/w/ui", mcpServers=[]),
        answer("agent", 2, {"sessionId": "s1"}),
        ask("client", 3, "session/new", cwd="/w/core", mcpServers=[]),
        answer("agent", 3, {"sessionId": "s2"}),
        *(prompt(4, "in /w/ui"), chunk("see /w/ui/a"), answer("agent", 4, END)),
        prompt(5, "in /w/core", session="s2"),
        *(chunk("see /w/core/b", session="s2"), answer("agent", 5, END)),
    ]
    async with playing(said) as (client, play):
        await client.request("initialize", protocolVersion=1)
        assert await client.session("/live/core") == "s2"
        assert await client.session("/live/ui") == "s1"
        await client.prompt("in /live/core", "s2")
        await client.prompt("in /live/ui", "s1")
    assert (client.texts("s1"), client.texts("s2")) == (["see /live/ui/a"], ["see /live/core/b"])
    assert play.is_passed, play.steps()
    assert play.tolerated == {"request-order": 1}
    async with playing(said, options=STRICT) as (client, play):
        await client.request("initialize", protocolVersion=1)
        for cwd in ("/live/core", "/live/ui"):
            await client.session(cwd)
        await client.prompt("in /live/core", "s2")
        await client.prompt("in /live/ui", "s1")
    assert not play.is_passed


@pytest.mark.parametrize("policy", ["nearest", "error", "fail"])
async def test_what_the_recording_does_not_have_is_up_to_the_policy(policy: str) -> None:
    said: list[Said] = [
        *OPENING,
        *(prompt(3, "read the notes"), chunk("notes"), answer("agent", 3, END)),
        *(prompt(4, "make tea"), chunk("tea"), answer("agent", 4, END)),
    ]
    async with playing(said, on_miss=policy) as (client, play):
        await client.open()
        response = await client.prompt("make some tea")
        missing = None if policy == "fail" else await client.request("session/fork", sessionId="s1")
        if policy == "fail":
            assert await client.has_ended()
    if policy == "nearest":
        assert (response["result"], client.texts()) == (END, ["tea"])
    else:
        assert response["error"]["code"] == -32602
        assert response["error"]["message"].startswith(
            "the recording has no such session/prompt; nearest: frame 8, "
        )
        assert response["error"]["data"]["nearest"]["params"]["prompt"] == blocks("make tea")
    if missing is not None:
        assert missing["error"]["message"] == "the recording has no session/fork"
    assert not play.is_passed


async def test_a_request_beyond_the_recording_is_served_again_and_fails() -> None:
    said: list[Said] = [*OPENING, prompt(3, "hi"), chunk("hello"), answer("agent", 3, END)]
    async with playing(said) as (client, play):
        await client.open()
        for _ in range(2):
            assert (await client.prompt("hi"))["result"] == END
    assert client.texts() == ["hello", "hello"]
    assert play.steps() == ["session/prompt"]


async def test_one_more_session_has_an_id_of_its_own_and_the_recorded_turns() -> None:
    said: list[Said] = [*OPENING, prompt(3, "see /w"), chunk("/w"), answer("agent", 3, END)]
    async with playing(said) as (client, play):
        await client.open("/one")
        other = await client.session("/two")
        assert other != "s1"
        await client.prompt("see /one")
        await client.prompt("see /two", other)
    assert (client.texts("s1"), client.texts(other)) == (["/one"], ["/two"])
    assert not play.is_passed


async def test_a_session_that_the_client_names_stands_for_the_recorded_one() -> None:
    said: list[Said] = [
        *OPENING[:2],
        ask("client", 2, "session/load", sessionId="old", cwd="/w", mcpServers=[]),
        chunk("before", session="old"),
        answer("agent", 2, {}),
        *(prompt(3, "hi", session="old"), chunk("now", session="old"), answer("agent", 3, END)),
    ]
    async with playing(said) as (client, play):
        await client.request("initialize", protocolVersion=1)
        await client.request("session/load", sessionId="mine", cwd="/live", mcpServers=[])
        await client.prompt("hi", "mine")
    assert client.texts("mine") == ["before", "now"]
    assert play.is_passed


CANCELLED: list[Said] = [
    *CONSENT[:-3],
    ("client", {"method": "session/cancel", "params": {"sessionId": "s1"}}),
    answer("client", 7, CANCEL),
    answer("agent", 3, {"stopReason": "cancelled"}),
]


async def test_a_turn_that_was_cancelled_waits_for_that() -> None:
    async with playing(CANCELLED) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
        await client.send(CANCELLED[-3])
        await client.send(CANCELLED[-2])
        assert (await client.response(id_))["result"] == {"stopReason": "cancelled"}
    assert play.is_passed


async def test_a_client_that_does_not_cancel_is_named() -> None:
    async with playing(CANCELLED, timeout=0.2) as (client, play):
        await client.open()
        await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
        await client.send(CANCELLED[-2])
        assert await client.has_ended()
    assert "the client kept silent for 0.2 s" in play.errors
    assert "expected next: session/cancel (recorded frame 8)" in play.errors


@pytest.mark.parametrize("is_withdrawn", [False, True])
async def test_a_turn_that_was_not_cancelled_ends_when_the_client_cancels(
    is_withdrawn: bool,
) -> None:
    async with playing(CONSENT) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
        cancel: dict[str, Any] = {"method": "session/cancel", "params": {"sessionId": "s1"}}
        if is_withdrawn:
            cancel = {"method": "$/cancel_request", "params": {"requestId": id_}}
        await client.send(("client", cancel))
        response = await client.response(id_)
        await client.send(answer("client", 7, CANCEL))
    if is_withdrawn:
        assert response["error"]["code"] == -32800
    else:
        assert response["result"] == {"stopReason": "cancelled"}
    assert "the client cancelled session/prompt (recorded frame 5); not sent: " in play.errors


async def test_a_silent_client_is_told_from_a_slow_one_by_the_limit() -> None:
    async with playing(OPENING, timeout=0.1) as (client, play):
        await client.request("initialize", protocolVersion=1)
        assert await client.has_ended()
    assert play.errors.startswith(
        "the client kept silent for 0.1 s; expected next: session/new (recorded frame 3)\n"
    )
    assert "not reached: session/new (recorded frame 3)" in play.errors


async def test_a_client_that_stays_when_all_is_played_fails() -> None:
    async with playing(OPENING, timeout=0.1) as (client, play):
        await client.open()
        assert await client.has_ended()
    assert play.errors == "the client kept silent for 0.1 s and did not leave"


async def test_a_client_that_does_not_read_ends_the_play() -> None:
    async with playing(OPENING, timeout=0.1) as (client, play):
        await client.begin("initialize", protocolVersion=1)
        await anyio.wait_all_tasks_blocked()
        await client.flood()
    assert "the client did not read for 0.1 s" in play.errors


async def test_a_client_that_leaves_in_the_middle_of_a_turn_fails() -> None:
    async with playing(CONSENT) as (client, play):
        await client.open()
        await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
    assert play.errors == (
        "not reached: a response (recorded frame 8)\n"
        "the client left before this was sent: session/update (recorded frame 9), "
        "a response (recorded frame 10)"
    )


async def test_a_second_response_is_a_difference_with_a_sentence() -> None:
    async with playing(CONSENT) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        await client.until("session/request_permission")
        for _ in range(2):
            await client.send(CONSENT[7])
        await client.response(id_)
    assert play.steps() == ["response to no request"]
    assert play.notes == ["the client broke the protocol: a second response to the request 7"]


async def test_a_flood_ends_the_play() -> None:
    async with playing(OPENING, max_unrecorded=20) as (client, play):
        await client.open()
        await client.flood()
    assert "the client sent more than 20 messages that the recording lacks" in play.errors


async def test_a_message_that_is_too_long_ends_the_play() -> None:
    (incoming, outgoing), (reading, writing) = os.pipe(), os.pipe()
    transport = StreamTransport(FdReceiveStream(incoming), FdSendStream(writing), limit=100)
    player = AgentPlayer(AgentScript(frames(*OPENING)), transport)
    with anyio.fail_after(LIMIT):
        os.write(outgoing, b'{"a":"' + b"x" * 500 + b'"}\n')
        await player.play()
    await transport.aclose()
    for each in (outgoing, reading):
        os.close(each)
    assert player.result().errors[0] == "the client sent a frame of more than 100 bytes"


async def test_a_client_is_read_in_the_dialect_that_its_headers_show() -> None:
    opening = encode({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    abilities = {"file_read": True, "file_write": True}
    opened = encode({"jsonrpc": "2.0", "id": 1, "result": abilities})
    sides: tuple[Side, Side] = ("client", "agent")
    recorded = [
        Frame(n, n / 10, side, data, b"", wire_frame(data, "headers").header)
        for n, (side, data) in enumerate(zip(sides, (opening, opened), strict=True), start=1)
    ]
    (incoming, outgoing), (reading, writing) = os.pipe(), os.pipe()
    streams = FdReceiveStream(incoming), FdSendStream(writing)
    transport = StreamTransport(*streams, framing="headers")
    player = AgentPlayer(AgentScript(recorded), transport)
    os.write(outgoing, encode_frame(opening, "headers"))
    os.close(outgoing)
    with anyio.fail_after(LIMIT):
        await player.play(timeout=5.0)
    await transport.aclose()
    assert os.read(reading, 1000) == encode_frame(opened, "headers")
    os.close(reading)
    result = player.result()
    assert result.is_passed, result.render()


async def test_recorded_pauses_are_kept_up_to_the_limit() -> None:
    entries = frames(*OPENING, prompt(3, "hi"), chunk("a"), chunk("b"), answer("agent", 3, END))
    late = [
        Frame(each.seq, each.time + 3600 * (each.seq > 5), each.side, each.data) for each in entries
    ]
    for speed, timeout in ((0.0, 5.0), (1.0, 0.05)):
        async with playing(late, speed=speed, timeout=timeout) as (client, play):
            await client.open()
            await client.prompt("hi")
        assert client.texts() == ["a", "b"]
        assert play.is_passed


@pytest.mark.parametrize("is_complete", [True, False])
async def test_a_missing_response_is_told_if_the_recording_is_cut_and_played_if_not(
    is_complete: bool,
) -> None:
    said = [*OPENING, prompt(3, "hi"), chunk("a")]
    async with playing(said, is_complete=is_complete) as (client, play):
        await client.open()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("hi"))
        await client.until("session/update")
        if not is_complete:
            error = (await client.response(id_))["error"]
            text = "the recording ends before the response to session/prompt (recorded frame 5)"
            assert error["message"] == text
    assert play.is_passed
    expected = "the recording lacks the response to session/prompt (recorded frame 5): "
    assert [each.startswith(expected) for each in play.notes] == [True] * (not is_complete)


async def test_a_recording_that_begins_late_is_played_from_there() -> None:
    said: list[Said] = [prompt(3, "hi"), chunk("a"), answer("agent", 3, END)]
    async with playing(said) as (client, play):
        assert await client.open() == "s1"
        await client.prompt("hi")
    assert client.texts() == ["a"]
    assert play.notes == ["the recording lacks initialize: the client gets a minimal response"]
    assert play.steps() == ["initialize", "session/new"]


async def test_an_agent_that_died_in_a_turn_does_so_again() -> None:
    died = [
        *frames(*OPENING, prompt(3, "hi"), chunk("a")),
        JournalEvent(9, 1.0, "exit", {"code": 1}),
    ]
    async with playing(died) as (client, play):
        await client.open()
        await client.begin("session/prompt", sessionId="s1", prompt=blocks("hi"))
        await client.until("session/update")
        assert await client.has_ended()
    assert play.is_passed


async def test_each_process_of_a_journal_is_a_connection() -> None:
    entries = [
        JournalEvent(1, 0.0, "spawn", {}),
        *frames(*OPENING),
        JournalEvent(6, 1.0, "spawn", {}),
        *frames(*OPENING[:2]),
    ]
    assert [len(AgentScript(each).cues) for each in connections(entries)] == [2, 1]


async def test_a_process_that_sent_nothing_before_the_next_one_is_no_connection() -> None:
    """As that of a client that finds out the dialect of its agent."""
    attempt = [JournalEvent(0, 0.0, "spawn", {}), *frames(OPENING[0])]
    talk = [JournalEvent(0, 1.0, "spawn", {}), *frames(*OPENING)]
    assert connections([*attempt, *talk]) == [talk]
    assert connections([*talk, *attempt]) == [talk, attempt]


async def test_merged_recordings_are_played_and_what_is_wrong_in_them_is_told() -> None:
    said = [*OPENING[:1], *OPENING[:1], *OPENING[1:2], *OPENING[1:], answer("agent", 9, {})]
    async with playing(said) as (client, play):
        await client.open()
        assert (await client.receive())["id"] == 9
    assert play.notes == [
        "frame 2: frame 1 has this id too, and no response yet",
        "frame 7: the client has sent no request with this id",
    ]
    assert "not reached: initialize" in play.errors


async def test_placeholders_of_a_redacted_recording_are_bound_to_what_the_client_sends() -> None:
    said: list[Said] = [
        *OPENING,
        prompt(3, "my key is «secret:1»"),
        chunk("«secret:1» noted, not «secret:2»"),
        answer("agent", 3, END),
    ]
    async with playing(said, is_redacted=True, on_miss="error") as (client, play):
        await client.open()
        await client.prompt("my key is hunter2")
    assert client.texts() == ["hunter2 noted, not «secret:2»"]
    assert play.is_passed


@pytest.mark.parametrize("said", [[], [chunk("alone")]])
async def test_a_recording_without_a_client_fails(said: list[Said]) -> None:
    async with playing(said) as (_, play):
        pass
    assert play.errors == "the recording holds no frame of a client: nothing to play"


async def test_a_client_that_sends_nothing_fails() -> None:
    async with playing(OPENING) as (_, play):
        pass
    assert play.errors.startswith("not reached: initialize (recorded frame 1), session/new")


LANES = st.lists(
    st.lists(st.sampled_from(["text", "permission"]), max_size=3), min_size=1, max_size=3
)


def lane_of(number: int, kinds: list[str]) -> list[Said]:
    """Return a turn in a session of its own."""
    session = f"s{number}"
    lane: list[Said] = [prompt(20 + number, f"go {number}", session=session)]
    for at, kind in enumerate(kinds):
        if kind == "text":
            lane.append(chunk(f"{number}.{at}", session=session))
        else:
            id_ = f"{number}.{at}"
            lane += [
                ask("agent", id_, "session/request_permission", sessionId=session, at=at),
                answer("client", id_, CANCEL),
            ]
    return [*lane, answer("agent", 20 + number, END)]


async def drive(client: Client, lanes: list[list[Said]], data: st.DataObject) -> list[list[Any]]:
    """Prompt in all sessions, in any order; return the params that came in each."""
    order = data.draw(st.permutations(range(len(lanes))))
    left = {
        await client.begin("session/prompt", sessionId=f"s{number}", prompt=blocks(f"go {number}"))
        for number in order
    }
    received: list[list[Any]] = [[] for _ in lanes]
    held: list[str] = []
    while left:
        # Permissions are given late, and in another order, unless nothing else would happen.
        message = None
        if not (held and data.draw(st.booleans())):
            with anyio.move_on_after(0.1 if held else None):
                message = await client.receive()
        if message is None:
            id_ = held.pop(data.draw(st.integers(0, len(held) - 1)))
            await client.send(answer("client", id_, CANCEL))
        elif "method" not in message:
            left.remove(message["id"])
        else:
            received[int(message["params"]["sessionId"][1:])].append(message["params"])
            held += [message["id"]] if "id" in message else []
    return received


@settings(max_examples=25, deadline=None)
@given(kinds=LANES, data=st.data())
def test_every_interleaving_that_causality_allows_passes(
    kinds: list[list[str]], data: st.DataObject
) -> None:
    """Both in the recording and when it is played."""
    recorded = OPENING[:2]
    for number in range(len(kinds)):
        recorded = [
            *recorded,
            ask("client", 10 + number, "session/new", cwd="/w", mcpServers=[]),
            answer("agent", 10 + number, {"sessionId": f"s{number}"}),
        ]
    lanes = [lane_of(number, each) for number, each in enumerate(kinds)]
    queues = [list(lane) for lane in lanes]
    while waiting := [queue for queue in queues if queue]:
        recorded.append(data.draw(st.sampled_from(waiting)).pop(0))
    agents = [[json.loads(each.data) for each in frames(*lane)] for lane in lanes]
    sent = [[each["params"] for each in lane[1:] if "params" in each] for lane in agents]

    async def play() -> None:
        async with playing(recorded) as (client, play):
            await client.request("initialize", protocolVersion=1)
            for _ in lanes:
                await client.session()
            assert await drive(client, lanes, data) == sent
        assert play.is_passed, play.result

    anyio.run(play)


async def test_a_relative_directory_is_a_difference_where_an_absolute_one_is_recorded() -> None:
    async with playing(OPENING) as (client, play):
        await client.open("notes")
    assert play.result is not None
    (difference,) = play.result.differences
    assert (difference.path, difference.right) == ("$.params.cwd", "notes")


async def receive_array(client: Client) -> list[dict[str, Any]]:
    """Return the next frame, which has to be an array."""
    received: Any = await client.receive()
    client.received.pop()
    assert isinstance(received, list), received
    return cast("list[dict[str, Any]]", received)


async def test_arrays_of_the_agent_are_sent_as_arrays_with_live_ids_and_directories() -> None:
    said: list[Said] = [
        *OPENING,
        prompt(3, "edit"),
        batch(
            chunk("see /w/a"),
            ask("agent", 7, "session/request_permission", sessionId="s1", toolCall={}, options=[]),
        ),
        batch(answer("client", 7, CANCEL)),
        batch(("agent", b'{"jsonrpc":"2.0","method":"_n","params":{"n":1e400}}'), chunk("done")),
        answer("agent", 3, END),
    ]
    async with playing(said) as (client, play):
        await client.open("/live")
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("edit"))
        update_, request = await receive_array(client)
        assert update_["params"]["update"]["content"]["text"] == "see /live/a"
        assert request["method"] == "session/request_permission"
        await client.send(batch(answer("client", request["id"], CANCEL)))
        _, last = await receive_array(client)
        assert last["params"]["update"]["content"]["text"] == "done"
        assert (await client.response(id_))["result"] == END
    assert play.is_passed, play.result


async def test_an_array_is_sent_without_messages_of_what_the_client_does_not_do() -> None:
    """The recorded array has updates of two sessions, and the client goes on with one."""
    said: list[Said] = [
        *OPENING,
        ask("client", 3, "session/new", cwd="/w", mcpServers=[]),
        answer("agent", 3, {"sessionId": "s2"}),
        prompt(4, "one"),
        prompt(5, "two", session="s2"),
        batch(chunk("1a"), chunk("2a", session="s2"), chunk("1b")),
        answer("agent", 5, END),
        answer("agent", 4, END),
    ]
    async with playing(said) as (client, play):
        await client.open()
        await client.session()
        id_ = await client.begin("session/prompt", sessionId="s1", prompt=blocks("one"))
        array = await receive_array(client)
        texts = [each["params"]["update"]["content"]["text"] for each in array]
        assert texts == ["1a", "1b"]
        assert (await client.response(id_))["result"] == END
    assert "not reached: session/prompt" in play.errors
