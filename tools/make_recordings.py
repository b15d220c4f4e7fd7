"""Make the recordings of our own agent anew: `python -m tools.make_recordings [NAME…]`.

Beside each is its snapshot, with which `acp-console snapshot` compares it.

What differs from run to run by itself (times, ids, directories) is made the same, so that git shows
what the agent has come to do differently, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import anyio
import anyio.to_thread

from acp_console.agents.spec import AgentSpec
from acp_console.chat.connection import connect_agent
from acp_inspector.journal import Entry, Frame, Journal, JournalEvent
from acp_inspector.recording.format import Header, new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.client_player import prepare_workspace
from acp_inspector.replay.snapshot import snapshot_path, take_snapshot, write_snapshot
from acp_protocol.framing import with_length
from acp_protocol.jsonrpc import Json
from tools.stories import (
    CASSETTE,
    PEERS,
    RECORDINGS,
    Chooser,
    FormHost,
    RecordingRecipe,
    Stage,
    installed,
)

FOLDER: Final = Path(__file__).parent.parent / "recordings"
PLACE: Final = b"/home/ada/project"
CREATED: Final = "2026-11-21T12:00:00.000Z"
STEP: Final = 0.005
"""Seconds between two entries."""
PID: Final = 4321
_MINTED: Final = re.compile(
    rb"\b(?:(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|[0-9a-f]{32}|[0-9a-f]{16})\b"
)
_MOMENT: Final = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")


async def make(name: str, cwd: Path) -> None:
    """Record one story; the agent works in `cwd`."""
    recipe = RECORDINGS[name]
    files = dict(recipe.files)
    if recipe.replies:
        files[CASSETTE] = await _cassette(recipe, cwd)
    header = _header(recipe, files)
    prepare_workspace(header, cwd)
    if recipe.client:
        entries = await anyio.to_thread.run_sync(_proxied, recipe, cwd)
    else:
        entries = await _played(recipe, cwd)
    path = FOLDER / f"{name}.acp.ndjson"
    path.parent.mkdir(exist_ok=True)
    writer = RecordingWriter(path, header, mode="overwrite")
    writer.write(settled(entries, cwd))
    writer.close()
    write_snapshot(snapshot_path(path), take_snapshot(read_recording(path)))


async def _played(recipe: RecordingRecipe, cwd: Path) -> Sequence[Entry]:
    """Return what our client records of the story."""
    journal = Journal()
    await _play(recipe, recipe.command, cwd, journal)
    return journal.entries


def _proxied(recipe: RecordingRecipe, cwd: Path) -> Sequence[Entry]:
    """Return what the proxy records between a client with a story of its own and the agent.

    Raises:
        RuntimeError: the client is not content.
    """
    with tempfile.TemporaryDirectory(prefix="acp-") as name:
        path = Path(name) / "proxied.acp.ndjson"
        proxy = installed(["acp-console", "proxy", "--record", str(path), "--", *recipe.command])
        client = installed(["python", f"{PEERS}/{recipe.client}", str(cwd)])
        pipe = subprocess.PIPE
        with (
            subprocess.Popen(proxy, stdin=pipe, stdout=pipe, cwd=cwd) as agent,
            subprocess.Popen(
                client, stdin=agent.stdout, stdout=agent.stdin, stderr=pipe, cwd=cwd, text=True
            ) as peer,
        ):
            assert agent.stdin is not None
            assert agent.stdout is not None
            # When one leaves, the other has to notice.
            agent.stdin.close()
            agent.stdout.close()
            _, heard = peer.communicate()
        if peer.returncode:
            raise RuntimeError(heard[-2000:])
        return read_recording(path).entries


async def _play(recipe: RecordingRecipe, words: Sequence[str], cwd: Path, journal: Journal) -> None:
    decider = Chooser(recipe.kinds)
    host = FormHost(decider, reads=recipe.reads, runs=recipe.runs)
    agent = AgentSpec(
        "agent", "Our agent", tuple(installed(words)), recipe.about, recipe.newest, recipe.dialect
    )
    async with connect_agent(agent, cwd=cwd, journal=journal, handlers=host) as link:
        await recipe.story(Stage(link, cwd, decider, host))


def _header(recipe: RecordingRecipe, files: Mapping[str, str]) -> Header:
    header = new_header(
        recipe.command, Path(PLACE.decode()), about=recipe.about, dialect=recipe.dialect
    )
    return replace(header, created=CREATED, env=[], meta={"files": dict(files)})


def settled(entries: Sequence[Entry], cwd: Path) -> list[Entry]:
    """Return `entries` without what chance and the clock have put into them."""
    minted: dict[bytes, bytes] = {}

    def number(found: re.Match[bytes]) -> bytes:
        id_ = found[0]
        new = b"%0*x" % (len(id_), len(minted) + 1)
        if found["uuid"]:
            new = b"00000000-0000-4000-8000-%012x" % (len(minted) + 1)
        return minted.setdefault(id_, new)

    same: list[Entry] = []
    for entry in entries:
        calm = replace(entry, time=round(entry.seq * STEP, 6))
        if isinstance(calm, Frame):
            raw = calm.data.replace(str(cwd).encode(), PLACE)
            raw = _MOMENT.sub(CREATED[:-1].encode(), _MINTED.sub(number, raw))
            calm = replace(calm, data=raw, header=with_length(calm.header, len(raw)))
        elif isinstance(calm, JournalEvent) and "pid" in calm.data:
            calm = replace(calm, data={**calm.data, "pid": PID})
        same.append(calm)
    return same


async def _cassette(recipe: RecordingRecipe, cwd: Path) -> str:
    """Return a cassette with what the model says when it is asked what the story asks."""
    with _service(recipe.replies) as url, tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / CASSETTE
        words = [str(path) if word == CASSETTE else word for word in recipe.command]
        words[words.index("replay")] = "record"
        prepare_workspace(_header(recipe, recipe.files), cwd)
        os.environ["OLLAMA_HOST"] = url
        try:
            await _play(recipe, words, cwd, Journal())
        finally:
            del os.environ["OLLAMA_HOST"]
        header, *exchanges = path.read_text().replace(str(cwd), PLACE.decode()).splitlines()
        about = {**json.loads(header), "created": CREATED, "home": str(Path(PLACE.decode()).parent)}
        return "\n".join([json.dumps(about), *exchanges, ""])


@contextmanager
def _service(replies: Sequence[Sequence[Mapping[str, Json]]]) -> Generator[str]:
    """Serve a model on this machine that says `replies`, one for each request."""
    waiting = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            events = [*map(json.dumps, waiting.pop(0)), "[DONE]"]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(f"data: {event}\n\n" for event in events).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def main() -> int:
    """Make all recordings, or those that are named."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        # The user's own configuration must not matter.
        os.environ["XDG_CONFIG_HOME"] = home
        for name in sys.argv[1:] or RECORDINGS:
            with tempfile.TemporaryDirectory(prefix="acp-") as directory:
                anyio.run(make, name, Path(directory).resolve())
            sys.stdout.write(f"wrote recordings/{name}.acp.ndjson\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
