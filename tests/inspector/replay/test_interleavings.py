"""A recording replays in every interleaving that its causes allow."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Journal
from acp_inspector.replay.client_player import PlayLimits, RecordingPlayer
from acp_inspector.replay.directories import ReplayDirectories
from acp_inspector.replay.result import ReplayResult
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.transport import Transport
from acp_protocol.transport.memory import memory_pair
from tests.inspector.talks import Said, answer, ask, chunk, encoded, frames, prompt
from tests.inspector.testing.live_agents import begun, ended

SESSIONS = ("s1", "s2")
LIMITS = PlayLimits(timeout=10, settle=0, quiet=0.2)


def turn(session: str, number: int, *, is_swapped: bool, responds_late: bool) -> list[Said]:
    """Return a turn in which the agent reads two files at once."""
    ids = (10 * number, 10 * number + 1)
    reads = [
        ask("agent", id_, "fs/read_text_file", sessionId=session, path=f"/w/{session}/{id_ % 10}")
        for id_ in ids
    ]
    contents = [answer("client", id_, {"content": f"{session}-{id_ % 10}"}) for id_ in ids]
    return [
        prompt(number, f"read in {session}", session=session),
        chunk("Reading", session=session),
        *(reversed(reads) if is_swapped else reads),
        *(reversed(contents) if responds_late else contents),
        chunk(f"{session}-0 and {session}-1", session=session),
        ended(number),
    ]


class LiveAgent:
    """Takes the turns of all sessions at once; `is_reversed` reads the second file first."""

    def __init__(self, transport: Transport, *, is_reversed: bool) -> None:
        self._transport = transport
        self._is_reversed = is_reversed
        self._waiting: dict[int, tuple[dict[str, str], str, anyio.Event]] = {}
        self._next = 100

    async def send(self, **message: Any) -> None:
        await self._transport.send(encoded(message))

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            opened = iter(("live-1", "live-2"))
            try:
                while True:
                    message = json.loads(await self._transport.receive())
                    match message.get("method"):
                        case "initialize":
                            await self.send(id=message["id"], result={"protocolVersion": 1})
                        case "session/new":
                            await self.send(id=message["id"], result={"sessionId": next(opened)})
                        case "session/prompt":
                            tasks.start_soon(self.take_turn, message)
                        case _:
                            contents, name, event = self._waiting.pop(message["id"])
                            contents[name] = message["result"]["content"]
                            event.set()
            except ConnectionClosedError:
                tasks.cancel_scope.cancel()

    async def take_turn(self, message: dict[str, Any]) -> None:
        session = message["params"]["sessionId"]
        folder = message["params"]["prompt"][0]["text"].split()[-1]
        await self.update(session, "Reading")
        contents: dict[str, str] = {}
        events: list[anyio.Event] = []
        for name in ("1", "0") if self._is_reversed else ("0", "1"):
            self._next += 1
            event = anyio.Event()
            self._waiting[self._next] = contents, name, event
            events.append(event)
            params = {"sessionId": session, "path": f"/w/{folder}/{name}"}
            await self.send(id=self._next, method="fs/read_text_file", params=params)
        for event in events:
            await event.wait()
        await self.update(session, f"{contents['0']} and {contents['1']}")
        await self.send(id=message["id"], result={"stopReason": "end_turn"})

    async def update(self, session: str, text: str) -> None:
        _, said = chunk(text, session=session)
        assert isinstance(said, dict)
        await self.send(**said)


async def play(recorded: list[Said], *, is_reversed: bool) -> ReplayResult:
    ours, theirs = memory_pair()
    ids = IdMap()
    player = RecordingPlayer(
        frames(*recorded),
        ours,
        ReplayDirectories(Path("/nonexistent"), {}),
        options={},
        ids=ids,
        new_ids=partial(IdMap, {}),
        journal=Journal(),
    )
    with anyio.fail_after(30):
        async with BackgroundTasks() as tasks:
            tasks.start_soon(LiveAgent(theirs, is_reversed=is_reversed).run)
            try:
                return await player.play(LIMITS)
            finally:
                await ours.aclose()
                await theirs.aclose()


@pytest.mark.long
@given(st.data(), st.booleans())
@settings(max_examples=10, deadline=None)
def test_turns_of_two_sessions_replay_in_every_interleaving(
    data: st.DataObject, is_reversed: bool
) -> None:
    lanes = [
        turn(
            session,
            number,
            is_swapped=data.draw(st.booleans()),
            responds_late=data.draw(st.booleans()),
        )
        for number, session in enumerate(SESSIONS, start=4)
    ]
    recorded = begun(*SESSIONS)
    while any(lanes):
        lane = data.draw(st.sampled_from([lane for lane in lanes if lane]))
        recorded.append(lane.pop(0))
    result = anyio.run(partial(play, recorded, is_reversed=is_reversed))
    assert result.is_passed, result.render()
    assert result.played == 9
