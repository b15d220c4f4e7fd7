"""Names for recordings that nobody is there to choose: by the date, the agent and the process."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from acp_inspector.recording.format import SUFFIX, RecordingError

NAME_LIMIT: Final = 64
"""Characters of an agent's name that go into a file's name."""
DATES: Final = "aAbBdfFGHIjmMpSTuUVwWyYzZ"
"""What may stand behind `%`: the directives of strftime whose text has no slash in it."""

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_PLACE: Final = re.compile(r"%%|\{\{|\}\}|%(?P<date>.?)|\{(?P<name>[^{}]*)\}|[{}]", re.DOTALL)


def recording_path(pattern: str, *, agent: str, pid: int, at: datetime) -> Path:
    """Return the path that `pattern` spells.

    `%Y`, `%m` and the like stand for the date `at`, `{agent}` for the last part of the agent's
    name as far as files may bear it, `{pid}` for the process. `%%`, `{{` and `}}` stand for one.

    Raises:
        RecordingError: the pattern holds something else behind `%` or between braces, or is empty.

    Source: docs/recording-format.md.
    """
    names = {"agent": _file_name(agent), "pid": str(pid)}

    def fill(place: re.Match[str]) -> str:
        date, name = place["date"], place["name"]
        if date is not None:
            if not date or date not in DATES:
                raise _broken(pattern, f"%{date} is no part of a date")
            return at.strftime(f"%{date}")
        if name is not None:
            if name not in names:
                raise _broken(pattern, f"{{{name}}} is neither {{agent}} nor {{pid}}")
            return names[name]
        if len(place[0]) == 1:
            raise _broken(pattern, f"a {place[0]} stands alone")
        return place[0][0]

    path = _PLACE.sub(fill, pattern)
    if not path or "\0" in path:
        raise _broken(pattern, "it spells no name")
    return Path(path)


def part_path(path: Path, number: int) -> Path:
    """Return where part `number` of the recording at `path` is; the first is `path` itself."""
    if number == 1:
        return path
    suffix = SUFFIX if path.name.endswith(SUFFIX) else path.suffix
    stem = path.name[: len(path.name) - len(suffix)]
    return path.with_name(f"{stem}.{number}{suffix}")


def _file_name(agent: str) -> str:
    last = agent.rstrip("/").rpartition("/")[2]
    return _FOREIGN.sub("-", last)[:NAME_LIMIT].strip("-.") or "agent"


def _broken(pattern: str, reason: str) -> RecordingError:
    return RecordingError(f"cannot name a recording by {pattern!r}: {reason}")
