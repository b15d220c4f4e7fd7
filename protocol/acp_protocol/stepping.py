"""Awaiting in two parts: a first step, which may be all, and the rest.

Most handlers answer without waiting for anything. Whoever runs them should not have to start a task
before it knows.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Coroutine[Any, Any, T]
"""What an `async def` returns: each step yields what has to happen before the next one."""


@coroutine
def rest_of(steps: Steps[T], awaited: Any) -> Generator[Any, Any, T]:
    """Await the rest of `steps`, whose last one yielded `awaited`, and return their result.

    Has to be awaited by the task that took the first step, before anything else.
    """
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001 - it belongs to the steps, whatever it is
            try:
                awaited = steps.throw(error)
            except StopIteration as end:
                return end.value
        else:
            try:
                awaited = steps.send(sent)
            except StopIteration as end:
                return end.value
