"""The variables in the values of a journal, and the map between those of two runs.

Each run of a conversation has its own ids, directories, times and process ids. `Templates` replaces
the variables of one journal, so that texts of two runs can be compared; `IdMap` binds each variable
to its counterpart when first seen, and from then on they must agree, in both directions. A
field's name decides whether its value is an id, and such an id is a variable inside any text too.
Other values are recognised by their shape. In a redacted recording a placeholder is mapped like an
id: to the corresponding text of the other run.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast, get_args

from acp_inspector.redaction.detector import PLACEHOLDER
from acp_protocol.jsonrpc import Json, RequestId, id_key

Tolerance: TypeAlias = Literal[
    "ids-in-text",
    "shapes",
    "temp-paths",
    "usage",
    "process-ids",
    "late-updates",
    "call-states",
    "replaced-values",
    "output-lines",
    "request-order",
    "cut-titles",
    "relative-titles",
]
"""What two runs of one conversation may differ in."""
TOLERANCES: Final[frozenset[Tolerance]] = frozenset(get_args(Tolerance))

GENERATED_IDS: Final = frozenset(
    {"sessionId", "toolCallId", "terminalId", "messageId", "planId", "elicitationId", "requestId"}
)
"""Fields whose value each run generates anew."""
TIMESTAMPS: Final = frozenset({"updatedAt", "createdAt"})
"""Fields with a point in time, which no run repeats."""
MAX_CLOCK_JITTER: Final = 5.0
"""Seconds between two times that may be one time in the other run."""
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
_CUT: Final = re.compile(r"(?:\.{3}|…)\Z")
"""The end of a title that was cut."""
_FRONT_CUT: Final = re.compile(r"(?:\.{3}|…)(?=[^\s.…])")
"""The mark of a path in a title whose beginning was cut off."""
_MAX_TITLE: Final = 1000
"""Characters of a title that may be cut; titles are cut to be short."""
_PATH_START: Final = re.compile(r"(?<![\w.~:/\\-])(?:/|[A-Za-z]:[/\\])(?![/\\])")
_GOES_ON: Final = re.compile(r"\.*[\w-]")
"""The name of another directory goes on so."""
_SEPARATOR: Final = re.compile(r"[/\\]")
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
_EPOCH: Final = (1_500_000_000, 2_000_000_000)
"""Seconds that are a time of our days: 2017 to 2033."""

_Key: TypeAlias = tuple[str, object]


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
_UNBOUND: Final = frozenset(
    {"usage", "pid", "pid text", "timestamp", "duration", "run time", "date", "elapsed"}
)
"""Kinds of which only presence and type count."""


@dataclass(frozen=True, slots=True)
class CutTitle:
    """A title that was cut behind a directory, or within it."""

    before: str
    """The text before the directory."""
    directory: str
    name: str
    """The name of the directory, the same in both runs."""
    rest: str
    """What is left behind the directory; empty if it was cut within it."""
    mark: str
    """How the cut is marked."""

    def is_cut_from(self, other: CutTitle) -> bool:
        """Return whether both may be one title, each with the directory of its own run."""
        same = (self.before, self.name, self.mark) == (other.before, other.name, other.mark)
        short, long = sorted((self.rest, other.rest), key=len)
        is_alike = long.startswith(short) if short else long[:1] in {"", "/", "\\"}
        return same and self.directory != other.directory and is_alike


@dataclass(frozen=True, slots=True)
class PlacedTitle:
    """One way to read a title in which a path in a directory may be spelled differently."""

    spelling: Literal["whole", "cut", "relative"]
    """`cut`: its beginning, up to somewhere within the directory, was cut off; `relative`: the
    path begins in a directory above, such as the root of a repository, or in the directory."""
    before: str
    """The text before the path."""
    directory: str
    name: str
    """The name of the directory, the same in both runs."""
    behind: str
    """The text behind the directory."""
    length: int
    """Characters of the title."""

    def tolerance_beside(self, other: PlacedTitle) -> Tolerance | None:
        """Return the tolerance by which both are one title; None: they are not.

        A title is cut only if it would be longer.
        """
        same = (self.before, self.name, self.behind) == (other.before, other.name, other.behind)
        if not same or self.directory == other.directory:
            return None
        spellings = {self.spelling, other.spelling}
        if spellings <= {"whole", "relative"}:
            return "relative-titles" if "relative" in spellings else None
        cut, uncut = (self, other) if self.spelling == "cut" else (other, self)
        is_shorter = uncut.spelling == "whole" and uncut.length <= cut.length
        return "cut-titles" if is_shorter or uncut.length == cut.length else None


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


class Templates:
    """Finds the variables in the values of one journal."""

    def __init__(
        self,
        places: Mapping[str, str] | None = None,
        tolerances: frozenset[Tolerance] = TOLERANCES,
    ) -> None:
        """Replace directories by the names in `places`."""
        self._places: dict[str, str] = {}
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
        self._places[directory] = name
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
        return with_directories(text, self._places)

    def cut_titles(self, title: str) -> Iterator[CutTitle]:
        """Yield each way to read a title that was cut: by each directory that it may name."""
        found = _CUT.search(title)
        if found is None or len(title) > _MAX_TITLE:
            return
        text = title[: found.start()]
        for start in (each.start() for each in _PATH_START.finditer(text)):
            path = text[start:]
            for directory, name in self._places.items():
                if path.startswith(directory) and not _GOES_ON.match(path, len(directory)):
                    yield CutTitle(text[:start], directory, name, path[len(directory) :], found[0])
                elif directory.startswith(path) and len(_SEPARATOR.findall(path)) > 1:
                    yield CutTitle(text[:start], directory, name, "", found[0])

    def placed_titles(self, title: str) -> Iterator[PlacedTitle]:
        """Yield each way to read a title as one with a path in a directory."""
        if len(title) > _MAX_TITLE:
            return
        for directory, name in self._places.items():
            for spelling, start, end in _spellings(title, directory):
                behind = title[end:] if end else f"/{title}"
                if not _GOES_ON.match(behind):
                    length = len(title)
                    yield PlacedTitle(spelling, title[:start], directory, name, behind, length)

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
                value = self._places[value] if value in self._places else self._bare[value]
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
            any(each in text for each in (*self._places, *self._bare)),
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
            longest = sorted(self._places, key=len, reverse=True)
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
        self._templates = Templates(directories)
        self._live_templates = Templates({each: each for each in self.directories.values()})

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
        if recorded.tolerance is None:
            return self.agree(recorded.kind, recorded.value, live.value)
        if recorded.kind in _UNBOUND:
            return True
        one, other = str(recorded.value), str(live.value)
        known, known_back = self._texts.get(one), self._recorded_texts.get(other)
        if known is None and known_back is None:
            self._add_texts(one, other)
            return True
        if other in (known or ()):
            return True
        if recorded.kind not in {"time", "epoch"}:
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
            if variable.kind != "place":
                known = self._texts.get(live, ())
                live = next(iter(known)) if len(known) == 1 else live
            parts += (recorded[at:start], live)
            at = end
        return "".join([*parts, recorded[at:]]) if parts else recorded

    def _member_to_live(self, name: str, value: Json) -> Json:
        if name in GENERATED_IDS and (name, _hashable(value)) in self._live:
            return self._live[name, _hashable(value)]
        return self.to_live(value)


def _spellings(
    title: str, directory: str
) -> Iterator[tuple[Literal["whole", "cut", "relative"], int, int]]:
    """Yield each place in a title where a path may be in the directory, and the directory's end."""
    start = title.find(directory)
    if start >= 0:
        yield "whole", start, start + len(directory)
    for found in _FRONT_CUT.finditer(title):
        for at in range(1, len(directory)):
            if title.startswith(directory[at:], found.end()):
                yield "cut", found.start(), found.end() + len(directory) - at
    if not title.startswith(("/", "~", ".", "…")) and directory.startswith("/"):
        above = directory.strip("/")
        while above:
            if title == above or title.startswith(f"{above}/"):
                yield "relative", 0, len(above)
            _, _, above = above.partition("/")
        yield "relative", 0, 0


def is_epoch(value: float) -> bool:
    """Return whether a number can be a time of our days, in seconds or milliseconds."""
    return any(_EPOCH[0] * unit <= value < _EPOCH[1] * unit for unit in (1, 1000))


def with_directories(text: str, places: Mapping[str, str]) -> str:
    """Return `text` with the longest directory that fits replaced, wherever a path begins so."""
    if not places:
        return text
    longest = sorted(places, key=len, reverse=True)
    # A name that only begins alike is another directory; a point may end a sentence.
    pattern = rf"(?:{'|'.join(map(re.escape, longest))})(?!\.*[\w-])"
    return re.sub(pattern, lambda found: places[found[0]], text)


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
    return number / 1000 if number >= _EPOCH[1] else number


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
