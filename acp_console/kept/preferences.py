"""What the user chose on the screens, kept between runs.

The console writes it; what the user writes by hand is in `config.toml`, and wins.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from acp_console.paths import FileWriteError
from acp_console.state_file import StateFile
from acp_protocol.host.state import state_directory
from acp_protocol.json_values import as_object, get_text
from acp_protocol.jsonrpc import Json

VERSION: Final = 1


Split: TypeAlias = Literal["rows", "talk"]
"""Two panes that share a screen: rows and their details, a conversation and its traffic."""
SHARES: Final[dict[Split, int]] = {"rows": 60, "talk": 50}
"""The percents of the first pane of each split, where the user has chosen none."""
LEAST_SHARE: Final = 20
MOST_SHARE: Final = 80


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices; None where the user has made none."""

    theme: str | None = None


class PreferenceStore:
    """The choices, in a file of the state directory."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = StateFile(
            path or state_directory() / "preferences.json", _parse, _dump, dict[str, Json]
        )

    def read(self) -> dict[str, Json]:
        """Return all choices that are kept, by name."""
        return self._file.read()

    def get(self) -> Preferences:
        return Preferences(theme=get_text(self.read(), "theme"))

    def update(self, **choices: str | int | None) -> None:
        """Keep some choices; the others stay, also those of a newer console.

        Raises:
            FileWriteError: the file cannot be written.
        """
        self._file.change(lambda kept: {"v": VERSION, **kept, **choices})


class PaneLayout:
    """How panes share the screen and how their times are written, the same on all screens."""

    def __init__(self, store: PreferenceStore | None = None) -> None:
        """Begin with what `store` keeps; without one, choices last as long as the program."""
        self._store = store

    @cached_property
    def _choices(self) -> dict[str, Json]:
        return {} if self._store is None else self._store.read()

    def share(self, split: Split) -> int:
        """Return the percents of the first of two panes."""
        kept = self._choices.get(f"{split}_share")
        share = kept if type(kept) is int else SHARES[split]
        return max(LEAST_SHARE, min(share, MOST_SHARE))

    @property
    def times(self) -> str:
        """The format of times; empty where the user has chosen none."""
        return get_text(self._choices, "times") or ""

    def choose_share(self, split: Split, share: int) -> None:
        """Change a share, for as long as the program runs."""
        self._choices[f"{split}_share"] = share

    def choose_times(self, times: str) -> None:
        self._choices["times"] = times
        self.keep()

    def keep(self) -> None:
        """Write the choices; a file that cannot be written is not worth a message."""
        names = ("times", *(f"{split}_share" for split in SHARES))
        kept = {name: self._choices[name] for name in names if name in self._choices}
        if self._store is not None:
            with suppress(FileWriteError):
                self._store.update(**cast("dict[str, str | int]", kept))


def _parse(content: bytes) -> dict[str, Json]:
    # The first screen waits for this, so it does without pydantic, which is slow to import.
    return as_object(json.loads(content))


def _dump(choices: dict[str, Json]) -> str:
    return json.dumps(choices) + "\n"
