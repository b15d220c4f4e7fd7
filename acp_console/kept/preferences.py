"""What the user chose on the screens, kept between runs.

The console writes it; what the user writes by hand is in `config.toml`, and wins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acp_console.state_file import StateFile
from acp_protocol.host.state import state_directory
from acp_protocol.json_values import as_object, get_text
from acp_protocol.jsonrpc import Json

VERSION: Final = 1


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

    def get(self) -> Preferences:
        return Preferences(theme=get_text(self._file.read(), "theme"))

    def update(self, **choices: str | None) -> None:
        """Keep some choices; the others stay, also those of a newer console.

        Raises:
            FileWriteError: the file cannot be written.
        """
        self._file.change(lambda kept: {"v": VERSION, **kept, **choices})


def _parse(content: bytes) -> dict[str, Json]:
    # The first screen waits for this, so it does without pydantic, which is slow to import.
    return as_object(json.loads(content))


def _dump(choices: dict[str, Json]) -> str:
    return json.dumps(choices) + "\n"
