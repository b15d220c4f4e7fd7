"""The table of capabilities."""

from __future__ import annotations

from typing import Final

from acp_console.wording.tables import Layout
from acp_console.wording.values import cell_text
from acp_inspector.views.capabilities import Capability
from acp_protocol.json_text import json_text

CAPABILITIES: Final = Layout(
    columns=("of", "capability", "claimed", "used", "worked", "failed", "refused", "mark"),
    words=("of", "capability", "claimed", "mark"),
    flexible="capability",
    spare=("failed", "worked", "refused", "used", "claimed"),
)


def capability_cells(row: Capability) -> list[str]:
    claimed = "" if row.claim is None else json_text(row.claim)
    return [
        row.side,
        cell_text(row.path.split(".", 1)[-1]),
        cell_text(claimed),
        *(str(count) if row.used else "" for count in (row.used, row.worked)),
        *(str(count) if row.used else "" for count in (row.failed, row.refused)),
        row.mark,
    ]
