"""`acp-agent --script FILE`: runs a script on this process's stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final, NoReturn

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_agent.scripted.kit import Script
from acp_agent.scripted.load import (
    ScriptError,
    error_line,
    error_sentence,
    find_script,
    load_script,
    with_options,
)
from acp_agent.scripted.server import ScriptServer
from acp_agent.scripted.wire import EndProcess, ScriptTransport, Wire, write_stderr
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.dialects.registry import SPOKEN, open_translator
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.faults import Crash, Hang
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.host.sanitize import error_text, labelled, single_line

DONE: Final = 0
FAILED: Final = 1
"""A function of the script has raised, or the script that was to be checked is wrong."""
UNUSABLE: Final = 2
"""The script cannot be used."""
INTERRUPTED: Final = 130
CLOSE_TIMEOUT_S: Final = 5.0
"""How long functions may still run when the client has left."""
SHOWN: Final = 300
"""Characters of an error to show."""


def run_script(options: argparse.Namespace) -> int:
    """Run or check the script that the flags name; return the exit code."""
    path, given = find_script(options.script), vars(options)
    if ignored := _ignored_options(given):
        write_stderr(labelled("warning", f"--script ignores {', '.join(ignored)}"))
    try:
        script = load_script(path)
        dialect, protocol = given.get("protocol.dialect"), given.get("protocol.version", 1)
        dialect = dialect or script.agent.dialect
        protocol = max(protocol, script.agent.protocol, 2 if dialect == BATCHES else 1)
        script = with_options(script, seed=options.seed, protocol=protocol, dialect=dialect)
        _check_dialect(path, script)
    except ScriptError as error:
        if options.debug and error.__cause__ is not None:
            _print_traceback(error.__cause__)
        write_stderr(error_text(str(error)))
        return FAILED if options.check else UNUSABLE
    if options.check:
        sys.stdout.write(f"{path}: can be run\n")
        return DONE
    try:
        return anyio.run(_serve, script, path, options.debug)
    except KeyboardInterrupt:
        return INTERRUPTED


def _ignored_options(given: Mapping[str, object]) -> list[str]:
    """Return what was set that means nothing to a script; settings by their names."""
    config = ["--config"] if given.get("config") is not None else []
    settings = (name for name in given if "." in name and not name.startswith("protocol."))
    return config + sorted(settings)


def _check_dialect(path: Path, script: Script) -> None:
    dialect = script.agent.dialect
    if dialect is None or dialect == BATCHES:
        return
    if dialect not in SPOKEN:
        raise ScriptError(path, None, f"{dialect} is not a dialect: {', '.join(SPOKEN)}")
    if script.agent.protocol > 1:
        raise ScriptError(path, None, f"{dialect} has only version 1")


async def _serve(script: Script, path: Path, debug: bool) -> int:
    def report(method: str, error: BaseException) -> None:
        if debug:
            _print_traceback(error)
        line = error_line(error, path)
        place = path if line is None else f"{path}:{line}"
        sentence = single_line(f"{place}: {method}: {error_sentence(error)}", SHOWN)
        write_stderr(error_text(sentence))

    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    # Nothing but frames may be written on stdout from here on.
    os.dup2(2, 1)
    server = ScriptServer(script, report)
    await serve_script(server, FdReceiveStream(incoming), FdSendStream(outgoing), _end)
    return FAILED if server.has_failed else DONE


async def serve_script(
    server: ScriptServer,
    incoming: ByteReceiveStream,
    outgoing: ByteSendStream,
    end: EndProcess,
    close_timeout: float = CLOSE_TIMEOUT_S,
) -> None:
    """Run a script for the client on these streams until it leaves."""
    agent = server.script.agent
    async with BackgroundTasks() as server.tasks:
        dialect = open_translator(agent.dialect, str(Path.cwd()))
        framing = agent.wire_framing or ("lines" if dialect is None else dialect.framing)
        server.wire = Wire(incoming, outgoing, server.tasks, end, framing)
        faults_of = None if server.script.faults is None else server.faults_of
        random = Random(f"{agent.seed}/faults")  # noqa: S311 - not about secrets
        transport = ScriptTransport(server.wire, dialect, faults_of, random)
        takes_batches = agent.dialect == BATCHES
        server.connection = Connection(transport, server, allow_batches=takes_batches)
        async with server.connection as connection:
            await connection.wait_closed()
            server.leave()
            with anyio.move_on_after(close_timeout):
                await connection.wait_settled()
                await server.wait_done()
                await server.wire.flush()


def _print_traceback(error: BaseException) -> None:
    write_stderr("".join(traceback.format_exception(error)))


def _end(end: Crash | Hang) -> None:
    if isinstance(end, Crash):
        _crash(end)
    for each in end.ignore:
        signal.signal(each, signal.SIG_IGN)


def _crash(crash: Crash) -> NoReturn:
    if crash.signal is not None:
        # Python may have set handlers, or its parent may have had the signal ignored.
        if crash.signal not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(crash.signal, signal.SIG_DFL)
        os.kill(os.getpid(), crash.signal)
    os._exit(crash.code)
