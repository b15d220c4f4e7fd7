"""A bar on stderr for whatever takes over half a second, on a terminal only.

Nothing is paid for each frame: files know how far they are read, commands count what they have
done, and a thread looks at both a few times a second. What the command prints meanwhile stands
above the bar, which is gone at the end.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

import click

from acp_protocol.host.sanitize import single_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from acp_inspector.recording.compression import DecompressedFile

DELAY_S: Final = 0.5
"""Seconds before there is a bar."""
INTERVAL_S: Final = 0.2
"""Seconds between two looks."""
BAR_WIDTH: Final = 30
MIN_LABEL_WIDTH: Final = 12
_NUMBERS_WIDTH: Final = 16
"""Columns of the percentage, the time and the gaps."""
_META: Final = f"{__name__}.progress"
_ERASE: Final = "\r\x1b[2K"

Item = TypeVar("Item")


class Progress:
    """How far a command is: in what it counts, and in the file that it reads."""

    def __init__(self) -> None:
        self._total = 0
        self._done = 0
        self._noun = ""
        self._file: DecompressedFile | None = None
        self._passes = Counter[Path]()
        self._is_about_files = True

    def count(self, total: int, noun: str, done: int = 0) -> None:
        """Count `total` things, of which some are done; the files read for them are not named."""
        self._total, self._done, self._noun = total, done, noun
        self._is_about_files = False

    def advance(self) -> None:
        """Count one more."""
        self._done += 1

    def over(self, items: Sequence[Item], noun: str) -> Iterator[Item]:
        """Yield files, or what has some, and count them; the one that is read is named."""
        self.count(len(items), noun)
        self._is_about_files = True
        for item in items:
            yield item
            self._done += 1
            self._file = None

    def hide(self) -> None:
        """Show nothing more: what comes has no end that is known."""
        self._total, self._file, self._is_about_files = 0, None, True

    def open(self, file: DecompressedFile) -> None:
        """Look from now on at this file."""
        self._file = file
        self._passes[file.path] += 1

    @property
    def label(self) -> str:
        """What is done; empty if nothing is known of it."""
        words: list[str] = []
        if self._total > 1 or not self._is_about_files:
            at = min(self._total, self._done + self._is_about_files)
            words.append(f"{at} of {self._total} {self._noun}")
        if self._file is not None and self._is_about_files:
            words.append(single_line(self._file.path.name, 80))
            if (passes := self._passes[self._file.path]) > 1:
                words.append(f"pass {passes}")
        return " · ".join(words)

    @property
    def fraction(self) -> float:
        """How much of it is done, from 0 to 1."""
        of_file = 0.0 if self._file is None else self._file.fraction_read
        if not self._is_about_files:
            of_file = 0.0
        return min(1.0, (self._done + of_file) / max(1, self._total))


@contextmanager
def showing_progress() -> Generator[None]:
    """Show a bar while the command of the current context works, if it takes long."""
    progress = click.get_current_context().meta[_META] = Progress()
    if not _is_terminal(sys.stderr):
        yield
        return
    from acp_inspector.recording.compression import DecompressedFile

    DecompressedFile.on_open = progress.open
    try:
        with ShownBar(progress):
            yield
    finally:
        DecompressedFile.on_open = None


def current_progress() -> Progress:
    """Return the progress of the running command; one that is not shown if it has no bar."""
    context = click.get_current_context(silent=True)
    found = None if context is None else context.meta.get(_META)
    return found if isinstance(found, Progress) else Progress()


def counting(total: int, noun: str) -> Callable[..., None]:
    """Count `total` things in the bar of this command; return what counts one, whatever it gets."""
    progress = current_progress()
    progress.count(total, noun)

    def advance(*_: object) -> None:
        progress.advance()

    return advance


class ShownBar:
    """Draws a bar below what is printed, while it is entered."""

    def __init__(
        self, progress: Progress, *, delay: float = DELAY_S, interval: float = INTERVAL_S
    ) -> None:
        self._progress = progress
        self._delay, self._interval = delay, interval
        self._began = time.monotonic()
        self._terminal = sys.stderr
        self._before = sys.stdout, sys.stderr
        self._ended = Event()
        self._lock = Lock()
        self._is_drawn = False
        self._is_in_line = False
        """Whether the last line that was printed has no end yet."""
        self._thread = Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> None:
        sys.stdout, sys.stderr = (
            cast("TextIO", _AboveBar(each, self._print)) if _is_terminal(each) else each
            for each in self._before
        )
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        with self._lock:
            self._erase()
        sys.stdout, sys.stderr = self._before

    def _run(self) -> None:
        if self._ended.wait(self._delay):
            return
        # Most commands end before.
        from rich.console import Console

        console = Console(file=self._terminal, highlight=False)
        if console.is_dumb_terminal or not console.is_terminal:
            return
        while not self._ended.is_set():
            with self._lock, suppress(OSError):
                self._draw(console)
            self._ended.wait(self._interval)

    def _draw(self, console: Console) -> None:
        if self._is_in_line or not self._progress.label:
            self._erase()
            return
        from rich.segment import Segments

        row = console.render_lines(self._row(console.width), pad=False)[0]
        self._erase()
        console.print(Segments(row), end="", no_wrap=True, crop=False)
        self._is_drawn = True

    def _row(self, width: int) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        fraction = self._progress.fraction
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        bar_width = min(BAR_WIDTH, max(4, width - _NUMBERS_WIDTH - MIN_LABEL_WIDTH))
        table = Table.grid(padding=(0, 1))
        label_width = max(MIN_LABEL_WIDTH, width - bar_width - _NUMBERS_WIDTH)
        table.add_row(
            single_line(self._progress.label, label_width),
            ProgressBar(1.0, fraction, width=bar_width),
            f"{int(fraction * 100):3} %",
            f"{minutes}:{seconds:02}",
        )
        return table

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            with suppress(OSError):
                self._terminal.write(_ERASE)
                self._terminal.flush()

    def _print(self, stream: TextIO, text: str) -> int:
        """Write to the terminal in the place of the bar."""
        with self._lock:
            self._erase()
            written = stream.write(text)
            if text:
                self._is_in_line = not text.endswith("\n")
                # The bar must not come before it.
                stream.flush()
            return written


class _AboveBar:
    """A stream of the terminal on which a bar is drawn."""

    def __init__(self, stream: TextIO, print_above: Callable[[TextIO, str], int]) -> None:
        self._stream = stream
        self._print_above = print_above

    def write(self, text: str) -> int:
        return self._print_above(self._stream, text)

    def writelines(self, lines: Iterable[str]) -> None:
        self._print_above(self._stream, "".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_terminal(stream: TextIO) -> bool:
    with suppress(ValueError, AttributeError):
        return stream.isatty()
    return False
