"""Logs in which messages are among other text, in whatever form a program writes them.

A message may be anywhere in a line: behind a time and an arrow (`12:00:01 → {…}`), a value of a
JSON object (`{"direction": "in", "message": {…}}`), or text within one (`{"raw": "{…}"}`). The
sender and the time are read from what is around it:

- `client → agent`, `C->A`, `from agent`, `to client` and `stdin` name the sender.
- `→`, `out`, `sent`, `upstream` name a direction, as seen by the program that wrote the log. The
  methods of the first messages decide whose view that is; without any, the client's.
- A message with nothing around it has the sender that its method or its request suggests.

JetBrains IDEs write such logs: `2026-02-14 20:22:39,308 [ 318210] FINE - AcpTransport - OUT: {…}`
(source: agentclientprotocol/registry, pull request 30).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import BinaryIO, Final, TypeAlias, cast

from acp_inspector.importers.line_logs import SideGuesser, side_of_method
from acp_inspector.importers.model import FrameItem, Item, NoteItem, broken, seconds
from acp_inspector.recording.format import BOM
from acp_protocol import jsonrpc
from acp_protocol.framing import Side, opposite
from acp_protocol.jsonrpc import ENVELOPE, Batch, Json, Notification, Request

# Who sent a message, by the text around it

_CLIENTS: Final = frozenset({"client", "editor", "ide", "host", "c"})
_AGENTS: Final = frozenset({"agent", "server", "a"})
_NAME: Final = r"(?:client|editor|ide|host|agent|server)"
_THERE: Final = r"(?:-+>|=+>|>+|→|⇒|⟶|➔|➜|➡|►|▶)"
_BACK: Final = r"(?:<-+|<=+|<+|←|⇐|⟵|⬅|◄|◀)"
_PAIR: Final = re.compile(
    rf"\b(?P<a>{_NAME})\s*(?:(?:{_THERE}|to|2)|(?P<back>{_BACK}))\s*(?P<b>{_NAME})\b"
    rf"|\b(?P<c>[ac])\s?(?:(?:{_THERE}|2)|(?P<return>{_BACK}))\s?(?P<d>[ac])\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(
    rf"\b(?P<way>from|sender|by|to|receiver)\W{{1,3}}(?:the\s+)?(?P<name>{_NAME})\b", re.IGNORECASE
)
_STDIO: Final = re.compile(r"\b(?P<stream>stdin|stdout)\b", re.IGNORECASE)
_OTHER_PAIR: Final = re.compile(
    rf"\b(?P<a>[a-z][\w.-]*)\s*(?:{_THERE}|(?P<back>{_BACK}))\s*(?P<b>[a-z][\w.-]*)\W*$",
    re.IGNORECASE,
)
_ARROW: Final = re.compile(rf"(?P<out>{_THERE})|(?P<in>{_BACK})")
_WORD: Final = re.compile(
    r"\b(?:(?P<out>outgoing|outbound|sent|sending)|(?P<in>incoming|inbound|received|receiving))\b",
    re.IGNORECASE,
)
_SHORT_WORD: Final = re.compile(
    r"\b(?:(?P<out>out|send|tx|write|wrote)|(?P<in>in|recv|receive|rx|read))\b\W*$", re.IGNORECASE
)
_STREAM: Final = re.compile(r"\b(?:(?P<out>downstream)|(?P<in>upstream))\b", re.IGNORECASE)
_LONE_NAME: Final = re.compile(
    r"\b(?:(?P<out>client|editor|ide)|(?P<in>agent|server))\b\W*$", re.IGNORECASE
)
_WAYS: Final = (
    *(("word", _WORD), ("stream", _STREAM), ("short word", _SHORT_WORD)),
    *(("arrow", _ARROW), ("name", _LONE_NAME)),
)
"""Spellings of the two directions, the clearest first."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of two opposite directions, such as `→` of `→` and `←`."""

    spelling: str
    is_first: bool


Sender: TypeAlias = Side | Way


def sender_in(text: str) -> Sender | None:
    """Return the sender that the text around a message names, or its direction."""
    if pair := _last(_PAIR, text):
        sender = (pair["a"] or pair["c"], pair["b"] or pair["d"])
        return _side_of(sender[bool(pair["back"] or pair["return"])])
    if named := _last(_PREPOSITION, text):
        side = _side_of(named["name"])
        return opposite(side) if named["way"].lower() in {"to", "receiver"} else side
    if stdio := _last(_STDIO, text):
        return "client" if stdio["stream"].lower() == "stdin" else "agent"
    if pair := _OTHER_PAIR.search(text):
        sender, receiver = (pair["b"], pair["a"]) if pair["back"] else (pair["a"], pair["b"])
        return Way(" → ".join(sorted((sender, receiver))), is_first=sender < receiver)
    for spelling, pattern in _WAYS:
        if found := _last(pattern, text):
            return Way(spelling, is_first=found["out"] is not None)
    return None


def _side_of(name: str) -> Side:
    return "client" if name.lower() in _CLIENTS else "agent"


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for each in pattern.finditer(text):
        found = each
    return found


# When it was sent

DAY_S: Final = 86_400.0
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:\s?(?:Z|[+-]\d\d:?\d\d)\b)?"
)
_CLOCK: Final = re.compile(r"\b(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d(?:[.,]\d+)?)")
_EPOCH: Final = re.compile(r"(?<![\w.])1\d{9}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\w.])")
_UPTIME: Final = re.compile(r"^\s*\[\s*(\d+\.\d+)\]")
_TIME_KEYS: Final = re.compile(
    r"@?(time|timestamp|ts|t|at|date|datetime|created(_?at)?)", re.IGNORECASE
)


def time_in(text: str) -> float | None:
    """Return the seconds since 1970, or since the day or the program began, that a text names.

    A time without a time zone is taken as UTC.
    """
    try:
        if date := _DATE.search(text):
            at = datetime.fromisoformat(re.sub(r"\s(?=Z|[+-])", "", date[0]).replace(",", "."))
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        if clock := _CLOCK.search(text):
            parts = int(clock["h"]), int(clock["m"]), float(clock["s"].replace(",", "."))
            return parts[0] * 3600 + parts[1] * 60 + parts[2]
        if epoch := _EPOCH.search(text):
            return _since_1970(float(epoch[0]))
        if uptime := _UPTIME.match(text):
            return float(uptime[1])
    except (ValueError, OverflowError):
        pass
    return None


def _since_1970(number: float) -> float | None:
    """Return seconds, given seconds, milliseconds, microseconds or nanoseconds; None: no time."""
    try:
        for _ in range(3):
            number = number / 1000 if number >= 1e11 else number
        return seconds(number)
    except (ValueError, OverflowError):
        return None


# Messages in a line

_MAX_NESTING: Final = 5
"""How deep in the objects and texts of a log a message is looked for."""
_MAX_AROUND: Final = 300
"""Characters on each side of a message in which its sender and time are looked for."""
_OPENING: Final = re.compile(r'\{(?=\s*["}])|\[(?=\s*\{)')
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message in a line of a log."""

    raw: bytes
    value: Json
    sender: Sender | None = None
    at: float | None = None
    """Seconds on the clock of the log."""
    is_alone: bool = False
    """Whether nothing is around the message."""


def is_message(value: Json) -> bool:
    """Return whether a JSON value is a message, or an array of messages."""
    if isinstance(value, list):
        entries = cast("list[Json]", value)
        return bool(entries) and all(
            isinstance(each, dict) and is_message(each) for each in entries
        )
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Json]", value)
    is_call = isinstance(members.get("method"), str)
    is_response = "id" in members and ("result" in members or "error" in members)
    return (is_call or is_response) and ("jsonrpc" in members or members.keys() <= ENVELOPE)


def messages_in(text: str) -> list[FoundMessage]:
    """Return the messages in a line of a log, in order.

    One that an object has both parsed and as text is returned once, as the text.
    """
    return _search(text, _MAX_NESTING)


def _search(text: str, nesting: int, *, is_json: bool = False) -> list[FoundMessage]:
    """Return the messages in `text`; if it is JSON, what is around them in it says nothing."""
    found: list[FoundMessage] = []
    position, budget = 0, 4 * len(text) + 100_000
    # Beginnings of objects that do not end cost their length each.
    while budget > 0 and (opening := _OPENING.search(text, position)):
        start = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as problem:
            position, budget = start + 1, budget - (problem.pos - start)
            continue
        except (ValueError, RecursionError):
            # A number of thousands of digits, or too deep a nesting.
            position, budget = start + 1, budget - 100_000
            continue
        before, after = text[position:start], text[end : end + _MAX_AROUND]
        if is_message(value):
            is_alone = not text[:start].strip() and not after.strip()
            inner = [FoundMessage(_encode(text[start:end]), value, is_alone=is_alone)]
        else:
            inner = _search_within(value, text[start + 1 : end], nesting)
        if not is_json:
            inner = [_described(each, before[-_MAX_AROUND:], after) for each in inner]
        found += inner
        position = end
    return found


def _search_within(value: Json, text: str, nesting: int) -> list[FoundMessage]:
    """Return the messages in a JSON value that is none itself, whose text is `text`."""
    if nesting == 0:
        return []
    found = _search(text, nesting - 1, is_json=True)
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value)
        texts = [each for each in members.values() if isinstance(each, str) and "{" in each]
        if written := [each for text in texts for each in _search(text, nesting - 1)]:
            as_text = {_spelled(each) for each in written}
            found = [*(each for each in found if _spelled(each) not in as_text), *written]
        sender, at = _facts_of(members)
        found = [_with_facts(each, sender, at) for each in found]
    return [replace(each, is_alone=False) for each in found]


def _spelled(found: FoundMessage) -> str:
    return json.dumps(found.value, sort_keys=True)


def _facts_of(members: Mapping[str, Json]) -> tuple[Sender | None, float | None]:
    """Return the sender and the time that the other members of a message's object name."""
    senders: list[Sender] = []
    at: float | None = None
    for key, member in members.items():
        if isinstance(member, str) and len(member) <= _MAX_AROUND and "{" not in member:
            if sender := sender_in(f"{key} {member}"):
                senders.append(sender)
            if at is None and _TIME_KEYS.fullmatch(key):
                at = time_in(member)
        elif at is None and _TIME_KEYS.fullmatch(key) and type(member) in {int, float}:
            at = _since_1970(cast("float", member))
    # A name is clearer than a direction.
    return min(senders, key=lambda each: isinstance(each, Way), default=None), at


def _described(found: FoundMessage, before: str, after: str) -> FoundMessage:
    sender, at = sender_in(before), time_in(before)
    if sender is None and at is None:
        sender, at = sender_in(after), time_in(after)
    return _with_facts(found, sender, at)


def _with_facts(found: FoundMessage, sender: Sender | None, at: float | None) -> FoundMessage:
    """Return `found` with facts about it that it does not have yet."""
    return replace(found, sender=found.sender or sender, at=at if found.at is None else found.at)


def _encode(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


# Files


def is_text_log(head: bytes) -> bool:
    """Return whether more lines have a message among other text than have a message alone."""
    kinds = Counter(
        found.is_alone
        for line in head.split(b"\n")
        for found in messages_in(line.decode(errors="surrogateescape"))
    )
    return kinds[False] > kinds[True]


def read_text_log(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each message, and a note for every other line of the log."""
    lines = (line if number else line.removeprefix(BOM) for number, line in enumerate(file))
    rows = (row for line in lines for row in _rows(line))
    clock = DayClock()
    senders = Senders()
    guesser = SideGuesser()
    for row in senders.after_first_methods(rows):
        if isinstance(row, NoteItem):
            yield replace(row, at=clock.time(row.at))
            continue
        named = senders.side(row)
        side, guess = guesser.side(row.raw, named)
        yield FrameItem(side, row.raw, at=clock.time(row.at), guess=guess)


def _rows(line: bytes) -> list[FoundMessage | NoteItem]:
    # The line endings are those of the log.
    text = line.rstrip(b"\r\n")
    if not text:
        return []
    decoded = text.decode(errors="surrogateescape")
    if found := messages_in(decoded):
        return [*found]
    at = time_in(decoded[:_MAX_AROUND])
    is_broken = b'"jsonrpc"' in text or (b'"method"' in text and b'"params"' in text)
    return [broken(text, at) if is_broken else NoteItem(broken(text).text, at)]


class DayClock:
    """Counts on when the time of the day begins again."""

    def __init__(self) -> None:
        self._days = 0
        self._last = 0.0

    def time(self, at: float | None) -> float | None:
        if at is None or at >= DAY_S:
            return at
        if at < self._last - DAY_S / 2:
            self._days += 1
        self._last = at
        return at + self._days * DAY_S


class Senders:
    """Learns from the methods of messages which side each direction of a log belongs to."""

    MAX_BYTES: Final = 1 << 20
    """Bytes that are kept back, at most, until enough methods were seen."""
    MIN_METHODS: Final = 20
    MIN_SHARE: Final = 0.8
    """Share of the methods that have to agree; else the direction means something else."""

    def __init__(self) -> None:
        self._first_is: dict[str, Counter[Side]] = {}
        """For each spelling, the senders of what goes in its first direction, by methods."""

    def after_first_methods(
        self, rows: Iterable[FoundMessage | NoteItem]
    ) -> Iterator[FoundMessage | NoteItem]:
        """Yield all rows, once the methods of the first have been counted."""
        iterator = iter(rows)
        kept: list[FoundMessage | NoteItem] = []
        size = methods = 0
        while size < self.MAX_BYTES and methods < self.MIN_METHODS:
            row = next(iterator, None)
            if row is None:
                break
            kept.append(row)
            size += len(row.text if isinstance(row, NoteItem) else row.raw)
            methods += isinstance(row, FoundMessage) and self._learn(row)
        yield from chain(kept, iterator)

    def _learn(self, found: FoundMessage) -> bool:
        """Return whether the method of a message shows whose direction it went in."""
        message = jsonrpc.read_message(found.raw)
        if isinstance(message, Batch) and message.entries:
            message = message.entries[0]
        if isinstance(found.sender, Way) and isinstance(message, Request | Notification):
            side = side_of_method(message)
            if side is not None:
                votes = self._first_is.setdefault(found.sender.spelling, Counter())
                votes[side if found.sender.is_first else opposite(side)] += 1
                return True
        return False

    def side(self, found: FoundMessage) -> Side | None:
        """Return the sender of a message; None if the log does not say."""
        if not isinstance(found.sender, Way):
            return found.sender
        votes = self._first_is.get(found.sender.spelling)
        if votes is None:
            # Two names of which neither is known say nothing.
            first: Side | None = None if " → " in found.sender.spelling else "client"
        else:
            side, count = votes.most_common(1)[0]
            first = side if count >= self.MIN_SHARE * votes.total() else None
        if first is None or found.sender.is_first:
            return first
        return opposite(first)
