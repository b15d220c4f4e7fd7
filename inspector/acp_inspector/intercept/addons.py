"""Hooks that a person writes in Python, and the file they stand in, read anew when it changes.

What fails in a hook is told once, and the frame passes as if the hook were not there. A hook runs
in the writer thread of a direction: while it works, that direction waits.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from acp_inspector.intercept.complaints import Complaints
from acp_inspector.intercept.flow import AddonFrame, Flow
from acp_inspector.intercept.passage import Inject, Passage
from acp_protocol.errors import AcpError

LOOK: Final = 1.0
"""Seconds between two looks at whether the file has changed."""


class AddonError(AcpError):
    """A file cannot be used as an add-on; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class _Version:
    """The file as it was at one time."""

    stamp: object
    module: ModuleType

    def hook(self, name: str) -> Callable[..., object] | None:
        found: Any = getattr(self.module, name, None)
        return found if callable(found) else None


class Addon:
    """One file of hooks: `on_frame(frame, flow)`, and if it likes `start(flow)` and `done()`."""

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load the file; its `start` is called with the first frame.

        Raises:
            AddonError: it cannot be read, fails, or has no `on_frame`.
        """
        self._path = path
        self._complaints = Complaints(warn)
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._refused: object = None
        self._is_started = self._is_done = False
        self._version = self._load(self._stamp())

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def interfere(self, passage: Passage, inject: Inject) -> Passage:
        """Let the hook do its deeds to a frame; one frame of both directions at a time."""
        with self._lock:
            if self._is_done:
                return passage
            if not self._is_started:
                self._is_started = True
                self._call("start", Flow(self.name, inject))
            self._reload(inject)
            flow = Flow(self.name, inject, passage)
            frame = AddonFrame(passage.current)
            has_worked = self._call("on_frame", frame, flow)
            return flow.settle() if has_worked else passage

    def close(self) -> None:
        """Call `done`, if the hooks were ever in use, and no hook after it."""
        with self._lock:
            if self._is_started and not self._is_done:
                self._call("done")
            self._is_done = True

    def _reload(self, inject: Inject) -> None:
        now = self._clock()
        if now - self._looked_at < LOOK:
            return
        self._looked_at = now
        stamp = self._stamp()
        if stamp in {self._version.stamp, self._refused}:
            return
        try:
            version = self._load(stamp)
        except AddonError as problem:
            self._refused = stamp
            self._complaints.tell(f"{problem}; the version before goes on")
            return
        self._call("done")
        self._version, self._refused = version, None
        self._complaints = self._complaints.anew()
        self._call("start", Flow(self.name, inject))
        self._complaints.tell(f"add-on {self.name} was loaded anew")

    def _stamp(self) -> object:
        try:
            found = self._path.stat()
        except OSError:
            return "missing"
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self, stamp: object) -> _Version:
        """Run the file as a module of its own; no compiled copy of it is kept anywhere."""
        module = ModuleType(f"acp_addon_{self._path.stem}")
        module.__file__ = str(self._path)
        before = sys.modules.get(module.__name__)
        # Dataclasses look their module up there.
        sys.modules[module.__name__] = module
        try:
            source = self._path.read_bytes()
            code = compile(source, str(self._path), "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - running it is what it was given for
        except OSError as problem:
            reason = f"cannot be read: {problem.strerror or problem}"
        except BaseException as problem:  # noqa: BLE001 - a file that exits must not end the proxy
            reason = f"failed: {type(problem).__name__}: {problem}"
        else:
            version = _Version(stamp, module)
            if version.hook("on_frame"):
                return version
            reason = "has no function `on_frame(frame, flow)`"
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
        raise AddonError(f"add-on {self._path} {reason}")

    def _call(self, name: str, *arguments: object) -> bool:
        """Call a hook, if there is one; tell whether nothing went wrong."""
        try:
            if hook := self._version.hook(name):
                hook(*arguments)
        except BaseException as problem:  # noqa: BLE001 - even its exit must not end the traffic
            self._complaints.failure(f"{self.name}, {name}{self._line_of(problem)}", problem)
            return False
        return True

    def _line_of(self, problem: BaseException) -> str:
        """Return where in the file it happened."""
        line, step = 0, problem.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == str(self._path):
                line = step.tb_lineno
            step = step.tb_next
        return f" (line {line})" if line else ""
