"""Compares requests by content: equal but for what each run has anew.

Values of a known shape are variables: ids agree if they are one to one in the whole request; times,
durations and process ids agree with any others. Directories are found by the paths in which two
requests differ. What was bound is applied to the response, so that the agent gets its own ids and
directories back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, cast

from acp_inspector.compare.id_map import secrets_between
from acp_inspector.compare.patterns import (
    CLOCK,
    DATE,
    PROCESS_ID,
    SERVICE_ID_START,
    UUID,
    alternatives,
    is_epoch,
)
from acp_inspector.compare.values import with_directories
from acp_inspector.model_service.bodies import TextEdit
from acp_inspector.model_service.cassette import ModelRequest
from acp_inspector.redaction.detector import PLACEHOLDER
from acp_protocol.json_values import get, get_string, get_text
from acp_protocol.jsonrpc import Json

_LABELS: Final = (
    r"call|cell|chunk|command|exec|execution|invocation|job|output|request|result|run|session|shell"
    r"|span|task|terminal|tool|trace"
)
PROMPT_SHAPES: Final[Mapping[str, str]] = {
    "secret": PLACEHOLDER.pattern,
    # The wrapper of a tool names them: "Chunk ID: bc2962".
    "short": (
        rf"""(?P<label>\b(?i:(?:{_LABELS})[ _-]?id)["']?(?: ?[:=] ?)["'(]?)"""
        r"(?P<value>[0-9a-f]{4,31}|(?=\d*[A-Za-z])(?=[A-Za-z]*\d)[0-9A-Za-z]{4,31})"
        r"(?![\w-]|[.:]\w)"
    ),
    "uuid": UUID,
    "hex": r"(?<![0-9a-zA-Z])[0-9a-f]{32,}(?![0-9a-zA-Z])",
    "id": rf"(?<![0-9a-zA-Z])(?:{SERVICE_ID_START})[_-](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{{8,}}"
    r"(?![0-9a-zA-Z])",
    "time": rf"{DATE}|(?<![\d:.]){CLOCK}(?![\d:])",
    # Agents append a random number to it.
    "epoch": r"(?<![\d.])1[5-9]\d{8}(?:\d{3}|\.\d+)?(?![\d.]\d)(?:-[0-9a-f]{4,})?(?!\d)",
    "pid": PROCESS_ID,
    "duration": r"\b\d+\.\d+ ?(?:ms|s|sec|secs|seconds|milliseconds)\b",
}
"""Values that each run has anew, by the name of their shape.

In prompts there are more of them than in the frames of ACP: dates as people write them, ids of any
model service, and hashes.
"""
BOUND_SHAPES: Final = frozenset({"secret", "short", "uuid", "hex", "id"})
"""Shapes whose values are one to one; the others only have to be there."""
ID_FIELDS: Final = frozenset(
    {
        "call_id",
        "callId",
        "chunkId",
        "chunk_id",
        "conversation_id",
        "id",
        "item_id",
        "prompt_cache_key",
        "prompt_id",
        "request_id",
        "safety_identifier",
        "session_id",
        "sessionId",
        "tool_call_id",
        "toolCallId",
        "tool_use_id",
        "toolUseId",
        "user_id",
        "user_prompt_id",
    }
)
"""Fields with a generated id of any form."""
UNORDERED_FIELDS: Final = frozenset(
    {"instructions", "system", "systemInstruction", "system_instruction", "tools"}
)
"""Fields with what an agent lists by itself, often in the order in which a directory is read."""
UNORDERED_ROLES: Final = frozenset({"developer", "system"})
"""Roles of messages of the same kind."""
MIN_LONG: Final = 8
"""Characters from which a value hardly stands in a text by chance."""
MAX_DIFFERENCES: Final = 200
"""Differences that are collected of two requests."""
MAX_DIRECTORIES: Final = 8
"""Directories that may be bound in one request."""
MAX_ATTEMPTS: Final = 60
"""Choices of directories that are tried for two requests."""
MAX_CACHED_TEXTS: Final = 128
MAX_CHOICES: Final = 8
"""Pairs of directories that are tried because of the differences of one comparison."""
ITEM_WEIGHT: Final = 10
LENGTH: Final = "[length]"
"""The end of the path of a list whose length differs."""
EXCERPT: Final = 60
"""Characters of a text that are shown around a difference."""
TEMPORARY: Final = (
    "/tmp",  # noqa: S108 - compared, not used
    "/var/tmp",  # noqa: S108
    "/var/folders",
    "/private/tmp",
    "/private/var/folders",
    "/dev/shm",  # noqa: S108
)

_SHAPE: Final = re.compile(alternatives(PROMPT_SHAPES))
_PATH: Final = re.compile(r"(?:(?<=://)|(?<![\w./~-]))(?:/[\w.@%+~-]+)+")
_FILE_NAME: Final = re.compile(r"[^/]\.[A-Za-z]\w{0,4}$")


class FieldDifference(NamedTuple):
    """A field in which two requests differ."""

    path: str
    recorded: Json
    live: Json

    def describe(self) -> str:
        """Return the field with both values, cut to what differs; untrusted."""
        recorded, live = _excerpts(self.recorded, self.live)
        return f"{self.path or 'body'}: recorded {recorded}, now {live}"


@dataclass(slots=True)
class Comparison:
    """What two requests have in common, and where they differ."""

    directories: dict[str, str] = field(default_factory=dict[str, str])
    """The live directory of each recorded one."""
    max_differences: int = MAX_DIFFERENCES
    differences: list[FieldDifference] = field(default_factory=list[FieldDifference])
    live: dict[str, str] = field(default_factory=dict[str, str])
    """The live value of each recorded id."""
    tolerated: int = 0
    """Values that differ, but agree by their shape."""
    _recorded: dict[str, str] = field(default_factory=dict[str, str])
    _places: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._places = with_names(self.directories)

    @property
    def is_equal(self) -> bool:
        return not self.differences

    @property
    def distance(self) -> tuple[int, int]:
        """How many fields differ (a missing item counts as several), and how much of texts."""
        fields = characters = 0
        for path, recorded, live in self.shown():
            fields += ITEM_WEIGHT * abs(recorded - live) if path.endswith(LENGTH) else 1
            if isinstance(recorded, str) and isinstance(live, str):
                size = max(len(recorded), len(live))
                characters += size - _common_length(recorded, live)
        return fields, characters

    def shown(self) -> Iterator[FieldDifference]:
        """Yield the differences without what was bound, and times and process ids, in texts."""
        for each in self.differences:
            if isinstance(each.recorded, str) and isinstance(each.live, str):
                placed = with_directories(each.recorded, self._places)
                yield each._replace(recorded=_with_live_values(placed, each.live))
            else:
                yield each

    def edits(self, text: str) -> list[TextEdit]:
        """Return what turns recorded ids and directories in a response into live ones."""
        pairs = {**self.live, **self._places}
        # A short number may be any other one as well.
        pairs = {
            old: new
            for old, new in pairs.items()
            if old != new and not (old.isdigit() and _is_short(old))
        }
        if not pairs:
            return []
        longest = sorted(pairs, key=len, reverse=True)
        starts = (r"(?<![0-9A-Za-z])" if _is_short(old) else "" for old in longest)
        each = (start + re.escape(old) for start, old in zip(starts, longest, strict=True))
        pattern = rf"(?:{'|'.join(each)})(?!\.*[\w-])"
        return [
            TextEdit(found.start(), found.end(), pairs[found[0]])
            for found in re.finditer(pattern, text)
        ]

    def compare(self, path: str, recorded: Json, live: Json, *, is_unordered: bool = False) -> None:
        """Compare two values, and collect what is bound and what differs.

        With `is_unordered` items and words may come in another order, as in a system prompt.
        """
        if len(self.differences) >= self.max_differences:
            return
        name = path.rpartition(".")[2]
        if isinstance(recorded, dict) and isinstance(live, dict):
            self._compare_objects(path, cast("Any", recorded), cast("Any", live), is_unordered)
        elif isinstance(recorded, list) and isinstance(live, list):
            self._compare_lists(path, cast("Any", recorded), cast("Any", live), is_unordered)
        elif isinstance(recorded, str) and isinstance(live, str):
            is_id = name in ID_FIELDS and recorded and live
            if not (
                self._bind(recorded, live)
                if is_id
                else self._texts_agree(recorded, live, is_unordered)
            ):
                self.differences.append(FieldDifference(path, recorded, live))
        elif not (_is_same(recorded, live) or (_is_time(recorded) and _is_time(live))):
            self.differences.append(FieldDifference(path, recorded, live))

    def _compare_objects(
        self, path: str, recorded: dict[str, Json], live: dict[str, Json], is_unordered: bool
    ) -> None:
        is_unordered |= recorded.get("role") in UNORDERED_ROLES
        for name in [*recorded, *(name for name in live if name not in recorded)]:
            where = f"{path}.{name}" if path else name
            if name in recorded and name in live:
                are_unordered = is_unordered or name in UNORDERED_FIELDS
                self.compare(where, recorded[name], live[name], is_unordered=are_unordered)
            else:
                self.differences.append(
                    FieldDifference(where, recorded.get(name, _NOTHING), live.get(name, _NOTHING))
                )

    def _compare_lists(
        self, path: str, recorded: list[Json], live: list[Json], is_unordered: bool
    ) -> None:
        if len(recorded) != len(live):
            self.differences.append(FieldDifference(path + LENGTH, len(recorded), len(live)))
        elif is_unordered and list(map(_name_of, recorded)) != list(map(_name_of, live)):
            recorded, live = sorted(recorded, key=_name_of), sorted(live, key=_name_of)
            self.tolerated += 1
        for place, (one, other) in enumerate(zip(recorded, live, strict=False)):
            self.compare(f"{path}[{place}]", one, other, is_unordered=is_unordered)

    def _bind(self, recorded: str, live: str) -> bool:
        """Bind two ids when first seen; later return whether they are a pair."""
        is_new = recorded not in self.live and live not in self._recorded
        if is_new:
            self.live[recorded], self._recorded[live] = live, recorded
            self.tolerated += recorded != live
        return self.live.get(recorded) == live

    def _texts_agree(self, recorded: str, live: str, is_unordered: bool) -> bool:
        placed = recorded if recorded == live else with_directories(recorded, self._places)
        (one, values), (other, live_values) = _shaped(placed), _shaped(live)
        if one != other:
            if is_unordered and _sorted_words(one) == _sorted_words(other):
                self.tolerated += 1
                return True
            return bool(secrets_between(placed, live))
        # Ids in equal texts are bound too: they are the same elsewhere.
        for (shape, value), (_, live_value) in zip(values, live_values, strict=True):
            if shape in BOUND_SHAPES:
                if not self._bind(value, live_value):
                    return False
            else:
                self.tolerated += value != live_value
        return True


def _is_short(id_: str) -> bool:
    return len(id_) < MIN_LONG


_NOTHING: Final = "(absent)"


def compare_requests(
    recorded: ModelRequest,
    live: ModelRequest,
    directories: Mapping[str, str],
    *,
    max_differences: int,
) -> Comparison:
    """Compare two requests as they are, with the directories that are known."""
    comparison = Comparison(dict(directories), max_differences)
    comparison.compare("method", recorded.method, live.method)
    comparison.compare("path", recorded.path, live.path)
    comparison.compare("query", recorded.query, live.query)
    comparison.compare("", recorded.body, live.body)
    comparison.compare("raw", _text(recorded.raw), _text(live.raw))
    return comparison


@dataclass(frozen=True, slots=True)
class Roots:
    """Directories of a machine below which a directory of a run can be."""

    cwd: str = ""
    home: str = ""
    tmp: str = ""

    def contain(self, directory: str) -> bool:
        return any(
            _is_below(directory, root) for root in (*TEMPORARY, self.tmp, self.cwd, self.home)
        ) or directory in (self.cwd, self.home)

    def in_project(self, path: str) -> bool:
        """Return whether `path` is below the working directory, if that is a project's."""
        return _is_below(path, self.cwd) and not f"{self.home}/".startswith(f"{self.cwd}/")


def _is_below(path: str, directory: str) -> bool:
    return len(directory) > 1 and path.startswith(f"{directory}/")


def _may_be_one(
    old: str, new: str, directories: Mapping[str, str], recorded_roots: Roots, live_roots: Roots
) -> bool:
    """Return whether two paths may be one directory in two runs, and not two files of one."""
    if (old, new) in ((recorded_roots.cwd, live_roots.cwd), (recorded_roots.home, live_roots.home)):
        return True
    if not (recorded_roots.contain(old) and live_roots.contain(new)):
        return False
    if recorded_roots.in_project(old) and live_roots.in_project(new):
        # In a project a path is the same in both runs.
        return False
    (parent, _, name), (other_parent, _, other_name) = old.rpartition("/"), new.rpartition("/")
    if parent == other_parent and parent not in TEMPORARY:
        # Agents name directories of their own after that of the session.
        known = {recorded_roots.cwd: live_roots.cwd, **directories}.items()
        names = [(_slug(one), _slug(two)) for one, two in known]
        return any(
            one and two and _slug(name).startswith(one) and _slug(other_name).startswith(two)
            for one, two in names
        )
    return not any(_FILE_NAME.search(path) for path in (old, new))


def _slug(directory: str) -> str:
    """Return the last name of a path as agents write it in names of their own."""
    name = directory.rpartition("/")[2]
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or name


class RequestOutline(NamedTuple):
    """What can be compared at once; equal requests have equal outlines."""

    shape: int
    """A hash of names, types and lengths; the order of items does not matter."""
    leaves: int
    """The number of values."""


def outline(value: Json) -> RequestOutline:
    """Return the outline of a value."""
    if isinstance(value, dict):
        members = [(name, outline(each)) for name, each in cast("dict[str, Json]", value).items()]
        shape = hash(frozenset((name, each.shape) for name, each in members))
        return RequestOutline(shape, sum(each.leaves for _, each in members))
    if isinstance(value, list):
        items = [outline(each) for each in cast("list[Json]", value)]
        shape = hash(("list", *sorted(each.shape for each in items)))
        return RequestOutline(shape, sum(each.leaves for each in items))
    kind = "number" if isinstance(value, int | float) else type(value).__name__
    return RequestOutline(hash(kind), 1)


def match_requests(
    recorded: ModelRequest,
    live: ModelRequest,
    recorded_roots: Roots,
    live_roots: Roots,
    *,
    known: Sequence[dict[str, str]] = (),
    max_differences: int = 1,
) -> Comparison:
    """Compare two requests with the directories that make them most alike.

    `known` are directories of earlier matches, which are tried first.
    """
    waiting: list[dict[str, str]] = [{}, *known]
    if recorded_roots.cwd and live_roots.cwd and recorded_roots.cwd != live_roots.cwd:
        waiting.append({recorded_roots.cwd: live_roots.cwd})
    best: Comparison | None = None
    for _ in range(MAX_ATTEMPTS):
        if not waiting:
            break
        directories = waiting.pop(0)
        found = compare_requests(recorded, live, directories, max_differences=max_differences)
        if best is None or found.distance < best.distance:
            best = found
        if found.is_equal:
            break
        if len(directories) < MAX_DIRECTORIES:
            pairs = (
                pair for each in found.differences for pair in _directories_in(each, directories)
            )
            more = [
                {**directories, old: new}
                for old, new in islice(dict.fromkeys(pairs), MAX_CHOICES)
                if _may_be_one(old, new, directories, recorded_roots, live_roots)
            ]
            # In depth: the first choice is the likeliest. What is known comes before guesses.
            waiting = [*more, *waiting] if directories else [*waiting, *more]
    assert best is not None
    return best


def with_names(directories: Mapping[str, str]) -> dict[str, str]:
    """Return the directories, and their paths as the name of one, as agents store sessions."""
    named = {_as_name(old): _as_name(new) for old, new in directories.items()}
    return {**named, **directories}


def _as_name(directory: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", directory)


def _directories_in(
    difference: FieldDifference, directories: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what may be one directory in both runs, by the paths in a text that differ."""
    if not (isinstance(difference.recorded, str) and isinstance(difference.live, str)):
        return
    names = with_names(directories)
    back = {new: old for old, new in names.items()}
    placed = with_directories(difference.recorded, names)
    for recorded, live in zip(_PATH.findall(placed), _PATH.findall(difference.live), strict=False):
        old, new = recorded.rstrip(".").split("/"), live.rstrip(".").split("/")
        if old == new:
            continue
        shared = _common_length(old[::-1], new[::-1])
        for count in range(shared, -1, -1):
            one, other = old[: len(old) - count], new[: len(new) - count]
            # A directory may lie in a known one in one of the runs only.
            known = with_directories("/".join(one), back)
            if len(one) > 1 and len(other) > 1 and known not in directories:
                yield known, "/".join(other)


def _name_of(item: Json) -> str:
    """Return what tells the item of a list from others: its name, or its text."""
    if isinstance(item, str):
        return item
    return get_text(item, "name") or get_string(get(item, "function"), "name")


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _shaped(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a text with the names of shapes in it, and each shape with its value.

    Cached, because system prompts repeat.
    """
    values: list[tuple[str, str]] = []

    def name(found: re.Match[str]) -> str:
        values.append((found.lastgroup or "", found["value"] or found[0]))
        return f"{found['label'] or ''}«{found.lastgroup}»"

    return _SHAPE.sub(name, text), tuple(values)


def _with_live_values(recorded: str, live: str) -> str:
    """Return a recorded text with the live times, durations and process ids."""
    values = iter(_shaped(live)[1])

    def replaced(found: re.Match[str]) -> str:
        shape, value = next(values, ("", ""))
        return value if shape == found.lastgroup and shape not in BOUND_SHAPES else found[0]

    return _SHAPE.sub(replaced, recorded)


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _sorted_words(text: str) -> list[str]:
    return sorted(re.split(r"[\s,;'\"`()]+", text))


def _is_same(recorded: Json, live: Json) -> bool:
    # In Python true equals 1.
    return recorded == live and isinstance(recorded, bool) == isinstance(live, bool)


def _is_time(value: Json) -> bool:
    return isinstance(value, int | float) and is_epoch(value)


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode(errors="surrogateescape")


def _common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many characters or items two sequences have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _excerpts(recorded: Json, live: Json) -> tuple[str, str]:
    if not (isinstance(recorded, str) and isinstance(live, str)):
        return _short(repr(recorded)), _short(repr(live))
    at = _common_length(recorded, live)
    start = max(at - EXCERPT // 3, 0)
    lead = "…" if start else ""
    return (
        lead + _short(repr(recorded[start : start + EXCERPT * 2])),
        lead + _short(repr(live[start : start + EXCERPT * 2])),
    )


def _short(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def nearest(
    requests: Sequence[tuple[int, ModelRequest]],
    live: ModelRequest,
    recorded_roots: Roots,
    live_roots: Roots,
) -> tuple[int, list[FieldDifference]] | None:
    """Return the number of the request that is most like `live`, and the differences.

    The first of several is taken.
    """
    found = (
        (
            number,
            match_requests(each, live, recorded_roots, live_roots, max_differences=MAX_DIFFERENCES),
        )
        for number, each in requests
        if each.route == live.route or each.path == live.path
    )
    best = min(found, default=None, key=lambda each: each[1].distance)
    return None if best is None else (best[0], list(best[1].shown()))
