"""`acp-console proxy`: the command that an editor starts instead of its agent.

Parses its arguments with argparse: an editor waits for this start, and importing click doubles it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from acp_console.cli import exit_codes
from acp_inspector.proxy.process import take_stdio
from acp_inspector.proxy.session import ProxyOptions, open_session, run_proxy
from acp_inspector.recording.writer import WriteMode
from acp_protocol.dialects.spellings import BATCHES, WIRE_NAMES
from acp_protocol.errors import AcpError, AgentStartError
from acp_protocol.host.arguments import ArgumentParser, parse_duration, parse_size
from acp_protocol.host.sanitize import error_text


def run_command(arguments: Sequence[str]) -> int:
    """Run the proxy; return the agent's exit code, or 128 + n for signal n."""
    _fill_standard_descriptors()
    options, command = _read(arguments)
    if options.listen is not None:
        # What speaks HTTP is slow to import, and an editor waits for a stdio proxy.
        from acp_console.cli.proxy_listen import listen

        problem = listen(options, _proxy_options(options))
        return exit_codes.DONE if problem is None else _refuse(problem)
    if not command or not command[0]:
        what = "is empty" if command else "has to follow --"
        _fail(f"the agent's command {what}", "e.g. acp-console proxy -- my-agent --acp")
        return exit_codes.USAGE
    # What an add-on prints, reads or starts must not reach the editor or the agent.
    stdio = take_stdio() if options.addons else (0, 1)
    try:
        session = open_session(command, _proxy_options(options))
    except AcpError as problem:
        return _refuse(problem)
    try:
        return run_proxy(command, session, stdio=stdio)
    except AgentStartError as problem:
        _fail(problem.summary, problem.hint)
        session.withdraw_recording()
        return exit_codes.AGENT
    finally:
        session.close()


def _refuse(problem: AcpError) -> int:
    """Say why nothing is started: the options are wrong, or a file would be spoiled."""
    pointer = getattr(problem, "pointer", "")
    picture = f"\n\n{pointer}".replace("\n", "\n  ") if pointer else ""
    _fail(f"{problem.summary}{picture}", problem.hint)
    return exit_codes.USAGE


def _fail(text: str, hint: str = "") -> None:
    with suppress(OSError):
        os.write(2, error_text(text, hint).encode(sys.getfilesystemencoding(), "replace"))


def _fill_standard_descriptors() -> None:
    """Open /dev/null where stdin, stdout or stderr is closed.

    The next opened file would get the number, and warnings would go into a recording.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - Python found it closed
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - lives as long as the process


def _read(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the agent's command behind `--`."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = _parser()
    options, rest = parser.parse_known_args(arguments[:at])
    if rest and (at < len(arguments) or rest[0].startswith("-")):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    _check_listening(parser, options, arguments[at:])
    if options.record is None:
        for name in ("append", "overwrite", "rotate_size", "rotate_age"):
            if getattr(options, name):
                parser.error(f"--{name.replace('_', '-')} needs --record FILE")
    return options, list(arguments[at + 1 :])


def _check_listening(
    parser: ArgumentParser, options: argparse.Namespace, command: Sequence[str]
) -> None:
    """Refuse options of the proxy over the network that do not fit together."""
    if options.listen is None:
        for name in ("to", "tls_cert", "tls_key", "plain", "allow_host"):
            if getattr(options, name):
                parser.error(f"--{name.replace('_', '-')} needs --listen ADDRESS:PORT")
    elif options.to is None:
        parser.error("--listen needs --to URL")
    elif command:
        parser.error("--listen takes no command; --to names the agent")


def _proxy_options(options: argparse.Namespace) -> ProxyOptions:
    mode: WriteMode = "append" if options.append else "overwrite" if options.overwrite else "new"
    return ProxyOptions(
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
        dialect=options.dialect,
    )


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="acp-console proxy",
        usage="%(prog)s [OPTIONS] -- COMMAND…\n"
        "       %(prog)s [OPTIONS] --listen ADDRESS:PORT --to URL",
        description="Run between an editor and its agent; record and intercept the traffic.",
        topics=("inspecting", "intercept"),
        examples=(
            "acp-console proxy --record session.acp.ndjson -- my-agent --acp",
            "acp-console proxy --break 'method == session/prompt' -- my-agent --acp",
            "acp-console proxy --rules faults.toml -- my-agent --acp",
            "acp-console proxy --listen 127.0.0.1:8080 --to https://agents.example/acp",
        ),
    )
    group = parser.add_argument_group("over the network, in place of a command")
    group.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        help="take clients over HTTP and WebSocket here, port 0 for any, or at unix:FILE",
    )
    group.add_argument("--to", metavar="URL", help="the server that everything is passed to")
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate for clients, PEM")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="its key, PEM")
    group.add_argument(
        "--plain",
        action="store_true",
        help="listen without TLS at an address that other machines reach",
    )
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="name by which clients reach the proxy, besides those of this machine",
    )
    group = parser.add_argument_group("recording")
    group.add_argument(
        "--record",
        metavar="FILE",
        help="record the traffic to FILE; %%Y-%%m-%%d, {agent}, {pid} and, with --listen, "
        "{connection} in it are replaced",
    )
    existing = group.add_mutually_exclusive_group()
    existing.add_argument("--append", action="store_true", help="append to FILE")
    existing.add_argument("--overwrite", action="store_true", help="replace FILE")
    group.add_argument(
        "--rotate-size",
        type=_size,
        metavar="SIZE",
        help="start the next file after this size, e.g. 100mb; a burst may exceed it",
    )
    group.add_argument(
        "--rotate-age",
        type=_duration,
        metavar="DURATION",
        help="start the next file after this time, e.g. 30m or 1d",
    )
    group.add_argument(
        "--redact",
        action="store_true",
        help="redact the recording and what observers see, not the traffic",
    )
    group = parser.add_argument_group("interception")
    group.add_argument(
        "--break",
        dest="breakpoints",
        action="append",
        default=[],
        metavar="FILTER",
        help="hold matching frames until an observer decides or --hold-limit is over",
    )
    group.add_argument(
        "--hold-limit",
        type=_duration,
        metavar="DURATION",
        help="release held frames after this time, e.g. 30s or 5m; 1m by default",
    )
    group.add_argument(
        "--rules", type=Path, metavar="FILE", help="rules that change or break traffic (TOML)"
    )
    group.add_argument(
        "--addon",
        dest="addons",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="Python file with hooks; reloaded when it changes",
    )
    group = parser.add_argument_group("protocol")
    group.add_argument(
        "--dialect",
        choices=(*WIRE_NAMES, BATCHES),
        help="dialect of the traffic, which the recording names; recognised by default",
    )
    group = parser.add_argument_group("observers")
    group.add_argument("--name", help="name for acp-console attach; the agent's by default")
    group.add_argument(
        "--no-control",
        action="store_true",
        help="open no control socket, so that nothing can attach",
    )
    return parser


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
