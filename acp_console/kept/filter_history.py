"""The filters that were used, kept between runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from acp_console.paths import FileWriteError
from acp_console.state_file import StateFile
from acp_protocol.host.state import state_directory

MAX_FILTERS: Final = 200
"""Filters that are kept, at most."""
MAX_LENGTH: Final = 2000
"""Characters of a filter that is kept, at most."""


def history_path() -> Path:
    """Return the file with the filters."""
    return state_directory() / "filters"


class FilterHistory:
    """Filters, the newest last. Errors in reading or writing the file are ignored."""

    def __init__(self, path: Path | None = None, *, limit: int = MAX_FILTERS) -> None:
        self._limit = limit
        self._file = StateFile(path or history_path(), self._parse, _dump, list[str])
        self._filters = self._file.read()
        self._place = len(self._filters)
        self._draft = ""

    def older(self, text: str) -> str:
        """Return the filter before the last returned one; `text` is the current input."""
        if self._place == len(self._filters):
            self._draft = text
        self._place = max(self._place - 1, 0)
        return self._current()

    def newer(self) -> str:
        """Return the filter after the last returned one; at the end, the typed text."""
        self._place = min(self._place + 1, len(self._filters))
        return self._current()

    @property
    def is_browsed(self) -> bool:
        """Whether the last returned filter is from the history."""
        return self._place < len(self._filters)

    def leave(self) -> None:
        self._place = len(self._filters)

    def add(self, text: str) -> None:
        text = text.strip()
        if text and "\n" not in text and len(text) <= MAX_LENGTH:

            def change(kept: list[str]) -> list[str]:
                self._filters = [*(each for each in kept if each != text), text][-self._limit :]
                return self._filters

            with suppress(FileWriteError):
                self._file.change(change)
        self.leave()

    def _current(self) -> str:
        at_end = self._place >= len(self._filters)
        return self._draft if at_end else self._filters[self._place]

    def _parse(self, content: bytes) -> list[str]:
        lines = content.decode(errors="replace").splitlines()
        return [line for line in lines if line and len(line) <= MAX_LENGTH][-self._limit :]


def _dump(filters: list[str]) -> str:
    return "".join(f"{each}\n" for each in filters)
