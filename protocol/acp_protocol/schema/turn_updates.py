"""Which user messages of an agent repeat the prompt of their turn.

Source: ACP, Prompt Turn, `session/update`; Session Setup, "Loading Sessions".
"""

from __future__ import annotations

import re

from acp_protocol.json_codec import Json
from acp_protocol.json_values import as_list, get_string, get_text


def is_echo(prompt: Json, content: Json) -> bool:
    """Return whether the content of a user message repeats a prompt, or a part of it.

    Args:
        prompt: the content blocks of the prompt.
        content: one content block of the message.
    """
    text = get_text(content, "text")
    if text is None:
        return get_text(content, "type") in {get_text(each, "type") for each in as_list(prompt)}
    prompted = "".join(get_string(each, "text") for each in as_list(prompt))
    if text.strip() in prompted:
        # An agent may repeat it in pieces.
        return True
    # Or with words of its own around it; a short one may be a part of any word.
    whole = re.escape(prompted.strip())
    return bool(whole) and re.search(rf"(?<!\w){whole}(?!\w)", text) is not None
