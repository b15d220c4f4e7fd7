"""Short names of requests: what they do, and to what."""

from __future__ import annotations

from typing import Final

_FILES: Final = {"fs/read_text_file": "fs/read", "fs/write_text_file": "fs/write"}
_COMMANDS: Final = {
    "terminal/create": "run",
    "terminal/wait_for_exit": "wait_for_exit",
    "terminal/output": "output",
    "terminal/kill": "kill",
    "terminal/release": "release",
}
_SHORT: Final = {
    "session/prompt": "prompt",
    "session/request_permission": "permission",
    "elicitation/create": "elicitation",
}


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
    if method in _FILES:
        return f"{_FILES[method]} {subject.replace(chr(92), '/').rstrip('/').rpartition('/')[2]}"
    if method in _COMMANDS:
        return f"{_COMMANDS[method]} {subject}"
    return f"{_SHORT.get(method, method)} {subject}"
