"""A connection to a running proxy.

Blocking sockets, for a thread: a screen reads a proxy beside its event loop, a command has none.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from acp_inspector.proxy.runtime import sockets
from acp_inspector.recording.format import Line, decode_line
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError

PATIENCE: Final = 5.0
"""Seconds that a proxy has to answer a question."""
LONGEST: Final = 1e5
"""Seconds that a question may ask it to wait, and more than it does."""


class AttachError(AcpError):
    """No proxy can be attached to, or it does not do what it was asked; the message says why."""


class RefusedError(AttachError):
    """A proxy does not do what it was asked; the message is its own."""


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A proxy that somebody can attach to, as it describes itself."""

    path: Path
    name: str
    pid: int
    command: tuple[str, ...]
    cwd: str
    created: str
    recording: str | None

    def as_json(self) -> dict[str, Any]:
        """Return what is told of it to programs."""
        return {
            "name": self.name,
            "pid": self.pid,
            "command": list(self.command),
            "cwd": self.cwd,
            "created": self.created,
            "recording": self.recording,
        }


def running_proxies() -> list[RunningProxy]:
    """Return the proxies that answer, the newest first; sockets that nobody serves are removed."""
    found: list[RunningProxy] = []
    for path in sockets():
        try:
            with Attachment(path) as attachment:
                found.append(attachment.hello())
        except ConnectionRefusedError:
            # Its proxy was killed and could not remove it.
            with suppress(OSError):
                path.unlink()
        except (OSError, AttachError):
            continue
    return sorted(found, key=lambda proxy: proxy.created, reverse=True)


def find_proxy(wanted: str | None) -> RunningProxy:
    """Return the running proxy of that name or process id; without one, the only one there is.

    Raises:
        AttachError: there is none, or several could be meant; the message names them.
    """
    every = running_proxies()
    if not every:
        raise AttachError("no proxy is running; start one with acp-console proxy -- my-agent --acp")
    named = [proxy for proxy in every if wanted in {None, proxy.name, str(proxy.pid)}]
    if len(named) == 1:
        return named[0]
    names = ", ".join(f"{proxy.name} ({proxy.pid})" for proxy in every)
    if not named:
        raise AttachError(f"no running proxy is called {wanted}; there are {names}")
    raise AttachError(f"several proxies are running, choose one by its number: {names}")


class Attachment:
    """An open connection to the socket of a proxy."""

    def __init__(self, path: Path) -> None:
        """Connect.

        Raises:
            OSError: nobody listens there.
        """
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(PATIENCE)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave; a watch in another thread ends."""
        with suppress(OSError):
            # Whoever waits in another thread for the next line finds the end first.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()

    def ask(self, do: str, **members: Any) -> Any:
        """Ask for a deed and return what it returns.

        Raises:
            RefusedError: it was refused.
            AttachError: the proxy is gone.
        """
        answer = self.exchange({"do": do} | members)
        if "error" in answer:
            raise RefusedError(str(answer["error"]))
        return answer["ok"]

    def exchange(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask a question and return the whole answer: `{"ok": …}` or `{"error": …}`.

        Raises:
            AttachError: the proxy is gone.
        """
        try:
            self._socket.settimeout(PATIENCE + _patience(question))
            self._socket.sendall(jsonrpc.encode(question) + b"\n")
            line = self._lines.readline()
        except OSError as problem:
            raise AttachError(f"the proxy does not answer: {problem}") from None
        answer = _object(line)
        if not {"ok", "error"} & set(answer):
            raise AttachError("the proxy is gone")
        return answer

    def hello(self) -> RunningProxy:
        """Return who the proxy is.

        Raises:
            AttachError: it does not answer as a proxy does.
        """
        return self._described(self.ask("hello"))

    def watch(self) -> Iterator[Line]:
        """Yield the lines of the recording, from the first one on, until the proxy ends.

        Raises:
            AttachError: the proxy does not answer.
        """
        self._described(self.ask("watch"))
        for line in self.rest():
            yield decode_line(line)

    def rest(self) -> Iterator[bytes]:
        """Yield what follows the answer to `watch`, line by line, until the proxy ends."""
        with suppress(OSError, ValueError):
            # From here on silence is nothing unusual.
            self._socket.settimeout(None)
            while line := self._lines.readline():
                yield line.removesuffix(b"\n")

    def _described(self, about: Any) -> RunningProxy:
        match about:
            case {"name": str(name), "pid": int(pid), "command": command, "cwd": str(cwd)}:
                words = tuple(map(str, cast("list[Any]", command)))
                told = cast("Mapping[str, Any]", about)
                recording = told.get("recording")
                created = str(told.get("created", ""))
                return RunningProxy(self._path, name, pid, words, cwd, created, recording)
            case _:
                raise AttachError("what listens there is no proxy of this version")


def _patience(question: Mapping[str, Any]) -> float:
    """Return the seconds that a question asks the proxy to wait."""
    wait: Any = question.get("seconds" if question.get("do") == "held" else "wait", 0)
    is_number = isinstance(wait, int | float) and 0 <= wait < LONGEST
    return float(wait) if is_number else 0.0


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
