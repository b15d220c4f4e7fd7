"""`NAME.expect.toml` beside a recording: what may differ from it, each entry with a reason.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from acp_inspector.compare.diff import CompareOptions, compare
from acp_inspector.compare.difference import JournalComparison, StepDifference
from acp_inspector.compare.ignoring import Ignore, Matcher
from acp_inspector.compare.steps import Level
from acp_inspector.compare.values import ABSENT
from acp_inspector.filter.compiler import Filter, compile_filter
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import FrameNotes
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.regular_files import read_regular
from acp_protocol.jsonrpc import Json
from acp_protocol.safe_regex import PatternError, compile_pattern
from acp_protocol.user_files.sentences import error_sentence

SUFFIX: Final = ".expect.toml"
MAX_FILE_BYTES: Final = 1 << 20
MATCH_SECONDS: Final = 1.0
"""Seconds in which a pattern has to match a value."""
MAX_ROUNDS: Final = 5
"""Times that a proposal is extended by what still differs."""
LACKING_FIELDS: Final = frozenset({"finding", "rule", "held", "edited"})
"""Fields of filters that have no value in a comparison."""
JSONType: TypeAlias = Literal["string", "number", "boolean", "null", "object", "array"]
_TYPES: Final[dict[object, JSONType]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
}
_INDEX: Final = re.compile(r"\[\d+\]")
_WORD: Final = re.compile(r"\d+|\w+|\W")
_ESSENTIAL: Final = re.compile(
    r"\$\.error.*|\$\.result(?:\.stopReason)?"
    r"|\$\.params(?:\.update(?:\.(?:rawInput.*|status|kind|sessionUpdate"
    r"|content(?:\[\*\](?:\.(?:type|path|oldText|newText))?)?))?)?"
)
"""Paths that no proposal allows: endings, states and input of tool calls, diffs, and parents."""
_INPUT: Final = re.compile(r"\$\.params\.update\.rawInput.+")
"""Paths in the input of tool calls, of which a proposal allows other values of a known shape."""
_SHAPED: Final = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]*\d)\w{6,}(?![A-Za-z0-9_])|(?<!\d)\d{4,}(?!\d)"
)
"""Values that programs make anew: UUIDs, words of six and more characters with digits, and numbers
of four and more digits, such as those of processes and ports."""
_ESSENTIAL_STEPS: Final = frozenset({"malformed message", "tool call", "terminal"})
"""Steps that no proposal leaves out; nor texts, responses, and requests of the agent."""
_MIN_COMMON_SHARE: Final = 0.5
"""Share of a text that both runs must have, if a pattern is proposed for the rest."""


class InvalidExpectationsError(AcpError):
    """The file cannot be read or is invalid."""


def _path(text: str) -> str:
    if not text.startswith("$"):
        raise ValueError("a path begins with $")
    try:
        parse_path(text)
    except JSONPathError as problem:
        raise ValueError(f"no path at character {problem.position + 1}: {problem}") from None
    return text


def _filter(text: str) -> str:
    try:
        unknown = compile_filter(text).fields & LACKING_FIELDS
    except FilterError as problem:
        raise ValueError(f"no filter: {problem}") from None
    if unknown:
        raise ValueError(f"not available here: {', '.join(sorted(unknown))}")
    return text


def _regex(text: str) -> str:
    try:
        compile_pattern(text)
    except PatternError as problem:
        raise ValueError(f"no regular expression: {problem}") from None
    return text


_Path: TypeAlias = Annotated[str, AfterValidator(_path)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """Why the two may differ."""
    may: bool = False
    """Whether it need not apply."""


class IgnoreEntry(_Entry):
    """Frames, or values at a path, that are not compared."""

    filter: Annotated[str, AfterValidator(_filter)] | None = None
    path: _Path | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.filter is None) == (self.path is None):
            raise ValueError("one of filter and path is needed")
        return self


class MatchEntry(_Entry):
    """A path whose values of both runs have to match instead of being equal."""

    path: _Path
    regex: Annotated[str, AfterValidator(_regex)] | None = None
    type: JSONType | None = None
    lines: Literal["unordered"] | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if [self.regex, self.type, self.lines].count(None) != 2:
            raise ValueError("one of regex, type and lines is needed")
        return self

    def mismatch(self, one: Json, other: Json) -> str:
        """Return why the values of both runs do not match; empty if they do.

        A matcher that need not apply is about values that differ.
        """
        if self.may and one == other:
            return ""
        if self.regex is not None:
            return _mismatch(self.regex, one, "-") or _mismatch(self.regex, other, "+")
        if self.type is not None:
            is_same = {type_of(one), type_of(other)} == {self.type}
            return "" if is_same else f"not both are of type {self.type}"
        return "" if _have_same_lines(one, other) else "the lines are not the same"


class Expectations(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ignore: list[IgnoreEntry] = Field(default_factory=list[IgnoreEntry])
    match: list[MatchEntry] = Field(default_factory=list[MatchEntry])

    def to_toml(self) -> str:
        """Return the text of the file."""
        tables: list[str] = []
        for name, entries in (("ignore", self.ignore), ("match", self.match)):
            for entry in entries:
                values = entry.model_dump(exclude_defaults=True)
                lines = [f"{key} = {_spelled(value)}" for key, value in values.items()]
                tables.append("\n".join([f"[[{name}]]", *lines]) + "\n")
        return "\n".join(tables)


@dataclass(frozen=True, slots=True)
class FilterSelector:
    """Selects the frames that a filter matches."""

    filter: Filter

    @property
    def needs_responses(self) -> bool:
        """Whether the filter asks which requests have a response."""
        return "pending" in self.filter.fields

    def matches(self, frame: DecodedFrame, exchanges: Exchanges, notes: FrameNotes) -> bool:
        fields = EntryFields(frame.frame, exchanges, notes=notes, decoded=frame)
        return self.filter.matches(fields)


@dataclass(slots=True)
class AppliedExpectations:
    """Expectations as the comparison takes them; each counts how often it applied."""

    ignores: list[Ignore] = field(default_factory=list[Ignore])
    matchers: list[Matcher] = field(default_factory=list[Matcher])
    must_apply: list[Ignore | Matcher] = field(default_factory=list["Ignore | Matcher"])

    @classmethod
    def of(cls, expectations: Expectations) -> AppliedExpectations:
        applied = cls()
        for entry in expectations.ignore:
            text = entry.path if entry.filter is None else entry.filter
            assert text is not None
            is_path = entry.filter is None
            what = parse_path(text) if is_path else FilterSelector(compile_filter(text))
            applied.ignores.append(Ignore(text, what))
            applied.must_apply += [] if entry.may else applied.ignores[-1:]
        for entry in expectations.match:
            matcher = Matcher(entry.path, parse_path(entry.path), entry.mismatch)
            applied.matchers.append(matcher)
            applied.must_apply += [] if entry.may else [matcher]
        return applied

    def options(self, level: Level) -> CompareOptions:
        """Return the arguments of a comparison that expects this."""
        return {"level": level, "ignores": self.ignores, "matchers": self.matchers}

    def unused(self) -> list[str]:
        """Return the filters and paths that had to apply and did not.

        One about the side that was played is for the other command: `replay` or `mock`.
        """
        return [
            each.text
            for each in self.must_apply
            if not (each.applied or each.elsewhere or (isinstance(each, Ignore) and each.covered))
        ]


def expectations_beside(recording: Path) -> Path:
    """Return the path of the expectations for a recording: NAME.expect.toml, NAME.acp.ndjson."""
    return recording.with_name(recording.name.split(".acp.ndjson")[0] + SUFFIX)


def read_expectations(path: Path) -> Expectations:
    """Read a file of expectations.

    Links, pipes and devices are refused.

    Raises:
        InvalidExpectationsError: it cannot be read or is invalid; the message names file and key.
    """
    try:
        raw = read_regular(path, MAX_FILE_BYTES)
    except OSError as problem:
        raise InvalidExpectationsError(f"{path}: {describe_os_error(problem)}") from None
    try:
        return Expectations.model_validate(tomllib.loads(raw.decode()))
    except ValidationError as problem:
        raise InvalidExpectationsError(f"{path}: {_problems(problem)}") from None
    except (ValueError, RecursionError) as problem:
        raise InvalidExpectationsError(f"{path}: no TOML: {problem}") from None


def _spelled(value: str | bool) -> str:
    # Apart from one control character, JSON spells strings and booleans as TOML does.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _problems(error: ValidationError) -> str:
    parts: list[str] = []
    for each in error.errors(include_url=False):
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in each["loc"])
        parts.append(f"{place.lstrip('.')}: {error_sentence(each)}")
    return "; ".join(parts)


def type_of(value: Json) -> JSONType | None:
    """Return the type of a value; None if it is absent."""
    kind: object = value.__class__
    return None if value == ABSENT else _TYPES.get(kind)


def _mismatch(regex: str, value: Json, mark: str) -> str:
    """Return why a value does not match; empty if it does."""
    if not isinstance(value, str) or value == ABSENT:
        return f"the value marked {mark} is not text, so the regex {regex} does not match"
    try:
        found = compile_pattern(regex).fullmatch(value, timeout=MATCH_SECONDS, concurrent=True)
    except TimeoutError:
        return f"the regex {regex} took longer than {MATCH_SECONDS:g} s for the value marked {mark}"
    return "" if found else f"the regex {regex} does not match the whole value marked {mark}"


def _have_same_lines(one: Json, other: Json) -> bool:
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    return Counter(one.splitlines()) == Counter(other.splitlines())


# Learning


def propose(left: Sequence[Entry], right: Sequence[Entry]) -> Expectations:
    """Return expectations by which two recordings of one conversation are equal.

    Whatever differs counts as unstable. What a replay always compares goes on to differ, and so
    does what cannot be stated as an expectation, such as an id that means two things. In the input
    of tools and in requests of the agent, only values of a known shape are allowed to differ.
    """
    proposal = Expectations()
    for _ in range(MAX_ROUNDS):
        found = compare_with(proposal, left, right, level="semantic")
        known = len(proposal.ignore) + len(proposal.match)
        for pair in found.pairs:
            step = pair.left or pair.right
            is_request = step is not None and step.is_request and step.side == "agent"
            for difference in pair.differences:
                is_input = is_request or _INPUT.fullmatch(difference.path) is not None
                known_paths = {each.path for each in proposal.match}
                entry_of = _input_entry if is_input else _entry_of
                _add(proposal, entry_of(difference, known_paths))
        if len(proposal.ignore) + len(proposal.match) == known:
            break
    return proposal


def compare_with(
    expectations: Expectations,
    left: Sequence[Entry],
    right: Sequence[Entry],
    *,
    level: Level = "semantic",
) -> JournalComparison:
    """Compare two journals as the expectations allow."""
    applied = AppliedExpectations.of(expectations)
    return compare(left, right, **applied.options(level))


def _add(proposal: Expectations, entry: IgnoreEntry | MatchEntry | None) -> None:
    if isinstance(entry, MatchEntry):
        if all(each.path != entry.path for each in proposal.match):
            proposal.match.append(entry)
    elif entry is not None and all(
        (each.filter, each.path) != (entry.filter, entry.path) for each in proposal.ignore
    ):
        proposal.ignore.append(entry)


def _entry_of(difference: StepDifference, tried: set[str]) -> IgnoreEntry | MatchEntry | None:
    name = difference.name
    if difference.kind != "changed" or not difference.path.startswith("$"):
        is_essential = name.endswith("_chunk") or name in _ESSENTIAL_STEPS
        if name.startswith("response to ") or is_essential:
            return None
        is_update = difference.path == "" and "/" not in name and not name.startswith("$")
        filter_ = f'{"update" if is_update else "method"} == "{name}"'
        how = "in another order" if difference.kind == "moved" else "in one of two runs"
        reason = f"{name} came {how}"
        return IgnoreEntry(filter=filter_, reason=reason, may=True)
    path = _INDEX.sub("[*]", difference.path)
    if _ESSENTIAL.fullmatch(path):
        return None
    one, other = difference.left, difference.right
    reason = f"{name} differed between two runs"
    if path in tried and name.endswith("_chunk"):
        return None
    if path in tried or type_of(one) != type_of(other) or type_of(one) in {"object", "array"}:
        return IgnoreEntry(path=path, reason=f"{reason} in presence or type", may=True)
    if _have_same_lines(one, other):
        return MatchEntry(path=path, lines="unordered", reason=f"{reason} in the order of lines")
    are_texts = isinstance(one, str) and isinstance(other, str)
    if are_texts and (pattern := common_pattern(one, other)) is not None:
        return MatchEntry(path=path, regex=pattern, reason=reason, may=True)
    if name.endswith("_chunk"):
        # By its type every text would be allowed.
        return None
    return MatchEntry(path=path, type=type_of(one), reason=reason, may=True)


def _input_entry(difference: StepDifference, tried: set[str]) -> MatchEntry | None:
    one, other, path = difference.left, difference.right, _INDEX.sub("[*]", difference.path)
    is_text = isinstance(one, str) and isinstance(other, str) and path.startswith("$.")
    if not is_text or difference.kind != "changed" or path in tried:
        return None
    assert isinstance(one, str)
    assert isinstance(other, str)
    if (pattern := shape_pattern(one, other)) is None:
        return None
    reason = f"a value of a known shape in {difference.name} differed between two runs"
    return MatchEntry(path=path, regex=pattern, reason=reason, may=True)


def shape_pattern(one: str, other: str) -> str | None:
    """Return a regular expression for texts that differ only in values of the same shape."""
    values, others = _SHAPED.findall(one), _SHAPED.findall(other)
    rest = _SHAPED.split(one)
    if rest != _SHAPED.split(other):
        return None
    shapes = [_shape(*pair) for pair in zip(values, others, strict=True)]
    if None in shapes:
        return None
    return re.escape(rest[0]) + "".join(
        f"{shape}{re.escape(behind)}" for shape, behind in zip(shapes, rest[1:], strict=True)
    )


def _shape(one: str, other: str) -> str | None:
    """Return the pattern of two values; None if they have no shape in common."""
    if one == other:
        return re.escape(one)
    if one.isdecimal() and other.isdecimal():
        return r"\d+"
    # Words of a program have letters and digits in one length.
    is_word = not one.isdecimal() and not other.isdecimal() and len(one) == len(other)
    characters = r"[\w-]" if "-" in one else r"\w"
    return f"{characters}{{{len(one)}}}" if is_word else None


def common_pattern(one: str, other: str) -> str | None:
    """Return a regular expression for two texts that are mostly the same; None if they are not."""
    words, others = _WORD.findall(one), _WORD.findall(other)
    if len(words) != len(others):
        return None
    same = sum(len(mine) for mine, its in zip(words, others, strict=True) if mine == its)
    if same < _MIN_COMMON_SHARE * max(len(one), len(other)):
        return None
    parts = [
        re.escape(mine) if mine == its else _wildcard(mine, its)
        for mine, its in zip(words, others, strict=True)
    ]
    return "".join(parts)


def _wildcard(one: str, other: str) -> str:
    return r"\d+" if one.isdecimal() and other.isdecimal() else r"[^\n]+"
