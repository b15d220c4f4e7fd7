"""Names that the protocol has gained since the built-in schemas were published.

A schema is released more often than the SDKs that carry it. Names that are listed here are known,
but nothing about them is validated. A name leaves the list once the built-in schemas have it.
"""

from __future__ import annotations

from typing import Final

from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

SESSION_OPTIONS: Final = "session options"
CURSORS: Final = "session cursors"
SUGGESTIONS: Final = "prompt suggestions"
SKILLS: Final = "agent skills"
REPLAY_END: Final = "the end of a replay"
SPEED: Final = "the category speed"
FEATURES: Final = (SESSION_OPTIONS, CURSORS, SUGGESTIONS, SKILLS, REPLAY_END, SPEED)

METHODS: Final = {"session/options": SESSION_OPTIONS}
"""The feature of each newer method."""
UPDATES: Final[dict[int, dict[str, str]]] = {
    1: {"prompt_suggestions_update": SUGGESTIONS, "cursor_update": CURSORS},
    2: {
        "prompt_suggestions_update": SUGGESTIONS,
        "cursor_update": CURSORS,
        "replay_complete": REPLAY_END,
    },
}
"""The feature of each newer kind of session update, by version."""
CATEGORIES: Final = {"speed": SPEED}
"""The feature of each newer category of config options."""
_FIELDS: Final[dict[tuple[str, str], str]] = {
    **{(method, "params.configOptions"): SESSION_OPTIONS for method in OPENING},
    ("session/fork", "params.cursorId"): CURSORS,
    ("initialize", "result.agentCapabilities.sessionCapabilities.options"): SESSION_OPTIONS,
    ("initialize", "params.clientCapabilities.session.promptSuggestions"): SUGGESTIONS,
    ("initialize", "params.clientCapabilities.session.cursors"): CURSORS,
    ("initialize", "result.capabilities.session.options"): SESSION_OPTIONS,
    ("initialize", "result.capabilities.session.prompt.skill"): SKILLS,
}
"""The feature of each newer field, by method and path."""
_GROUP: Final = ("initialize", "params.capabilities.session")
"""The capabilities of a client of version 2 for sessions, which the schemas have none of."""
_IN_GROUP: Final = {"promptSuggestions": SUGGESTIONS, "commands": SKILLS}


def feature_of_field(method: str | None, path: str, value: Json) -> str | None:
    """Return the feature that a field which the schemas do not have belongs to, if it is known.

    Args:
        method: The method of the message, or of its request.
        path: The path of the field, such as `params.cursorId`.
        value: The value of the field.
    """
    key = method or "", path
    if key == _GROUP:
        inside = as_object(value).keys() - {"_meta"}
        found = [_IN_GROUP[name] for name in _IN_GROUP if name in inside]
        return found[0] if found and inside <= _IN_GROUP.keys() else None
    return _FIELDS.get(key)


def feature_of_value(version: int, path: str, value: Json) -> str | None:
    """Return the feature that a value which the schemas do not have belongs to, if it is known."""
    name = path.rpartition(".")[2]
    if name == "category" and isinstance(value, str):
        return CATEGORIES.get(value)
    if version == 2 and name == "type" and value == "skill":
        return SKILLS
    return None
