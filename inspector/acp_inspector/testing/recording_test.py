"""Recordings as test cases: the one way in which the pytest plugin and `test` play them.

An agent that fails, a file that cannot be read, and a recording that may not be played are
outcomes, not exceptions: a run of many recordings goes on.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, Literal, TypeAlias
from xml.etree import ElementTree

import anyio
import anyio.to_thread

from acp_inspector.compare.diff import compare
from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.steps import Level
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.lint.reports import xml_text
from acp_inspector.recording.format import SUFFIX, RecordingError
from acp_inspector.recording.origin import is_our_recording
from acp_inspector.recording.reader import Recording, read_recording, unread_problem
from acp_inspector.replay.client_player import (
    STEP_TIMEOUT,
    PlayLimits,
    play_as_client,
    prepare_workspace,
)
from acp_inspector.replay.directories import ReplayDirectories, replay_directories
from acp_inspector.replay.expectations import (
    AppliedExpectations,
    Expectations,
    expectations_beside,
    read_expectations,
)
from acp_inspector.replay.parts import gaps, recorded_dialect
from acp_inspector.replay.result import ReplayResult, first_problem
from acp_inspector.replay.trust import UNTRUSTED, Trust, recorded_acts
from acp_inspector.testing.updating import replace_recording, updated_entries
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.remote import RemoteAgent

Status: TypeAlias = Literal["passed", "failed", "updated", "skipped", "error"]

NO_AGENT: Final = "no agent was named to play it against, and it has no snapshot"
STARTED_ELSEWHERE: Final = (
    "it was started in a directory of its own, not in this one: python -m finds "
    "only what is installed; install it, or name its files in the command"
)
"""The hint for a program that ends before it has sent anything."""
NOT_UPDATED: Final = "\n\nnot updated: "
_LINE_WIDTH: Final = 200
_HANDED_WIDTH: Final = 500


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How recordings are played."""

    agent: Sequence[str] | RemoteAgent = ()
    """Its command with the arguments, or where it is; empty: recordings are compared with their
    snapshots."""
    level: Level = "semantic"
    timeout: float = STEP_TIMEOUT
    """Seconds for each wait."""
    trust: Trust = UNTRUSTED
    """What the user trusts."""
    allows_redacted: bool = False
    """Send placeholders where the recording has no secrets any more."""
    is_updating: bool = False
    """Write what the agent does now into a recording that differs, or the snapshot."""
    env: Mapping[str, str] | None = None
    """The agent's variables; ours by default."""
    dialect: str | None = None
    """The agent's dialect, if it is known."""


@dataclass(frozen=True, slots=True)
class PlayOutcome:
    """How one recording was played."""

    path: Path
    status: Status
    text: str
    """The result with every difference and note, or the error; safe to show."""
    notes: tuple[str, ...] = ()
    """What is missing in the recording."""
    result: ReplayResult | None = None
    """None if nothing was played."""
    problem: AcpError | None = None
    """Why nothing could be played."""
    handed: str = ""
    """What a trusted recording has the agent do in place of the user."""
    seconds: float = 0.0
    is_known: bool = False
    """Whether it is a failure that a baseline holds."""

    @property
    def passed(self) -> bool:
        return self.status in {"passed", "updated"}

    @property
    def summary(self) -> str:
        """The first problem as one line."""
        return first_problem(self.text)

    def assert_passed(self) -> None:
        """Fail the test with every difference, unless the agent behaves as recorded.

        Raises:
            AssertionError: it does not, or the recording could not be played.
        """
        __tracebackhide__ = True
        if not self.passed:
            raise AssertionError(f"{self.path.name}: {self.text}")

    def to_json(self) -> dict[str, Json]:
        counts = {} if self.result is None else self.result.to_json()
        return {
            **counts,
            "file": str(self.path),
            "status": self.status,
            "passed": self.passed,
            "text": self.text,
            "notes": list(self.notes),
            "handed": self.handed,
            "seconds": round(self.seconds, 3),
            "known": self.is_known,
        }


async def run_recording(path: Path, options: PlayOptions) -> PlayOutcome:
    """Return how an agent that is started now behaves against the recording at `path`."""
    began = time.monotonic()
    try:
        recording = await anyio.to_thread.run_sync(read_recording, path)
        notes = tuple(gaps(recording))
        outcome = await _play(recording, options)
        handed = recorded_acts(recording, "client") if options.agent else []
        text = single_line("; ".join(handed), _HANDED_WIDTH)
        outcome = replace(outcome, notes=notes, handed=text)
    except AcpError as problem:
        outcome = error_outcome(path, problem)
    return replace(outcome, seconds=time.monotonic() - began)


async def _play(recording: Recording, options: PlayOptions) -> PlayOutcome:
    if not options.agent:
        compare_stored = partial(_compare_with_snapshot, is_updating=options.is_updating)
        return await anyio.to_thread.run_sync(compare_stored, recording)
    journal = Journal()
    expected = _expected(recording.path)
    with tempfile.TemporaryDirectory(prefix="acp-replay-", ignore_cleanup_errors=True) as name:
        directories = await anyio.to_thread.run_sync(_prepare, recording, Path(name))
        result = await play_as_client(
            recording,
            options.agent,
            directories,
            limits=PlayLimits(timeout=options.timeout),
            options=expected.options(options.level),
            allows_redacted=options.allows_redacted,
            trust=options.trust,
            env=options.env,
            journal=journal,
            dialect=options.dialect,
            translates=not options.is_updating,
        )
    frames = [each for each in journal.entries if isinstance(each, Frame)]
    if result.has_agent_ended and not any(each.side == "agent" for each in frames):
        result = replace(result, notes=(*result.notes, STARTED_ELSEWHERE))
    outcome = result_outcome(recording.path, result, expected)
    if result.is_passed or not options.is_updating:
        return outcome
    return update_recording(recording, journal.entries, directories, outcome)


def _compare_with_snapshot(recording: Recording, *, is_updating: bool) -> PlayOutcome:
    """Compare our reading of a recording with the one that is stored beside it."""
    # pydantic takes time, and an agent makes it unnecessary.
    from acp_inspector.replay.snapshot import compare_with_snapshot

    found = compare_with_snapshot(recording, is_updating=is_updating)
    if found is None:
        return PlayOutcome(recording.path, "skipped", NO_AGENT)
    if found.is_passed:
        return PlayOutcome(recording.path, "passed", f"pass: as in the snapshot, {found.counts}")
    if found.is_empty:
        return PlayOutcome(recording.path, "failed", "fail: the recording holds no message")
    text = "\n".join([f"{found.path.name} differs; {found.counts}", *found.shown()])
    if found.unread:
        text = (
            f"{unread_problem(found.unread)}\n{text}"
            if found.diff
            else unread_problem(found.unread)
        )
    if is_updating:
        found.store()
    if not is_updating or found.unread:
        return PlayOutcome(recording.path, "failed", f"fail: {text}")
    return PlayOutcome(recording.path, "updated", f"stored: {text}")


def _prepare(recording: Recording, folder: Path) -> ReplayDirectories:
    directories = replay_directories(
        recording.frames, None, folder.resolve(), recorded_cwd=recording.header.cwd
    )
    directories.create()
    prepare_directory(recording, directories.cwd)
    return directories


def prepare_directory(recording: Recording, directory: Path) -> None:
    """Put the files of a recording into the directory that it is played in.

    Raises:
        RecordingError: they cannot be written.
    """
    prepare_workspace(recording.header, directory.resolve())
    copy_files_beside(recording.path, directory)


def copy_files_beside(recording: Path, directory: Path) -> None:
    """Copy what is in the directory `NAME.files` beside `NAME.acp.ndjson`.

    Links, pipes and devices are left out.

    Raises:
        RecordingError: it cannot be copied.
    """
    source = recording.with_name(f"{recording.name.removesuffix(SUFFIX)}.files")
    if not os.path.lexists(source):
        return
    if source.is_symlink() or not source.is_dir():
        raise RecordingError(f"cannot copy {source}: it is not a directory")

    def others(folder: str, names: list[str]) -> list[str]:
        modes = {name: Path(folder, name).lstat().st_mode for name in names}
        return [name for name, mode in modes.items() if not (S_ISDIR(mode) or S_ISREG(mode))]

    try:
        shutil.copytree(source, directory, ignore=others, dirs_exist_ok=True)
    except (OSError, shutil.Error) as problem:
        raise RecordingError(f"cannot copy {source}: {problem}") from None


def update_recording(
    recording: Recording,
    live: Sequence[Entry],
    directories: ReplayDirectories,
    outcome: PlayOutcome,
) -> PlayOutcome:
    """Write what has changed into the recording; return the outcome with the differences."""
    result = outcome.result
    reason = ""
    if result is None or result.errors or result.unreached:
        reason = "the conversation did not come to its end"
    elif recording.header.redacted:
        reason = "it is redacted, and the new one would not be; record and redact it anew"
    if reason:
        return replace(outcome, text=f"{outcome.text}{NOT_UPDATED}{reason}")
    places = {recorded: str(place) for recorded, place in directories.places.items()}
    dialect = recorded_dialect(recording)
    entries = updated_entries(recording.entries, live, places, dialect=dialect)
    if compare(entries, live, ids=IdMap(places), dialect=dialect).differences:
        # Streams with Content-Length headers, several processes.
        return replace(outcome, text=f"{outcome.text}{NOT_UPDATED}record it anew")
    is_ours = is_our_recording(recording.digest)
    replace_recording(recording.path, recording.header, entries, is_ours=is_ours)
    return replace(outcome, status="updated", text=f"updated; {outcome.text}")


def conversation_outcome(path: Path, live: Sequence[Entry], cwd: Path, level: Level) -> PlayOutcome:
    """Return how a finished conversation differs from the recording at `path`, on both sides.

    `cwd` is the directory in which it was held.
    """
    try:
        recording, expected = read_recording(path), _expected(path)
        frames = recording.frames
        directory = cwd.resolve()
        places = replay_directories(
            frames, directory, directory, recorded_cwd=recording.header.cwd
        ).places
    except AcpError as problem:
        return error_outcome(path, problem)
    ids = IdMap({recorded: str(place) for recorded, place in places.items()})
    options, dialect = expected.options(level), recorded_dialect(recording)
    found = compare(recording.entries, live, ids=ids, dialect=dialect, **options)
    played = sum(isinstance(each, Frame) and each.side == "client" for each in live)
    errors = () if found.compared[0] else ("the recording holds no message",)
    result = ReplayResult(
        found.differences,
        errors,
        played,
        found.compared[0],
        tolerated=found.tolerated,
        unread=recording.unread,
    )
    return result_outcome(path, result, expected)


def _expected(recording: Path) -> AppliedExpectations:
    path = expectations_beside(recording)
    return AppliedExpectations.of(
        read_expectations(path) if os.path.lexists(path) else Expectations()
    )


def result_outcome(path: Path, result: ReplayResult, expected: AppliedExpectations) -> PlayOutcome:
    """Return how a recording was played; an expectation that never applied is an error."""
    if result.is_passed and (unused := expected.unused()):
        name = expectations_beside(path).name
        return error_outcome(path, AcpError(f"{name}: never applied: {', '.join(unused)}"))
    status: Status = "passed" if result.is_passed else "failed"
    return PlayOutcome(path, status, result.render(), result=result)


def error_outcome(path: Path, problem: AcpError) -> PlayOutcome:
    """Return the outcome of a recording that could not be played."""
    tail = (single_line(line, _LINE_WIDTH) for line in getattr(problem, "stderr_tail", ()))
    text = "\n".join([f"error: {problem}", *(f"    | {line}" for line in tail)])
    return PlayOutcome(path, "error", escape_controls(text), problem=problem)


async def run_recordings(
    paths: Iterable[Path],
    play: Callable[[Path], Awaitable[PlayOutcome]],
    *,
    jobs: int = 1,
    on_outcome: Callable[[PlayOutcome], object] = lambda outcome: None,
) -> list[PlayOutcome]:
    """Return the outcome of each recording, in the order of `paths`; `jobs` are played at a time.

    `on_outcome` gets each one as soon as it is known.
    """
    numbered = list(enumerate(paths))
    outcomes: dict[int, PlayOutcome] = {}
    waiting = iter(numbered)

    async def work() -> None:
        for number, path in waiting:
            outcomes[number] = await play(path)
            on_outcome(outcomes[number])

    async with anyio.create_task_group() as tasks:
        for _ in range(min(jobs, len(numbered))):
            tasks.start_soon(work)
    return [outcomes[number] for number, _ in numbered]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts of a set of recordings."""

    number: int
    """From 1."""
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that a text such as `2/4` names.

        Raises:
            ValueError: it names none.
        """
        number, slash, count = text.partition("/")
        if slash and number.isdecimal() and count.isdecimal() and 0 < int(number) <= int(count):
            return cls(int(number), int(count))
        raise ValueError(f"{text!r} is not a shard: expected I/N with 1 ≤ I ≤ N, such as 2/4")

    def __contains__(self, name: str) -> bool:
        """Return whether a recording is in this shard: by its name alone, so it never moves."""
        return zlib.crc32(name.encode(errors="surrogateescape")) % self.count == self.number - 1


def junit_report(outcomes: Sequence[PlayOutcome], name: str) -> str:
    """Return the outcomes as one JUnit document; failures have the whole difference."""
    tags = {"failed": "failure", "error": "error", "skipped": "skipped"}
    tagged = ["skipped" if each.is_known else tags.get(each.status, "") for each in outcomes]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(tagged.count("failure")),
        "errors": str(tagged.count("error")),
        "skipped": str(tagged.count("skipped")),
        "time": f"{sum(each.seconds for each in outcomes):.3f}",
    }
    root = ElementTree.Element("testsuites", name=name)
    suite = ElementTree.SubElement(root, "testsuite", name=name)
    suite.attrib.update(counts)
    for each, tag in zip(outcomes, tagged, strict=True):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=xml_text(str(each.path.parent)),
            name=xml_text(each.path.name),
            time=f"{each.seconds:.3f}",
        )
        message = f"known failure: {each.summary}" if each.is_known else each.summary
        attributes = {"message": xml_text(message)} if tag else {}
        ElementTree.SubElement(case, tag or "system-out", attributes).text = xml_text(
            "\n".join([each.text, *each.notes])
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
