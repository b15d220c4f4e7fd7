"""Values that one side mints anew in each run, and what they were in the recording.

Which values are bound is decided by their position, that is by the name of their member. At first
sight a recorded value is bound to the live one; from then on both must agree, in both directions: a
wrong id is a failure, never close enough. The working directory is known beforehand and stands for
itself inside any text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final, TypeAlias, cast

from acp_inspector.replay.placeholders import secrets_told, with_secrets
from acp_protocol.jsonrpc import Json, RequestId, id_key

MINTED: Final = frozenset(
    {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}
)
"""Members whose value is bound."""
MOMENTS: Final = frozenset({"updatedAt", "createdAt"})
"""Members that hold a point in time, which is no promise."""

_Key: TypeAlias = tuple[str, object]


class Bindings:
    """Pairs of recorded and live values, one to one for each kind."""

    def __init__(
        self, recorded_cwd: str = "", live_cwd: str = "", *, is_redacted: bool = False
    ) -> None:
        """Take the working directories, and whether placeholders stand for secrets."""
        self.recorded_cwd = str(PurePath(recorded_cwd)) if recorded_cwd else ""
        self.live_cwd = str(PurePath(live_cwd)) if live_cwd else ""
        self._live: dict[_Key, Json] = {}
        self._recorded: dict[_Key, Json] = {}
        self._is_redacted = is_redacted
        self._secrets: dict[str, str] = {}

    def agree(self, kind: str, recorded: Json, live: Json) -> bool:
        """Bind the two values at first sight; later tell whether they are still a pair."""
        there, back = (kind, _hashable(recorded)), (kind, _hashable(live))
        if there not in self._live and back not in self._recorded:
            self._live[there] = live
            self._recorded[back] = recorded
            return True
        return there in self._live and _hashable(self._live[there]) == back[1]

    def agree_on_secrets(self, recorded: str, live: str) -> bool:
        """Tell whether `live` is `recorded` with secrets in place of placeholders.

        The same placeholder stands for the same secret throughout; two may stand for one that was
        spelled in two ways.
        """
        told = secrets_told(recorded, live) if self._is_redacted else []
        return bool(told) and all(
            self._secrets.setdefault(placeholder, secret) == secret for placeholder, secret in told
        )

    def learn(self, recorded: Json, live: Json) -> None:
        """Bind whatever stands at the same place in both values; disagreement is not judged."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            theirs = cast("dict[str, Json]", live)
            for name, value in cast("dict[str, Json]", recorded).items():
                if name in theirs:
                    if name in MINTED:
                        self.agree(name, value, theirs[name])
                    else:
                        self.learn(value, theirs[name])
        elif isinstance(recorded, list) and isinstance(live, list):
            for one, other in zip(cast("list[Json]", recorded), cast("list[Json]", live)):  # noqa: B905
                self.learn(one, other)
        elif isinstance(recorded, str) and isinstance(live, str):
            self.agree_on_secrets(recorded, live)

    def live_id(self, recorded: RequestId) -> RequestId:
        """Return the live id of an agent's request; the recorded one when it was never seen."""
        return self._live.get(("request", id_key(recorded)), recorded)

    def to_live(self, recorded: Json) -> Json:
        """Return a recorded value with all that is bound replaced, to be sent."""
        if isinstance(recorded, Mapping):
            members = cast("Mapping[str, Json]", recorded)
            return {name: self._member_to_live(name, value) for name, value in members.items()}
        if isinstance(recorded, list):
            return [self.to_live(value) for value in cast("list[Json]", recorded)]
        if isinstance(recorded, str):
            placed = recorded
            if self.recorded_cwd:
                placed = recorded.replace(self.recorded_cwd, self.live_cwd)
            return with_secrets(placed, self._secrets) if self._secrets else placed
        return recorded

    def _member_to_live(self, name: str, value: Json) -> Json:
        if name in MINTED and (name, _hashable(value)) in self._live:
            return self._live[name, _hashable(value)]
        return self.to_live(value)


def _hashable(value: Json) -> object:
    return id_key(value) if value is None or isinstance(value, str | int) else repr(value)
