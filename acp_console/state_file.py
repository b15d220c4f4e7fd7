"""Small files in which the console keeps something between two runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from acp_console.paths import write_private
from acp_protocol.user_files.toml_source import InvalidFileError, read_own

T = TypeVar("T")

MAX_BYTES: Final = 1 << 23
"""Size of a file that is read, at most."""


@dataclass(frozen=True, slots=True)
class StateFile(Generic[T]):
    """A private file with one value; one that cannot be read counts as the default."""

    path: Path
    parse: Callable[[bytes], T]
    """Returns the value of a content, or raises ValueError."""
    dump: Callable[[T], str]
    default: Callable[[], T]

    def read(self) -> T:
        """Return the value."""
        try:
            return self.parse(read_own(self.path, MAX_BYTES))
        except (InvalidFileError, ValueError, RecursionError):
            return self.default()

    def change(self, change: Callable[[T], T]) -> T:
        """Replace the value by what `change` makes of it; return the new one.

        The file is read again, because another process may have written to it.

        Raises:
            FileWriteError: the file cannot be written.
        """
        value = change(self.read())
        write_private(self.path, self.dump(value))
        return value
