"""`acp-console proxy`: what an editor starts in place of its agent.

Read with argparse and without click: an editor waits for this start, and click alone doubles it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from acp_console.cli import exits
from acp_inspector.proxy.observation import Wishes, observe
from acp_inspector.proxy.pump import run_proxy, warn
from acp_inspector.recording.writer import Mode
from acp_protocol.errors import AcpError, AgentStartError


def run_command(arguments: Sequence[str]) -> int:
    """Run the proxy; return the agent's exit code, or 128 + n for signal n."""
    _fill_standard_descriptors()
    options, command = _read(arguments)
    if not command or not command[0]:
        what = "is empty" if command else "stands behind --"
        warn(f"the agent's command {what}: acp-console proxy -- my-agent --acp")
        return exits.USAGE
    wire = (0, 1)
    if options.addons:
        # What an add-on prints, reads or starts must not reach the editor or the agent.
        from acp_inspector.intercept.wire import take_wire

        wire = take_wire()
    try:
        observation = observe(command, _wishes(options), warn)
    except AcpError as problem:
        # What was asked for cannot be understood or would spoil a file: nothing is started.
        warn(str(problem))
        if picture := getattr(problem, "picture", ""):
            for line in picture.splitlines():
                warn(f"  {line}")
        return exits.USAGE
    try:
        return run_proxy(
            command,
            observation.recorder,
            observation.interference,
            observation.started,
            wire=wire,
        )
    except AgentStartError as problem:
        warn(str(problem))
        observation.withdraw()
        return exits.AGENT
    finally:
        observation.close()


def _fill_standard_descriptors() -> None:
    """Open nothing where stdin, stdout or stderr is closed.

    The next file would get the number, and what is meant for a person would stand in a recording.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - Python found it closed
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - lives as long as the process


def _read(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the agent's command as far as it stands where it should."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options, rest = parser.parse_known_args(words[:at])
    if rest and (at < len(words) or rest[0].startswith("-")):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if options.record is None:
        needs = ("append", "overwrite", "rotate_size", "rotate_age")
        for name in needs:
            if getattr(options, name):
                parser.error(f"--{name.replace('_', '-')} needs --record FILE")
    return options, words[at + 1 :]


def _wishes(options: argparse.Namespace) -> Wishes:
    mode: Mode = "append" if options.append else "overwrite" if options.overwrite else "new"
    return Wishes(
        record=options.record,
        mode=mode,
        redacts=options.redact,
        rotate_size=options.rotate_size,
        rotate_age=options.rotate_age,
        name=options.name,
        has_control=not options.no_control,
        breakpoints=options.breakpoints,
        hold_limit=options.hold_limit,
        rules=options.rules,
        addons=options.addons,
    )


def _size(text: str) -> int:
    size = int(_measured(text, {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}))
    if not size:
        raise argparse.ArgumentTypeError(f"{text} is less than a byte")
    return size


def _age(text: str) -> float:
    return _measured(text, {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400})


def _measured(text: str, units: Mapping[str, int]) -> float:
    """Return a number with a unit in the smallest of `units`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text.strip().lower())
    if found is None or found[2] not in units or not float(found[1]):
        names = ", ".join(filter(None, units))
        raise argparse.ArgumentTypeError(f"{text} is no amount; units are {names}")
    return float(found[1]) * units[found[2]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acp-console proxy",
        usage=(
            "%(prog)s [--record FILE [--append | --overwrite] [--rotate-size BYTES] "
            "[--rotate-age TIME]] [--redact] [--break FILTER]… [--hold-limit TIME] "
            "[--rules FILE] [--addon FILE]… [--name NAME] [--no-control] -- COMMAND…"
        ),
        description="Stand between an editor and its agent: every byte goes on as it came.",
        epilog="example: acp-console proxy --record session.acp.ndjson -- my-agent --acp",
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="record the traffic to FILE; %%Y-%%m-%%d, {agent} and {pid} in it are filled in",
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--append", action="store_true", help="go on behind what FILE holds")
    existing.add_argument("--overwrite", action="store_true", help="empty FILE first")
    parser.add_argument(
        "--rotate-size",
        type=_size,
        metavar="BYTES",
        help="begin the next file after so many bytes, such as 100mb; a burst may exceed it",
    )
    parser.add_argument(
        "--rotate-age",
        type=_age,
        metavar="TIME",
        help="begin the next file after so long, such as 30m or 1d",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="take secrets out of what is recorded and shown; the traffic stays as it is",
    )
    parser.add_argument(
        "--break",
        dest="breakpoints",
        action="append",
        default=[],
        metavar="FILTER",
        help="hold frames that match, until an observer decides or it has taken too long",
    )
    parser.add_argument(
        "--hold-limit",
        type=_age,
        metavar="TIME",
        help="release what was held so long, such as 30s or 5m; a minute by default",
    )
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rewrites and faults, in TOML")
    parser.add_argument(
        "--addon",
        dest="addons",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="hooks in Python, read anew when the file changes",
    )
    parser.add_argument("--name", help="how acp-console attach calls it; the agent's by default")
    parser.add_argument(
        "--no-control", action="store_true", help="open no socket: nobody can attach"
    )
    return parser


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
