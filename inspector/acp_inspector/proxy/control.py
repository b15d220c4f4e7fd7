"""The socket by which observers attach to a running proxy, and interfere if they want to.

Every line is a JSON object. What an observer asks is `{"do": …}`; each question has one answer,
`{"ok": …}` or `{"error": …}`, but for `watch`: after its answer the recording follows, from its
first line on, as it lies in the file and then as it grows. Each observer has a thread of its own
that reads and sends at the observer's pace, so that one that stands still stands alone.

| `do`    | with                                   | answer                                     |
|---------|----------------------------------------|--------------------------------------------|
| `hello` | `passing`: whether it will not stay    | who this proxy is                          |
| `watch` | `from`: a place in the recording       | who this proxy is, then the recording      |
| others  | what the deed needs                    | what the deed returns                      |

Who watches or does deeds is missed when it leaves; who said that it is `passing` is not, and what
it sets stays.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, cast

from acp_inspector.proxy.deeds import Waiting
from acp_inspector.proxy.log import Growth, Log
from acp_inspector.proxy.runtime import runtime_directory, socket_name
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError

OBSERVERS: Final = 16
"""Connections at once, at most."""
QUESTION: Final = 64 * 2**20
"""Bytes of one question: an injected frame may be as long as any."""
LOOK: Final = 2.0
"""Seconds after which an observer to whom there is nothing to send is looked after."""
STEP: Final = 0.25
"""The same, for one that waits for what a deed waits for."""
FAREWELL: Final = 0.25
"""Seconds that observers have to get the end of the recording when the proxy ends."""

Deed = Callable[[Mapping[str, Any]], Any]
"""Does what a question asks for, or returns what has to be waited for; an error of the asker's is
an `AcpError`, a `ValueError` or a `TypeError` with a sentence."""


class Control:
    """Listens on a socket while a proxy runs.

    `deeds` are what may be asked beside `hello` and `watch`. `left` is called when the last one has
    gone who did deeds, and when there was none, the last one who watched: what is left unfinished
    has nobody any more.
    """

    def __init__(
        self,
        name: str,
        about: Mapping[str, Any],
        open_log: Callable[[], Log],
        growth: Growth,
        *,
        deeds: Mapping[str, Deed] | None = None,
        left: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the socket.

        Raises:
            RuntimeDirectoryError: there is no safe place for it.
            OSError: it cannot be opened.
        """
        self._about = {"name": name, "pid": os.getpid(), **about}
        self._open_log = open_log
        self._growth = growth
        self._deeds = dict(deeds or {})
        self._left = left
        self._threads: set[threading.Thread] = set()
        self._watchers: set[threading.Thread] = set()
        self._doers: set[threading.Thread] = set()
        """Those who would be missed, even if others still watch."""
        self._lock = threading.Lock()
        self.path: Path = runtime_directory() / socket_name(name, os.getpid())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path.unlink(missing_ok=True)
        # The directory is private; the socket is so too, should it ever be moved.
        before = os.umask(0o177)
        try:
            self._socket.bind(str(self.path))
        finally:
            os.umask(before)
        self._socket.listen(OBSERVERS)
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def close(self) -> None:
        """Let observers read to the end for a moment, then listen no more."""
        self._growth.end()
        with self._lock:
            threads = list(self._threads)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.path.unlink(missing_ok=True)
        for thread in threads:
            thread.join(FAREWELL / max(len(threads), 1))

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            if _user_of(peer) != os.getuid() or not self._has_room():
                peer.close()
                continue
            thread = threading.Thread(
                target=self._serve, args=(peer,), name="observer", daemon=True
            )
            with self._lock:
                # Whoever closes us waits for each of these, which must have begun by then.
                thread.start()
                self._threads.add(thread)

    def _has_room(self) -> bool:
        with self._lock:
            return len(self._threads) < OBSERVERS

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer, peer.makefile("rb") as questions, suppress(OSError):
                self._converse(peer, questions)
        finally:
            me = threading.current_thread()
            with self._lock:
                self._threads.discard(me)
                is_missed = self._doers == {me} or (self._watchers == {me} and not self._doers)
                self._doers.discard(me)
                self._watchers.discard(me)
            if is_missed:
                self._left()

    def _converse(self, peer: socket.socket, questions: BufferedReader) -> None:
        is_passing = False
        while line := questions.readline(QUESTION):
            if not line.endswith(b"\n"):
                # Too long, or who asked is gone in the middle of it: what follows is no question.
                peer.sendall(jsonrpc.encode({"error": "the question has no end"}) + b"\n")
                return
            question = _read(line)
            is_passing = is_passing or question.get("passing") is True
            question = {**question, "passing": is_passing}
            if question.get("do") != "hello" and not is_passing:
                known = self._watchers if question.get("do") == "watch" else self._doers
                with self._lock:
                    known.add(threading.current_thread())
            if question.get("do") == "watch":
                self._watch(peer, question)
                return
            peer.sendall(self._answer(peer, question))

    def _answer(self, peer: socket.socket, question: Mapping[str, Any]) -> bytes:
        """Return the line that answers a question."""
        try:
            return jsonrpc.encode({"ok": self._done(peer, question)}) + b"\n"
        except (AcpError, ValueError, TypeError) as problem:
            told = str(problem)
        except Exception as problem:  # noqa: BLE001 - an observer's mistake must not end its thread
            told = f"this cannot be done: {type(problem).__name__}: {problem}"
        return jsonrpc.encode({"error": told}) + b"\n"

    def _done(self, peer: socket.socket, question: Mapping[str, Any]) -> Any:
        name = question.get("do")
        if name is None:
            raise ValueError("a question is a JSON object on one line, whose `do` says what to do")
        if name == "hello":
            return self._about
        deed = self._deeds.get(name) if isinstance(name, str) else None
        if deed is None:
            raise ValueError(f"there is nothing to do by the name of {name!r}")
        done = deed(question)
        if not isinstance(done, Waiting):
            return done
        end = time.monotonic() + done.seconds
        while (left := end - time.monotonic()) > 0:
            if done.look(min(left, STEP)) or self._growth.is_over or _has_left(peer):
                break
        return done.told()

    def _watch(self, peer: socket.socket, question: Mapping[str, Any]) -> None:
        at: Any = question.get("from", 0)
        at = at if type(at) is int and at >= 0 else 0
        peer.sendall(jsonrpc.encode({"ok": self._about}) + b"\n")
        log = self._open_log()
        try:
            while True:
                mark, is_over = self._growth.times(), self._growth.is_over
                data, at = log.read(at)
                if data:
                    peer.sendall(data)
                elif is_over:
                    return
                else:
                    self._growth.wait(mark, LOOK)
                    if _has_left(peer):
                        return
        finally:
            log.close()


def _has_left(peer: socket.socket) -> bool:
    readable, _, _ = select.select([peer], [], [], 0)
    return bool(readable) and not peer.recv(1, socket.MSG_PEEK)


def _read(line: bytes) -> Mapping[str, Any]:
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
