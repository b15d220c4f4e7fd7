"""What can be completed in a prompt: commands of the agent after `/`, files after `@`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from acp_console.chat.project_files import best_matches
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json

MAX_FILES: Final = 50
"""Files that are offered, at most."""
_MENTION: Final = re.compile(r"(?:^|(?<=[\s(]))@([^\s\"]*)$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something to choose; untrusted."""

    text: str
    """What it puts into the editor."""
    name: str
    about: str = ""


def command_choices(commands: Iterable[Json], before: str) -> list[Suggestion]:
    """Return the commands that begin as the text `before` the cursor; names may have spaces."""
    found: list[Suggestion] = []
    if not before.startswith("/"):
        return found
    for command in commands:
        match command:
            case {"name": str(name), "description": str(about), **more}:
                hint = get_string(more.get("input"), "hint")
                if f"/{name}".startswith(before):
                    shown = f"{about}  [{hint}]" if hint else about
                    found.append(Suggestion(f"/{name} ", f"/{name}", shown))
            case _:
                continue
    return found


def mention_before(before: str) -> str | None:
    """Return the part of a file's name that is being written; None if none is."""
    mention = _MENTION.search(before)
    return None if mention is None else mention[1]


def file_choices(files: Sequence[str], text: str) -> list[Suggestion]:
    """Return the files whose names fit a text, the best first."""
    names = best_matches(files, text, MAX_FILES)
    return [Suggestion(f'@"{name}" ' if " " in name else f"@{name} ", name) for name in names]


def replaced_by(choice: Suggestion, before: str) -> int:
    """Return how many characters before the cursor a choice replaces."""
    mention = mention_before(before)
    is_file = mention is not None and choice.text.startswith("@")
    return len(mention) + 1 if mention is not None and is_file else len(before)
