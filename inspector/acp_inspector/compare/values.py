"""The values of a journal that each run has anew: its variables.

Each run of a conversation has its own ids, directories, times and process ids. `Templates` replaces
the variables of one journal, so that texts of two runs can be compared. A field's name decides
whether its value is an id, and such an id is a variable inside any text too. Other values are
recognised by their shape.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from acp_inspector.compare.steps import JournalStep
from acp_inspector.compare.tolerances import TOLERANCES, Tolerance
from acp_inspector.jsonpath import formatted_member
from acp_protocol.framing import opposite
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import CALL_UPDATES

GENERATED_IDS: Final = frozenset(
    {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}
)
"""Fields whose value each run generates anew."""
ABSENT: Final = "«absent»"
"""Replaces the value of a missing member."""
MAX_DEPTH: Final = 100
"""Levels of nesting that are compared one by one; deeper values are compared as a whole."""
TIMESTAMPS: Final = frozenset({"updatedAt", "createdAt"})
"""Fields with a point in time, which no run repeats."""
_PROCESS_IDS: Final = frozenset({"pid", "ppid", "pgid", "processid", "processgroupid"})
_DURATIONS: Final = ({"secs", "nanos"}, {"seconds", "nanos"})
"""The members of an object that is a duration, as programs in Rust and protocol buffers write it.
"""
_RUN_TIME: Final = re.compile(
    r"(?:^|_)(?:duration|elapsed|latency|took|(?:wall|run|execution|cpu)_?time)"
    r"(?:_?(?:ms|s|secs?|seconds|milli(?:s|seconds)|nanos|ns|us))?$"
)
"""Names of numbers that say how long something took, with underscores."""
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_USAGE: Final = re.compile(
    r"(?:^|_)(?:token_?)?usage$|[a-z]Usage$|^quota$|^costs?$|^token_?counts?$", re.IGNORECASE
)
"""Names of objects with numbers of tokens or costs."""
_MAX_ID: Final = 200
_MIN_ID: Final = 6
"""Characters of an id that is replaced inside texts; shorter ones may be ordinary words."""
_PREFIX: Final = 3
"""Characters by which an id is searched for in a text."""
_MAX_PREFIXES: Final = 100
_ID_CHARACTERS: Final = r"[\w.:|/@+=-]"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY: Final = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? +)?"
_ZONE: Final = r"(?: ?(?:GMT|UTC)?[+-]\d\d:?\d\d(?: \([A-Z][\w ]*\))?| ?(?:Z|UTC|GMT)\b)?"
CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)?"
"""The pattern of a time of day."""
DATE: Final = (
    rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{CLOCK}{_ZONE})?(?!\d)"
    rf"|\b\d{{1,2}}/\d{{1,2}}/\d{{4}}(?:,? {CLOCK})?(?!\d)|\b\d{{4}}/\d\d/\d\d(?!\d)"
    rf"|\b{_DAY}{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?:,? +(?:\d{{4}}(?: {CLOCK}{_ZONE})?|{CLOCK}{_ZONE}(?: \d{{4}}{_ZONE})?))(?!\d)"
    rf"|\b{_DAY}\d{{1,2}} {_MONTH} \d{{4}}(?: {CLOCK}{_ZONE})?(?!\d)"
)
"""The pattern of a date as people and programs write it, perhaps with a time of day."""
SERVICE_ID_START: Final = (
    r"call|toolu|msg|chatcmpl|resp|fc|rs|run|req|session|sess|thread|task|item|prompt|user"
)
"""The beginnings of the ids of model services."""
SHAPES: Final[Mapping[str, str]] = {
    "trace": r"(?<![\w-])[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?![\w-])",
    "uuid": r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])",
    "ulid": r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])",
    "hex": r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{32}|[0-9a-f]{40})(?![0-9A-Za-z])",
    "address": r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{9,16}(?![0-9A-Za-z])",
    "service": rf"(?<![0-9A-Za-z])(?:{SERVICE_ID_START})[_-](?=[A-Za-z]*\d)[0-9A-Za-z]{{12,}}"
    r"(?![0-9A-Za-z])",
    "time": r"(?<!\d)\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?(?!\d)",
    "epoch": r"(?<![0-9A-Za-z.])1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![0-9A-Za-z])",
}
"""Patterns of values that each run has anew, by the name of their shape."""
OUTPUT_SHAPES: Final[Mapping[str, str]] = {
    "date": rf"{DATE}|(?<![\d:.])[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?![\d:])",
    "elapsed": (
        r"(?:\bin |\b(?i:took|time|elapsed|real|user|sys):?\s+|\(|\t)"
        r"(?:\d+m)?\d+(?:\.\d+)? ?(?:[mnuµ]s|s|secs?|seconds|milliseconds)\b"
    ),
    "port": r"(?:localhost|127\.0\.0\.1|\[::1\]):[1-9]\d{4}(?!\d)",
    "commit": r"\[[\w./-]+(?: \([\w -]+\))? [0-9a-f]{7,12}(?=\])",
}
"""Such patterns for the output of tools: dates in words, run times, free ports of this machine, and
the digest of a new commit."""
_NEW_IN_OUTPUT: Final[Mapping[str, re.Pattern[str]]] = {
    "elapsed": re.compile(r"\d.*"),
    "port": re.compile(r"\d{5}$"),
    "commit": re.compile(r"\w+$"),
}
"""The part of an output shape that is new; what precedes it stays."""
PROCESS_ID: Final = r"(?i:\b(?:p?pids?|pgids?|process(?: group)?(?: id)?)\b)[^\w\n]{0,3}\d+(?!\d)"
"""The pattern of a process id behind its name."""


def alternatives(patterns: Mapping[str, str]) -> str:
    """Return the pattern of any of several, each a group with its name."""
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items())


_ANY_SHAPE: Final = re.compile(alternatives(SHAPES))
_NEAR_HEX: Final = re.compile(r"[0-9a-fA-F][0-9a-fA-F]{7}")
_NEAR_ID: Final = re.compile(r"[a-z][_-][0-9A-Za-z]{12}|[0-7][0-9A-Z]{25}")
_NEAR_OUTPUT: Final = re.compile(
    r"[0-9][:./-][0-9]|[0-9] ?[mnuµ]?s|[a-z]{2} +[0-9]|:[0-9]{5}|[0-9a-f]{7}\]"
)
_NEAR_TIME: Final = re.compile(r"[0-9][0-9]{3}-[01][0-9]-")
_NEAR_SHAPES: Final = (_NEAR_HEX, _NEAR_TIME, _NEAR_ID)
_NEAR_TEMP: Final = re.compile(r"/(?:tmp|var)/|\\Temp\\")
"""One of them is in every text with a value of a known shape; they are searched for fast."""
_TEMP_PATH: Final = (
    r"(?P<path>(?<![\w.~-])(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T)"
    r"/(?:[\w.+@%-]*\w)"
    r"|(?<!\w)[A-Za-z]:\\Users\\[^\\\n]{1,64}\\AppData\\Local\\Temp\\(?:[\w.+@%-]*\w))"
)
EPOCH: Final = (1_500_000_000, 2_000_000_000)
"""Seconds that are a time of our days: 2017 to 2033."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that each run generates anew."""

    kind: str
    """The name of its field, or its shape."""
    value: Json

    @property
    def tolerance(self) -> Tolerance | None:
        """The tolerance by which it may differ; None: ids in their fields always may."""
        return _TOLERANCE_OF.get(self.kind)


_TOLERANCE_OF: Final[dict[str, Tolerance]] = {
    "id": "ids-in-text",
    **dict.fromkeys((*SHAPES, *OUTPUT_SHAPES, "timestamp", "run time"), "shapes"),
    "path": "temp-paths",
    "usage": "usage",
    **dict.fromkeys(("pid", "pid text", "pid in input", "pid text in input"), "process-ids"),
    "duration": "shapes",
}
UNBOUND: Final = frozenset(
    {"usage", "pid", "pid text", "timestamp", "duration", "run time", "date", "elapsed"}
)
"""Kinds of which only presence and type count."""


_NO_OUTPUT: Final = frozenset({"rawInput", "title", "locations", "oldText", "newText"})
"""Fields of a tool call that are no output: what it is to do, and what it changes."""


@dataclass(frozen=True, slots=True)
class TextContext:
    """Where in a message a value is."""

    is_usage: bool = False
    is_output: bool = False
    """It is output of a tool."""
    is_input: bool = False
    """It is input of a tool, or what an agent asks of the client: only what is bound may differ."""

    def below(self, name: str) -> TextContext:
        """Return the context of the field `name` in a value."""
        is_output = self.is_output and name not in _NO_OUTPUT
        is_input = self.is_input or name == "rawInput"
        is_usage = not is_input and (self.is_usage or bool(_USAGE.search(name)))
        if (is_usage, is_output, is_input) == (self.is_usage, self.is_output, self.is_input):
            return self
        return TextContext(is_usage, is_output, is_input)


_PLAIN: Final = TextContext()


@dataclass(frozen=True, slots=True)
class Place:
    """Where two values are compared."""

    step: JournalStep
    path: str
    context: TextContext
    name: str
    """The name of its field; of items, that of their list."""
    depth: int
    """Levels of nesting that are compared one by one from here."""

    def member(self, name: str) -> Place:
        path = self.path + formatted_member(name)
        return Place(self.step, path, self.context.below(name), name, self.depth - 1)

    def item(self, at: int) -> Place:
        return replace(self, path=f"{self.path}[{at}]", depth=self.depth - 1)


class Templates:
    """Finds the variables in the values of one journal."""

    def __init__(
        self,
        places: Mapping[str, str] | None = None,
        tolerances: frozenset[Tolerance] = TOLERANCES,
    ) -> None:
        """Replace directories by the names in `places`."""
        self.places: dict[str, str] = {}
        """The name of each directory."""
        self._bare: dict[str, str] = {}
        """The directories without their leading slash, as some agents write paths."""
        self._tolerances = tolerances
        self._ids: set[str] = set()
        self._prefixes: set[str] = set()
        self._patterns: dict[tuple[bool, ...], re.Pattern[str]] = {}
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
            and "ids-in-text" in self._tolerances
            and _MIN_ID <= len(value) <= _MAX_ID
            and any(map(str.isdigit, value))
        ):
            self._ids.add(value)
            if value[:_PREFIX] not in self._prefixes:
                self._prefixes.add(value[:_PREFIX])
                self._patterns.clear()

    def text(self, text: str, context: TextContext = _PLAIN) -> tuple[str, list[Variable]]:
        """Return a text with its variables replaced, and the variables."""
        found = list(self.spans(text, context))
        if not found:
            return text, []
        parts: list[str] = []
        at = 0
        for start, end, variable in found:
            parts.append(text[at:start])
            is_place = variable.kind == "place"
            parts.append(str(variable.value) if is_place else f"«{variable.kind}»")
            at = end
        parts.append(text[at:])
        return "".join(parts), [each for *_, each in found if each.kind != "place"]

    def placed(self, text: str) -> str:
        """Return a text with only its directories replaced."""
        return with_directories(text, self.places)

    def timestamp(self, value: Json) -> Variable | None:
        """Return the variable that the value of a field with a point in time is."""
        return Variable("timestamp", value) if self._has_shapes else None

    def number(self, name: str, value: float, context: TextContext) -> Variable | None:
        """Return the variable that a number in the field `name` is."""
        if context.is_usage and "usage" in self._tolerances:
            return Variable("usage", value)
        if self._is_process_id(name):
            return Variable("pid in input" if context.is_input else "pid", value)
        if context.is_output and self._has_shapes and _is_run_time(name):
            return Variable("run time", value)
        return Variable("epoch", value) if self._has_shapes and is_epoch(value) else None

    def process_id(self, name: str, value: str, context: TextContext) -> Variable | None:
        """Return the variable that a text in the field `name` is, if it is a process id."""
        if not value.isdecimal() or not self._is_process_id(name):
            return None
        return Variable("pid text in input" if context.is_input else "pid text", value)

    def _is_process_id(self, name: str) -> bool:
        plain = name.replace("_", "").replace(" ", "").replace("-", "").lower()
        return "process-ids" in self._tolerances and plain in _PROCESS_IDS

    def duration(self, value: Mapping[str, Json], context: TextContext) -> Variable | None:
        """Return the variable that an object is, if it is a duration; in input it is a limit."""
        if len(value) != 2 or not self._has_shapes or context.is_input:
            return None
        are_numbers = all(type(each) is int for each in value.values())
        return Variable("duration", str(value)) if are_numbers and {*value} in _DURATIONS else None

    def spans(
        self, text: str, context: TextContext = _PLAIN
    ) -> Iterator[tuple[int, int, Variable]]:
        """Yield start, end and variable for each variable in a text."""
        pattern = self._pattern(text, context)
        if pattern is None:
            return
        at = 0
        while found := pattern.search(text, at):
            kind = found.lastgroup or ""
            start, end = found.span()
            if kind == "word":
                id_ = self._id_in(found["word"])
                if id_ is None:
                    other = _ANY_SHAPE.match(text, start) if self._has_shapes else None
                    if other is None:
                        at = start + 1
                        continue
                    kind, end = other.lastgroup or "", other.end()
                else:
                    end = start + len(id_)
                    kind = "id"
            value = text[start:end]
            if kind == "place":
                value = self.places[value] if value in self.places else self._bare[value]
            elif kind == "pid":
                # The name before the number stays.
                start = end - len(value) + len(value.rstrip("0123456789"))
                value = text[start:end]
                kind = "pid in input" if context.is_input else kind
            elif part := _NEW_IN_OUTPUT.get(kind):
                new = part.search(value)
                assert new is not None
                start, value = start + new.start(), new[0]
            yield start, end, Variable(kind, value)
            at = end

    @property
    def _has_shapes(self) -> bool:
        return "shapes" in self._tolerances

    def _pattern(self, text: str, context: TextContext) -> re.Pattern[str] | None:
        """Return the pattern of the variables that a text may have; None if it has none.

        Most texts have none, which is found faster than by trying all kinds at each character.
        """
        may_have = (
            any(each in text for each in (*self.places, *self._bare)),
            len(self._prefixes) > _MAX_PREFIXES or any(each in text for each in self._prefixes),
            "temp-paths" in self._tolerances and bool(_NEAR_TEMP.search(text)),
            (context.is_output or context.is_input) and "process-ids" in self._tolerances,
            self._has_shapes and any(each.search(text) for each in _NEAR_SHAPES),
            self._has_shapes and context.is_output and bool(_NEAR_OUTPUT.search(text)),
        )
        if not any(may_have):
            return None
        pattern = self._patterns.get(may_have)
        if pattern is None:
            longest = sorted(self.places, key=len, reverse=True)
            barest = sorted(self._bare, key=len, reverse=True)
            bare = [rf"(?<![\w./~\\-]){re.escape(each)}" for each in barest]
            begins = "|".join(map(re.escape, sorted(self._prefixes)))
            parts = (
                rf"(?P<place>(?:{'|'.join([*map(re.escape, longest), *bare])})(?!\.*[\w-]))",
                rf"(?P<word>(?<![0-9A-Za-z_])(?:{begins}){_ID_CHARACTERS}*)",
                *(_TEMP_PATH, f"(?P<pid>{PROCESS_ID})", _ANY_SHAPE.pattern),
                alternatives(OUTPUT_SHAPES),
            )
            chosen = [part for part, is_there in zip(parts, may_have, strict=True) if is_there]
            pattern = self._patterns[may_have] = re.compile("|".join(chosen))
        return pattern

    def _id_in(self, word: str) -> str | None:
        """Return the longest id with which a word begins."""
        for end in range(min(len(word), _MAX_ID), _MIN_ID - 1, -1):
            is_whole = end == len(word) or not (word[end].isalnum() or word[end] == "_")
            if is_whole and word[:end] in self._ids:
                return word[:end]
        return None


def _is_run_time(name: str) -> bool:
    return bool(_RUN_TIME.search(_CAMEL.sub("_", name).lower()))


def is_id(name: str, value: Json) -> bool:
    return name in GENERATED_IDS and not isinstance(value, dict | list)


def id_kind(name: str, step: JournalStep) -> str:
    """Return the kind of the id in a field; `requestId` names a request of one of the sides."""
    if name != "requestId":
        return name
    is_own = step.name == "$/cancel_request"
    return f"request of the {step.side if is_own else opposite(step.side)}"


def id_fields(value: Json) -> Iterator[tuple[str, Json]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            for name, inner in cast("dict[str, Json]", each).items():
                if isinstance(inner, dict | list):
                    waiting.append(cast("Json", inner))
                elif name in GENERATED_IDS:
                    yield name, inner
        elif isinstance(each, list):
            waiting += cast("list[Json]", each)


_OUTPUT_STEPS: Final = frozenset(
    {
        "tool call",
        *CALL_UPDATES,
        *("terminal", "terminal_update", "terminal_output_chunk", "response to terminal/output"),
    }
)


def context_of(step: JournalStep) -> TextContext:
    return TextContext(
        is_usage=step.name == "usage_update",
        is_output=step.name in _OUTPUT_STEPS,
        is_input=step.is_request and step.side == "agent",
    )


def is_epoch(value: float) -> bool:
    """Return whether a number can be a time of our days, in seconds or milliseconds."""
    return any(EPOCH[0] * unit <= value < EPOCH[1] * unit for unit in (1, 1000))


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
