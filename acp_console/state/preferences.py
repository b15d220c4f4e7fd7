"""What the user chose on the screens, kept between runs.

The console writes it; what the user writes by hand is in `config.toml`, and wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from acp_console.paths import state_directory, write_private

VERSION: Final = 1


class Preferences(BaseModel):
    """The choices; None where the user has made none."""

    # A newer console may have written more.
    model_config = ConfigDict(extra="allow", frozen=True)

    v: int = VERSION
    theme: str | None = None


class PreferenceStore:
    """The choices, in a file of the state directory; one that cannot be read counts as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or state_directory() / "preferences.json"

    def get(self) -> Preferences:
        try:
            return Preferences.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return Preferences()

    def update(self, **choices: Any) -> None:
        """Keep some choices; the others stay.

        Raises:
            FileWriteError: the file cannot be written.
        """
        changed = self.get().model_copy(update=choices)
        write_private(self._path, f"{changed.model_dump_json(exclude_none=True, indent=1)}\n")
