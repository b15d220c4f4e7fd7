"""All dialects by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from acp_protocol.dialects.acpex import Acpex
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.continuum import Continuum
from acp_protocol.dialects.openoxide import Openoxide
from acp_protocol.errors import LocalProtocolError

DIALECTS: Final[Mapping[str, Callable[[str], Dialect]]] = {
    Continuum.name: Continuum,
    Acpex.name: lambda _directory: Acpex(),
    Openoxide.name: Openoxide,
}
"""Make a dialect for one connection, given the directory of sessions that name none."""


def open_dialect(name: str, directory: str | None = None) -> Dialect:
    """Return a dialect for one connection.

    `directory` is that of sessions whose client names none; by default the current one.

    Raises:
        LocalProtocolError: there is no dialect of this name.
    """
    if name not in DIALECTS:
        raise LocalProtocolError(f"there is no dialect {name}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name](str(Path.cwd()) if directory is None else directory)


BATCHES: Final = "v2-batch"
"""The draft of version 2 with batches: a setting of the connection, without a translator."""

SPOKEN: Final = ("continuum", "acpex", "openoxide", BATCHES)
"""The names of all dialects."""
