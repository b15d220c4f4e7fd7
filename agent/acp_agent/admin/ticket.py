"""The token, and the file that tells it to whoever may read the files of this user."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from acp_agent.models.services import SettingsError

LENGTH: Final = 32
"""Random bytes of a token that is made up."""
SHORTEST: Final = 16
"""Characters that a token may not fall below."""
NAME: Final = "admin.json"


def token_of(variable: str, environment: Mapping[str, str]) -> str | None:
    """Return the token that the user has set; None: there is none.

    Raises:
        SettingsError: it could be guessed, or not be sent.
    """
    token = environment.get(variable, "").strip()
    if not token:
        return None
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        reason = f"must hold at least {SHORTEST} letters, digits and signs, and no space"
        raise SettingsError(f"{variable} {reason}.")
    return token


def random_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(LENGTH)


@contextmanager
def ticket(address: str, token: str, environment: Mapping[str, str]) -> Generator[Path]:
    """Tell `address` and `token` in a file for this user alone, for as long as the block lasts.

    Raises:
        OSError: it cannot be written.
    """
    runtime = Path(environment.get("XDG_RUNTIME_DIR", ""))
    is_there = runtime.is_absolute() and os.access(runtime, os.W_OK)
    # A directory of its own has mode 0700, wherever it lies.
    folder = Path(tempfile.mkdtemp(prefix="acp-agent-", dir=runtime if is_there else None))
    try:
        path = folder / NAME
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            json.dump({"address": address, "token": token}, file)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)
