"""Small files in which the console keeps something between two runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from acp_console.paths import FileWriteError, write_private
from acp_protocol.user_files.toml_source import InvalidFileError, read_own

T = TypeVar("T")

MAX_BYTES: Final = 1 << 23
"""Size of a file that is read, at most."""


@dataclass(frozen=True, slots=True)
class StateFile(Generic[T]):
    """A private file with one value."""

    path: Path
    parse: Callable[[bytes], T]
    """Returns the value of a content, or raises ValueError."""
    dump: Callable[[T], str]
    default: Callable[[], T]
    """Returns the value where there is no file."""

    def load(self) -> T:
        """Return the value.

        Raises:
            InvalidFileError: the file cannot be read.
            ValueError: it holds no such value.
        """
        if not os.path.lexists(self.path):
            return self.default()
        return self.parse(read_own(self.path, MAX_BYTES))

    def read(self) -> T:
        """Return the value; a file that cannot be read counts as none."""
        try:
            return self.load()
        except (InvalidFileError, ValueError, RecursionError):
            return self.default()

    def write(self, value: T) -> None:
        """Replace the value.

        Raises:
            FileWriteError: the file cannot be written, or could not be read again.
        """
        text = self.dump(value)
        if len(text.encode(errors="replace")) > MAX_BYTES:
            raise FileWriteError(f"{self.path}: larger than {MAX_BYTES // 2**20} MiB")
        write_private(self.path, text)

    def change(self, change: Callable[[T], T]) -> T:
        """Replace the value by what `change` makes of it; return the new one.

        The file is read again, because another process may have written to it.

        Raises:
            FileWriteError: the file cannot be written.
        """
        value = change(self.read())
        self.write(value)
        return value
