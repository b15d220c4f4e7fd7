"""What a server asks the user in the middle of a call, as the client is to ask it.

A server is not trusted with secrets: a form that asks for some is declined, and so is a page that
nobody should open.

Source: MCP, Elicitation; ACP, Elicitation.
"""

from __future__ import annotations

from typing import Final

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from acp_agent.tools.ask import check_form, check_url
from acp_agent.tools.call import ToolFailedError
from acp_agent.world.elicitation import ServerElicitation
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.json_values import as_texts, get_object

WIDTH: Final = 2000
"""Characters of what a server says to the user."""


async def answered(
    server: str, params: ElicitRequestParams, relay: ServerElicitation
) -> ElicitResult:
    """Ask the user what `server` wants to know; return the answer as the server reads it."""
    message = f"{server}: {escape_controls(params.message)[:WIDTH]}"
    try:
        if isinstance(params, ElicitRequestFormParams):
            schema = params.requested_schema
            check_form(params.message, *get_object(schema, "properties"))
            reply = await relay.form(message, schema)
        else:
            check_url(params.url)
            reply = await relay.page(message, params.url)
    except ToolFailedError:
        return ElicitResult(action="decline")
    if reply.action != "accept":
        return ElicitResult(action="decline" if reply.action == "decline" else "cancel")
    content: dict[str, str | int | float | bool | list[str] | None] = {
        name: as_texts(value) if isinstance(value, list) else value
        for name, value in reply.content.items()
        if isinstance(value, str | int | float | bool | list)
    }
    return ElicitResult(action="accept", content=content)
