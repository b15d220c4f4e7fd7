"""Keys that the user typed in, stored in a file of the user's own.

Source: ACP, Authentication, "Terminal Auth".
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from acp_agent.settings.providers import (
    Provider,
    SettingsError,
    provider_at,
    provider_from_environment,
)
from acp_protocol.user_files.paths import config_directory

NAME: Final = "acp-agent-keys.json"


class Keyring:
    """The stored keys by provider, in a file that only its owner can read.

    Each method raises `SettingsError` if the file cannot be read or written, or is invalid.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, prefix: str) -> str | None:
        key = self._read().get(prefix)
        return key if isinstance(key, str) and key else None

    def put(self, prefix: str, key: str) -> None:
        self._write(self._read() | {prefix: key})

    def remove(self, prefix: str) -> None:
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
            # It must not be readable for others, not even for a moment.
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(json.dumps(keys, indent=2) + "\n")
            new.replace(self.path)
        except OSError as problem:
            new.unlink(missing_ok=True)
            why = problem.strerror or "it cannot be written"
            raise SettingsError(f"{self.path}: {why}.") from None


def keyring(environment: Mapping[str, str]) -> Keyring:
    """Return the user's keyring; its file need not exist."""
    return Keyring(config_directory(environment) / NAME)


def find_provider(
    prefix: str, base_url: str | None, key_variable: str | None, environment: Mapping[str, str]
) -> Provider:
    """Return the provider at its URL, with the key from a variable or the stored one.

    Raises:
        KeyError: there is no such provider.
        SettingsError: the URL or the key is invalid.
    """
    if base_url is not None or key_variable is not None:
        return provider_at(prefix, base_url, key_variable, environment)
    service = provider_from_environment(prefix, environment)
    if not service.needs_key or service.key is not None:
        return service
    # The stored key is for the service itself, and goes nowhere else.
    return replace(
        service,
        key=keyring(environment).get(prefix),
        key_origin="that was typed in",
        is_bearer=service.api != "anthropic",
        takes_typed=True,
    )
