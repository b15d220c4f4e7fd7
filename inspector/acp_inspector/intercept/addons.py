"""Add-ons: hooks that a user writes in Python, and what they can do to a frame.

Hooks run in a thread of their own, one frame at a time. The frame's direction waits for the hook,
up to a limit: a hook that does not return in time is skipped until its file changes. An exception
in a hook is reported once, and the frame passes as if the hook were not there.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from types import FrameType, ModuleType
from typing import Any, Final

from acp_inspector.intercept.controller import WarnOnce
from acp_inspector.intercept.message import (
    Inject,
    InterceptedFrame,
    InterceptError,
    check_single_line,
    encode,
    parse_or_none,
)
from acp_inspector.journal import Frame
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

RELOAD_INTERVAL_S: Final = 1.0
"""Seconds between two checks whether the file has changed."""
HOOK_TIMEOUT_S: Final = 5.0
"""Seconds that a hook may take."""


class AddonError(AcpError):
    """A file cannot be used as an add-on; the message says why in one sentence."""


class HookTimeoutError(Exception):
    """A hook did not return in time; it may go on in its thread."""

    def __init__(self, frame: FrameType | None) -> None:
        super().__init__()
        self.frame = frame
        """The stack frame that the hook is in."""


class AddonFrame:
    """A frame as a hook sees it."""

    def __init__(self, frame: Frame) -> None:
        self.n = frame.seq
        """The number of the frame in the recording."""
        self.side: Side = frame.side
        """The sender: `client` or `agent`."""
        self.raw = frame.data
        """The bytes, without the line ending."""

    def json(self) -> Json:
        """Return the parsed frame, the same object every time; None if it is not JSON."""
        return self._json

    @cached_property
    def _json(self) -> Json:
        return parse_or_none(self.raw)


class Flow:
    """The actions of a hook, on its frame and besides.

    Actions change a copy: a hook that fails half-way has no effect.
    """

    def __init__(self, name: str, inject: Inject, frame: InterceptedFrame | None = None) -> None:
        self._name = name
        self._inject = inject
        self._frame = frame.copy() if frame else None
        self._injected: list[tuple[Side, bytes]] | None = [] if frame else None
        self._is_closed = False

    def drop(self) -> None:
        """Do not send the frame, and send no error response either."""
        self._frame_to("drop").drop(self._name)

    def discard(self) -> None:
        """Do not send the frame; the sender of a request gets an error response."""
        self._frame_to("discard").discard(self._name)

    def replace(self, content: object) -> None:
        """Send these bytes, or this value as JSON, in place of the frame.

        Raises:
            InterceptError: the bytes are more than one line, or JSON cannot represent the value.
        """
        raw = content if isinstance(content, bytes) else encode(content)
        self._frame_to("replace").edit(raw, self._name)

    def answer(self, *, result: Json = None, error: Json = None) -> None:
        """Respond to the request in the other peer's place; it is not sent.

        Raises:
            InterceptError: the frame is not a request, or the error has no `code` and `message`.
        """
        self._frame_to("answer").answer(self._name, result=result, error=error)

    def delay(self, seconds: float) -> None:
        self._frame_to("delay").delay(seconds, self._name)

    def inject(self, side: Side, raw: bytes) -> None:
        """Send a frame as if `side` had sent it, once the hook has returned.

        A request gets an id of its own, and the other peer does not get its response.

        Raises:
            InterceptError: there is no such side, or `raw` is more than one line.
        """
        if side not in {"client", "agent"}:
            raise InterceptError(f"a frame comes from `client` or `agent`, not from {side!r}")
        check_single_line(raw)
        if self._is_closed:
            raise InterceptError("it is too late to inject anything")
        if self._injected is None:
            self._inject(side, raw, self._name)
        else:
            self._injected.append((side, raw))

    def note(self, text: str) -> None:
        self._frame_to("note").add_event("note", self._name, text=str(text))

    def apply(self) -> InterceptedFrame:
        """Send the frames that the hook injected; return the frame as the hook left it."""
        assert self._frame is not None
        done, self._frame = self._frame, None
        injected, self._injected = self._injected or [], None
        for side, raw in injected:
            self._inject(side, raw, self._name)
        return done

    def close(self) -> None:
        """Refuse all actions from now on, because the hook has taken too long."""
        self._is_closed = True
        self._frame = None

    def _frame_to(self, action: str) -> InterceptedFrame:
        if self._frame is None:
            raise InterceptError(f"there is no frame to {action}")
        return self._frame


class Addon:
    """One file of hooks: `on_frame(frame, flow)`, and optionally `start(flow)` and `done()`."""

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        timeout: float = HOOK_TIMEOUT_S,
    ) -> None:
        """Load the file; its `start` is called with the first frame.

        Raises:
            AddonError: it cannot be read, fails, or has no `on_frame`.
        """
        self._path = path
        self._warnings = WarnOnce(warn)
        self._clock = clock
        self._timeout = timeout
        self._lock = threading.Lock()
        self._checked_at = clock()
        self._is_started = self._is_done = self._is_disabled = False
        self._stamp = self._file_stamp()
        """Which version of the file was loaded last, or could not be loaded."""
        self._module, self._worker = self._load()

    @property
    def name(self) -> str:
        return self._path.name

    def process(self, frame: InterceptedFrame, inject: Inject) -> InterceptedFrame:
        """Run the hook; one frame of both directions at a time."""
        with self._lock:
            if self._is_done:
                return frame
            if not self._is_started:
                self._is_started = True
                self._call("start", Flow(self.name, inject))
            self._reload_if_changed(inject)
            if self._is_disabled:
                return frame
            flow = Flow(self.name, inject, frame)
            has_returned = self._call("on_frame", AddonFrame(frame.current), flow)
            return flow.apply() if has_returned else frame

    def close(self) -> None:
        """Call `done`, if the hooks were ever in use, and no hook after it."""
        with self._lock:
            if self._is_started and not (self._is_done or self._is_disabled):
                self._call("done")
            self._is_done = True
            self._worker.close()

    def _reload_if_changed(self, inject: Inject) -> None:
        now = self._clock()
        if now - self._checked_at < RELOAD_INTERVAL_S:
            return
        self._checked_at = now
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            module, worker = self._load()
        except AddonError as problem:
            goes_on = "stays skipped" if self._is_disabled else "goes on"
            self._warnings.warn(f"{problem}; the version before {goes_on}")
            return
        if not self._is_disabled:
            self._call("done")
        self._worker.close()
        self._module, self._worker = module, worker
        self._is_disabled = False
        self._warnings.reset()
        self._call("start", Flow(self.name, inject))
        self._warnings.warn(f"add-on {self.name} was reloaded")

    def _file_stamp(self) -> object:
        try:
            found = self._path.stat()
        except OSError:
            return "missing"
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> tuple[ModuleType, _HookThread]:
        """Run the file as a new module; no bytecode is written."""
        module = ModuleType(f"acp_addon_{self._path.stem}")
        module.__file__ = str(self._path)
        before = sys.modules.get(module.__name__)
        # Dataclasses look up their module there.
        sys.modules[module.__name__] = module
        worker = _HookThread(self.name)
        try:
            worker.run(lambda: self._execute(module), self._timeout)
        except HookTimeoutError as problem:
            line = self._line(traceback.walk_stack(problem.frame))
            reason = f"did not come to its end in {self._timeout:g} s{line}"
        except OSError as problem:
            reason = f"cannot be read: {problem.strerror or problem}"
        except BaseException as problem:  # noqa: BLE001 - a file that exits must not end the proxy
            reason = f"failed: {type(problem).__name__}: {problem}"
        else:
            if callable(getattr(module, "on_frame", None)):
                return module, worker
            reason = "has no function `on_frame(frame, flow)`"
        worker.close()
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
        raise AddonError(f"add-on {self._path} {reason}")

    def _execute(self, module: ModuleType) -> None:
        code = compile(self._path.read_bytes(), str(self._path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - running it is what it was given for

    def _call(self, name: str, *arguments: object) -> bool:
        """Call a hook, if there is one; return whether it has returned without an error."""
        hook: Any = getattr(self._module, name, None)
        if not callable(hook):
            return True
        try:
            self._worker.run(lambda: hook(*arguments), self._timeout)
        except HookTimeoutError as problem:
            for flow in arguments:
                if isinstance(flow, Flow):
                    flow.close()
            self._is_disabled = True
            line = self._line(traceback.walk_stack(problem.frame))
            self._warnings.warn(
                f"{self.name}, {name}{line} did not return in {self._timeout:g} s: "
                "it is skipped until the file changes"
            )
            return False
        except BaseException as problem:  # noqa: BLE001 - even its exit must not end the traffic
            frames = reversed([*traceback.walk_tb(problem.__traceback__)])
            self._warnings.failure(f"{self.name}, {name}{self._line(frames)}", problem)
            return False
        return True

    def _line(self, frames: Iterable[tuple[FrameType, int]]) -> str:
        """Return the line of the file that is innermost in a stack."""
        for frame, line in frames:
            if frame.f_code.co_filename == str(self._path):
                return f" (line {line})"
        return ""


class _HookThread:
    """Runs the hooks of one version of a file."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"add-on {name}", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], object], timeout: float) -> None:
        """Wait until `call` has returned; raise what it raises.

        Raises:
            HookTimeoutError: it has not returned in `timeout` seconds. No other call may follow.
        """
        done = threading.Event()
        problems: list[BaseException] = []

        def try_call() -> None:
            try:
                call()
            except BaseException as problem:  # noqa: BLE001 - the caller gets it
                problems.append(problem)
            done.set()

        self._calls.put(try_call)
        if not done.wait(timeout):
            self.close()
            # Documented, although "for debuggers".
            frames = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            raise HookTimeoutError(frames.get(self._thread.ident or 0))
        if problems:
            raise problems[0]

    def close(self) -> None:
        """Accept no more calls."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            # Drop the references of a call now, not when the next one comes.
            del call
