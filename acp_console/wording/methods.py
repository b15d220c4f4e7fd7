"""Short names of methods and updates."""

from __future__ import annotations

from typing import Final

FILES: Final = frozenset({"fs/read_text_file", "fs/write_text_file"})
"""Methods whose subject is a path."""
_METHODS: Final = {
    "session/prompt": ("prompt", "prompt"),
    "session/cancel": ("cancel", ""),
    "session/request_permission": ("permission", "permission"),
    "session/set_mode": ("mode", ""),
    "session/set_model": ("model", ""),
    "session/set_config_option": ("option", ""),
    "fs/read_text_file": ("read", "fs/read"),
    "fs/write_text_file": ("write", "fs/write"),
    "terminal/create": ("run", "run"),
    "terminal/output": ("output", "output"),
    "terminal/wait_for_exit": ("wait", "wait_for_exit"),
    "terminal/kill": ("kill", "kill"),
    "terminal/release": ("release", "release"),
    "elicitation/create": ("form", "elicitation"),
    "elicitation/complete": ("form done", ""),
}
"""Each method as a word, and as it is named before its subject; empty: the method itself."""
_UPDATES: Final = {
    "tool_call": "call",
    "tool_call_update": "update",
    "session_info_update": "title",
}


def short_method(method: str) -> str:
    """Return the word for a method; the method itself, if it has none."""
    return _METHODS.get(method, (method, ""))[0]


def short_update(name: str) -> str:
    """Return the word for the kind of an update."""
    short = name.removeprefix("agent_").removesuffix("_chunk").removesuffix("_update")
    return _UPDATES.get(name) or short.removeprefix("available_").replace("_", " ")


def request_name(method: str, subject: str) -> str:
    """Return what a request does and to what, which is not safe to show.

    A file has its name without folders, a request about a terminal its command:
    `fs/write cart.py`, `run pytest -q`.

    Args:
        method: That of the request.
        subject: What it is about, from `SessionModel.subject`; empty if nothing is known.
    """
    if not subject:
        return method
    if method in FILES:
        subject = subject.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = _METHODS.get(method, ("", ""))[1] or method
    return f"{name} {subject}"
