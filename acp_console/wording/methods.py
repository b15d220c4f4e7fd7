"""Short names of methods and updates, for rows with little room."""

from __future__ import annotations

from typing import Final

METHODS: Final = {
    "session/prompt": "prompt",
    "session/cancel": "cancel",
    "session/request_permission": "permission",
    "session/set_mode": "mode",
    "session/set_model": "model",
    "session/set_config_option": "option",
    "fs/read_text_file": "read",
    "fs/write_text_file": "write",
    "terminal/create": "run",
    "terminal/output": "output",
    "terminal/wait_for_exit": "wait",
    "terminal/kill": "kill",
    "terminal/release": "release",
    "elicitation/create": "form",
    "elicitation/complete": "form done",
}
UPDATES: Final = {"tool_call": "call", "tool_call_update": "update", "session_info_update": "title"}


def short_method(method: str) -> str:
    """Return the word for a method; the method itself, if it has none."""
    return METHODS.get(method, method)


def short_update(name: str) -> str:
    """Return the word for the kind of an update."""
    short = name.removeprefix("agent_").removesuffix("_chunk").removesuffix("_update")
    return UPDATES.get(name) or short.removeprefix("available_").replace("_", " ")
