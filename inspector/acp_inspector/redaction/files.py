"""Takes the secrets out of recordings, and tells which are left in a file.

A file is read twice: once to learn its secrets, then to replace them, so that one that a name gives
away at the end is also replaced where it stood bare at the beginning. Both hold one line at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from acp_inspector.recording.compression import DecompressedFile
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    decode_line,
)
from acp_inspector.recording.reader import LINE_TOO_LONG, SkippedLine, read_header, stream_lines
from acp_inspector.recording.writer import atomic_replacement
from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.patterns import RULES, UnmatchedRuleError, chosen_rules
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text
from acp_inspector.redaction.stream import PendingCuts, StreamDetector, StreamMatch
from acp_protocol.errors import describe_os_error

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BEFORE: Final = ("env", "platform", "cwd", "command", "transport", "schema", "tool", "created")
"""Members behind which `redacted` belongs, the nearest first."""


def stamp_header(line: str, applied: tuple[str, ...]) -> str:
    """Return the header `line` with the names in `applied` among those under `redacted`.

    Raises:
        ValueError: `line` is no JSON object.
    """
    members = _members(line)
    if old := members.get("redacted"):
        names = _applied_names(old[0]) | set(applied)
        return f"{line[: old[1]]}{_listed(names)}{line[old[2] :]}"
    anchor = next(name for name in (*_BEFORE, "acp_recording") if name in members)
    at = members[anchor][2]
    return f'{line[:at]},"redacted":{_listed(set(applied))}{line[at:]}'


def _applied_names(value: Any) -> set[str]:
    return {str(name) for name in cast("list[Any]", value)} if isinstance(value, list) else set()


def _listed(names: set[str]) -> str:
    known = [name for name in RULES if name in names]
    listed = [*known, *sorted(names - set(known))]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


def _members(line: str) -> dict[str, tuple[Any, int, int]]:
    """Return the members of the object, each with where its value begins and ends."""
    members: dict[str, tuple[Any, int, int]] = {}
    at = _skip(line, _skip(line, 0) + 1)
    while line[at : at + 1] != "}":
        key, at = _DECODER.raw_decode(line, at)
        start = _skip(line, _skip(line, at) + 1)
        value, at = _DECODER.raw_decode(line, start)
        members[key] = (value, start, at)
        at = _skip(line, at)
        if line[at : at + 1] == ",":
            at = _skip(line, at + 1)
    return members


def _skip(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at


_PRIVATE: Final = 0o600
_AROUND: Final = 24
"""Characters of an excerpt on either side of what was cut out."""


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """What was taken out of a recording."""

    rules: tuple[str, ...]
    """The rules that were applied."""
    secrets: Mapping[str, int]
    """Distinct secrets by rule."""
    replaced: Mapping[str, int]
    """Places by rule."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A secret that is still in a file."""

    line: int
    """Number of the line, from 1."""
    rule: str
    excerpt: str
    """What is around it, with placeholders for every secret."""


def redact_recording(
    source: Path,
    target: Path,
    *,
    rules: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
    overwrite: bool = False,
) -> RedactionReport:
    """Write `source` to `target` without its secrets; everything else stays byte for byte.

    Args:
        source: the recording.
        target: where it goes, with mode 0600.
        rules: names of rules, each of which must find something; none: all of them.
        environment: variables whose values are looked for.
        overwrite: replace `target` if it exists.

    Raises:
        RecordingError: a file cannot be read or written, is no recording, has a line that is too
            long to be looked at, or exists already.
        UnknownRuleError: there is no rule of a name in `rules`.
        UnmatchedRuleError: a rule in `rules` found nothing; `target` was not written.
    """
    asked = tuple(rules)
    finder = SecretDetector(chosen_rules(asked), environment)
    lesson = _learn(source, finder)
    if missed := [name for name in asked if name not in lesson.known.matched]:
        raise UnmatchedRuleError(
            f"nothing was written: the rule {missed[0]!r} finds nothing in {source}"
        )
    finder.add_known(lesson.known.rule_of.items())
    ledger = PlaceholderMap(first=lesson.highest + 1)
    applied = tuple(name for name in RULES if name in finder.rules)
    with _opened(source) as lines, _written(target, overwrite=overwrite) as out:
        _copy(lines, out, finder, ledger, lesson.stitches, applied)
    return RedactionReport(applied, ledger.secrets_by_rule(), dict(ledger.replaced))


def leftovers(path: Path, *, environment: Mapping[str, str] = os.environ) -> Iterator[Leftover]:
    """Yield the secrets that are left in the file at `path`, whatever kind of text it is.

    Raises:
        RecordingError: the file cannot be read, or, when all others were looked at, that a line
            is too long for it.
    """
    finder = SecretDetector(chosen_rules(()), environment)
    ledger, seams = PlaceholderMap(), StreamDetector(finder)
    with _opened(path) as lines:
        unseen = 0
        for number, line in enumerate(stream_lines(lines), start=1):
            if isinstance(line, SkippedLine):
                unseen = unseen or number
                continue
            text = _text(line)
            ledger.first = max(ledger.first, highest_placeholder(text) + 1)
            cut, hits = redact_text(text, finder, ledger)
            yield from _leftovers_of_line(number, cut, hits, ledger)
            yield from _leftovers_of_stream(seams.feed(number, text), finder, ledger)
    yield from _leftovers_of_stream(seams.finish(), finder, ledger)
    if unseen:
        raise _too_long(path, unseen)


def _leftovers_of_line(
    number: int, cut: str, hits: Iterable[SecretMatch], ledger: PlaceholderMap
) -> Iterator[Leftover]:
    for hit in hits:
        mark = f"«secret:{ledger.numbers[hit.value]}»"
        at = cut.find(mark)
        # One that stood inside of another went with it.
        excerpt = cut[max(at - _AROUND, 0) : at + len(mark) + _AROUND] if at >= 0 else mark
        yield Leftover(number, hit.rule, excerpt.strip())


def _leftovers_of_stream(
    joined: Iterable[StreamMatch], finder: SecretDetector, ledger: PlaceholderMap
) -> Iterator[Leftover]:
    for each in joined:
        if each.hit.value not in ledger.numbers:
            ledger.placeholder(each.hit)
            cut = redact_text(each.text, finder, ledger)[0]
            yield from _leftovers_of_line(each.parts[0].line, cut, [each.hit], ledger)


@dataclass(slots=True)
class _LearnedSecrets:
    """What a first look at a recording has taught."""

    known: PlaceholderMap
    """Its secrets."""
    highest: int
    """The highest number of a placeholder that it holds already."""
    stitches: PendingCuts
    """What has to be cut out of several lines at once."""


def _learn(source: Path, finder: SecretDetector) -> _LearnedSecrets:
    """Return what the file holds.

    Raises:
        RecordingError: it is no recording, or cannot be read.
    """
    lesson, seams = _LearnedSecrets(PlaceholderMap(), 0, PendingCuts()), StreamDetector(finder)
    number = 0
    with _opened(source) as lines:
        for number, line in enumerate(stream_lines(lines), start=1):
            if isinstance(line, SkippedLine):
                raise _too_long(source, number)
            if number == 1 and not isinstance(decode_line(line.rstrip(b"\n")), Header):
                raise RecordingError(f"{source} is no recording: its first line is no header")
            text = _text(line)
            lesson.highest = max(lesson.highest, highest_placeholder(text))
            redact_text(text, finder, lesson.known)
            lesson.stitches.add(seams.feed(number, text), lesson.known)
    lesson.stitches.add(seams.finish(), lesson.known)
    if not number:
        raise RecordingError(f"{source} is no recording: it is empty")
    return lesson


def _copy(
    lines: BinaryIO,
    out: BinaryIO,
    finder: SecretDetector,
    ledger: PlaceholderMap,
    stitches: PendingCuts,
    applied: tuple[str, ...],
) -> None:
    """Write the lines without their secrets."""
    before, after = hashlib.sha256(), hashlib.sha256()
    for number, line in enumerate(stream_lines(lines), start=1):
        if isinstance(line, SkippedLine):
            raise RecordingError(f"line {number} has become too long to be looked at")
        cut = redact_text(stitches.cut(number, _text(line), ledger), finder, ledger)[0]
        if number == 1:
            cut = stamp_header(cut, applied)
        written = cut.encode(errors="surrogateescape")
        digest = _digest(line)
        if digest and digest == before.hexdigest():
            # A digest that did not fit before does not fit now: it is no business of ours.
            written = written.replace(digest.encode(), after.hexdigest().encode())
        before.update(line)
        after.update(written)
        out.write(written)


def _digest(line: bytes) -> str:
    """Return the digest that a footer tells; nothing for any other line."""
    footer = decode_line(line.rstrip(b"\n")) if line.startswith(b'{"end":') else None
    return footer.digest if isinstance(footer, Footer) else ""


def _too_long(path: Path, number: int) -> RecordingError:
    # What was not looked at may hold anything, so it is neither copied nor called clean.
    return RecordingError(f"cannot look into all of {path}: line {number}: {LINE_TOO_LONG}")


def _text(line: bytes) -> str:
    """Return the line as text from which the same bytes can be made again."""
    return line.decode(errors="surrogateescape")


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    """Open a file of lines, compressed or not.

    Raises:
        RecordingError: it cannot be read, or not to its end.
    """
    try:
        with DecompressedFile(path) as stream:
            yield stream.file
            fault = stream.problem
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None
    if fault:
        raise RecordingError(f"cannot look into all of {path}: {fault}")


@contextmanager
def _written(path: Path, *, overwrite: bool) -> Generator[BinaryIO]:
    """Open a new private file, which has its name when all went well.

    Raises:
        RecordingError: it exists and must not be replaced, or cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with (
        atomic_replacement(path, overwrite=overwrite) as part,
        open(os.open(part, flags, _PRIVATE), "wb") as file,  # noqa: PTH123 - a descriptor
    ):
        yield file


class MixedRecordingError(RecordingError):
    """A recording would be redacted in one half and not in the other."""


def check_append(path: Path, *, redacts: bool) -> None:
    """Let a recording that is appended to stay redacted as a whole, or not at all.

    Raises:
        MixedRecordingError: what is there was redacted and what comes shall not be, or vice versa.
    """
    if not path.is_file():
        # A pipe would be waited for.
        return
    try:
        was_redacted = bool(read_header(path).redacted)
    except RecordingError:
        # Nothing that can be gone on with: the writer says so.
        return
    if was_redacted and not redacts:
        raise MixedRecordingError(
            f"cannot append to {path}: it is redacted; say --redact, or choose another name"
        )
    if redacts and not was_redacted:
        raise MixedRecordingError(
            f"cannot append to {path}: what it holds is not redacted; choose another name"
        )
