"""All dialects by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_protocol.dialects.acpex import Acpex
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.continuum import Continuum
from acp_protocol.dialects.openoxide import Openoxide
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import LocalProtocolError

DIALECTS: Final[Mapping[str, type[Dialect]]] = {
    each.name: each for each in (Continuum, Acpex, Openoxide)
}


def open_dialect(name: str, directory: str = "") -> Dialect:
    """Return a dialect for one connection.

    `directory` is that of sessions whose client names none: the one in which the agent works. If
    it is empty, it is unknown.

    Raises:
        LocalProtocolError: there is no dialect of this name.
    """
    if name not in DIALECTS:
        raise LocalProtocolError(f"there is no dialect {name}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name](directory)


def open_translator(name: str | None, directory: str = "") -> Dialect | None:
    """Return a dialect, as `open_dialect` does; None if frames need no translation.

    That is so without a name, and in `v2-batch`.
    """
    return None if name in {None, BATCHES} else open_dialect(str(name), directory)


SPOKEN: Final = (*DIALECTS, BATCHES)
"""The names of all dialects."""
