"""Which files of the user a recorded agent has read that are not where the recording is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from acp_inspector.journal import Frame
from acp_inspector.recording.format import SUFFIX
from acp_inspector.session.events import CallChanged, RequestSent
from acp_inspector.session.fold import Sessions
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object, get_string, get_text
from acp_protocol.jsonrpc import Json, Request
from acp_protocol.schema.vocabulary import EFFECT_KINDS
from acp_protocol.tool_calls import merge

_SHOWN: Final = 3
"""Files that are named, at most."""
_WIDTH: Final = 100
"""Characters of one name, at most."""


def missing_files(frames: Iterable[Frame], places: Mapping[str, Path]) -> list[str]:
    """Return the files that the agent read by itself and that are not there now, by their names.

    What the client read for it, and what the agent made, needs no file. `places` are those of the
    recorded directories.
    """
    calls: dict[str, dict[str, Json]] = {}
    others: set[str] = set()
    sessions = Sessions()
    for frame in frames:
        for event in sessions.feed(frame):
            match event:
                case CallChanged(update=update) if id_ := get_text(update, "toolCallId"):
                    calls[id_] = merge(calls.get(id_, {}), as_object(update), sessions.version)
                case RequestSent(message=Request(method=method, params=params)):
                    others |= {get_string(params, "path")} if method.startswith("fs/") else set()
                case _:
                    pass
    others |= {path for call in calls.values() if _has_effect(call) for path in _paths(call)}
    read = {path for call in calls.values() if _is_read(call) for path in _paths(call)}
    return sorted(name for path in read - others if (name := _missing(path, places)) is not None)


def missing_files_note(missing: list[str], recording: Path) -> str:
    """Return what to do about missing files, safe to show."""
    named = ", ".join(single_line(each, _WIDTH) for each in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    folder = f"{recording.name.removesuffix(SUFFIX)}.files"
    return (
        f"not there now, but read by the recorded agent: {named}{more}; put what it needs into "
        f"{folder} beside the recording"
    )


def _is_read(call: Mapping[str, Json]) -> bool:
    return call.get("kind") == "read" and call.get("status") == "completed"


def _has_effect(call: dict[str, Json]) -> bool:
    return get_string(call, "kind") in EFFECT_KINDS


def _paths(call: Mapping[str, Json]) -> list[str]:
    paths = (get_text(each, "path") for each in as_list(call.get("locations")))
    return [each for each in paths if each is not None]


def _missing(path: str, places: Mapping[str, Path]) -> str | None:
    """Return the name of a recorded file in its directory, if it is not in the place of that."""
    for recorded, place in places.items():
        if PurePosixPath(path).is_relative_to(recorded):
            name = PurePosixPath(path).relative_to(recorded)
            try:
                return None if (place / name).exists() else str(name)
            except (OSError, ValueError):
                return None
    return None
