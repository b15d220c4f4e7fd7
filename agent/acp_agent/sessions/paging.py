"""Where a list of sessions goes on, as a word that means nothing to the client.

A cursor belongs to the filter that it was given for.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Final

from acp_agent.sessions.records import Record
from acp_agent.sessions.store import Wanted

PAGE: Final = 50
"""Sessions in one answer."""


def cursor_behind(record: Record, wanted: Wanted) -> str:
    """Return the cursor of what comes behind `record`."""
    place = [record.updated, record.number, wanted.cwd, wanted.archived]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def continued(cursor: str, wanted: Wanted) -> Wanted | None:
    """Return what is wanted behind `cursor`; None if it was not given for this filter."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return None
    match place:
        case [str(updated), int(number), cwd, archived] if 0 < number < 2**63:
            fits = (cwd, archived) == (wanted.cwd, wanted.archived)
            return replace(wanted, before=(updated, number)) if fits else None
        case _:
            return None
