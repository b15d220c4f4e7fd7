"""Work that may take long, done in a thread while the loop goes on: trying the patterns of filters.

Nobody is interrupted: who wants the result no more goes away, and the thread ends by itself.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

GLANCE: Final = 0.002
"""Seconds that a result is waited for before the keys are looked at."""
IDLE: Final = 1.0
"""Seconds after which a thread ends that nobody gives anything to do."""


class _Deed(Generic[T]):
    """Something to be done, and what came of it."""

    def __init__(self, deed: Callable[[], T]) -> None:
        self._deed = deed
        self._result: T | None = None
        self._problem: BaseException | None = None
        self.is_over = threading.Event()

    def do(self) -> None:
        """Do it; what goes wrong is for who asked."""
        try:
            self._result = self._deed()
        except BaseException as problem:  # noqa: BLE001 - the border of a worker: it is raised again
            self._problem = problem
        self.is_over.set()

    def result(self) -> T:
        """Return what came of it, or raise what went wrong."""
        if self._problem is not None:
            raise self._problem
        return self._result  # pyright: ignore[reportReturnType] - it is over: there is one


class Aside:
    """A thread for one piece of work after the other; it is there while it has something to do."""

    def __init__(self) -> None:
        self._deeds: queue.SimpleQueue[_Deed[Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def __call__(self, deed: Callable[[], T], /) -> Generator[None, None, T]:
        """Let `deed` be done; pause as long as it goes on, and return what came of it."""
        asked = _Deed(deed)
        with self._lock:
            self._deeds.put(asked)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="aside", daemon=True)
                self._thread.start()
        while not asked.is_over.wait(GLANCE):
            yield
        return asked.result()

    @property
    def is_idle(self) -> bool:
        """Whether there is no thread."""
        return self._thread is None

    def _run(self) -> None:
        while True:
            try:
                deed = self._deeds.get(timeout=IDLE)
            except queue.Empty:
                with self._lock:
                    if self._deeds.empty():
                        self._thread = None
                        return
            else:
                deed.do()
