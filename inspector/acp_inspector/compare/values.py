"""The values of a journal that each run has anew: its variables.

Each run of a conversation has its own ids, directories, times and process ids. `Templates` replaces
the variables of one journal, so that steps of two runs can be compared. A field's name decides
whether its value is an id, and such an id is a variable inside any text too. Other values are
recognised by their form; which forms there are is said in `tolerances`.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from acp_inspector.compare.steps import JournalStep
from acp_inspector.jsonpath import formatted_member
from acp_protocol.framing import opposite
from acp_protocol.json_values import as_object, descendants
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import CALL_UPDATES

GENERATED_IDS: Final = frozenset(
    {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}
)
"""Fields whose value each run generates anew."""
TIMESTAMPS: Final = frozenset({"updatedAt", "createdAt"})
"""Fields with a point in time, which no run repeats."""
ABSENT: Final = "«absent»"
"""Replaces the value of a missing member."""
MAX_DEPTH: Final = 100
"""Levels of nesting that are compared one by one; deeper values are compared as a whole."""
_USAGE: Final = re.compile(
    r"(?:^|_)(?:token_?)?usage$|[a-z]Usage$|^quota$|^costs?$|^token_?counts?$", re.IGNORECASE
)
"""Names of objects with numbers of tokens or costs."""
_OUTPUT_STEPS: Final = frozenset(
    {
        "tool call",
        *CALL_UPDATES,
        *("terminal", "terminal_update", "terminal_output_chunk", "response to terminal/output"),
    }
)
_NO_OUTPUT: Final = frozenset({"rawInput", "title", "locations", "oldText", "newText"})
"""Fields of a tool call that are no output: what it is to do, and what it changes."""
_MAX_ID: Final = 200
_MIN_ID: Final = 6
"""Characters of an id that is replaced inside texts; shorter ones may be ordinary words."""
_PREFIX: Final = 3
"""Characters by which an id is searched for in a text."""
_MAX_PREFIXES: Final = 100
_ID_CHARACTERS: Final = r"[\w.:|/@+=-]"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a message a value is."""

    step: JournalStep
    path: str = "$"
    name: str = ""
    """The name of its field; of items, that of their list."""
    depth: int = MAX_DEPTH
    """Levels of nesting that are compared one by one from here."""
    is_usage: bool = False
    is_output: bool = False
    """It is output of a tool."""
    is_input: bool = False
    """It is input of a tool, or what an agent asks of the client: only what is bound may differ."""

    @classmethod
    def of(cls, step: JournalStep) -> Place:
        """Return the place of the whole value of a step."""
        return cls(
            step,
            is_usage=step.name == "usage_update",
            is_output=step.name in _OUTPUT_STEPS,
            is_input=step.is_request and step.side == "agent",
        )

    def member(self, name: str) -> Place:
        path = self.path + formatted_member(name)
        is_output = self.is_output and name not in _NO_OUTPUT
        is_input = self.is_input or name == "rawInput"
        is_usage = not is_input and (self.is_usage or bool(_USAGE.search(name)))
        return Place(self.step, path, name, self.depth - 1, is_usage, is_output, is_input)

    def item(self, at: int) -> Place:
        return replace(self, path=f"{self.path}[{at}]", depth=self.depth - 1)

    @property
    def path_in_message(self) -> str:
        return self.step.path_in_message(self.path)


NO_PLACE: Final = Place(JournalStep("client", "", None, None))
"""The place of texts of which only what is in them is known."""

Where: TypeAlias = Callable[[Place], bool]


def anywhere(place: Place) -> bool:
    """Say that a rule is about every place."""
    del place
    return True


def nowhere(place: Place) -> bool:
    """Say that a rule is about no place."""
    del place
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A form of values that each run has anew: a pattern in texts, or a kind of whole values."""

    name: str
    where: Where = anywhere
    bound: Where = anywhere
    """Where its values are bound one to one; elsewhere only presence and type count."""
    is_time: bool = False
    """Whether two that are close to each other may be one in the other run."""
    pattern: str = ""
    """What it looks like in texts."""
    new: str = ""
    """The part of what the pattern finds that is new; all of it by default."""
    near: re.Pattern[str] = re.compile("")
    """Found fast, in every text that has one."""
    types: tuple[type, ...] = ()
    """The types of whole values that have it."""
    holds: Callable[[str, Json], bool] = lambda name, value: True
    """Whether the whole value of the field `name` has it."""


ID: Final = Form("id")
"""An id of one of the fields, inside a text."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that each run generates anew."""

    kind: str
    """The name of its field, or of its form."""
    value: Json
    form: Form | None = None
    """None: it is the id of its field, which may differ in any case."""
    is_bound: bool = True
    """Whether it has one counterpart in the other run."""


class Templates:
    """Finds the variables in the values of one journal."""

    def __init__(self, places: Mapping[str, str] | None, forms: Sequence[Form]) -> None:
        """Find values of these forms, and replace directories by the names in `places`."""
        self.places: dict[str, str] = {}
        """The name of each directory."""
        self._bare: dict[str, str] = {}
        """The directories without their leading slash, as some agents write paths."""
        self._forms = {form.name: form for form in forms}
        self._in_texts: dict[re.Pattern[str], list[Form]] = {}
        self._whole: dict[type, list[Form]] = {}
        for form in forms:
            if form.pattern:
                self._in_texts.setdefault(form.near, []).append(form)
            for each in form.types:
                self._whole.setdefault(each, []).append(form)
        self._ids: set[str] = set()
        self._prefixes: set[str] = set()
        self._patterns: dict[tuple[object, ...], re.Pattern[str]] = {}
        for directory, name in (places or {}).items():
            self.add_place(directory, name)

    def add_place(self, directory: str, name: str) -> None:
        """Replace this directory by `name` from now on."""
        self.places[directory] = name
        # A single name may be an ordinary word.
        if directory.startswith("/") and "/" in directory[1:]:
            self._bare[directory[1:]] = name[1:] if name.startswith("/") else f"«/»{name}"
        self._patterns.clear()

    def add_id(self, value: Json) -> None:
        """Replace this id inside texts from now on, if it cannot be an ordinary word."""
        if (
            isinstance(value, str)
            and ID.name in self._forms
            and _MIN_ID <= len(value) <= _MAX_ID
            and any(map(str.isdigit, value))
        ):
            self._ids.add(value)
            if value[:_PREFIX] not in self._prefixes:
                self._prefixes.add(value[:_PREFIX])
                self._patterns.clear()

    def whole(self, value: Json, place: Place) -> Variable | None:
        """Return the variable that a value is as a whole."""
        for form in self._whole.get(value.__class__, ()):
            if form.where(place) and form.holds(place.name, value):
                return Variable(form.name, value, form, form.bound(place))
        return None

    def text(self, text: str, place: Place = NO_PLACE) -> tuple[str, list[Variable]]:
        """Return a text with its variables replaced, and the variables."""
        found = list(self.spans(text, place))
        if not found:
            return text, []
        parts: list[str] = []
        at = 0
        for start, end, variable in found:
            parts.append(text[at:start])
            parts.append(str(variable.value) if variable.form is None else f"«{variable.kind}»")
            at = end
        parts.append(text[at:])
        return "".join(parts), [each for *_, each in found if each.form is not None]

    def placed(self, text: str) -> str:
        """Return a text with only its directories replaced."""
        return with_directories(text, self.places)

    def spans(self, text: str, place: Place = NO_PLACE) -> Iterator[tuple[int, int, Variable]]:
        """Yield start, end and variable for each variable in a text.

        One without a form is a directory; its value is the name in its place.
        """
        forms = [
            form.name
            for near, forms in self._in_texts.items()
            for form in (forms if near.search(text) else ())
            if form.where(place)
        ]
        has_place = any(each in text for each in (*self.places, *self._bare))
        are_many = len(self._prefixes) > _MAX_PREFIXES
        has_id = are_many or any(each in text for each in self._prefixes)
        # Most texts have none, which is found faster than by trying all at each character.
        if not (forms or has_place or has_id):
            return
        pattern = self._pattern(forms, has_place=has_place, has_id=has_id)
        at = 0
        while found := pattern.search(text, at):
            start = found.start()
            if found.lastgroup == "id":
                if id_ := self._id_in(found["id"]):
                    at = start + len(id_)
                    yield start, at, Variable("id", id_, ID)
                    continue
                other = self._pattern(forms).match(text, start) if forms else None
                if other is None:
                    at = start + 1
                    continue
                found = other
            at, value = found.end(), found[0]
            form = self._forms.get(found.lastgroup or "")
            if form is None:
                name = self.places[value] if value in self.places else self._bare[value]
                yield start, at, Variable("place", name)
                continue
            if form.new and (new := re.search(form.new, value)):
                start, value = start + new.start(), new[0]
            yield start, at, Variable(form.name, value, form, form.bound(place))

    def _pattern(
        self, forms: Sequence[str], *, has_place: bool = False, has_id: bool = False
    ) -> re.Pattern[str]:
        """Return the pattern of values of these forms, of directories and of ids."""
        key = (*forms, has_place, has_id)
        pattern = self._patterns.get(key)
        if pattern is None:
            parts = [f"(?P<{name}>{self._forms[name].pattern})" for name in forms]
            if has_id:
                begins = "|".join(map(re.escape, sorted(self._prefixes)))
                parts.insert(0, rf"(?P<id>(?<![0-9A-Za-z_])(?:{begins}){_ID_CHARACTERS}*)")
            if has_place:
                longest = sorted(self.places, key=len, reverse=True)
                barest = sorted(self._bare, key=len, reverse=True)
                bare = [rf"(?<![\w./~\\-]){re.escape(each)}" for each in barest]
                any_of = "|".join([*map(re.escape, longest), *bare])
                parts.insert(0, rf"(?P<place>(?:{any_of})(?!\.*[\w-]))")
            pattern = self._patterns[key] = re.compile("|".join(parts))
        return pattern

    def _id_in(self, word: str) -> str | None:
        """Return the longest id with which a word begins."""
        for end in range(min(len(word), _MAX_ID), _MIN_ID - 1, -1):
            is_whole = end == len(word) or not (word[end].isalnum() or word[end] == "_")
            if is_whole and word[:end] in self._ids:
                return word[:end]
        return None


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text of one journal, and where it is."""

    text: str
    place: Place
    templates: Templates

    @property
    def lines(self) -> list[tuple[str, list[Variable]]]:
        """Its lines with their variables replaced, and the variables."""
        return [self.templates.text(line, self.place) for line in self.text.split("\n")]


def is_id(name: str, value: Json) -> bool:
    return name in GENERATED_IDS and not isinstance(value, dict | list)


def id_kind(name: str, step: JournalStep) -> str:
    """Return the kind of the id in a field; `requestId` names a request of one of the sides."""
    if name != "requestId":
        return name
    is_own = step.name == "$/cancel_request"
    return f"request of the {step.side if is_own else opposite(step.side)}"


def id_fields(value: Json) -> Iterator[tuple[str, Json]]:
    for each in descendants(value):
        yield from (member for member in as_object(each).items() if is_id(*member))


def with_directories(text: str, places: Mapping[str, str]) -> str:
    """Return `text` with the longest directory that fits replaced, wherever a path begins so."""
    if not places:
        return text
    longest = sorted(places, key=len, reverse=True)
    # A name that only begins alike is another directory; a point may end a sentence.
    pattern = rf"(?:{'|'.join(map(re.escape, longest))})(?!\.*[\w-])"
    return re.sub(pattern, lambda found: places[found[0]], text)


def opaque(value: Json) -> str:
    try:
        return repr(value)
    except RecursionError:
        return "«nested too deeply»"


def is_other(one: Json, other: Json) -> bool:
    """Return whether two values differ; true differs from 1, 1.0 does not."""
    if isinstance(one, bool) is not isinstance(other, bool):
        return True
    try:
        return one != other
    except RecursionError:
        return opaque(one) != opaque(other)
