"""`acp-agent --script FILE`: plays a scenario on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import anyio

from acp_agent.scenario.player import Player
from acp_agent.scenario.reading.file import load_scenario
from acp_agent.scenario.reading.tables import ScenarioError
from acp_agent.scenario.scenario import Scenario
from acp_agent.scenario.wire import Crash, Fate, Stage
from acp_protocol.descriptors import DescriptorReader, DescriptorWriter

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
        _say(f"{path}: there is no such file; examples that need none are {names}")
        return FAILED if options.check else UNUSABLE
    if options.check:
        return check_file(path)
    newest = vars(options).get("protocol.version", 1)
    return play_file(path, seed=options.seed, newest=newest)


def play_file(path: Path, *, seed: int | None = None, newest: int = 1) -> int:
    """Play the scenario of a file to the client on stdin and stdout; return the exit code.

    `seed` goes before the one in the file; versions up to `newest` are spoken even if the file
    does not say so. What is wrong with the file is told on stderr, and nothing is played.
    """
    try:
        scenario, _ = load_scenario(path, seed)
    except ScenarioError as problem:
        _say(str(problem))
        return UNUSABLE
    if newest > 1 and scenario.dialect is not None:
        _say(f"{path}: `dialect` has only version 1, and --protocol asks for {newest}")
        return UNUSABLE
    try:
        return anyio.run(_play, scenario, newest)
    except KeyboardInterrupt:
        return INTERRUPTED


def check_file(path: Path) -> int:
    """Print what is wrong with a scenario, and play nothing; return the exit code.

    What is allowed but perhaps not meant is told on stderr.
    """
    try:
        _, remarks = load_scenario(path)
    except ScenarioError as problem:
        sys.stdout.write(f"{problem}\n")
        return FAILED
    for remark in remarks:
        _say(remark)
    sys.stdout.write(f"{path}: can be played\n")
    return DONE


def _found(path: Path) -> Path:
    """Return the file that is meant: a bare word that is no file may be one of the examples."""
    example = EXAMPLES / f"{path}.toml"
    return example if len(path.parts) == 1 and not path.exists() and example.is_file() else path


async def _play(scenario: Scenario, newest: int) -> int:
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    # Nothing but the scenario may write on stdout from here on.
    os.dup2(2, 1)
    reader, writer = DescriptorReader(incoming), DescriptorWriter(outgoing)
    player = Player(scenario, Stage(writer, _tell, _end), newest)
    async with reader, writer:
        await player.play(reader)
    return FAILED if player.talk.has_failed else DONE


def _say(text: str) -> None:
    for line in text.splitlines():
        _tell(f"acp-agent: {line}")


def _tell(text: str) -> None:
    # At once and in one piece: the process may end in the next moment.
    sys.stderr.flush()
    # Whoever closes our stderr wants to hear nothing, and loses nothing else.
    with suppress(OSError):
        os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))


def _end(fate: Fate) -> None:
    if isinstance(fate, Crash):
        _die(fate)
    for each in fate.ignored:
        signal.signal(each, signal.SIG_IGN)


def _die(crash: Crash) -> NoReturn:
    if crash.signal is not None:
        # Python may have set handlers, or its parent may have had the signal ignored.
        if crash.signal not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(crash.signal, signal.SIG_DFL)
        os.kill(os.getpid(), crash.signal)
    os._exit(FAILED if crash.code is None else crash.code)
