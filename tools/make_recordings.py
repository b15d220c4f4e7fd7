"""Make the recordings of our own agent anew: `python -m tools.make_recordings`."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from acp_console.client.agents import DEMO_AGENT
from acp_console.client.host import ClientHost
from acp_console.client.link import open_link
from acp_console.client.permissions import PolicyDecider
from acp_inspector.journal import Journal
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.workspace import prepare_workspace

FOLDER: Final = Path(__file__).parent.parent / "recordings"
NOTES: Final = "# Notes\n\nBuy milk.\nTODO: call Ada.\n"
RECORDINGS: Final = {
    "hello": ("a greeting: text in chunks, and nothing else", ["hello"]),
    "edit": (
        "a file is read, searched and edited, with the user's consent",
        ["read notes.md then search TODO", "edit notes.md: milk => bread"],
    ),
    "tour": ("each feature once: thoughts, a plan, tools of every kind", ["/tour"]),
}


async def make(name: str, cwd: Path) -> None:
    """Record one conversation; the demo agent works in `cwd`."""
    about, prompts = RECORDINGS[name]
    header = header_of_this_run(["acp-agent"], cwd, about=about)
    header = replace(header, env=[], meta={"files": {"notes.md": NOTES}})
    prepare_workspace(header, cwd)
    writer = RecordingWriter(FOLDER / f"{name}.acp.ndjson", header, mode="overwrite")
    journal = Journal()
    journal.subscribe(lambda entry: writer.write([entry]))
    host = ClientHost(PolicyDecider("all", lambda ask: None))
    async with open_link(DEMO_AGENT, cwd=cwd, journal=journal, host=host) as link:
        session = await link.new_session(cwd)
        for prompt in prompts:
            await link.prompt(session["sessionId"], prompt)
    writer.close()


def main() -> int:
    """Make all recordings."""
    FOLDER.mkdir(exist_ok=True)
    for name in RECORDINGS:
        with tempfile.TemporaryDirectory(prefix="acp-") as directory:
            anyio.run(make, name, Path(directory).resolve())
        sys.stdout.write(f"wrote recordings/{name}.acp.ndjson\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
