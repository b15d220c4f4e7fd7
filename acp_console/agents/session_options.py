"""Modes, models and options of a session, as its agent offers them.

Source: ACP, Session Modes; Session Config Options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from acp_console.wording.modes import (
    NEVER_ASKS,
    PLAN,
    READ_ONLY,
    SAYS_IT_ACTS,
    Unasked,
    mode_words,
    unasked_by,
)
from acp_protocol.dialects.base import is_assumed
from acp_protocol.errors import AcpError
from acp_protocol.json_values import as_object, get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

_ASK: Final = re.compile(r"(?:\b|_)ask(?:\b|_)")
_NEGATION: Final = re.compile(
    r"(?:\b|_)(?:don['’]?t|do not|never|no|not|without|skip|bypass|auto|yolo)(?:\b|_)"
)
_PERMISSIVE: Final = re.compile(
    r"(?:allow|accept|approve)[\s_-]*(?:all|always|edits|everything)"
    r"|full[\s_-]*access|bypass|yolo|danger"
)
_SAYS_IT_ASKS: Final = re.compile(
    r"\b(?:requires?|needs?|requests?) (?:your |user |manual )?(?:approval|permission|confirmation)"
    r"|\b(?:approval|permission|confirmation) (?:is|are) (?:required|needed|requested)"
    r"|\b(?:ask|prompt)s? (?:you |the user )?(?:before|for|when|first)\b|\balways asks?\b"
)
_CHANGES_NOTHING: Final = re.compile(
    r"\bread[\s-]*only\b|\bwithout (?:making|modifying|changing|editing)"
    r"|\b(?:do|does) not (?:modify|change|edit)|\bno (?:actual )?(?:tool execution|edits|changes)"
    r"|\b(?:disallow|forbid|block)s? (?:all )?(?:edit|change|writ)"
)
"""What the description of a mode says, where its names say nothing."""
_IS_CONSENT: Final = re.compile(r"\b(?:approv|permission|consent|confirm|ask|policy)")
"""Names of options that say when the agent asks."""
_ASKS: Final = 2
"""The rank of a mode in which the agent asks before it acts."""
_SAYS_IT_CHANGES_NOTHING: Final = 3
_ASKS_FOR_SOME: Final = 4
"""The ranks of modes by their description alone, which may not mean all that the agent does."""


class OptionError(AcpError):
    """An option or a value is not offered; the message names what is."""


@dataclass(frozen=True, slots=True)
class SessionOption:
    """Something that can be chosen in a session."""

    id: str
    category: str | None
    values: tuple[tuple[str, str], ...]
    """Id and name of each value; none for a boolean."""
    current: Json
    method: str
    """The method that sets it."""
    name: str = ""
    """As the agent calls it; untrusted."""
    descriptions: tuple[tuple[str, str], ...] = ()
    """Id and description of the values that have one; untrusted."""
    assumed: frozenset[str] = frozenset()
    """The values that the agent has not named: its dialect has them."""

    @property
    def title(self) -> str:
        return self.name or self.id

    @property
    def current_name(self) -> str:
        """The name of the current value; its id if it has none."""
        if self.is_boolean:
            return "on" if self.current else "off"
        names = dict(self.values)
        current = self.current if isinstance(self.current, str) else ""
        return names.get(current, current)

    def value_after(self) -> Json:
        """Return the value after the current one, the first one after the last."""
        ids = [id_ for id_, _ in self.values]
        place = ids.index(self.current) if self.current in ids else -1
        return ids[(place + 1) % len(ids)] if ids else None

    @property
    def is_boolean(self) -> bool:
        return isinstance(self.current, bool)

    def value(self, text: str) -> Json:
        """Return the value that `text` means, by its id or its name.

        Raises:
            OptionError: it is not offered.
        """
        if self.is_boolean:
            if text.lower() not in {"true", "false"}:
                raise OptionError(f"{self.id} is true or false, not {text!r}")
            return text.lower() == "true"
        for place in (0, 1):
            for value in self.values:
                if value[place].lower() == text.lower():
                    return value[0]
        offered = ", ".join(id_ for id_, _ in self.values) or "none"
        raise OptionError(f"the agent does not offer {text!r} as {self.id}; it offers: {offered}")

    def acts_without_asking(self, value: Json) -> bool:
        """Return whether the agent may not ask with a value, judged by its names.

        A mode asks only if its names say so; other options do unless their names say otherwise.
        """
        names = next((each for each in self.values if each[0] == value), None)
        if self.category == "mode":
            # A description may say that it asks, and mean some of what it does.
            return names is None or _strictness(names, "") is None
        return bool(_PERMISSIVE.search(mode_words(names or ())))

    def unasked(self, value: Json) -> Unasked | None:
        """Return what the agent says that it does without asking with a value; None: nothing.

        It says so by the names of a mode or an option, or by its description.
        """
        if self.is_boolean:
            names = (self.id, self.title) if value is True else ()
            return "anything" if NEVER_ASKS.search(mode_words(names)) else None
        names = next((each for each in self.values if each[0] == value), None)
        if names is None or (self.category != "mode" and not _IS_CONSENT.search(self._about)):
            return None
        return unasked_by(mode_words(names), dict(self.descriptions).get(names[0], "").lower())

    @property
    def _about(self) -> str:
        return mode_words((self.id, self.title))

    def params(self, value: Json, version: int) -> dict[str, Json]:
        """Return the params that set the option, without the session."""
        if self.method == "session/set_mode":
            return {"modeId": value}
        if self.method == "session/set_model":
            return {"modelId": value}
        if isinstance(value, bool):
            return {"configId": self.id, "type": "boolean", "value": value}
        kind: dict[str, Json] = {"type": "id"} if version >= 2 else {}
        return {"configId": self.id, **kind, "value": value}


def session_options(session: Mapping[str, Json]) -> list[SessionOption]:
    """Return what can be chosen in a session, from the result that opened it.

    What an agent offers as an option counts, not the older way that it may offer beside it.
    """
    found: list[SessionOption] = []
    for option in get_list(session, "configOptions"):
        id_ = get_text(option, "id") or get_text(option, "configId")
        if id_ is None:
            continue
        category, current = get_text(option, "category"), get(option, "currentValue")
        entries = get_list(option, "options")
        name = get_string(option, "name")
        if category is None and id_ in {"mode", "model"}:
            category = id_
        found.append(
            SessionOption(
                id_,
                category,
                tuple(_values(entries, "value")),
                current,
                "session/set_config_option",
                name,
                tuple(_values(entries, "value", "description")),
            )
        )
    named = {each.category for each in found}
    older = [each for each in _older_options(session) if each.category not in named]
    modes = [each for each in older if each.category == "mode"]
    return [*modes, *found, *(each for each in older if each.category == "model")]


def _older_options(session: Mapping[str, Json]) -> Iterator[SessionOption]:
    """Yield modes and models that have fields of their own."""
    for category, ids in (("mode", "id"), ("model", "modelId")):
        field, word = session.get(f"{category}s"), category.capitalize()
        entries = get_list(field, f"available{word}s")
        if values := tuple(_values(entries, ids)):
            current = get(field, f"current{word}Id")
            about = tuple(_values(entries, ids, "description"))
            method = f"session/set_{category}"
            marked = (get_text(each, ids) for each in entries if is_assumed(as_object(each)))
            assumed = frozenset(id_ for id_ in marked if id_ is not None)
            yield SessionOption(category, category, values, current, method, word, about, assumed)


def find_option(options: list[SessionOption], name: str) -> SessionOption:
    """Return the option with this id, or the first one of this category.

    Raises:
        OptionError: there is none.
    """
    for option in options:
        if option.id == name:
            return option
    for option in options:
        if option.category == name:
            return option
    offered = ", ".join(dict.fromkeys(option.id for option in options)) or "none"
    raise OptionError(f"the agent has no option {name!r}; its options: {offered}")


def most_restrictive_mode(mode: SessionOption, *, asks: bool = False) -> str | None:
    """Return the id of the mode that lets the agent do least; None if no mode restricts it.

    It is judged by the names of the modes, and by their descriptions where these say nothing; modes
    that the agent has not named do not count.
    `asks` prefers the modes in which the agent asks to those in which it need not, because it
    changes nothing; if none asks, one of these is left.
    """
    about = dict(mode.descriptions)
    ranked = [
        (rank, value)
        for value in mode.values
        if value[0] not in mode.assumed
        and (rank := _strictness(value, about.get(value[0], ""))) is not None
    ]
    asking = [
        each
        for each in ranked
        if each[0] == _ASKS or _SAYS_IT_ASKS.search(about.get(each[1][0], "").lower())
    ]
    chosen = min((asks and asking) or ranked, key=lambda each: each[0], default=None)
    return None if chosen is None else chosen[1][0]


def _strictness(names: tuple[str, str], description: str) -> int | None:
    """Return the rank of a mode, the strictest first; None: nothing says that it restricts."""
    text, about = mode_words(names), description.lower()
    if _NEGATION.search(text) or _PERMISSIVE.search(text):
        return None
    if READ_ONLY.search(text):
        return 0
    if PLAN.search(text):
        return 1
    if _ASK.search(text):
        return _ASKS
    if SAYS_IT_ACTS.search(about):
        return None
    if _CHANGES_NOTHING.search(about):
        return _SAYS_IT_CHANGES_NOTHING
    return _ASKS_FOR_SOME if _SAYS_IT_ASKS.search(about) else None


def _values(entries: list[Json], key: str, about: str = "name") -> Iterator[tuple[str, str]]:
    """Yield id and name, or description, of each value, those in groups as well."""
    for entry in entries:
        if isinstance(nested := get(entry, "options"), list):
            yield from _values(cast("list[Json]", nested), key, about)
        elif (id_ := get_text(entry, key)) is not None:
            yield id_, get_text(entry, about) or (id_ if about == "name" else "")
