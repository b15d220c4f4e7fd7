"""Start our programs without importing them anew: a server that has imported them forks.

`[*WARM, "-m", "acp_agent", …]` does what `[sys.executable, "-m", "acp_agent", …]` does, in a
process of its own with the same streams, directory, variables, signals and exit code, for a
fraction of the processor time. It is for tests in which a program has to run; those about the start
itself, about process groups and process ids, or about what is imported name `sys.executable`.

A launcher hands its streams to the server, passes signals on, and ends as the program does. If the
launcher is killed, so is the program with all that it has started.
"""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

_RUNS_HERE = "ACP_WARM" not in os.environ
if _RUNS_HERE:
    # Workers of one run, and runs inside it, share the server.
    os.environ["ACP_WARM"] = mkdtemp(prefix="acp-warm-")
_FOLDER = Path(os.environ["ACP_WARM"])
_ADDRESS = _FOLDER / "socket"
_LAUNCHER = Path(__file__).with_name("warm_launcher.py")
_CAN_WATCH = hasattr(os, "pidfd_open")

WARM = [sys.executable, *(["-ISB", str(_LAUNCHER), str(_ADDRESS)] if _CAN_WATCH else [])]
"""Stands for `sys.executable` in a command; what follows is `-m MODULE` or a script."""

PACKAGES = ("acp_protocol", "acp_inspector", "acp_agent", "acp_console")
COLD = ("acp_agent.mcp", "acp_console.tui", "acp_inspector.testing")
"""What few programs need, and what would be dear to import."""
MODULES = ("acp", "mcp.server.mcpserver", "starlette.applications", "uvicorn")
"""What programs of the tests import that is dear."""


@contextmanager
def warm_server() -> Generator[None]:
    """Run the server for the programs that this process and its children start."""
    if not (_CAN_WATCH and _RUNS_HERE):
        yield
        return
    command = [sys.executable, "-P", __file__, str(_ADDRESS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        yield
    rmtree(_FOLDER)


class Start(NamedTuple):
    """What a launcher wants to have run."""

    words: list[str]
    variables: dict[bytes, bytes]
    descriptors: list[int]
    launcher: socket.socket


def serve(address: str) -> Start:
    """Fork for each start, and return in the child; end when stdin ends.

    The first start only says that there will be others; until all is imported, each is a cold one.
    """
    listener = _listen(address)
    os.write(1, b"\n")
    accept(listener).close()
    listener.close()
    Path(address).unlink()
    for package in PACKAGES:
        _import_all(package)
    for module in MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    listener = _listen(address)
    while True:
        launcher = accept(listener)
        with suppress(OSError, EOFError):
            launcher.send(b"+")
            start = _received(launcher)
            if os.fork() == 0:
                listener.close()
                return start
            for descriptor in start.descriptors:
                os.close(descriptor)
        launcher.close()


def _listen(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    return listener


def accept(listener: socket.socket) -> socket.socket:
    """Wait for a launcher; end when stdin ends."""
    ready, _, _ = select.select([0, listener], [], [])
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    if 0 in ready:
        sys.exit()
    return listener.accept()[0]


def _received(launcher: socket.socket) -> Start:
    size, descriptors, _, _ = socket.recv_fds(launcher, 4, 4)
    with launcher.makefile("rb") as asked:
        words, variables = marshal.loads(asked.read(int.from_bytes(size, "big")))
    return Start(words, variables, descriptors, launcher)


def _import_all(package: str) -> None:
    paths = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(paths, f"{package}."):
        if module.name in COLD or module.name.endswith("__main__"):
            continue
        if module.ispkg:
            _import_all(module.name)
        else:
            importlib.import_module(module.name)


def watch(program: int, launcher: socket.socket) -> None:
    """Pass signals on, and tell the launcher how the program ends; end it with the launcher."""
    ended = os.pidfd_open(program)
    while True:
        ready, _, _ = select.select([ended, launcher], [], [])
        if ended in ready:
            _, status = os.waitpid(program, 0)
            with suppress(OSError):
                launcher.send(status.to_bytes(4, "big"))
            return
        numbers = launcher.recv(16)
        for number in numbers:
            os.kill(program, number)
        if not numbers:
            with suppress(ProcessLookupError):
                os.killpg(program, signal.SIGKILL)
            return


def become(start: Start) -> None:
    """Be the program; what it raises, and how it ends, is its own matter."""
    os.setsid()
    os.fchdir(start.descriptors[3])
    for stream, descriptor in enumerate(start.descriptors[:3]):
        os.dup2(descriptor, stream)
    start.launcher.detach()
    os.closerange(3, 256)
    os.environb.clear()
    os.environb.update(start.variables)
    # As Python makes them; those of the server remember what they were made for.
    sys.stdin = open(0, errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # pyright: ignore[reportAttributeAccessIssue] - what else is to be them
    del sys.modules["__main__"]
    if start.words[0] == "-m":
        sys.argv = start.words[1:]
        sys.path[0:0] = [str(Path.cwd())]
        runpy.run_module(start.words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = start.words
        runpy.run_path(start.words[0], run_name="__main__")


def main() -> None:
    """Serve, and be the watcher or the program in what is forked."""
    start = serve(sys.argv[1])
    program = os.fork()
    if program == 0:
        become(start)
        return
    for descriptor in start.descriptors:
        os.close(descriptor)
    watch(program, start.launcher)
    os._exit(0)


if __name__ == "__main__":
    main()
