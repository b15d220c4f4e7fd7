"""`acp-agent --script FILE`: plays a scenario on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import anyio

from acp_agent.scripted.faults import CrashFault, ProcessExit
from acp_agent.scripted.player import Player
from acp_agent.scripted.scenario import DIALECTS, Scenario, load_scenario
from acp_agent.scripted.wire import ScriptIo
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.host.sanitize import error_text, labelled
from acp_protocol.user_files.toml_source import InvalidFileError

EXAMPLES: Final = Path(__file__).parent / "examples"
"""Scenarios that come along, and are found by their names."""
DONE: Final = 0
FAILED: Final = 1
"""Something was not as the scenario expects it, or the file that was to be checked is wrong."""
UNUSABLE: Final = 2
"""The file cannot be used."""
INTERRUPTED: Final = 130


def run_script(options: argparse.Namespace) -> int:
    """Play or check the scenario that the flags name; return the exit code."""
    path = _found(options.script)
    if not path.exists():
        names = ", ".join(sorted(each.stem for each in EXAMPLES.glob("*.toml")))
        _fail(f"{path}: there is no such file", f"examples that need none are {names}")
        return FAILED if options.check else UNUSABLE
    given = vars(options)
    if unheeded := _ignored_options(given):
        _print_to_stderr(labelled("warning", f"--script ignores {', '.join(unheeded)}"))
    if options.check:
        return check_file(path)
    newest, dialect = given.get("protocol.version", 1), given.get("protocol.dialect")
    return play_file(path, seed=options.seed, newest=newest, dialect=dialect)


def play_file(
    path: Path, *, seed: int | None = None, newest: int = 1, dialect: str | None = None
) -> int:
    """Play the scenario of a file to the client on stdin and stdout; return the exit code.

    `seed` and `dialect` go before those in the file; versions up to `newest` are spoken even if the
    file does not say so. If the file is invalid, stderr says why, and nothing is played.
    """
    try:
        scenario, _ = load_scenario(path, seed)
    except InvalidFileError as problem:
        _fail(str(problem))
        return UNUSABLE
    if dialect is not None:
        scenario = scenario.model_copy(update={"dialect": dialect})
    if reason := _dialect_problem(scenario.dialect, max(newest, scenario.protocol)):
        _fail(f"{path}: {reason}")
        return UNUSABLE
    try:
        return anyio.run(_play, scenario, newest)
    except KeyboardInterrupt:
        return INTERRUPTED


def check_file(path: Path) -> int:
    """Print what is wrong with a scenario, and play nothing; return the exit code.

    Warnings about what is valid but perhaps not meant go to stderr.
    """
    try:
        _, remarks = load_scenario(path)
    except InvalidFileError as problem:
        sys.stdout.write(f"{problem}\n")
        return FAILED
    for remark in remarks:
        _print_to_stderr(labelled("warning", remark))
    sys.stdout.write(f"{path}: can be played\n")
    return DONE


def _ignored_options(given: Mapping[str, object]) -> list[str]:
    """Return what was set that means nothing to a scenario; settings by their names."""
    config = ["--config"] if given.get("config") is not None else []
    settings = (name for name in given if "." in name and not name.startswith("protocol."))
    return config + sorted(settings)


def _found(path: Path) -> Path:
    """Return the file that is meant: a bare word that is no file may be one of the examples."""
    example = EXAMPLES / f"{path}.toml"
    return example if len(path.parts) == 1 and not path.exists() and example.is_file() else path


def _dialect_problem(dialect: str | None, newest: int) -> str | None:
    """Return why nothing can be played in a dialect; None if it can."""
    if dialect is None or (dialect in DIALECTS and newest == 1):
        return None
    if dialect in DIALECTS:
        return f"{dialect} has only version 1, and version {newest} is asked for"
    return f"{dialect} cannot be played; there is {', '.join(DIALECTS)}"


async def _play(scenario: Scenario, newest: int) -> int:
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    # Nothing but the scenario may write on stdout from here on.
    os.dup2(2, 1)
    reader, writer = FdReceiveStream(incoming), FdSendStream(outgoing)
    player = Player(
        scenario, ScriptIo(writer, lambda line: _print_to_stderr(f"{line}\n"), _end), newest
    )
    async with reader, writer:
        await player.play(reader)
    return FAILED if player.connection.has_failed else DONE


def _fail(text: str, hint: str = "") -> None:
    _print_to_stderr(error_text(text, hint))


def _print_to_stderr(text: str) -> None:
    # At once and in one piece: the process may end in the next moment.
    sys.stderr.flush()
    # A closed stderr must not end the scenario.
    with suppress(OSError):
        os.write(2, text.encode("utf-8", "backslashreplace"))


def _end(process_exit: ProcessExit) -> None:
    if isinstance(process_exit, CrashFault):
        _crash(process_exit)
    for each in process_exit.ignore:
        signal.signal(each, signal.SIG_IGN)


def _crash(crash: CrashFault) -> NoReturn:
    if crash.signal is not None:
        # Python may have set handlers, or its parent may have had the signal ignored.
        if crash.signal not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(crash.signal, signal.SIG_DFL)
        os.kill(os.getpid(), crash.signal)
    os._exit(crash.code)
