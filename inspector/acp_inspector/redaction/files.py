"""Redacts recordings, and finds secrets that are left in a file.

A file is read twice: first to learn its secrets, then to replace them, so that a secret that is
identified at the end is also replaced at the start. Memory holds one line at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from acp_inspector.recording.compression import open_whole
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    decode_line,
    header_error,
    members_of,
    with_right_length,
)
from acp_inspector.recording.lines import MAX_LINE, SkippedLine, stream_lines
from acp_inspector.recording.reader import LINE_TOO_LONG, read_header
from acp_inspector.recording.writer import atomic_replacement
from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.patterns import RULES, UnmatchedRuleError, chosen_rules
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text
from acp_inspector.redaction.stream import StreamDetector, StreamMatch
from acp_protocol.json_values import as_list

_BEFORE: Final = ("env", "platform", "cwd", "command", "transport", "schema", "tool", "created")
"""Members after which `redacted` is inserted, in order of preference."""


def stamp_header(line: str, applied: tuple[str, ...]) -> str:
    """Return the header `line` with the rules in `applied` added to its member `redacted`.

    Raises:
        ValueError: `line` is not a JSON object.
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
_ERRORS: Final = "surrogateescape"
"""Decodes any bytes so that encoding restores them."""
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
    needs_match: bool = True,
    max_line: int = MAX_LINE,
) -> RedactionReport:
    """Copy `source` to `target` without its secrets; all else stays byte for byte.

    Args:
        source: The recording.
        target: The new recording, created with mode 0600.
        rules: Names of rules; all rules if empty.
        environment: Variables; the values of those with secret names are replaced.
        overwrite: Replace `target` if it exists.
        needs_match: Refuse if one of `rules` finds nothing.
        max_line: Longest line to search, in bytes.

    Raises:
        RecordingError: a file cannot be read or written, is not a recording, has a line that is too
            long, or exists already.
        UnknownRuleError: `rules` contains an unknown name.
        UnmatchedRuleError: a rule in `rules` found nothing; `target` was not written.
    """
    if not overwrite and target.exists() and source.exists() and target.samefile(source):
        raise RecordingError(
            f"{target} is the recording itself",
            hint="name another file, or replace it for good by --overwrite",
        )
    requested = tuple(rules)
    detector = SecretDetector(chosen_rules(requested), environment)
    learned = _learn(source, detector, max_line)
    missed = [name for name in requested if name not in learned.known.matched]
    if missed and needs_match:
        raise UnmatchedRuleError(
            f"nothing was written: the rule {missed[0]!r} finds nothing in {source}"
        )
    detector.add_known(learned.known.rule_of.items())
    placeholders = PlaceholderMap(first=learned.highest + 1)
    applied = tuple(name for name in RULES if name in detector.rules)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with (
        open_whole(source) as lines,
        atomic_replacement(target, overwrite=overwrite) as part,
        open(os.open(part, flags, _PRIVATE), "wb") as out,  # noqa: PTH123 - a descriptor
    ):
        searched = stream_lines(lines, max_line)
        _copy(searched, out, detector, placeholders, learned.cuts, applied)
    return RedactionReport(applied, placeholders.secrets_by_rule(), dict(placeholders.replaced))


def find_secrets(
    path: Path, *, environment: Mapping[str, str] = os.environ, max_line: int = MAX_LINE
) -> Iterator[Leftover]:
    """Yield the secrets in the file at `path`, which may be any kind of text.

    Raises:
        RecordingError: the file cannot be read, or, after all other lines, a line is too long.
    """
    detector = SecretDetector(chosen_rules(()), environment)
    placeholders, streams = PlaceholderMap(), StreamDetector(detector)

    def new_in_stream(matches: Iterable[StreamMatch]) -> Iterator[Leftover]:
        for match in matches:
            if match.match.value not in placeholders.numbers:
                placeholders.placeholder(match.match)
                cut = redact_text(match.text, detector, placeholders)[0]
                yield _leftover(match.parts[0][0], cut, match.match, placeholders)

    with open_whole(path, is_joined=False) as lines:
        skipped = 0
        for number, line in enumerate(stream_lines(lines, max_line), start=1):
            if isinstance(line, SkippedLine):
                skipped = skipped or number
                continue
            text = line.decode(errors=_ERRORS)
            placeholders.first = max(placeholders.first, highest_placeholder(text) + 1)
            cut, hits = redact_text(text, detector, placeholders)
            for hit in hits:
                yield _leftover(number, cut, hit, placeholders)
            yield from new_in_stream(streams.feed(number, text))
    yield from new_in_stream(streams.finish())
    if skipped:
        raise _too_long(path, skipped)


def _leftover(line: int, cut: str, hit: SecretMatch, placeholders: PlaceholderMap) -> Leftover:
    mark = f"«secret:{placeholders.numbers[hit.value]}»"
    before, found, after = cut.partition(mark)
    # A secret inside of another has no placeholder of its own.
    excerpt = before[-_EXCERPT_MARGIN:] + mark + after[:_EXCERPT_MARGIN] if found else mark
    return Leftover(line, hit.rule, excerpt.strip())


class _Cut(NamedTuple):
    start: int
    end: int
    hit: SecretMatch | None
    """The secret whose placeholder takes the place; None for all parts but the first."""


@dataclass(slots=True)
class _LearnedSecrets:
    """The result of the first pass over a recording."""

    known: PlaceholderMap
    highest: int
    """The highest number of a placeholder that is in the recording already."""
    cuts: dict[int, list[_Cut]]
    """What to cut out of lines because of secrets that span several, by the number of the line."""

    def add(self, matches: Iterable[StreamMatch]) -> None:
        for match in matches:
            self.known.placeholder(match.match)
            for place, (line, start, end) in enumerate(match.parts):
                cut = _Cut(start, end, match.match if place == 0 else None)
                self.cuts.setdefault(line, []).append(cut)


def _learn(source: Path, detector: SecretDetector, max_line: int) -> _LearnedSecrets:
    """Find the secrets of a recording.

    Raises:
        RecordingError: it is not a recording, or cannot be read.
    """
    learned, streams = _LearnedSecrets(PlaceholderMap(), 0, {}), StreamDetector(detector)
    number = 0
    with open_whole(source) as lines:
        for number, line in enumerate(stream_lines(lines, max_line), start=1):
            if isinstance(line, SkippedLine):
                raise _too_long(source, number)
            if number == 1:
                first = decode_line(line.rstrip(b"\n"))
                if not isinstance(first, Header):
                    raise header_error(source, first)
            text = line.decode(errors=_ERRORS)
            learned.highest = max(learned.highest, highest_placeholder(text))
            redact_text(text, detector, learned.known)
            learned.add(streams.feed(number, text))
    learned.add(streams.finish())
    if not number:
        raise RecordingError(f"{source} is not a recording: it is empty")
    return learned


def _copy(
    lines: Iterable[bytes | SkippedLine],
    out: BinaryIO,
    detector: SecretDetector,
    placeholders: PlaceholderMap,
    cuts: dict[int, list[_Cut]],
    applied: tuple[str, ...],
) -> None:
    before, after = hashlib.sha256(), hashlib.sha256()
    for number, line in enumerate(lines, start=1):
        if isinstance(line, SkippedLine):
            raise RecordingError(f"line {number} has become too long to be searched")
        text = line.decode(errors=_ERRORS)
        last, pieces = len(text), list[str]()
        for cut in sorted(cuts.get(number, ()), key=lambda cut: -cut.start):
            # Otherwise it was found twice, in the overlap of two searches.
            if cut.end <= last:
                mark = placeholders.placeholder(cut.hit) if cut.hit else ""
                pieces += (text[cut.end : last], mark)
                last = cut.start
        text = text[:last] + "".join(reversed(pieces))
        text = redact_text(text, detector, placeholders)[0]
        if text != line.decode(errors=_ERRORS):
            text = with_right_length(text)
        if number == 1:
            text = stamp_header(text, applied)
        written = text.encode(errors=_ERRORS)
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
    if was_redacted != redacts:
        fact = "redacted; use --redact, or" if was_redacted else "not redacted;"
        raise MixedRecordingError(f"cannot append to {path}: it is {fact} choose another name")
