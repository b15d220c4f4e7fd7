"""Keys that the user has typed in, kept for the next start in a file of the user's own.

Source: ACP, Authentication, "Terminal Auth".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from acp_agent.models.types import SettingsError
from acp_agent.paths import config_directory

NAME: Final = "acp-agent-keys.json"


class Keyring:
    """The keys by the services that they are for; a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, prefix: str) -> str | None:
        """Return the key for a service; None if there is none.

        Raises:
            SettingsError: the file cannot be read, or holds something else.
        """
        key = self._read().get(prefix)
        return key if isinstance(key, str) and key else None

    def put(self, prefix: str, key: str) -> None:
        """Keep the key for a service, in place of a former one.

        Raises:
            SettingsError: it cannot be kept.
        """
        self._write(self._read() | {prefix: key})

    def remove(self, prefix: str) -> None:
        """Forget the key for a service, if there is one.

        Raises:
            SettingsError: it cannot be forgotten.
        """
        keys = self._read()
        if keys.pop(prefix, None) is not None:
            self._write(keys)

    def _read(self) -> dict[str, object]:
        try:
            value: object = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise SettingsError(f"{self.path} cannot be read as what holds keys; remove it.")
        return cast("dict[str, object]", value)

    def _write(self, keys: Mapping[str, object]) -> None:
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            # It is never readable for others, not even for a moment.
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(json.dumps(keys, indent=2) + "\n")
            new.replace(self.path)
        except OSError as problem:
            new.unlink(missing_ok=True)
            why = problem.strerror or "it cannot be written"
            raise SettingsError(f"{self.path}: {why}.") from None


def keyring(environment: Mapping[str, str]) -> Keyring:
    """Return the user's keyring, whether it exists or not."""
    return Keyring(config_directory(environment) / NAME)
