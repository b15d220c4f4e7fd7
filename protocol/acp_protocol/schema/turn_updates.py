"""Which updates belong to a turn, and which user messages repeat its prompt.

Source: ACP, Prompt Turn, `session/update`; Session Setup, "Loading Sessions".
"""

from __future__ import annotations

import re
from typing import Final

from acp_protocol.json_codec import Json
from acp_protocol.json_values import as_list, get_text
from acp_protocol.schema.words import UpdateKind

OUTPUT: Final[frozenset[UpdateKind]] = frozenset(
    {
        *("agent_message_chunk", "agent_message", "agent_thought_chunk", "agent_thought"),
        *("tool_call", "tool_call_update", "tool_call_content_chunk", "plan", "plan_update"),
    }
)
"""Updates with output for the user, which an agent sends before the end of the turn."""
USER_MESSAGES: Final[frozenset[UpdateKind]] = frozenset({"user_message_chunk", "user_message"})


def is_echo(prompt: Json, content: Json) -> bool:
    """Return whether the content of a user message repeats a prompt, or a part of it.

    Args:
        prompt: the content blocks of the prompt.
        content: one content block of the message.
    """
    text = get_text(content, "text")
    if text is None:
        return get_text(content, "type") in {get_text(each, "type") for each in as_list(prompt)}
    prompted = "".join(get_text(each, "text") or "" for each in as_list(prompt))
    if text.strip() in prompted:
        # An agent may repeat it in pieces.
        return True
    # Or with words of its own around it; a short one may be a part of any word.
    whole = re.escape(prompted.strip())
    return bool(whole) and re.search(rf"(?<!\w){whole}(?!\w)", text) is not None
