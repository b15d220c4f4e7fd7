"""Our recordings, with both sides played over each transport, give the conversations recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.replay.agent_player import AgentPlayer
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.client_player import PlayLimits, RecordingPlayer, prepare_workspace
from acp_inspector.replay.directories import replay_directories, unnamed_place
from acp_inspector.replay.parts import connections, recorded_dialect
from acp_inspector.replay.result import ReplayResult
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from acp_protocol.framing import WireFrame
from acp_protocol.transport import Transport
from acp_protocol.transport.base import FramedTransport
from acp_protocol.transport.bridge import process_for_each
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.opening import open_agent
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.served_connections import OpenAgent
from tests.protocol.transport.served_agent import TOKEN, serving
from tests.warm import WARM

FOLDER = Path(__file__).parents[1] / "recordings"
ALL = [
    path
    for path in sorted(FOLDER.rglob("*.acp.ndjson"))
    # Over the network there are no arrays of messages, and `initialize` is always the first one.
    if not path.name.startswith(("v2-batch", "continuum-client"))
]
SCHEMES = ("http", "ws")
LIMIT_S = 60.0
"""Seconds after which a replay counts as hung."""
_PLACES = frozenset({"n", "at", "seq", "time", "began", "ended", "first", "last"})
"""Members of a conversation that say where in the recording something was."""


@dataclass
class Played:
    """Both sides of a connection were played."""

    recording: Recording
    result: ReplayResult
    entries: list[Entry]
    places: dict[str, str]
    """The live directory of each recorded one."""

    def conversation(self) -> Any:
        """Return what a user sees of each session, without where in the traffic it was."""
        model = SessionModel(recorded_dialect(self.recording), has_conversations_only=True)
        model.read((self.recording.header, *self.entries))
        sessions = model.conversations.at(model.n).values()
        return [_plain(session_to_json(each), self.places) for each in sessions]


def _plain(value: Any, places: dict[str, str]) -> Any:
    match value:
        case dict():
            return {k: _plain(v, places) for k, v in value.items() if k not in _PLACES}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        case list():
            return [_plain(each, places) for each in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case str():
            for recorded, place in places.items():
                value = value.replace(place, recorded)
            return value
        case _:
            return value


def recorded_agent(recording: Recording, part: list[Entry], folder: Path) -> OpenAgent:
    """Return what plays one connection of a recording for each client."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Transport]:
        ours, theirs = memory_pair(1)
        script = AgentScript(part, dialect=recorded_dialect(recording))
        unnamed = unnamed_place(script.frames, recording.header.cwd, folder)
        player = AgentPlayer(script, theirs, directories=unnamed)
        async with anyio.create_task_group() as tasks:

            async def play() -> None:
                await player.play(timeout=LIMIT_S)
                await theirs.aclose()

            tasks.start_soon(play)
            try:
                yield ours
            finally:
                tasks.cancel_scope.cancel()
                await ours.aclose()
                await theirs.aclose()

    return opened


async def play_client(
    recording: Recording, part: list[Entry], transport: FramedTransport, folder: Path
) -> Played:
    """Play the client of a connection."""
    frames = [entry for entry in part if isinstance(entry, Frame)]
    prepare_workspace(recording.header, folder)
    directories = replay_directories(frames, folder, folder, recorded_cwd=recording.header.cwd)
    directories.create()
    places = {each: str(place) for each, place in directories.places.items()}
    journal = Journal()
    player = RecordingPlayer(
        frames,
        _Ends(transport),
        directories,
        options={},
        dialect=recorded_dialect(recording),
        ids=IdMap(places),
        new_ids=partial(IdMap, places),
        journal=journal,
    )
    result = await player.play(PlayLimits(timeout=20))
    return Played(recording, result, list(journal.entries), places)


class _Ends:
    """A transport for a player, which closes only one direction."""

    def __init__(self, inner: FramedTransport) -> None:
        self._inner = inner
        self.send = inner.send
        self.receive = inner.receive
        self.aclose = inner.aclose
        self.close_sending = inner.aclose
        self.framed = inner.framed

    @property
    def received(self) -> WireFrame:
        return self._inner.received


async def over_network(
    recording: Recording, part: list[Entry], scheme: str, opened: OpenAgent, folder: Path
) -> Played:
    """Play both sides of a connection over HTTP or a WebSocket."""
    dialect = recorded_dialect(recording)
    async with serving(opened, dialect=dialect, limit_s=LIMIT_S) as server:
        url = scheme + server.url.removeprefix("http")
        async with open_agent(RemoteAgent(url, token=TOKEN, dialect=dialect)) as agent:
            assert isinstance(agent.transport, FramedTransport)
            return await play_client(recording, part, agent.transport, folder)


async def in_memory(recording: Recording, part: list[Entry], folder: Path) -> Played:
    async with recorded_agent(recording, part, folder)() as transport:
        assert isinstance(transport, FramedTransport)
        return await play_client(recording, part, transport, folder)


async def check(path: Path, folder: Path, bridged: OpenAgent | None = None) -> None:
    recording = read_recording(path)
    for number, part in enumerate(connections(recording.entries)):
        entries = [*part]

        def new_folder(name: str, number: int = number) -> Path:
            place = folder / f"{number}-{name}"
            place.mkdir()
            return place

        direct = await in_memory(recording, entries, new_folder("direct"))
        assert direct.result.is_passed, direct.result.render()
        for scheme in SCHEMES:
            place = new_folder(scheme)
            opened = bridged or recorded_agent(recording, entries, place)
            remote = await over_network(recording, entries, scheme, opened, place)
            assert remote.result.is_passed, f"{scheme}: {remote.result.render()}"
            assert remote.conversation() == direct.conversation(), scheme


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.partition(".")[0])
async def test_a_recording_is_the_same_over_the_network(path: Path, tmp_path: Path) -> None:
    await check(path, tmp_path)


@pytest.mark.parametrize("name", ["hello", "turns/consent"])
async def test_a_recording_is_the_same_through_a_bridge(name: str, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.acp.ndjson"
    mock = [*WARM, "-m", "acp_console", "mock", str(path), "--trust"]
    await check(path, tmp_path, process_for_each(mock, write=lambda _: None))
