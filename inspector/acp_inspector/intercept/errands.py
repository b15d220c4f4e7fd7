"""Other people's code, run so that who waits for it need not wait for ever."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class HungError(Exception):
    """Code did not return in time; it may go on in a thread that nobody waits for."""

    def __init__(self, trace: object) -> None:
        super().__init__()
        self.trace = trace
        """The frame in which it was met; None if it cannot be told."""


class _GivenUpError(BaseException):
    """Ends a thread that nobody waits for, where it comes back to Python."""


class _Outcome(Generic[T]):
    """What came of a call."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._value: list[T] = []
        self._problem: BaseException | None = None

    def try_it(self, call: Callable[[], T]) -> None:
        try:
            self._value.append(call())
        except BaseException as problem:  # noqa: BLE001 - whatever it is, who asked gets it
            self._problem = problem
        self._told.set()

    def wait(self, limit: float) -> bool:
        return self._told.wait(limit)

    def get(self) -> T:
        if self._problem is not None:
            raise self._problem
        return self._value[0]


class Errands:
    """A thread that runs one call after the other; lost when one does not return."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], T], limit: float) -> T:
        """Return what `call` returns, or raise what it raises, within `limit` seconds.

        Raises:
            HungError: it has not come back. No other call may follow.
        """
        outcome = _Outcome[T]()
        self._calls.put(lambda: outcome.try_it(call))
        if outcome.wait(limit):
            return outcome.get()
        # The underscore means "for debuggers"; it is documented, and this is what it is for.
        threads = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        trace = threads.get(self._thread.ident or 0)
        self.close()
        self._interrupt()
        raise HungError(trace)

    def close(self) -> None:
        """Take no more calls."""
        self._calls.put(None)

    def _run(self) -> None:
        try:
            while (call := self._calls.get()) is not None:
                call()
                # What a call holds must not live until the next one comes.
                del call
        except _GivenUpError:
            return

    def _interrupt(self) -> None:
        # A loop would take the interpreter's lock from the traffic for as long as the proxy runs.
        set_error = ctypes.pythonapi.PyThreadState_SetAsyncExc
        set_error(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(_GivenUpError))
