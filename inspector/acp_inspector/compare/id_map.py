"""The map between the variables of two runs.

`IdMap` binds each variable to its counterpart when first seen, and from then on they must agree, in
both directions. In a redacted recording a placeholder is mapped like an id: to the corresponding
text of the other run.

Source: docs/design/replay.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias, cast

from acp_inspector.compare.patterns import in_seconds
from acp_inspector.compare.tolerances import TOLERANCES, forms_of
from acp_inspector.compare.values import GENERATED_IDS, Templates, Variable
from acp_inspector.redaction.detector import PLACEHOLDER
from acp_protocol.dialects.spellings import spellings
from acp_protocol.jsonrpc import Json, RequestId, id_key

MAX_CLOCK_JITTER: Final = 5.0
"""Seconds between two times that may be one time in the other run."""
_ID_NAMES: Final = {spelled: name for name in GENERATED_IDS for spelled in spellings(name)}
"""The official names of ids by those of all dialects."""
_Key: TypeAlias = tuple[str, object]


class IdMap:
    """Pairs of ids, one to one for each kind of id."""

    def __init__(
        self, directories: Mapping[str, str] | None = None, *, is_redacted: bool = False
    ) -> None:
        """Start with the live directory of each recorded one.

        `is_redacted`: the recording has placeholders for secrets.
        """
        self.directories = dict(directories or {})
        self._live: dict[_Key, Json] = {}
        self._recorded: dict[_Key, Json] = {}
        self._texts: dict[str, set[str]] = {}
        """The live texts of each recorded id or value, whatever its kind."""
        self._recorded_texts: dict[str, set[str]] = {}
        self._is_redacted = is_redacted
        self._secrets: dict[str, str] = {}
        forms = forms_of(TOLERANCES)
        self._templates = Templates(directories, forms)
        self._live_templates = Templates({each: each for each in self.directories.values()}, forms)

    def for_next_connection(self) -> IdMap:
        """Return a map that knows only directories, secrets and sessions, which may be loaded."""
        ids = IdMap(self.directories, is_redacted=self._is_redacted)
        ids._secrets = self._secrets
        for (kind, _), recorded in self._recorded.items():
            if kind == "sessionId":
                ids.agree(kind, recorded, self._live[kind, _hashable(recorded)])
        return ids

    def add_directory(self, recorded: str, live: str) -> None:
        """Take `live` for a recorded directory, unless it has one."""
        if recorded not in self.directories:
            self.directories[recorded] = live
            self._templates.add_place(recorded, live)
            self._live_templates.add_place(live, live)

    def agree(self, kind: str, recorded: Json, live: Json) -> bool:
        """Map two ids of one kind when first seen; later return whether they are a pair."""
        there, back = (kind, _hashable(recorded)), (kind, _hashable(live))
        if there not in self._live and back not in self._recorded:
            self._live[there] = live
            self._recorded[back] = recorded
            if isinstance(recorded, str) and isinstance(live, str):
                self._add_texts(recorded, live)
                self._templates.add_id(recorded)
                self._live_templates.add_id(live)
            return True
        return there in self._live and _hashable(self._live[there]) == back[1]

    def rebind(self, kind: str, recorded: Json, live: Json) -> None:
        """Map an id that is minted anew, whatever it was mapped to before."""
        known = self._live.pop((kind, _hashable(recorded)), None)
        self._recorded.pop((kind, _hashable(known)), None)
        if isinstance(recorded, str):
            self._texts.pop(recorded, None)
        self.agree(kind, recorded, live)

    def counterpart(self, kind: str, recorded: str) -> str | None:
        """Return the live id of a recorded one; None if it is unknown, or no text."""
        live = self._live.get((kind, _hashable(recorded)))
        return live if isinstance(live, str) else None

    def agree_on(self, recorded: Variable, live: Variable) -> bool:
        """Map two variables when first seen; later return whether they are a pair.

        Of usage numbers and process ids only the type counts. Two times of one run may be the same
        in the other one, if they are close to each other.
        """
        if recorded.form is None:
            return self.agree(recorded.kind, recorded.value, live.value)
        if not recorded.is_bound:
            return True
        one, other = str(recorded.value), str(live.value)
        known, known_back = self._texts.get(one), self._recorded_texts.get(other)
        if known is None and known_back is None:
            self._add_texts(one, other)
            return True
        if other in (known or ()):
            return True
        if not recorded.form.is_time:
            return False
        are_close = _are_close(other, known or ()) and _are_close(one, known_back or ())
        if are_close:
            self._add_texts(one, other)
        return are_close

    def _add_texts(self, recorded: str, live: str) -> None:
        self._texts.setdefault(recorded, set()).add(live)
        self._recorded_texts.setdefault(live, set()).add(recorded)

    def agree_on_secrets(self, recorded: str, live: str) -> bool:
        """Return whether `live` is `recorded` with secrets instead of its placeholders.

        A placeholder is always the same secret; two may be one secret in two
        spellings.
        """
        found = secrets_between(recorded, live) if self._is_redacted else []
        return bool(found) and all(
            self._secrets.setdefault(placeholder, secret) == secret for placeholder, secret in found
        )

    def learn(self, recorded: Json, live: Json, *, learns_secrets: bool = True) -> None:
        """Map all ids at the same paths of two values; ids that disagree are skipped.

        With `learns_secrets` also placeholders and the secrets in their places.
        """
        if isinstance(recorded, dict) and isinstance(live, dict):
            theirs = cast("dict[str, Json]", live)
            for name, value in cast("dict[str, Json]", recorded).items():
                its = name if name in theirs else self._text_to_live(name)
                if its in theirs:
                    if name in GENERATED_IDS:
                        self.agree(name, value, theirs[its])
                    else:
                        self.learn(value, theirs[its], learns_secrets=learns_secrets)
        elif isinstance(recorded, list) and isinstance(live, list):
            for one, other in zip(cast("list[Json]", recorded), cast("list[Json]", live)):  # noqa: B905
                self.learn(one, other, learns_secrets=learns_secrets)
        elif isinstance(recorded, str) and isinstance(live, str):
            self._learn_text(recorded, live, learns_secrets=learns_secrets)

    def _learn_text(self, recorded: str, live: str, *, learns_secrets: bool) -> None:
        if learns_secrets and self.agree_on_secrets(recorded, live):
            return
        ours, theirs = self._templates.text(recorded), self._live_templates.text(live)
        for one, other in zip(ours[1], theirs[1], strict=False):
            if one.kind == other.kind:
                self.agree_on(one, other)

    def live_id(self, recorded: RequestId) -> RequestId:
        """Return the live id of a request of the agent; the recorded one if it is unknown."""
        return self._live.get(("request", id_key(recorded)), recorded)

    def to_live(self, recorded: Json) -> Json:
        """Return a recorded value with all ids, directories and placeholders replaced."""
        if isinstance(recorded, Mapping):
            members = cast("Mapping[str, Json]", recorded)
            return {
                self._text_to_live(name): self._member_to_live(name, value)
                for name, value in members.items()
            }
        if isinstance(recorded, list):
            return [self.to_live(value) for value in cast("list[Json]", recorded)]
        if isinstance(recorded, str):
            placed = self._text_to_live(recorded)
            return with_secrets(placed, self._secrets) if self._secrets else placed
        return recorded

    def _text_to_live(self, recorded: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end, variable in self._templates.spans(recorded):
            live = str(variable.value)
            if variable.form is not None:
                known = self._texts.get(live, ())
                live = next(iter(known)) if len(known) == 1 else live
            parts += (recorded[at:start], live)
            at = end
        return "".join([*parts, recorded[at:]]) if parts else recorded

    def _member_to_live(self, name: str, value: Json) -> Json:
        kind = _ID_NAMES.get(name)
        if kind is not None and (kind, _hashable(value)) in self._live:
            return self._live[kind, _hashable(value)]
        return self.to_live(value)


def _are_close(moment: str, others: Iterable[str]) -> bool:
    at = _seconds(moment)
    return all(abs(at - _seconds(other)) <= MAX_CLOCK_JITTER for other in others)


def _seconds(moment: str) -> float:
    """Return a time as seconds; infinite if it is none, which is close to nothing."""
    try:
        number = float(moment)
    except ValueError:
        try:
            found = datetime.fromisoformat(moment.replace("z", "Z"))
        except ValueError:
            return float("inf")
        return found.timestamp()
    return in_seconds(number)


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
