"""The sessions of this machine: the traffic of every agent is recorded, its sessions are listed.

The state directory holds two files for each run of an agent: an ordinary recording, and beside it
a small file that names the sessions in it. A frame is in the recording before it is sent or shown,
so a console that is killed loses none. The console holds a lock on the recording while the agent
runs: a recording without lock and without an end belongs to a console that died.

An agent may serve several sessions on one connection, and a session may be continued in a later
run, so neither is known by its id alone.
"""

from __future__ import annotations

import fcntl
import glob
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from acp_console.agents.login_redaction import login_redaction
from acp_console.agents.spec import AgentSpec
from acp_console.paths import PRIVATE_DIRECTORY, FileWriteError, config_path
from acp_console.state_file import StateFile
from acp_inspector.journal import Entry, Frame, Journal, JournalEvent, StderrChunk
from acp_inspector.messages import Decoder
from acp_inspector.recording.format import SUFFIX, Header, RecordingError, new_header
from acp_inspector.recording.reader import read_header, read_lines
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.session.conversation import Conversation, SessionInfo
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.items import UserMessage
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.state import state_directory
from acp_protocol.json_values import get, get_int, get_string, get_text
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.vocabulary import RESTORING
from acp_protocol.user_files.paths import ConfigPathError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from acp_console.agents.catalogue import Catalogue

VERSION: Final = 1
MAX_BYTES: Final = 2**30
"""Bytes of all recordings together, at most."""
MAX_RUNS: Final = 500
"""Recordings that are kept, at most."""
MAX_DRAFT_CHARS: Final = 2**20
"""Characters of a draft that is kept, at most."""
SAVE_INTERVAL_S: Final = 1.0
"""Seconds between two notes of what changes all the time, such as usage."""
TITLE_CHARS: Final = 200
"""Characters of a title or a first prompt that are kept."""
FIRST_ITEMS: Final = 50
"""Items of a session among which the first prompt is looked for."""
ID_CHARS: Final = 8
MIN_ID_CHARS: Final = 4
"""Characters with which an id may be abbreviated."""
CURRENCY_CHARS: Final = 8
SLUG_CHARS: Final = 24

_NOT_NAME: Final = re.compile(r"[^a-z0-9]+")
SessionState: TypeAlias = Literal["running", "closed", "failed", "interrupted"]
"""failed: the agent ended by itself; interrupted: the console died."""


class UnknownSessionError(AcpError):
    """No session has that id, or several have."""


class RunningSessionError(AcpError):
    """The session is still open in a console."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How full the context of a session is, and what it cost, as far as the agent says it."""

    used: int | None = None
    size: int | None = None
    cost: float | None = None
    currency: str = ""

    @classmethod
    def of(cls, usage: Json) -> Self:
        cost = get(usage, "cost")
        amount = get(cost, "amount")
        return cls(
            used=get_int(usage, "used"),
            size=get_int(usage, "size"),
            cost=amount if isinstance(amount, int | float) else None,
            currency=get_string(cost, "currency")[:CURRENCY_CHARS],
        )


@dataclass(slots=True)
class _SessionFacts:
    """What is known of a session without reading its recording."""

    cwd: str
    started: datetime
    last_used: datetime
    title: str = ""
    """The agent's title; untrusted."""
    prompt: str = ""
    """The begin of the first prompt."""
    prompts: int = 0
    opened_by: str = ""
    """The method that opened it."""
    parent: str | None = None
    """The session that it was forked from, or works for."""
    continues: str = ""
    """The id in this store of the session that it goes on with, in a new session of the agent."""
    keeps_title: bool = False
    """Whether it keeps the title of that one, whatever the agent calls it."""
    is_closed: bool = False
    usage: Usage = Usage()
    draft: str = ""
    directories: list[str] = field(default_factory=list[str])
    servers: list[str] | None = None
    """The names of its MCP servers; None: not known."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said in it."""
        return not (self.prompt or self.prompts or self.draft)


@dataclass(slots=True)
class _RunFacts:
    """The file beside a recording."""

    v: int
    agent: str
    title: str
    command: list[str]
    cwd: str
    started: datetime
    protocol: int = 1
    dialect: str | None = None
    state: Literal["running", "closed", "failed"] = "running"
    sessions: dict[str, _SessionFacts] = field(default_factory=dict[str, _SessionFacts])


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """What the user decided about a permission; its texts are untrusted."""

    recording: Path
    seq: int
    """The number of its entry in the recording."""
    title: str
    """The title of the tool call."""
    option: str
    """The name of the chosen option."""
    kind: str
    """The kind of the option, such as `allow_once`."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session that was recorded; its texts are untrusted."""

    id: str
    """Short, and unlike `session_id` different for each session."""
    session_id: str
    """The agent's id."""
    agent: AgentSpec
    cwd: Path
    title: str
    """The agent's title for it, or else the begin of the first prompt."""
    started: datetime
    last_used: datetime
    state: SessionState
    prompts: int
    usage: Usage
    draft: str
    is_empty: bool
    """Whether nothing was said in it."""
    parent: str | None
    recording: Path
    earlier: tuple[StoredSession, ...] = ()
    """What was said before the session was resumed or loaded in another run, oldest first."""
    opened_by: str = ""
    """The method that opened it."""
    is_named: bool = False
    """Whether the agent gave it a title."""
    directories: tuple[Path, ...] = ()
    """Other directories that the agent may read and write in it."""
    servers: tuple[str, ...] | None = None
    """The names of its MCP servers; None: not known."""
    continues: str = ""
    """The id here of the session that it goes on with, in a new session of the agent."""
    keeps_title: bool = False
    """Whether it keeps the title of that one, whatever the agent calls it."""

    @property
    def parts(self) -> tuple[StoredSession, ...]:
        """What was said in each run, oldest first; the last is this."""
        return (*self.earlier, self)


class StoredRun:
    """One run of an agent, while it is recorded. Nothing here raises or waits."""

    def __init__(
        self, recording: Path | None, facts: _RunFacts, *, warn: Callable[[str], None]
    ) -> None:
        self.recording = recording
        """The recording; None: this run is not recorded."""
        self.facts = facts
        self._warn = warn
        self._last: dict[str, tuple[SessionInfo, int]] = {}
        self._continued: dict[str, tuple[str, bool]] = {}
        """What sessions go on with, and whether they keep its title."""
        self._saved_at = 0.0

    def note(self, talk: Conversation) -> None:
        """Note what has changed in a session; call it with any change, it is cheap."""
        info, turns = talk.info, len(talk.turns)
        before = self._last.get(talk.session_id)
        is_known = before is not None and before[0] is info and before[1] == turns
        if is_known or info.opened_by is None:
            # An agent may name any number of sessions that were never opened.
            return
        self._last[talk.session_id] = info, turns
        now = datetime.now(UTC)
        known = self.facts.sessions.get(talk.session_id)
        is_urgent = known is None
        if known is None:
            cwd = info.cwd or self.facts.cwd
            known = _SessionFacts(cwd=cwd, started=now, last_used=now)
            self.facts.sessions[talk.session_id] = known
        if not known.prompt:
            known.prompt = _first_prompt(talk)
            is_urgent |= bool(known.prompt)
        # Saved at once: it names the session also if the console is killed.
        is_urgent |= known.title != (title := _storable(info.title or ""))
        known.title, known.is_closed = title, info.is_closed
        known.opened_by, known.parent = info.opened_by, info.parent
        known.continues, known.keeps_title = self._continued.get(talk.session_id, ("", False))
        known.directories = [each for each in info.directories if isinstance(each, str)]
        known.servers = info.servers
        known.prompts, known.usage, known.last_used = turns, Usage.of(info.usage), now
        if is_urgent or monotonic() - self._saved_at > SAVE_INTERVAL_S:
            self._save()

    def name_agent(self, title: str) -> None:
        """Note what the agent is called; it is saved with the next change of a session."""
        self.facts.title = _storable(title)

    def id_of(self, session_id: str) -> str:
        """Return the id of a session in the store; empty if this run is not recorded."""
        return "" if self.recording is None else _stored_id(self.recording, session_id)

    def continue_in(self, session_id: str, earlier: str, *, keeps_title: bool) -> None:
        """Note that a new session of the agent goes on with one of the store.

        Args:
            session_id: the agent's id of the new session.
            earlier: the id in the store of the other one.
            keeps_title: whether it keeps the title of that one, whatever the agent calls it.
        """
        self._continued[session_id] = earlier, keeps_title
        known = self.facts.sessions.get(session_id)
        if known is not None:
            known.continues, known.keeps_title = earlier, keeps_title
            self._save()

    def keep_draft(self, session_id: str, text: str) -> bool:
        """Keep the unsent prompt of a session, also after the run; an empty text removes it.

        Returns whether the session is known, so that its draft is kept here.
        """
        known = self.facts.sessions.get(session_id)
        if known is None or len(text) > MAX_DRAFT_CHARS:
            return False
        if known.draft != text:
            known.draft = text.encode(errors="replace").decode()
            self._save()
        return True

    def end(self, state: Literal["closed", "failed"]) -> None:
        self.facts.state = state
        self._save()

    @property
    def is_empty(self) -> bool:
        return all(each.is_empty for each in self.facts.sessions.values())

    def _save(self) -> None:
        self._saved_at = monotonic()
        if self.recording is None or not self.recording.exists():
            # It was removed: what names its sessions must not come back.
            return
        try:
            _facts_file(self.recording).write(self.facts)
        except FileWriteError as problem:
            self._warn(f"the session may miss its title: {problem}")


class RecordedSessions:
    """The recorded sessions in a directory.

    Args:
        folder: the directory; None: that of the user.
        is_on: whether agents that run now are recorded; what is there can be read in any case.
        max_bytes: bytes of all recordings together; the oldest that have ended are removed first.
        max_runs: recordings that are kept.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        is_on: bool = True,
        max_bytes: int = MAX_BYTES,
        max_runs: int = MAX_RUNS,
    ) -> None:
        self._folder = folder or state_directory() / "sessions"
        self.is_on = is_on
        self._max_bytes = max_bytes
        self._max_runs = max_runs

    @property
    def folder(self) -> Path:
        return self._folder

    # Writing

    @contextmanager
    def record(
        self,
        journal: Journal,
        agent: AgentSpec,
        cwd: Path,
        *,
        warn: Callable[[str], None] = lambda text: None,
    ) -> Generator[StoredRun]:
        """Record the new entries of `journal`, one run of an agent, while the block runs.

        If nothing was said, nothing is kept. `warn` gets a sentence if the run is not recorded
        as a whole; the run goes on all the same.
        """
        now = datetime.now(UTC)
        facts = _RunFacts(
            v=VERSION,
            agent=agent.name,
            title=agent.title,
            command=list(agent.absolute_command()),
            protocol=agent.max_protocol_version,
            dialect=agent.dialect,
            cwd=str(cwd),
            started=now,
        )
        run = StoredRun(None, facts, warn=warn)
        if not self.is_on:
            yield run
            return
        path = self._folder / f"{now:%Y%m%d-%H%M%S-%f}-{name_slug(agent.name)}{SUFFIX}"
        with ExitStack() as stack:
            try:
                self._make_folder()
                self._prune()
                keeping = login_redaction(agent, path, warn)
                header = keeping.header(
                    new_header(agent.command, cwd, transport=agent.transport, dialect=agent.dialect)
                )
                writer = RecordingWriter(path, header, warn=warn, is_ours=True)
                sink = keeping.sink(writer)
                stack.callback(writer.close)
                stack.enter_context(_lock_of(path, waits=True))
                # Closed before it is unlocked: an unlocked recording is whole.
                stack.callback(writer.close)
                _facts_file(path).write(facts)
            except (OSError, RecordingError, FileWriteError) as problem:
                with suppress(OSError):
                    _unlink(path)
                reason = describe_os_error(problem) if isinstance(problem, OSError) else problem
                warn(f"this session is not kept, because {self._folder} cannot be used: {reason}")
                yield run
                return
            run.recording = path
            before, began = len(journal), (now - journal.created).total_seconds()
            has_agent_left = has_prompt = False

            def write(entry: Entry) -> None:
                nonlocal has_agent_left, has_prompt
                match entry:
                    case JournalEvent(name="eof", data={"from": "agent"}):
                        has_agent_left = True
                    case Frame(side="client", data=data) if b"session/prompt" in data:
                        has_prompt = True
                    case _:
                        pass
                time = max(entry.time - began, 0.0)
                sink.write([replace(entry, seq=entry.seq - before, time=time)])

            stack.callback(journal.subscribe(write))
            try:
                yield run
            finally:
                if not has_prompt and run.is_empty:
                    with suppress(OSError):
                        _unlink(path)
                elif not facts.sessions:
                    _add_sessions(path, facts)
                run.end("failed" if has_agent_left else "closed")

    def keep_draft(self, session: StoredSession, text: str) -> None:
        """Keep the unsent prompt of a session that is not open."""
        facts = _facts_of(session.recording)
        if facts is not None:
            StoredRun(session.recording, facts, warn=lambda _: None).keep_draft(
                session.session_id, text
            )

    # Reading

    def sessions(
        self,
        *,
        agent: str | None = None,
        cwd: Path | None = None,
        with_empty: bool = False,
    ) -> Sequence[StoredSession]:
        """Return the sessions, the last used first.

        Args:
            agent: only those of the agent with that name or title.
            cwd: only those in that directory.
            with_empty: also those in which nothing was said.
        """
        rows: dict[str, StoredSession] = {}
        newest: dict[tuple[str, str], str] = {}
        """Which of them has an id of an agent: agents use ids again for other sessions."""
        for session in (each for run in self._runs() for each in self._sessions_of(run)):
            key = session.agent.name, session.session_id
            is_restored = session.opened_by in RESTORING
            earlier = session.continues or (newest.get(key, "") if is_restored else "")
            before = rows.pop(earlier, None)
            rows[session.id] = session if before is None else _continued(before, session)
            newest[key] = session.id
        found = sorted(rows.values(), key=lambda each: each.last_used, reverse=True)
        return [
            each
            for each in found
            if (with_empty or not each.is_empty)
            and agent in {None, each.agent.name, each.agent.title}
            and cwd in {None, each.cwd}
        ]

    def sessions_of(self, recordings: Collection[Path]) -> Sequence[StoredSession]:
        """Return the sessions that were last used in these runs, the last used first."""
        return [each for each in self.sessions() if each.recording in recordings]

    def find(self, id_: str) -> StoredSession:
        """Return the session whose id begins with `id_`, or that the agent calls so.

        A session keeps the ids that it had before it was continued.

        Raises:
            UnknownSessionError: there is none, or there are several.
        """
        sessions = self.sessions(with_empty=True)
        is_prefix = len(id_) >= MIN_ID_CHARS
        found = [
            each
            for each in sessions
            if any(
                part.session_id == id_ or (is_prefix and part.id.startswith(id_))
                for part in each.parts
            )
        ]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(each.id for each in found)
            raise UnknownSessionError(f"several sessions are called {id_!r}: {ids}")
        raise UnknownSessionError(
            f"there is no session {id_!r}",
            hint="acp-console sessions ls shows those that are kept",
        )

    # Removing

    def remove(self, session: StoredSession) -> None:
        """Remove a session and what was said in it before, also from recordings with others.

        Raises:
            RunningSessionError: a console has it open.
            OSError: a file cannot be changed.
        """
        for part in session.parts:
            with _lock_of(part.recording) as is_free:
                if not is_free:
                    raise RunningSessionError(
                        f"session {part.id} is open in a console; close it there first"
                    )
                facts = _facts_of(part.recording)
                if facts is not None:
                    facts.sessions.pop(part.session_id, None)
                if facts is None or not facts.sessions:
                    _unlink(part.recording)
                    continue
                fresh = part.recording.with_name(f".{part.recording.name}.{os.getpid()}")
                try:
                    _write_without([(part.recording, {part.session_id})], fresh)
                    fresh.replace(part.recording)
                finally:
                    fresh.unlink(missing_ok=True)
                _facts_file(part.recording).write(facts)

    def _prune(self) -> None:
        """Remove the oldest runs that have ended, so that there is room for one more."""
        files: list[tuple[float, int, Path]] = []
        for path in self._runs():
            with suppress(OSError):
                about = path.stat()
                files.append((about.st_mtime, about.st_size, path))
        size, count = sum(each[1] for each in files), len(files)
        for _, bytes_, path in sorted(files):
            if size <= self._max_bytes and count < self._max_runs:
                return
            with _lock_of(path) as is_free:
                if is_free:
                    _unlink(path)
                    size, count = size - bytes_, count - 1

    def _runs(self) -> list[Path]:
        """Return the recordings, the oldest first: names begin with the time."""
        return sorted(self._folder.glob(f"[!.]*{SUFFIX}"))

    def _sessions_of(self, recording: Path) -> Iterator[StoredSession]:
        facts = _facts_of(recording)
        if facts is None:
            return
        agent = _agent_of(facts)
        state: SessionState = facts.state
        if state == "running":
            with _lock_of(recording) as is_free:
                state = "interrupted" if is_free else "running"
        for session_id, known in facts.sessions.items():
            yield StoredSession(
                id=_stored_id(recording, session_id),
                session_id=session_id,
                agent=agent,
                cwd=Path(known.cwd),
                title=known.title or known.prompt,
                started=known.started,
                last_used=known.last_used,
                state="closed" if known.is_closed else state,
                prompts=known.prompts,
                usage=known.usage,
                draft=known.draft,
                is_empty=known.is_empty,
                parent=known.parent,
                recording=recording,
                opened_by=known.opened_by,
                is_named=bool(known.title),
                directories=tuple(map(Path, known.directories)),
                servers=None if known.servers is None else tuple(known.servers),
                continues=known.continues,
                keeps_title=known.keeps_title,
            )

    def _make_folder(self) -> None:
        self._folder.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        self._folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        if self._folder.stat().st_mode & 0o077:
            self._folder.chmod(PRIVATE_DIRECTORY)


def name_slug(name: str) -> str:
    """Return a name as a part of a file's name: letters, digits and dashes."""
    return _NOT_NAME.sub("-", name.lower()).strip("-")[:SLUG_CHARS].strip("-")


def open_user_store() -> RecordedSessions:
    """Return the user's store.

    Where the configuration is invalid, nothing new is kept: it may forbid that.
    """
    try:
        if not config_path().exists():
            return RecordedSessions()
    except ConfigPathError:
        return RecordedSessions()
    from acp_console.config import load_config
    from acp_protocol.user_files.toml_source import InvalidFileError

    try:
        return RecordedSessions(is_on=load_config().privacy.journal)
    except InvalidFileError:
        return RecordedSessions(is_on=False)


def agent_of(session: StoredSession, catalogue: Catalogue | None) -> AgentSpec:
    """Return how to start the agent of a session, with what is configured for it now."""
    for entry in () if catalogue is None else catalogue.entries:
        if entry.name == session.agent.name and entry.command == session.agent.command:
            assert catalogue is not None
            with suppress(AcpError):
                return catalogue.spec(entry, is_remembered=True)
    return session.agent


def read_conversations(session: StoredSession) -> list[Conversation]:
    """Return what was said in a session: a conversation for each run, oldest first.

    What an agent replays is not repeated from earlier runs.

    Raises:
        RecordingError: a recording cannot be read.
    """
    talks: list[Conversation] = []
    for part in (session, *reversed(session.earlier)):
        talk = _fold(part.recording, part.agent).sessions.get(part.session_id)
        if talk is None:
            continue
        talks.insert(0, talk)
        is_part = part.continues or part.opened_by == "session/resume"
        if not is_part or _is_replayed(talk):
            break
    return talks


def read_decisions(session: StoredSession) -> list[RecordedDecision]:
    """Return what the user decided about the permissions of a session, in all its runs.

    Raises:
        RecordingError: a recording cannot be read.
    """
    return [
        RecordedDecision(
            part.recording,
            entry.seq,
            get_string(entry.data, "title"),
            get_string(entry.data, "option_name"),
            get_string(entry.data, "kind"),
        )
        for part in session.parts
        for entry in _entries(part.recording)
        if isinstance(entry, JournalEvent)
        and entry.name == "decision"
        and entry.data.get("session") == part.session_id
    ]


def export_recording(session: StoredSession, path: Path) -> None:
    """Write a recording of all runs of a session, without the agent's other sessions.

    Each run begins with its `spawn`, like an agent that was restarted.

    Raises:
        RecordingError: a file cannot be read or written, or `path` exists.
    """
    parts: list[tuple[Path, Collection[str]]] = []
    for part in session.parts:
        facts = _facts_of(part.recording)
        others = () if facts is None else facts.sessions.keys() - {part.session_id}
        parts.append((part.recording, others))
    _write_without(parts, path)


def export_journal(
    journal: Journal, agent: AgentSpec, cwd: Path, others: Collection[str], path: Path
) -> None:
    """Write a recording of what a journal has in memory, without the messages of other sessions.

    For runs that are not kept; what is secret in a login is left out all the same.

    Raises:
        RecordingError: a file cannot be written, or `path` exists.
    """
    whole = path.with_name(f".{path.name}.whole")
    keeping = login_redaction(agent, whole, lambda text: None)
    header = new_header(agent.command, cwd, transport=agent.transport, dialect=agent.dialect)
    writer = RecordingWriter(whole, keeping.header(header))
    try:
        sink = keeping.sink(writer)
        for entry in list(journal.entries):
            sink.write([entry])
        writer.close()
        if writer.failure:
            raise RecordingError(f"cannot write {whole}: {writer.failure}")
        _write_without([(whole, others)], path)
    finally:
        writer.close()
        _unlink(whole)


# Recordings


def _entries(recording: Path) -> Iterator[Entry]:
    for line in read_lines(recording):
        if isinstance(line, Frame | StderrChunk | JournalEvent):
            yield line


def _fold(recording: Path, agent: AgentSpec) -> Conversations:
    header, talks = read_header(recording), Conversations(agent.dialect)
    talks.fold.decoder.begin_recording(header.dialect, header.cwd)
    talks.read(_entries(recording))
    return talks


def _write_without(parts: Sequence[tuple[Path, Collection[str]]], path: Path) -> None:
    """Copy recordings, one after the other, each without the messages of some sessions.

    Numbers and times of the first one stay; those of the others go on from there.
    """
    headers = [read_header(recording) for recording, _ in parts]
    began = _created(headers[0])
    writer = RecordingWriter(path, headers[0])
    try:
        last, time = 0, 0.0
        for (recording, sessions), header in zip(parts, headers, strict=True):
            # The clock may have been set back, and headers have milliseconds.
            before, later = last, max((_created(header) - began).total_seconds(), time)
            for entry in _kept(recording, sessions):
                last, time = before + entry.seq, later + entry.time
                writer.write([replace(entry, seq=last, time=time)])
    finally:
        writer.close()
    if writer.failure:
        raise RecordingError(f"cannot write {path}: {writer.failure}")


def _created(header: Header) -> datetime:
    try:
        found = datetime.fromisoformat(header.created)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _kept(recording: Path, sessions: Collection[str]) -> Iterator[Entry]:
    """Yield the entries of a recording without the messages of some sessions."""
    header, decoder, exchanges = read_header(recording), Decoder(), Exchanges()
    decoder.begin_recording(header.dialect, header.cwd)
    for entry in _entries(recording):
        found: set[Json] = set()
        if isinstance(entry, Frame):
            for message, _ in exchanges.pair(decoder.decode(entry)):
                if isinstance(message, Request | Notification):
                    found.add(get_text(message.params, "sessionId"))
            found |= {exchange.session for exchange in exchanges.all_of(entry)}
        elif isinstance(entry, JournalEvent):
            decoder.note(entry)
            found.add(get_text(entry.data, "session"))
        if found.isdisjoint(sessions):
            yield entry


def _stored_id(recording: Path, session_id: str) -> str:
    found = sha256(f"{recording.name}/{session_id}".encode(errors="replace")).hexdigest()
    return found[:ID_CHARS]


def _continued(before: StoredSession, session: StoredSession) -> StoredSession:
    has_title = session.is_named and not session.keeps_title
    return replace(
        session,
        title=session.title if has_title else before.title or session.title,
        is_named=session.is_named or before.is_named,
        started=before.started,
        prompts=before.prompts + session.prompts,
        earlier=(*before.earlier, replace(before, earlier=())),
        is_empty=session.is_empty and before.is_empty,
    )


def _is_replayed(talk: Conversation) -> bool:
    """Return whether the agent sent prompts again that another run had sent."""
    first = talk.turns[0].began if talk.turns else math.inf
    frames = (talk.frame_of(item) for item in talk.items if isinstance(item, UserMessage))
    return any(frame is not None and frame < first for frame in islice(frames, 1))


def _first_prompt(talk: Conversation) -> str:
    found = (item.text for item in talk.items[:FIRST_ITEMS] if isinstance(item, UserMessage))
    return _storable(next(found, ""))


def _storable(text: str) -> str:
    """Return the begin of a text, without what UTF-8 cannot encode."""
    return text[:TITLE_CHARS].encode(errors="replace").decode()


# The files of a run


@cache
def _facts_adapter() -> TypeAdapter[_RunFacts]:
    # Imported late: it takes time, and the agent starts without it.
    from pydantic import TypeAdapter

    return TypeAdapter(_RunFacts)


def _facts_file(recording: Path) -> StateFile[_RunFacts | None]:
    return StateFile(
        recording.with_name(f"{recording.name.removesuffix(SUFFIX)}.json"),
        lambda content: _facts_adapter().validate_json(content),
        _dumped,
        lambda: None,
    )


def _dumped(facts: _RunFacts | None) -> str:
    value = None if facts is None else asdict(facts)
    return json.dumps(value, indent=1, default=datetime.isoformat) + "\n"


def _facts_of(recording: Path) -> _RunFacts | None:
    """Return what is known of a run; None if nothing is."""
    facts = _facts_file(recording).read()
    # The console may have died before it noted a session.
    return facts if facts is not None and facts.sessions else _rebuilt_facts(recording, facts)


def _rebuilt_facts(recording: Path, known: _RunFacts | None) -> _RunFacts | None:
    """Return what the recording itself says of a run; None if it cannot be read."""
    try:
        header = read_header(recording)
        began = datetime.fromisoformat(header.created)
        last_used = datetime.fromtimestamp(recording.stat().st_mtime, UTC)
    except (RecordingError, OSError, ValueError):
        return known
    name = Path(header.command[0]).name if header.command else "unknown"
    facts = known or _RunFacts(VERSION, name, name, header.command, header.cwd, began)
    _add_sessions(recording, facts)
    for each in facts.sessions.values():
        each.started, each.last_used = began, last_used
    return facts


def _add_sessions(recording: Path, facts: _RunFacts) -> None:
    """Add the sessions that a recording names."""
    run = StoredRun(None, facts, warn=lambda _: None)
    with suppress(RecordingError, OSError):
        for talk in _fold(recording, _agent_of(facts)).sessions.values():
            run.note(talk)


def _agent_of(facts: _RunFacts) -> AgentSpec:
    command = tuple(facts.command)
    about = shlex.join(command)
    return AgentSpec(facts.agent, facts.title, command, about, facts.protocol, facts.dialect)


@contextmanager
def _lock_of(recording: Path, *, waits: bool = False) -> Generator[bool]:
    """Lock a recording while the block runs; yield whether it was free.

    `waits`: others only look, so the wait for them is short.
    """
    with ExitStack() as stack:
        is_free = True
        try:
            descriptor = os.open(recording, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            is_free = False
        except FileNotFoundError:
            pass
        yield is_free


def _unlink(recording: Path) -> None:
    """Remove a recording and all that is kept beside it."""
    recording.unlink(missing_ok=True)
    for path in recording.parent.glob(f"{glob.escape(recording.name.removesuffix(SUFFIX))}.*"):
        path.unlink(missing_ok=True)
