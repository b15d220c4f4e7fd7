"""The protocol's own words, so that others can be remarked upon: they may be meant, or misspelled.

They are taken from the shapes, which take time to come in: whoever names none of them has to wait
for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, get_args


@cache
def kinds() -> Sequence[str]:
    """Return the kinds of tool calls."""
    from acp_protocol.schema import v1

    return get_args(v1.ToolKind)


@cache
def statuses() -> Sequence[str]:
    """Return what a tool call is at, in any version."""
    from acp_protocol.schema import v1, v2

    return _spelled(v1.ToolCallStatus, v2.ToolCallStatus)


@cache
def stop_reasons() -> Sequence[str]:
    """Return why a turn ends."""
    from acp_protocol.schema import v1

    return get_args(v1.StopReason)


@cache
def updates() -> Sequence[str]:
    """Return what an update is about, in any version."""
    from acp_protocol.schema import v1, v2

    tags: list[Any] = [get_args(each)[1] for each in (v1.SessionUpdate, v2.SessionUpdate)]
    return tuple({word: None for tag in tags for word in tag.values if word != "*"})


def _spelled(*types: Any) -> Sequence[str]:
    """Return the words of literals, or of unions in which some stand, each once."""
    words: dict[str, None] = {}
    for each in types:
        for inner in get_args(each):
            words |= {inner: None} if isinstance(inner, str) else dict.fromkeys(get_args(inner))
    return tuple(words)
