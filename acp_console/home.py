"""What can be opened: agents, running proxies, recordings, and whatever the user types."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from acp_console.agents.spec import DEMO_AGENT, AgentSpec, command_agent
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.open_chats import OpenChats
from acp_console.traffic.sources import FileSource, ProxySource
from acp_console.wording.values import below_home, format_size, plural
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import read_header
from acp_protocol.host.sanitize import single_line

if TYPE_CHECKING:
    # pydantic takes time; the screen is there before it.
    from acp_console.agents.catalogue import Catalogue, CatalogueEntry
    from acp_console.kept.session_store import RecordedSessions, StoredSession
    from acp_inspector.control.client import RunningProxy

SESSIONS: Final = 5
"""Sessions of this directory that are listed before the user looks for others."""
WRAPPERS: Final = 3
"""Agents that another program would have to download, and that are listed all the same."""
RECORDINGS: Final = 20
"""Recordings that are listed, the newest first."""
PAUSED: Final = "⏸"
"""The sign before the note of a proxy that has paused messages."""
PATTERNS: Final = ("*.acp.ndjson*", "*/*.acp.ndjson*")

Section: TypeAlias = Literal["Continue", "Agents", "Live proxies", "Recordings", "What you typed"]
Target: TypeAlias = (
    "AgentSpec | CatalogueEntry | ChatSession | StoredSession | ProxySource | FileSource"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the first screen; its texts are safe to show."""

    section: Section
    sign: str
    title: str
    detail: str
    note: str
    target: Target
    is_minor: bool = False
    """Whether it is listed only while the user looks for something."""
    key: Hashable = None
    """What tells it from others with the same title; None: there are none."""

    @property
    def identity(self) -> Hashable:
        """What stays the same while its texts change."""
        return self.section, self.title if self.key is None else self.key

    def match(self, text: str) -> int | None:
        """Return how well it matches: 0 is the exact title; None if a word of `text` is missing."""
        title, words = self.title.casefold(), text.casefold().split()
        line = f"{title} {self.detail} {self.section}".casefold()
        if not all(word in line for word in words):
            return None
        whole = " ".join(words)
        ranks = (title == whole, title.startswith(whole), all(word in title for word in words))
        return ranks.index(True) if True in ranks else len(ranks)


def agent_entry(agent: AgentSpec) -> Entry:
    if agent.is_embedded_demo:
        return Entry("Agents", "✓", agent.title, agent.description, "built in", agent)
    words = single_line(shlex.join(agent.command), 200)
    is_found = agent.remote is not None or shutil.which(agent.absolute_command()[0]) is not None
    note = "at a URL" if agent.remote is not None else "" if is_found else "not found"
    return Entry(
        "Agents", "✓" if is_found else "○", single_line(agent.title, 40), words, note, agent
    )


def catalogue_entries(catalogue: Catalogue) -> list[Entry]:
    """Return the agents that can be chosen by name, those that can start first."""
    found: list[Entry] = []
    wrappers = 0
    for agent in catalogue.entries:
        wrappers += agent.state == "wrapper"
        sign = "✓" if agent.state == "ready" else "○"
        is_demo = agent.source == "demo"
        detail = DEMO_AGENT.description if is_demo else single_line(_needs(agent), 300)
        note = "yours" if agent.source == "config" and agent.state == "ready" else agent.status
        title = single_line(agent.title, 40)
        is_minor = agent.state == "missing" or (agent.state == "wrapper" and wrappers > WRAPPERS)
        found.append(Entry("Agents", sign, title, detail, note, agent, is_minor))
    return found


def _needs(agent: CatalogueEntry) -> str:
    """Return what an agent needs: its program, and how one signs in; what is missing comes first.

    What a wrapper downloads, it downloads by itself.
    """
    parts = [agent.command_line, "" if agent.facts is None else agent.facts.sign_in]
    if agent.state == "wrapper":
        parts.reverse()
    elif agent.state == "missing" and agent.install:
        parts[0] = agent.install
    text = " · ".join(filter(None, parts))
    with suppress(RuntimeError):
        text = text.replace(f"{Path.home()}/", "~/")
    return text


def chat_entries(chats: OpenChats) -> list[Entry]:
    """Return the open chats, those that need the user first."""
    found: list[Entry] = []
    for chat in sorted(chats.chats, key=lambda each: not each.is_waiting_for_user):
        state = "needs you" if chat.is_waiting_for_user else chat.state
        where = f"{single_line(chat.title, 40)}  {single_line(below_home(chat.cwd), 120)}"
        title = single_line(chat.name, 60)
        turns = 0 if chat.conversation is None else len(chat.conversation.turns)
        note = "  ".join(filter(None, (_turns(turns), state)))
        found.append(Entry("Continue", chat.sign, title, where, note, chat, key=chat))
    return found


def session_entries(
    store: RecordedSessions, folder: Path, now: datetime | None = None
) -> list[Entry]:
    """Return the sessions that can be continued, those of this directory first."""
    found: list[Entry] = []
    sessions = [each for each in store.sessions() if each.state != "running"]
    for session in sorted(sessions, key=lambda each: each.cwd != folder):
        where = "" if session.cwd == folder else f"  {single_line(below_home(session.cwd), 100)}"
        detail = f"{single_line(session.agent.title, 40)}{where}"
        usage, cost = session.usage, session.usage.cost
        notes = [
            "interrupted" if session.state == "interrupted" else "",
            "draft" if session.draft else "",
            f"{usage.used * 100 // usage.size} %" if usage.used and usage.size else "",
            f"${cost:.2f}" if cost is not None and usage.currency in {"", "USD"} else "",
            _turns(session.prompts),
            age(session.last_used, now),
        ]
        is_minor = session.cwd != folder or len(found) >= SESSIONS
        note = "  ".join(filter(None, notes))
        title = single_line(session.title, 60) or "(draft)"
        found.append(Entry("Continue", "○", title, detail, note, session, is_minor, session.id))
    return found


def _turns(count: int) -> str:
    return plural(count, "turn") if count else ""


def proxy_entries(proxies: Iterable[RunningProxy]) -> list[Entry]:
    return [
        Entry(
            "Live proxies",
            "●",
            single_line(proxy.name, 40),
            single_line(shlex.join(proxy.command), 200),
            f"{PAUSED} {proxy.held} paused!" if proxy.held else f"process {proxy.pid}",
            ProxySource(proxy),
            key=proxy,
        )
        for proxy in proxies
    ]


def recording_entries(folder: Path) -> list[Entry]:
    """Return the newest recordings in a folder and in the folders below it."""
    found: list[tuple[float, int, Path]] = []
    for pattern in PATTERNS:
        for path in folder.glob(pattern):
            try:
                about = path.stat()
            except OSError:
                continue
            # Snapshots and the like are beside their recordings.
            if path.is_file() and path.suffix != ".json":
                found.append((about.st_mtime, about.st_size, path))
    found.sort(reverse=True)
    entries: list[Entry] = []
    for changed, size, path in found[:RECORDINGS]:
        when = age(datetime.fromtimestamp(changed, UTC))
        name = single_line(str(path.relative_to(folder)), 60)
        note = f"{format_size(size, digits=0)}  {when}"
        source = FileSource(path)
        entries.append(Entry("Recordings", "■", name, _about(path), note, source, key=path))
    return entries


def typed_entries(text: str, folder: Path) -> list[Entry]:
    """Return what a typed line can open: a file, or the agent that it starts."""
    text = text.strip()
    if not text:
        return []
    with suppress(OSError, RuntimeError):  # Too long for a name, not to be read, or no such user.
        path = Path(folder, Path(text).expanduser())
        if path.is_file() and not _is_program(path):
            source = FileSource(path)
            return [Entry("What you typed", "■", single_line(text, 60), _about(path), "", source)]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    if shutil.which(words[0]) is None:
        return []
    agent = command_agent(words)
    name = single_line(agent.title, 40)
    return [Entry("What you typed", "›", name, single_line(text, 200), "run this command", agent)]


def shown_entries(entries: Iterable[Entry], text: str, folder: Path) -> Sequence[Entry]:
    """Return the lines that match a typed text, the best first; sections stay whole.

    What the text can open itself comes last.
    """
    if not text.strip():
        return [entry for entry in entries if not entry.is_minor]
    ranked = [(rank, entry) for entry in entries if (rank := entry.match(text)) is not None]
    best: dict[Section, int] = {}
    for rank, entry in ranked:
        best[entry.section] = min(rank, best.get(entry.section, rank))
    places = list(best)
    ranked.sort(key=lambda each: (best[each[1].section], places.index(each[1].section), each[0]))
    return [*(entry for _, entry in ranked), *typed_entries(text, folder)]


def fitted_entries(entries: Sequence[Entry], rows: int) -> Sequence[Entry]:
    """Return the entries to list while nothing is typed: as many minor ones as fit into `rows`.

    Agents come before old sessions; the order stays.
    """
    major = [entry for entry in entries if not entry.is_minor]
    spare = rows - list_rows(major)
    minor = sorted(
        (at for at, entry in enumerate(entries) if entry.is_minor),
        key=lambda at: entries[at].section != "Agents",
    )
    taken = set(minor[: max(spare, 0)])
    return [entry for at, entry in enumerate(entries) if not entry.is_minor or at in taken]


def list_rows(entries: Sequence[Entry]) -> int:
    """Return the rows of a list, with a heading above each section and an empty row between two."""
    sections = len({entry.section for entry in entries})
    return len(entries) + 2 * sections - bool(sections)


def age(then: datetime, now: datetime | None = None) -> str:
    """Return how long ago something was, in one unit."""
    seconds = max(((now or datetime.now(UTC)) - then).total_seconds(), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def _is_program(path: Path) -> bool:
    return shutil.which(str(path)) is not None


def _about(path: Path) -> str:
    try:
        header = read_header(path)
    except (RecordingError, OSError):
        return "cannot be read"
    return single_line(header.about or shlex.join(header.command), 200)
