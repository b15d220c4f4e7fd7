"""The map between the ids of two runs of one conversation.

A field's name decides whether its value is such an id. When first seen, the ids of both runs are
mapped to each other; from then on they must agree, in both directions. Working directories are
known beforehand and replaced inside any text. In a redacted recording a placeholder is mapped like
an id: to the corresponding text of the other run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from acp_inspector.redaction.detector import PLACEHOLDER
from acp_protocol.jsonrpc import Json, RequestId, id_key

GENERATED_IDS: Final = frozenset(
    {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}
)
"""Fields whose value each run generates anew."""
TIMESTAMPS: Final = frozenset({"updatedAt", "createdAt"})
"""Fields with a point in time, which no run repeats."""

_Key: TypeAlias = tuple[str, object]


class IdMap:
    """Pairs of ids, one to one for each kind of id."""

    def __init__(
        self, directories: Mapping[str, str] | None = None, *, is_redacted: bool = False
    ) -> None:
        """Start with the live directory of each recorded one.

        `is_redacted`: the recording has placeholders for secrets.
        """
        self.directories: Mapping[str, str] = {} if directories is None else directories
        self._live: dict[_Key, Json] = {}
        self._recorded: dict[_Key, Json] = {}
        self._is_redacted = is_redacted
        self._secrets: dict[str, str] = {}

    def agree(self, kind: str, recorded: Json, live: Json) -> bool:
        """Map two ids of one kind when first seen; later return whether they are a pair."""
        there, back = (kind, _hashable(recorded)), (kind, _hashable(live))
        if there not in self._live and back not in self._recorded:
            self._live[there] = live
            self._recorded[back] = recorded
            return True
        return there in self._live and _hashable(self._live[there]) == back[1]

    def agree_on_secrets(self, recorded: str, live: str) -> bool:
        """Return whether `live` is `recorded` with secrets instead of its placeholders.

        A placeholder always stands for the same secret; two may stand for one secret in two
        spellings.
        """
        found = secrets_between(recorded, live) if self._is_redacted else []
        return bool(found) and all(
            self._secrets.setdefault(placeholder, secret) == secret for placeholder, secret in found
        )

    def learn(self, recorded: Json, live: Json) -> None:
        """Map all ids at the same paths of two values; ids that disagree are skipped."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            theirs = cast("dict[str, Json]", live)
            for name, value in cast("dict[str, Json]", recorded).items():
                if name in theirs:
                    if name in GENERATED_IDS:
                        self.agree(name, value, theirs[name])
                    else:
                        self.learn(value, theirs[name])
        elif isinstance(recorded, list) and isinstance(live, list):
            for one, other in zip(cast("list[Json]", recorded), cast("list[Json]", live)):  # noqa: B905
                self.learn(one, other)
        elif isinstance(recorded, str) and isinstance(live, str):
            self.agree_on_secrets(recorded, live)

    def live_id(self, recorded: RequestId) -> RequestId:
        """Return the live id of a request of the agent; the recorded one if it is unknown."""
        return self._live.get(("request", id_key(recorded)), recorded)

    def to_live(self, recorded: Json) -> Json:
        """Return a recorded value with all ids, directories and placeholders replaced."""
        if isinstance(recorded, Mapping):
            members = cast("Mapping[str, Json]", recorded)
            return {name: self._member_to_live(name, value) for name, value in members.items()}
        if isinstance(recorded, list):
            return [self.to_live(value) for value in cast("list[Json]", recorded)]
        if isinstance(recorded, str):
            placed = with_directories(recorded, self.directories)
            return with_secrets(placed, self._secrets) if self._secrets else placed
        return recorded

    def _member_to_live(self, name: str, value: Json) -> Json:
        if name in GENERATED_IDS and (name, _hashable(value)) in self._live:
            return self._live[name, _hashable(value)]
        return self.to_live(value)


def with_directories(text: str, places: Mapping[str, str]) -> str:
    """Return `text` with the longest directory that fits replaced, wherever a path begins so."""
    if not places:
        return text
    longest = sorted(places, key=len, reverse=True)
    # A name that only begins alike is another directory; a point may end a sentence.
    pattern = rf"(?:{'|'.join(map(re.escape, longest))})(?!\.*[\w-])"
    return re.sub(pattern, lambda found: places[found[0]], text)


def _hashable(value: Json) -> object:
    return id_key(value) if value is None or isinstance(value, str | int) else repr(value)


def secrets_between(recorded: str, live: str) -> list[tuple[str, str]]:
    """Return each placeholder in `recorded` with the text of `live` in its place.

    Empty if there is none, or if the surrounding texts differ.
    """
    placeholders = [match[0] for match in PLACEHOLDER.finditer(recorded)]
    # Its pattern has one group, the number.
    first, *between = PLACEHOLDER.split(recorded)[::2]
    if not placeholders or not live.startswith(first) or not live.endswith(between[-1]):
        return []
    end = len(live) - len(between[-1])
    at = len(first)
    found: list[tuple[str, str]] = []
    for place, (placeholder, behind) in enumerate(zip(placeholders, between, strict=True), start=1):
        # A secret has at least one character; the last one extends to the end of the text.
        stop = end if place == len(placeholders) else live.find(behind, at + 1, end)
        if stop <= at:
            return []
        found.append((placeholder, live[at:stop]))
        at = stop + len(behind)
    return found


def with_secrets(recorded: str, known: dict[str, str]) -> str:
    """Return `recorded` with known secrets in place of its placeholders."""
    return PLACEHOLDER.sub(lambda match: known.get(match[0], match[0]), recorded)
