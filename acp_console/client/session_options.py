"""Modes, models and options of a session, as its agent offers them.

Source: ACP, Session Modes; Session Config Options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from acp_protocol.errors import AcpError
from acp_protocol.json_values import get, get_list, get_text
from acp_protocol.jsonrpc import Json

_READ_ONLY: Final = re.compile(r"(?:\b|_)read[\s_-]*only(?:\b|_)")
_PLAN: Final = re.compile(r"(?:\b|_)(?:plan|planning|architect)(?:\b|_)")
_ASK: Final = re.compile(r"(?:\b|_)ask(?:\b|_)")
_NEGATION: Final = re.compile(
    r"(?:\b|_)(?:don['’]?t|do not|never|no|not|without|skip|bypass|auto|yolo)(?:\b|_)"
)
_PERMISSIVE: Final = re.compile(
    r"(?:allow|accept|approve)[\s_-]*(?:all|always|edits|everything)"
    r"|full[\s_-]*access|bypass|yolo|danger"
)
_ASKS: Final = 2
"""The rank of a mode in which the agent asks before it acts."""


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

    def value_after(self, step: int = 1) -> Json:
        """Return the value after the current one, the first one after the last."""
        ids = [id_ for id_, _ in self.values]
        place = ids.index(self.current) if self.current in ids else -1
        return ids[(place + step) % len(ids)] if ids else None

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
            return names is None or _strictness(names) is None
        return bool(_PERMISSIVE.search(_words(names or ())))

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
    """Return what can be chosen in a session, from the result that opened it."""
    found: list[SessionOption] = []
    modes = tuple(_values(get_list(session.get("modes"), "availableModes"), "id"))
    if modes:
        current = get(session.get("modes"), "currentModeId")
        found.append(SessionOption("mode", "mode", modes, current, "session/set_mode", "Mode"))
    for option in get_list(session, "configOptions"):
        id_ = get_text(option, "id") or get_text(option, "configId")
        if id_ is None:
            continue
        category, current = get_text(option, "category"), get(option, "currentValue")
        values = tuple(_values(get_list(option, "options"), "value"))
        name = get_text(option, "name") or ""
        method = "session/set_config_option"
        found.append(SessionOption(id_, category, values, current, method, name))
    models = tuple(_values(get_list(session.get("models"), "availableModels"), "modelId"))
    if models:
        current = get(session.get("models"), "currentModelId")
        found.append(SessionOption("model", "model", models, current, "session/set_model", "Model"))
    return found


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
    """Return the id of the mode that lets the agent do least, judged by the names of the modes.

    `asks` leaves out the modes in which the agent changes nothing, so that it need not ask.
    """
    ranked = [(rank, value[0]) for value in mode.values if (rank := _strictness(value)) is not None]
    ranked = [each for each in ranked if each[0] == _ASKS or not asks]
    return min(ranked, key=lambda each: each[0])[1] if ranked else None


def _strictness(names: tuple[str, str]) -> int | None:
    """Return the rank of a mode by its names, the strictest first; None: they do not say."""
    text = _words(names)
    if _NEGATION.search(text) or _PERMISSIVE.search(text):
        return None
    if _READ_ONLY.search(text):
        return 0
    return 1 if _PLAN.search(text) else _ASKS if _ASK.search(text) else None


def _words(names: Iterable[str]) -> str:
    """Return names in lower case; an id such as "dontAsk" is of two words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " / ".join(names)).lower()


def _values(entries: list[Json], key: str) -> Iterator[tuple[str, str]]:
    """Yield id and name of each value, those in groups as well."""
    for entry in entries:
        if isinstance(nested := get(entry, "options"), list):
            yield from _values(cast("list[Json]", nested), key)
        elif (id_ := get_text(entry, key)) is not None:
            yield id_, get_text(entry, "name") or id_
