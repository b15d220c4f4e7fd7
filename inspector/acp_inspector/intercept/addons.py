"""Hooks that a person writes in Python, and the file they stand in, read anew when it changes.

What fails in a hook is told once, and the frame passes as if the hook were not there. Hooks run in
a thread of their own: while one works, the direction waits that brought it a frame, but not for
ever. One that hangs, or lets the proxy grow beyond all measure, is passed over until the file
changes.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

from acp_inspector.intercept.complaints import Complaints
from acp_inspector.intercept.errands import Errands, HungError
from acp_inspector.intercept.flow import AddonFrame, Flow
from acp_inspector.intercept.footprint import resident
from acp_inspector.intercept.passage import Inject, Passage
from acp_protocol.errors import AcpError

LOOK: Final = 1.0
"""Seconds between two looks at whether the file has changed."""
PATIENCE: Final = 5.0
"""Seconds after which a hook counts as hung."""
GROWTH: Final = 2**30
"""Bytes by which the proxy may grow while an add-on is at work."""


class AddonError(AcpError):
    """A file cannot be used as an add-on; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class _Version:
    """The file as it was at one time, and who runs it."""

    stamp: object
    module: ModuleType
    errands: Errands

    def hook(self, name: str) -> Callable[..., object] | None:
        found: Any = getattr(self.module, name, None)
        return found if callable(found) else None

    def drop(self) -> None:
        """Let go of everything that it keeps."""
        self.errands.close()
        self.module.__dict__.clear()


class Addon:
    """One file of hooks: `on_frame(frame, flow)`, and if it likes `start(flow)` and `done()`."""

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        patience: float = PATIENCE,
        growth: int = GROWTH,
    ) -> None:
        """Load the file; its `start` is called with the first frame.

        Raises:
            AddonError: it cannot be read, fails, or has no `on_frame`.
        """
        self._path = path
        self._complaints = Complaints(warn)
        self._clock = clock
        self._patience = patience
        self._growth = growth
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._refused: object = None
        self._is_started = self._is_done = self._is_given_up = False
        self._size = resident()
        self._was_too_big = False
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
            self._look(inject)
            if self._is_given_up:
                return passage
            flow = Flow(self.name, inject, passage)
            has_worked = self._call("on_frame", AddonFrame(passage.current), flow)
            return flow.settle() if has_worked else passage

    def close(self) -> None:
        """Call `done`, if the hooks were ever in use, and no hook after it."""
        with self._lock:
            if self._is_started and not (self._is_done or self._is_given_up):
                self._call("done")
            self._is_done = True
            self._version.errands.close()

    def _look(self, inject: Inject) -> None:
        """Load the file anew if it has changed, and see how big it has grown."""
        now = self._clock()
        if now - self._looked_at < LOOK:
            return
        self._looked_at = now
        stamp = self._stamp()
        if stamp in {self._version.stamp, self._refused}:
            self._weigh()
        else:
            self._reload(stamp, inject)

    def _reload(self, stamp: object, inject: Inject) -> None:
        try:
            version = self._load(stamp)
        except AddonError as problem:
            self._refused = stamp
            before = "it stays passed over" if self._is_given_up else "the version before goes on"
            self._complaints.tell(f"{problem}; {before}")
            return
        if not self._is_given_up:
            self._call("done")
            self._version.errands.close()
        self._version, self._refused = version, None
        self._is_given_up = self._was_too_big = False
        self._size = resident()
        self._complaints = self._complaints.anew()
        self._call("start", Flow(self.name, inject))
        self._complaints.tell(f"add-on {self.name} was loaded anew")

    def _weigh(self) -> None:
        """Give it up if the proxy is far too big at two looks in a row: once may be a long line."""
        grown = resident() - self._size
        is_too_big = grown > self._growth
        if is_too_big and self._was_too_big and not self._is_given_up:
            self._version.drop()
            self._give_up(f"{self.name} has let the proxy grow by {grown >> 20} MB")
        self._was_too_big = is_too_big

    def _give_up(self, why: str) -> None:
        self._is_given_up = True
        self._complaints.tell(f"{why}: it is passed over until the file changes")

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
        errands = Errands(self.name)
        version = _Version(stamp, module, errands)
        try:
            errands.run(lambda: self._execute(module), self._patience)
        except HungError as problem:
            reason = f"did not come to its end in {self._patience:g} s{self._line_in(problem)}"
        except OSError as problem:
            reason = f"cannot be read: {problem.strerror or problem}"
        except BaseException as problem:  # noqa: BLE001 - a file that exits must not end the proxy
            reason = f"failed: {type(problem).__name__}: {problem}"
        else:
            if version.hook("on_frame"):
                return version
            reason = "has no function `on_frame(frame, flow)`"
        errands.close()
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
        raise AddonError(f"add-on {self._path} {reason}")

    def _execute(self, module: ModuleType) -> None:
        code = compile(self._path.read_bytes(), str(self._path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - running it is what it was given for

    def _call(self, name: str, *arguments: object) -> bool:
        """Call a hook, if there is one; tell whether nothing went wrong."""
        hook = self._version.hook(name)
        if hook is None:
            return True
        try:
            self._version.errands.run(lambda: hook(*arguments), self._patience)
        except HungError as problem:
            for flow in arguments:
                if isinstance(flow, Flow):
                    flow.give_up()
            line = self._line_in(problem)
            self._give_up(f"{self.name}, {name}{line} did not return in {self._patience:g} s")
            return False
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

    def _line_in(self, problem: HungError) -> str:
        """Return where in the file it was met."""
        step = problem.trace
        while isinstance(step, FrameType) and step.f_code.co_filename != str(self._path):
            step = step.f_back
        return f" (line {step.f_lineno})" if isinstance(step, FrameType) else ""
