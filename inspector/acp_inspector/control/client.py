"""A client of the control socket of a running proxy.

It blocks: a screen uses it in a thread, a command has no event loop.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, cast

from acp_inspector.control.server import parse_object, sockets
from acp_inspector.recording.format import RecordingLine, decode_line
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError

REPLY_TIMEOUT_S: Final = 5.0
"""Seconds that a proxy has to reply."""
MAX_WAIT_S: Final = 1e5
"""Seconds that a command may ask the proxy to wait; it refuses much shorter waits."""


class AttachError(AcpError):
    """There is no proxy to attach to, or a command failed; the message says why."""


class ProxyRefusedError(AttachError):
    """A proxy has refused a command; the message is its own."""


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A proxy to attach to, as it describes itself."""

    path: Path
    name: str
    pid: int
    command: tuple[str, ...]
    cwd: str
    created: str
    recording: str | None
    held: int = field(default=0, compare=False)
    """Frames that it held when it replied."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields of `attach --list --json`."""
        return {
            "name": self.name,
            "pid": self.pid,
            "command": list(self.command),
            "cwd": self.cwd,
            "created": self.created,
            "recording": self.recording,
        }


def running_proxies() -> list[RunningProxy]:
    """Return the proxies that reply, the newest first; remove the sockets of killed ones."""
    found: list[RunningProxy] = []
    for path in sockets():
        try:
            with ProxyClient(path) as client:
                found.append(client.hello())
        except ConnectionRefusedError:
            # The proxy was killed and could not remove it.
            with suppress(OSError):
                path.unlink()
        except (OSError, AttachError):
            continue
    return sorted(found, key=lambda proxy: proxy.created, reverse=True)


def find_proxy(wanted: str | None) -> RunningProxy:
    """Return the running proxy of that name or process id; without one, the only proxy.

    Raises:
        AttachError: there is none, or several match; the message names them.
    """
    every = running_proxies()
    if not every:
        raise AttachError(
            "no proxy is running", hint="start one with acp-console proxy -- my-agent --acp"
        )
    named = [proxy for proxy in every if wanted in {None, proxy.name, str(proxy.pid)}]
    if len(named) == 1:
        return named[0]
    names = ", ".join(f"{proxy.name} ({proxy.pid})" for proxy in named or every)
    if not named:
        raise AttachError(f"no running proxy is called {wanted}", hint=f"there are {names}")
    # The connections of one proxy on the network have the same process number.
    raise AttachError(
        "several proxies are running",
        hint=f"choose one by its name, or its process number: {names}",
    )


class ProxyClient:
    """An open connection to the socket of a proxy."""

    def __init__(self, path: Path) -> None:
        """Connect.

        Raises:
            OSError: no proxy listens there.
        """
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(REPLY_TIMEOUT_S)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a watch in another thread ends."""
        with suppress(OSError):
            # A thread that waits for the next line finds the end first.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()

    def call(self, do: str, **fields: Any) -> Any:
        """Send the command `do` and return its result.

        Raises:
            ProxyRefusedError: the proxy has refused it.
            AttachError: the proxy has ended.
        """
        reply = self.request({"do": do} | fields)
        if "error" in reply:
            raise ProxyRefusedError(str(reply["error"]))
        return reply["ok"]

    def request(self, command: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a command and return the whole reply: `{"ok": …}` or `{"error": …}`.

        Raises:
            AttachError: the proxy has ended.
        """
        try:
            self._socket.settimeout(REPLY_TIMEOUT_S + _wait_s(command))
            self._socket.sendall(jsonrpc.encode(command) + b"\n")
            line = self._lines.readline()
        except OSError as problem:
            raise AttachError(f"the proxy does not reply: {problem}") from None
        reply = parse_object(line)
        if not {"ok", "error"} & set(reply):
            raise AttachError("the proxy is gone")
        return reply

    def hello(self) -> RunningProxy:
        """Return the proxy's description.

        Raises:
            AttachError: it does not reply as a proxy does.
        """
        return self._described(self.call("hello"))

    def watch(self) -> Iterator[RecordingLine]:
        """Yield the lines of the recording, from the first one on, until the proxy ends.

        Raises:
            AttachError: the proxy does not reply.
        """
        self._described(self.call("watch"))
        for line in self.raw_lines():
            yield decode_line(line)

    def wait_closed(self) -> None:
        """Wait for the end of the proxy, or for `close` in another thread."""
        for _ in self.raw_lines():
            pass

    def raw_lines(self) -> Iterator[bytes]:
        """Yield the lines behind the reply to `watch`, until the proxy ends."""
        with suppress(OSError, ValueError):
            # From here on silence is normal.
            self._socket.settimeout(None)
            while line := self._lines.readline():
                yield line.removesuffix(b"\n")

    def _described(self, about: Any) -> RunningProxy:
        match about:
            case {"name": str(name), "pid": int(pid), "command": command, "cwd": str(cwd)}:
                argv = tuple(map(str, cast("list[Any]", command)))
                fields = cast("Mapping[str, Any]", about)
                recording = fields.get("recording")
                created = str(fields.get("created", ""))
                held = int(fields.get("held", 0))
                return RunningProxy(self._path, name, pid, argv, cwd, created, recording, held)
            case _:
                raise AttachError("the socket does not belong to a proxy of this version")


def _wait_s(command: Mapping[str, Any]) -> float:
    """Return the seconds that a command asks the proxy to wait."""
    wait: Any = command.get("seconds" if command.get("do") == "held" else "wait", 0)
    is_number = isinstance(wait, int | float) and 0 <= wait < MAX_WAIT_S
    return float(wait) if is_number else 0.0
