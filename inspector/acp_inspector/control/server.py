"""The control socket: observers watch a running proxy and intercept its traffic.

Every line is a JSON object. A command is `{"do": …}` and gets one reply, `{"ok": …}` or
`{"error": …}`. After the reply to `watch` the recording follows, from its first line on. Each
observer has a thread of its own that reads and sends at the observer's pace, so a slow one affects
no other.

Bytes travel as `text`, as `json` if they are JSON on one line, or as `b64` if they are not text.
Without the `id` of a held frame, the oldest is meant.

| `do`                             | with                                                         |
|----------------------------------|--------------------------------------------------------------|
| `hello`                          | `passing`: whether the observer does not stay; who this is   |
| `watch`                          | `from`: an offset; who this is, then the recording           |
| `state`                          |                                                              |
| `held`                           | `seconds`: timeout for a held frame; `after` another one     |
| `read`                           | `id` of a held frame; returns all of it                      |
| `break`                          | `filter`, `lasting`; returns the breakpoint's `id`           |
| `clear`                          | `id` of a breakpoint                                         |
| `pause`, `resume`, `release_all` |                                                              |
| `keep`                           | `seconds`: restarts all countdowns, with this length         |
| `release`                        | `id` of a held frame                                         |
| `discard`                        | `id`, `silent`                                               |
| `edit`                           | `id`, bytes, `force`                                         |
| `duplicate`                      | `id`, `times`                                                |
| `delay`                          | `id`, `seconds`                                              |
| `answer`                         | `id`, `result` or `error`                                    |
| `inject`                         | `from`, bytes, `force`, `keep_id`, `wait`; returns its `id`, |
|                                  | its number `n`, and the `answer`                             |

Everything is released when the last observer that sent commands leaves, or, if none sent any, when
the last watching one leaves. A `passing` observer does not count, and its breakpoints stay; it is
one until a command says that it is not.

Source: docs/intercept.md, "From a shell".
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from acp_inspector.control.sinks import ChangeNotifier, LogSource
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError

if TYPE_CHECKING:
    from acp_inspector.intercept.channel import Channel
    from acp_inspector.intercept.controller import InterceptController
    from acp_inspector.intercept.injection import Injection
    from acp_protocol.framing import Side

MAX_OBSERVERS: Final = 16
"""Connections at once."""
MAX_COMMAND_BYTES: Final = 64 * 2**20
"""Bytes of one command: an injected frame may be as long as any."""
WATCH_INTERVAL_S: Final = 2.0
"""Seconds between two checks whether a watching observer is still there."""
POLL_INTERVAL_S: Final = 0.25
"""Seconds between two checks whether the observer of a waiting command is still there."""
CLOSE_TIMEOUT_S: Final = 0.25
"""Seconds that observers have to read the end of the recording when the proxy ends."""
MAX_WAIT_S: Final = 3600.0
"""Seconds that a command may wait for a held frame, or for the response to an injected one."""
SEND_TIMEOUT_S: Final = 2.0
"""Seconds that `inject` waits until the frame is sent; after that its number is null."""
MAX_PREVIEW_BYTES: Final = 16_384
"""Bytes of a held frame in `state`; `read` returns all of it."""

SOCKET_SUFFIX: Final = ".sock"
MAX_NAME_CHARS: Final = 32
"""Characters of a proxy's name in the name of its socket, whose path has to be short."""

CommandData: TypeAlias = Mapping[str, Any]
Command: TypeAlias = Callable[[CommandData], Any]
"""Returns the reply or a `LongPoll`; raises an `AcpError`, `ValueError` or `TypeError`."""


@dataclass(frozen=True, slots=True)
class LongPoll:
    """A waiting command; it is abandoned when its observer leaves."""

    seconds: float
    wait: Callable[[float], bool]
    """Waits at most so many seconds; returns whether the event happened."""
    reply: Callable[[], Any]
    """Returns the reply, after the event or the timeout."""


class LazyController:
    """Creates the controller when it is first needed: most proxies only forward."""

    def __init__(self, create: Callable[[], InterceptController]) -> None:
        self._create = create
        self._creating = threading.Lock()
        self._controller: InterceptController | None = None
        self._open_channel: dict[Side, Callable[[Channel], None]] = {}
        self._is_over = False

    @property
    def controller(self) -> InterceptController | None:
        """None until it is needed."""
        return self._controller

    def get(self) -> InterceptController:
        """Return the controller; create it if there is none. Never waits for the traffic."""
        with self._creating:
            if self._controller is None:
                controller = self._create()
                for side, open_channel in self._open_channel.items():
                    open_channel(controller.channels[side])
                self._controller = controller
                if self._is_over:
                    controller.finish()
            return self._controller

    def connect(self, side: Side, open_channel: Callable[[Channel], None]) -> None:
        """Call `open_channel` as soon as there is a controller, which may be at once."""
        with self._creating:
            self._open_channel[side] = open_channel
            if self._controller is not None:
                open_channel(self._controller.channels[side])

    def observers_left(self) -> None:
        if self._controller is not None:
            self._controller.observers_left()

    def count_held(self) -> int:
        return 0 if self._controller is None else len(self._controller.holds())

    def finish(self) -> None:
        """Release everything, because the agent has ended."""
        # Without the lock: `get` may be importing filters or running an add-on. Either it sees the
        # flag afterwards, or the controller is seen here.
        self._is_over = True
        if self._controller is not None:
            self._controller.finish()


class ControlServer:
    """Listens on a socket while a proxy runs.

    `commands` are those beside `hello` and `watch`. `observers_left` is called when the last
    observer has left. `count_held` returns how many frames are held, for `hello`.
    """

    def __init__(
        self,
        name: str,
        about: Mapping[str, Any],
        open_log: Callable[[], LogSource],
        notifier: ChangeNotifier,
        *,
        commands: Mapping[str, Command] | None = None,
        observers_left: Callable[[], None] = lambda: None,
        count_held: Callable[[], int] = lambda: 0,
    ) -> None:
        """Open the socket.

        Raises:
            SocketDirectoryError: there is no safe directory for it.
            OSError: it cannot be opened.
        """
        self._about = {"name": name, "pid": os.getpid(), **about}
        self._open_log = open_log
        self._notifier = notifier
        self._commands = dict(commands or {})
        self._observers_left = observers_left
        self._count_held = count_held
        self._threads: set[threading.Thread] = set()
        self._watchers: set[threading.Thread] = set()
        self._commanders: set[threading.Thread] = set()
        """Observers that have sent commands; they count even if others still watch."""
        self._lock = threading.Lock()
        self.path: Path = socket_directory() / socket_name(name, os.getpid())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path.unlink(missing_ok=True)
        # The directory is private; make the socket private too, in case it is moved.
        before = os.umask(0o177)
        try:
            self._socket.bind(str(self.path))
        finally:
            os.umask(before)
        self._socket.listen(MAX_OBSERVERS)
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def close(self) -> None:
        """Give observers a moment to read to the end, then close the socket."""
        self._notifier.end()
        with self._lock:
            threads = list(self._threads)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.path.unlink(missing_ok=True)
        for thread in threads:
            thread.join(CLOSE_TIMEOUT_S / max(len(threads), 1))

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                has_room = len(self._threads) < MAX_OBSERVERS
            if _user_of(peer) != os.getuid() or not has_room:
                peer.close()
                continue
            thread = threading.Thread(
                target=self._serve, args=(peer,), name="observer", daemon=True
            )
            with self._lock:
                # `close` joins each of these, so it must have started by then.
                thread.start()
                self._threads.add(thread)

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer, peer.makefile("rb") as requests, suppress(OSError):
                self._handle(peer, requests)
        finally:
            me = threading.current_thread()
            with self._lock:
                self._threads.discard(me)
                was_last = self._commanders == {me} or (
                    self._watchers == {me} and not self._commanders
                )
                self._commanders.discard(me)
                self._watchers.discard(me)
            if was_last:
                self._observers_left()

    def _handle(self, peer: socket.socket, requests: BufferedReader) -> None:
        is_passing = False
        while line := requests.readline(MAX_COMMAND_BYTES):
            if not line.endswith(b"\n"):
                # Too long, or cut off: the rest is not a command.
                peer.sendall(b'{"error":"the command is too long or cut off"}\n')
                return
            request = parse_object(line)
            is_passing = request.get("passing", is_passing) is True
            request = {**request, "passing": is_passing}
            if request.get("do") != "hello" and not is_passing:
                known = self._watchers if request.get("do") == "watch" else self._commanders
                with self._lock:
                    known.add(threading.current_thread())
            if request.get("do") == "watch":
                self._watch(peer, request)
                return
            peer.sendall(self._reply(peer, request))

    def _reply(self, peer: socket.socket, request: CommandData) -> bytes:
        """Return the line that replies to a command."""
        try:
            return jsonrpc.encode({"ok": self._run(peer, request)}) + b"\n"
        except (AcpError, ValueError, TypeError) as problem:
            text = str(problem)
        except Exception as problem:  # noqa: BLE001 - a wrong command must not end the observer's thread
            text = f"the command failed: {type(problem).__name__}: {problem}"
        return jsonrpc.encode({"error": text}) + b"\n"

    def _run(self, peer: socket.socket, request: CommandData) -> Any:
        name = request.get("do")
        if name is None:
            raise ValueError("a command is a JSON object on one line with the field `do`")
        if name == "hello":
            return {**self._about, "held": self._count_held()}
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise ValueError(f"there is no command {name!r}")
        reply = command(request)
        if not isinstance(reply, LongPoll):
            return reply
        end = time.monotonic() + reply.seconds
        while (left := end - time.monotonic()) > 0:
            if reply.wait(min(left, POLL_INTERVAL_S)) or self._notifier.is_over or _has_left(peer):
                break
        return reply.reply()

    def _watch(self, peer: socket.socket, request: CommandData) -> None:
        at: Any = request.get("from", 0)
        at = at if type(at) is int and at >= 0 else 0
        peer.sendall(jsonrpc.encode({"ok": self._about}) + b"\n")
        log = self._open_log()
        try:
            while True:
                version, is_over = self._notifier.version(), self._notifier.is_over
                data, at = log.read(at)
                if data:
                    peer.sendall(data)
                elif is_over:
                    return
                else:
                    self._notifier.wait(version, WATCH_INTERVAL_S)
                    if _has_left(peer):
                        return
        finally:
            log.close()


class SocketDirectoryError(AcpError):
    """The directory for sockets cannot be used; the message says why."""


def socket_directory() -> Path:
    """Return the directory for sockets, which only its user may enter; create it if it is missing.

    Raises:
        SocketDirectoryError: it cannot be created, or others have access to it.
    """
    home = os.environ.get("XDG_RUNTIME_DIR")
    user = os.getuid()
    path = (
        Path(home) / "acp-console" if home else Path(tempfile.gettempdir(), f"acp-console-{user}")
    )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as problem:
        raise SocketDirectoryError(f"{path} cannot be created: {problem.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise SocketDirectoryError(f"{path} is not a directory")
    if found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077:
        raise SocketDirectoryError(f"{path} is open to others; only its user may have access")
    return path


def socket_name(name: str, pid: int) -> str:
    """Return the name of the socket of the proxy `name` with that process id."""
    letters = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:MAX_NAME_CHARS] or "agent"
    return f"{letters}-{pid}{SOCKET_SUFFIX}"


def sockets() -> list[Path]:
    """Return the sockets in the directory, whether or not their proxies still run, by name."""
    return sorted(socket_directory().glob(f"*{SOCKET_SUFFIX}"))


def _has_left(peer: socket.socket) -> bool:
    readable, _, _ = select.select([peer], [], [], 0)
    return bool(readable) and not peer.recv(1, socket.MSG_PEEK)


def parse_object(line: bytes) -> Mapping[str, Any]:
    """Return the JSON object on a line; an empty one if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _user_of(peer: socket.socket) -> int:
    """Return the user on the other end of a connection."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getuid()
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return user


# Commands.


def commands_on(lazy: LazyController) -> Mapping[str, Command]:
    """Return the commands beside `hello` and `watch`, by name."""

    def of(command: Callable[[InterceptController, CommandData], Any]) -> Command:
        def run(request: CommandData) -> Any:
            controller = lazy.get()
            controller.heartbeat()
            return command(controller, request)

        return run

    return {
        "state": lambda _: _state(lazy.controller),
        "held": of(_held),
        "read": of(lambda c, r: encode_bytes(c.read(_hold(c, r)))),
        "break": of(_break),
        "clear": of(lambda c, r: c.clear_breakpoint(_number(r))),
        "pause": of(lambda c, r: c.pause()),
        "resume": of(lambda c, r: c.resume()),
        "release_all": of(lambda c, r: c.release_all()),
        "keep": of(
            lambda c, r: c.extend_timeouts(_seconds(r, "seconds") if "seconds" in r else None)
        ),
        "release": of(lambda c, r: c.release(_hold(c, r))),
        "discard": of(lambda c, r: c.discard(_hold(c, r), is_silent=r.get("silent") is True)),
        "edit": of(lambda c, r: c.edit(_hold(c, r), _raw(r), is_forced=r.get("force") is True)),
        "duplicate": of(lambda c, r: c.duplicate(_hold(c, r), _number(r, "times", 2))),
        "delay": of(lambda c, r: c.delay(_hold(c, r), _seconds(r, "seconds"))),
        "answer": of(_answer),
        "inject": of(_inject),
    }


def encode_bytes(raw: bytes) -> dict[str, str]:
    """Return bytes as fields of a command or a reply."""
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def _state(controller: InterceptController | None) -> Any:
    # Asking for the state is no reason to create a controller.
    if controller is None:
        return {"paused": False, "breakpoints": [], "holds": [], "struck": {}}
    controller.heartbeat()
    return {
        "paused": controller.is_paused,
        "limit": controller.hold_timeout,
        "breakpoints": [
            {"id": point.id, "filter": point.expression, "lasting": point.is_lasting}
            for point in controller.breakpoints
        ],
        "holds": [
            {
                "id": hold.id,
                "n": hold.seq,
                "from": hold.side,
                "breakpoint": hold.breakpoint,
                **({} if hold.entry is None else {"entry": hold.entry}),
                "age": round(hold.age, 3),
                "left": round(hold.left, 3),
                "waiting": hold.waiting,
                "size": len(hold.raw),
                **_preview(hold.raw),
            }
            for hold in controller.holds()
        ],
        "struck": controller.match_counts,
    }


def _preview(raw: bytes) -> dict[str, Any]:
    if len(raw) <= MAX_PREVIEW_BYTES:
        return encode_bytes(raw)
    # A character that is cut in two is left out.
    return {"text": raw[:MAX_PREVIEW_BYTES].decode(errors="ignore"), "is_cut": True}


def _held(controller: InterceptController, request: CommandData) -> LongPoll:
    after = _number(request, "after", 0)
    return LongPoll(
        _timeout(request, "seconds"),
        lambda seconds: controller.wait_for_hold(seconds, after),
        lambda: _state(controller),
    )


def _break(controller: InterceptController, request: CommandData) -> Any:
    # A breakpoint of a passing observer must not go when another observer leaves.
    is_lasting = request.get("lasting", request.get("passing")) is True
    return {"id": controller.set_breakpoint(_text(request, "filter"), is_lasting=is_lasting).id}


def _answer(controller: InterceptController, request: CommandData) -> None:
    if ("error" in request) == ("result" in request):
        raise ValueError("answer needs either result or error")
    if "error" in request:
        if request["error"] is None:
            raise ValueError("an error needs an integer `code` and a `message`")
        controller.answer(_hold(controller, request), error=request["error"])
    else:
        controller.answer(_hold(controller, request), result=request["result"])


def _inject(controller: InterceptController, request: CommandData) -> Any:
    side: Any = request.get("from")
    if side not in {"client", "agent"}:
        raise ValueError("from has to be client or agent: the sender that the receiver sees")
    raw, is_forced = _raw(request), request.get("force") is True
    if not is_forced:
        # Imported late, so that a proxy that only forwards starts fast.
        from acp_inspector.intercept.message import check_json, check_single_line

        check_single_line(raw)
        check_json(raw)
    injection = controller.inject(
        cast("Side", side),
        raw,
        is_forced=is_forced,
        keeps_id=request.get("keep_id") is True,
    )
    wait = _timeout(request, "wait")
    if not (wait and injection.expects_response):
        # Its number is known as soon as it is sent.
        return LongPoll(SEND_TIMEOUT_S, injection.wait_until_sent, lambda: _injected(injection))
    return LongPoll(
        wait,
        lambda seconds: injection.wait_for_response(seconds) is not None,
        lambda: _injected(injection),
    )


def _injected(injection: Injection) -> Any:
    reply: dict[str, Any] = {"id": injection.id, "n": injection.seq}
    if injection.response is not None:
        reply["answer"] = encode_bytes(injection.response)
    return reply


def _text(request: CommandData, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name} has to be a text")
    return value


def _hold(controller: InterceptController, request: CommandData) -> int:
    """Return the id of a held frame; without one, that of the oldest."""
    if "id" in request:
        return _number(request)
    holds = controller.holds()
    if not holds:
        raise ValueError("no frame is held")
    return holds[0].id


def _number(request: CommandData, name: str = "id", default: int | None = None) -> int:
    value = request.get(name, default)
    if type(value) is not int:
        raise TypeError(f"{name} has to be a whole number")
    return value


def _seconds(request: CommandData, name: str, default: float | None = None) -> float:
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} has to be a number of seconds")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too many seconds") from None


def _timeout(request: CommandData, name: str) -> float:
    seconds = _seconds(request, name, 0.0)
    if not 0 <= seconds <= MAX_WAIT_S:
        raise ValueError(f"{name} has to be 0 to {MAX_WAIT_S:.0f} seconds")
    return seconds


def _raw(request: CommandData) -> bytes:
    given = [name for name in ("text", "json", "b64") if name in request]
    if len(given) != 1:
        raise ValueError("the frame has to be in one of text, json and b64")
    if "json" in request:
        return jsonrpc.encode(request["json"])
    if "b64" in request:
        return base64.b64decode(_text(request, "b64"), validate=True)
    return _text(request, "text").encode(errors="surrogatepass")
