"""`acp-console proxy`: what an editor starts in place of its agent.

Read with argparse and without click: an editor waits for this start, and click alone doubles it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from acp_console.cli import exits
from acp_inspector.proxy.pump import run_proxy, warn
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.format import RecordingError, RecordingExistsError
from acp_inspector.recording.origin import header_of_this_run
from acp_inspector.recording.writer import Mode, RecordingWriter
from acp_protocol.errors import AgentStartError


def run_command(arguments: Sequence[str]) -> int:
    """Run the proxy; return the agent's exit code, or 128 + n for signal n."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:at])
    command = words[at + 1 :]
    if not command:
        warn("the agent's command stands behind --: acp-console proxy -- my-agent --acp")
        return exits.USAGE
    try:
        recorder = _recorder(options, command)
    except RecordingExistsError as problem:
        warn(str(problem))
        return exits.USAGE
    try:
        return run_proxy(command, recorder)
    except AgentStartError as problem:
        warn(str(problem))
        if recorder is not None:
            recorder.close()
        return exits.AGENT


def _recorder(options: argparse.Namespace, command: Sequence[str]) -> Recorder | None:
    """Return what records; None when nothing shall be or can be recorded."""
    path: Path | None = options.record
    if path is None:
        return None
    mode: Mode = "append" if options.append else "overwrite" if options.overwrite else "new"
    try:
        header = header_of_this_run(command, Path.cwd())
        return Recorder(RecordingWriter(path, header, mode=mode, warn=warn))
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The agent has to work whatever becomes of the recording.
        warn(f"{problem}; the traffic goes on without a recording")
        return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-console proxy",
        usage="%(prog)s [--record FILE [--append | --overwrite]] -- COMMAND…",
        description="Stand between an editor and its agent: every byte goes on as it came.",
        epilog="example: acp-console proxy --record session.acp.ndjson -- my-agent --acp",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="record the traffic to FILE")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--append", action="store_true", help="go on behind what FILE holds")
    existing.add_argument("--overwrite", action="store_true", help="empty FILE first")
    return parser


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
