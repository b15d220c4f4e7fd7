"""How a tool call is written, in a step that tells it or asks for consent to it.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_agent.scenario.reading.tables import Table
from acp_agent.scenario.reading.vocabulary import kinds, statuses
from acp_agent.scenario.values import members
from acp_agent.scenario.words import shown_text
from acp_protocol.jsonrpc import Json

TOOL: Final = (
    "title",
    "kind",
    "status",
    "text",
    "diff",
    "content",
    "locations",
    "input",
    "output",
    "with",
)
"""What may be said of one."""


def tool_members(table: Table) -> Mapping[str, Json]:
    """Return the members of a tool call in the words of version 1.

    Raises:
        WrongError: something makes no sense.
    """
    told: dict[str, Json] = {}
    if "title" in table:
        told["title"] = table.text("title")
    if "kind" in table:
        told["kind"] = table.known("kind", kinds(), "kind of tool")
    if "status" in table:
        told["status"] = table.known("status", statuses(), "status of a tool call")
    content = [shown_text(text) for text in table.texts("text")]
    if "diff" in table:
        content.append(_diff(table.table("diff")))
    if "content" in table:
        content += table.list("content")
    if content or "content" in table:
        told["content"] = content
    if "locations" in table:
        told["locations"] = [
            {"path": entry} if isinstance(entry, str) else entry
            for entry in table.list("locations")
        ]
    for key, name in {"input": "rawInput", "output": "rawOutput"}.items():
        if key in table:
            told[name] = table.json(key)
    return told | members(table.object("with"))


def _diff(table: Table) -> Json:
    table.allow("path", "old", "new")
    old = {"oldText": table.text("old")} if "old" in table else {}
    return {"type": "diff", "path": table.text("path"), **old, "newText": table.text("new", "")}
