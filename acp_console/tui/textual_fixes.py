"""Work-arounds for Textual, each with what it is for; an upgrade may make some of them needless.

This is imported before Textual, so it imports Textual only in functions.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from textual.events import Key
    from textual.message_pump import MessagePump
    from textual.timer import Timer
    from textual.widget import Widget
    from textual.widgets import Input, TextArea


def set_frame_rate(fps: int) -> None:
    """Let Textual draw so often a second, unless the environment says how often.

    Textual reads the variable once, when it is imported; agents need not have it in their
    environment.
    """
    if "TEXTUAL_FPS" not in os.environ:
        os.environ["TEXTUAL_FPS"] = str(fps)
        importlib.import_module("textual.constants")
        del os.environ["TEXTUAL_FPS"]


def set_timer(owner: MessagePump, delay: float, callback: Callable[[], Any]) -> Timer:
    """Call `callback` once, `delay` seconds from now.

    Textual leaves out a tick that is late, also the only one: on a busy machine `delay` may be over
    before its timer begins to wait, and then nothing would ever be called.
    """
    timer = owner.set_timer(delay, callback)
    # Its task begins later.
    timer._skip = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    return timer


def steady_cursors() -> None:
    """Let no cursor blink: each time, the program wakes up and draws, with nothing to show."""
    from textual.widgets import Input, TextArea

    Input.cursor_blink = TextArea.cursor_blink = False  # pyright: ignore[reportAttributeAccessIssue] - a default


def take_keys_in_order() -> None:
    """Let editors act on their own keys, such as backspace, as they come.

    Textual passes a key that is no letter up to the app, which finds its binding; the letters that
    were typed after it are in the text by then.
    """
    from textual.widgets import Input, TextArea

    for editor in (Input, TextArea):
        if "textual_fixes" not in editor._on_key.__module__:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
            _take_own_keys(editor)


def _take_own_keys(editor: type[Input | TextArea]) -> None:
    bound = editor._merged_bindings  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    insert = editor._on_key  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    own = {} if bound is None else bound.key_to_bindings

    async def on_key(self: Any, event: Key) -> None:
        found = own.get(event.key)
        if found and found == self._bindings.key_to_bindings.get(event.key):
            event.stop()
            event.prevent_default()
            await self.run_action(found[0].action)
        else:
            await insert(self, event)

    editor._on_key = on_key  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] - no other way


@contextmanager
def suspended(widget: Widget) -> Generator[None]:
    """Leave the terminal to another program, and take it back, also after an error.

    Textual would leave it for good, and the program hang.
    """
    problem: Exception | None = None
    with widget.app.suspend():
        try:
            yield
        except Exception as why:  # noqa: BLE001 - raised below
            problem = why
    if problem is not None:
        raise problem


@contextmanager
def surviving_terminal() -> Generator[None]:
    """Go on without a terminal that is gone.

    Textual's thread that draws would end with the first error, and the app would wait for it.
    """
    terminal = sys.__stderr__
    if terminal is not None:
        sys.__stderr__ = cast("TextIO", _Terminal(terminal))  # pyright: ignore[reportAttributeAccessIssue] - where Textual draws
    try:
        yield
    finally:
        sys.__stderr__ = terminal  # pyright: ignore[reportAttributeAccessIssue] - as it was


class _Terminal:
    """What is drawn on; one that is gone takes everything."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()
