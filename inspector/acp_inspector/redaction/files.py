"""Redacts recordings, and finds secrets that are left in a file.

A file is read twice: first to learn its secrets, then to replace them, so that a secret that is
identified at the end is also replaced at the start. Memory holds one line at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from acp_inspector.recording.compression import open_whole
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    decode_line,
    members_of,
)
from acp_inspector.recording.reader import LINE_TOO_LONG, SkippedLine, read_header, stream_lines
from acp_inspector.recording.writer import atomic_replacement
from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.patterns import RULES, UnmatchedRuleError, chosen_rules
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text
from acp_inspector.redaction.stream import PendingCuts, StreamDetector, StreamMatch
from acp_protocol.json_values import as_list

_BEFORE: Final = ("env", "platform", "cwd", "command", "transport", "schema", "tool", "created")
"""Members after which `redacted` is inserted, in order of preference."""


def stamp_header(line: str, applied: tuple[str, ...]) -> str:
    """Return the header `line` with the rules in `applied` added to its member `redacted`.

    Raises:
        ValueError: `line` is no JSON object.
    """
    members = members_of(line.rstrip("\n"))
    if old := members.get("redacted"):
        names = {str(name) for name in as_list(old.value)} | set(applied)
        return f"{line[: old.start]}{_listed(names)}{line[old.end :]}"
    anchor = next(name for name in (*_BEFORE, "acp_recording") if name in members)
    at = members[anchor].end
    return f'{line[:at]},"redacted":{_listed(set(applied))}{line[at:]}'


def _listed(names: set[str]) -> str:
    known = [name for name in RULES if name in names]
    listed = [*known, *sorted(names - set(known))]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


_PRIVATE: Final = 0o600
_EXCERPT_MARGIN: Final = 24
"""Characters of an excerpt on either side of the secret."""


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """The number of secrets that were replaced."""

    rules: tuple[str, ...]
    """The rules that were applied."""
    secrets: Mapping[str, int]
    """Distinct secrets by rule."""
    replaced: Mapping[str, int]
    """Replacements by rule."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A secret that is still in a file."""

    line: int
    """Number of the line, from 1."""
    rule: str
    excerpt: str
    """The surrounding text, with placeholders for every secret."""


def redact_recording(
    source: Path,
    target: Path,
    *,
    rules: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
    overwrite: bool = False,
) -> RedactionReport:
    """Copy `source` to `target` without its secrets; all else stays byte for byte.

    Args:
        source: The recording.
        target: The new recording, created with mode 0600.
        rules: Names of rules, each of which must find something; all rules if empty.
        environment: Variables; the values of those with secret names are replaced.
        overwrite: Replace `target` if it exists.

    Raises:
        RecordingError: a file cannot be read or written, is no recording, has a line that is too
            long, or exists already.
        UnknownRuleError: `rules` contains an unknown name.
        UnmatchedRuleError: a rule in `rules` found nothing; `target` was not written.
    """
    requested = tuple(rules)
    detector = SecretDetector(chosen_rules(requested), environment)
    learned = _learn(source, detector)
    if missed := [name for name in requested if name not in learned.known.matched]:
        raise UnmatchedRuleError(
            f"nothing was written: the rule {missed[0]!r} finds nothing in {source}"
        )
    detector.add_known(learned.known.rule_of.items())
    placeholders = PlaceholderMap(first=learned.highest + 1)
    applied = tuple(name for name in RULES if name in detector.rules)
    with open_whole(source) as lines, _written(target, overwrite=overwrite) as out:
        _copy(lines, out, detector, placeholders, learned.cuts, applied)
    return RedactionReport(applied, placeholders.secrets_by_rule(), dict(placeholders.replaced))


def leftovers(path: Path, *, environment: Mapping[str, str] = os.environ) -> Iterator[Leftover]:
    """Yield the secrets in the file at `path`, which may be any kind of text.

    Raises:
        RecordingError: the file cannot be read, or, after all other lines, a line is too long.
    """
    detector = SecretDetector(chosen_rules(()), environment)
    placeholders, streams = PlaceholderMap(), StreamDetector(detector)
    with open_whole(path) as lines:
        skipped = 0
        for number, line in enumerate(stream_lines(lines), start=1):
            if isinstance(line, SkippedLine):
                skipped = skipped or number
                continue
            text = _text(line)
            placeholders.first = max(placeholders.first, highest_placeholder(text) + 1)
            cut, hits = redact_text(text, detector, placeholders)
            yield from _leftovers_of_line(number, cut, hits, placeholders)
            yield from _leftovers_of_stream(streams.feed(number, text), detector, placeholders)
    yield from _leftovers_of_stream(streams.finish(), detector, placeholders)
    if skipped:
        raise _too_long(path, skipped)


def _leftovers_of_line(
    number: int, cut: str, hits: Iterable[SecretMatch], placeholders: PlaceholderMap
) -> Iterator[Leftover]:
    for hit in hits:
        mark = f"«secret:{placeholders.numbers[hit.value]}»"
        at = cut.find(mark)
        # A secret inside of another has no placeholder of its own.
        excerpt = (
            cut[max(at - _EXCERPT_MARGIN, 0) : at + len(mark) + _EXCERPT_MARGIN]
            if at >= 0
            else mark
        )
        yield Leftover(number, hit.rule, excerpt.strip())


def _leftovers_of_stream(
    joined: Iterable[StreamMatch], detector: SecretDetector, placeholders: PlaceholderMap
) -> Iterator[Leftover]:
    for each in joined:
        if each.hit.value not in placeholders.numbers:
            placeholders.placeholder(each.hit)
            cut = redact_text(each.text, detector, placeholders)[0]
            yield from _leftovers_of_line(each.parts[0].line, cut, [each.hit], placeholders)


@dataclass(slots=True)
class _LearnedSecrets:
    """The result of the first pass over a recording."""

    known: PlaceholderMap
    highest: int
    """The highest number of a placeholder that is in the recording already."""
    cuts: PendingCuts
    """Secrets that span several lines."""


def _learn(source: Path, detector: SecretDetector) -> _LearnedSecrets:
    """Find the secrets of a recording.

    Raises:
        RecordingError: it is no recording, or cannot be read.
    """
    learned, streams = _LearnedSecrets(PlaceholderMap(), 0, PendingCuts()), StreamDetector(detector)
    number = 0
    with open_whole(source) as lines:
        for number, line in enumerate(stream_lines(lines), start=1):
            if isinstance(line, SkippedLine):
                raise _too_long(source, number)
            if number == 1 and not isinstance(decode_line(line.rstrip(b"\n")), Header):
                raise RecordingError(f"{source} is no recording: its first line is no header")
            text = _text(line)
            learned.highest = max(learned.highest, highest_placeholder(text))
            redact_text(text, detector, learned.known)
            learned.cuts.add(streams.feed(number, text), learned.known)
    learned.cuts.add(streams.finish(), learned.known)
    if not number:
        raise RecordingError(f"{source} is no recording: it is empty")
    return learned


def _copy(
    lines: BinaryIO,
    out: BinaryIO,
    detector: SecretDetector,
    placeholders: PlaceholderMap,
    cuts: PendingCuts,
    applied: tuple[str, ...],
) -> None:
    before, after = hashlib.sha256(), hashlib.sha256()
    for number, line in enumerate(stream_lines(lines), start=1):
        if isinstance(line, SkippedLine):
            raise RecordingError(f"line {number} has become too long to be searched")
        cut = redact_text(cuts.cut(number, _text(line), placeholders), detector, placeholders)[0]
        if number == 1:
            cut = stamp_header(cut, applied)
        written = cut.encode(errors="surrogateescape")
        footer = decode_line(line.rstrip(b"\n")) if line.startswith(b'{"end":') else None
        digest = footer.digest if isinstance(footer, Footer) else ""
        if digest and digest == before.hexdigest():
            # A digest that was wrong before stays wrong.
            written = written.replace(digest.encode(), after.hexdigest().encode())
        before.update(line)
        after.update(written)
        out.write(written)


def _too_long(path: Path, number: int) -> RecordingError:
    # A line that was not searched may contain secrets.
    return RecordingError(f"cannot read all of {path}: line {number}: {LINE_TOO_LONG}")


def _text(line: bytes) -> str:
    """Decode the line so that encoding it restores the same bytes."""
    return line.decode(errors="surrogateescape")


@contextmanager
def _written(path: Path, *, overwrite: bool) -> Generator[BinaryIO]:
    """Open a new file with mode 0600, which appears at `path` if the block succeeds.

    Raises:
        RecordingError: `path` exists and `overwrite` is false, or it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with (
        atomic_replacement(path, overwrite=overwrite) as part,
        open(os.open(part, flags, _PRIVATE), "wb") as file,  # noqa: PTH123 - a descriptor
    ):
        yield file


class MixedRecordingError(RecordingError):
    """Only one part of a recording would be redacted."""


def check_append(path: Path, *, redacts: bool) -> None:
    """Check that a recording to append to is redacted if, and only if, `redacts` is true.

    Raises:
        MixedRecordingError: it is redacted and `redacts` is false, or vice versa.
    """
    if not path.is_file():
        # Reading a pipe would block.
        return
    try:
        was_redacted = bool(read_header(path).redacted)
    except RecordingError:
        # The writer reports that it cannot be continued.
        return
    if was_redacted and not redacts:
        raise MixedRecordingError(
            f"cannot append to {path}: it is redacted; use --redact, or choose another name"
        )
    if redacts and not was_redacted:
        raise MixedRecordingError(
            f"cannot append to {path}: it is not redacted; choose another name"
        )
