"""Logs in which messages are among other text, in whatever form a program writes them.

A message may be anywhere in a line: behind a time and an arrow (`12:00:01 → {…}`), a value of a
JSON object (`{"direction": "in", "message": {…}}`), text within one (`{"raw": "{…}"}`), or in
quotes, as `strace`, Rust's `{:?}` and CSV write it. It may be laid out over several lines. The
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import BinaryIO, Final, TypeAlias, cast

from acp_inspector.importers.laid_out import join_laid_out
from acp_inspector.importers.line_logs import SideGuesser, is_message, read_any, side_of_method
from acp_inspector.importers.model import FrameItem, Item, NoteItem, broken, seconds
from acp_inspector.recording.format import BOM
from acp_protocol.framing import Side, opposite
from acp_protocol.json_text import json_text
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
)

# Who sent a message, by the text around it

_CLIENTS: Final = frozenset({"client", "editor", "ide", "host", "c"})
_NAME: Final = r"(?:client|editor|ide|host|agent|server)"
_THERE: Final = r"(?:-+>|=+>|>+|→|⇒|⟶|➔|➜|➡|►|▶)"
_BACK: Final = r"(?:<-+|<=+|<+|←|⇐|⟵|⬅|◄|◀)"
_PAIR: Final = re.compile(
    rf"\b(?P<a>{_NAME})\s*(?:(?:{_THERE}|to|2)|(?P<back>{_BACK}))\s*(?P<b>{_NAME})\b"
    rf"|\b(?P<c>[acs])\s?(?:(?:{_THERE}|2)|(?P<return>{_BACK}))\s?(?P<d>[acs])\b",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(
    rf"\b(?P<way>from|sender|by|to|receiver)\W{{1,3}}(?:the\s+)?(?P<name>{_NAME})\b", re.IGNORECASE
)
_LETTER: Final = re.compile(r"(?:^|[\s\[(])(?P<letter>[ACS])[:\])]+\s*$")
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
    if letter := _LETTER.search(text):
        return _side_of(letter["letter"])
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
_CLOCK: Final = re.compile(
    r"\b(?P<h>\d\d|\d(?=:\d\d:\d\d\s?[ap]\.?m)):(?P<m>\d\d):(?P<s>\d\d(?:[.,]\d+)?)(?:\s?(?P<half>[ap])\.?m\b)?",
    re.IGNORECASE,
)
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
            return _of_day(clock)
        if epoch := _EPOCH.search(text):
            return _since_1970(float(epoch[0]))
        if uptime := _UPTIME.match(text):
            return float(uptime[1])
    except (ValueError, OverflowError):
        pass
    return None


def _of_day(clock: re.Match[str]) -> float:
    hour = int(clock["h"])
    if clock["half"]:
        hour = hour % 12 + 12 * (clock["half"].lower() == "p")
    return hour * 3600 + int(clock["m"]) * 60 + float(clock["s"].replace(",", "."))


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
_OPENING_IN_TEXT: Final = re.compile(
    _OPENING.pattern + r'|"(?=\s*(?:\[\s*)?\{(?:\s|\\[nrt])*(?:\\"|""))'
)
"""What may be a message among other text, there also in quotes."""
_CUT_OFF: Final = re.compile(rb'jsonrpc\\?"|method\\?".*params\\?"|params\\?".*method\\?"')
"""What tells a message that cannot be read from another line."""
_CELL: Final = re.compile(r'"((?:[^"]|"")*)"')
"""A value of a table whose quotes are doubled, as in CSV."""
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
    is_joined: bool = False
    """Whether the message was on several lines."""


def messages_in(text: str) -> list[FoundMessage]:
    """Return the messages in a line of a log, in order.

    One that an object has both parsed and as text is returned once, as the text.
    """
    return _search(text, _MAX_NESTING)


def _search(text: str, nesting: int, *, is_json: bool = False) -> list[FoundMessage]:
    """Return the messages in `text`; if it is JSON, what is around them in it says nothing."""
    found: list[FoundMessage] = []
    position, budget = 0, 4 * len(text) + 100_000
    opens = _OPENING if is_json else _OPENING_IN_TEXT
    # Beginnings of objects that do not end cost their length each.
    while budget > 0 and (opening := opens.search(text, position)):
        start = opening.start()
        try:
            value, end = _value_at(text, start)
        except json.JSONDecodeError as problem:
            position, budget = start + 1, budget - (problem.pos - start)
            continue
        except (ValueError, RecursionError):
            # A number of thousands of digits, or too deep a nesting.
            position, budget = start + 1, budget - 100_000
            continue
        before, after = text[position:start], text[end : end + _MAX_AROUND]
        if is_message(value):
            is_alone = position == 0 and not before.strip() and not after.strip()
            inner = [FoundMessage(_encode(text[start:end]), value, is_alone=is_alone)]
        else:
            inner = _search_within(value, text[start + 1 : end], nesting)
        if not is_json:
            inner = [_described(each, before[-_MAX_AROUND:], after) for each in inner]
        found += inner
        position = end
    return found


def _value_at(text: str, start: int) -> tuple[Json, int]:
    """Return the value that begins at `start`, and where it ends."""
    if text.startswith('"', start) and (cell := _CELL.match(text, start)) and '""' in cell[1]:
        return cell[1].replace('""', '"'), cell.end()
    return _DECODER.raw_decode(text, start)


def _search_within(value: Json, text: str, nesting: int) -> list[FoundMessage]:
    """Return the messages in a JSON value that is none itself, whose text is `text`."""
    if nesting == 0:
        return []
    if isinstance(value, str):
        return [replace(each, is_alone=False) for each in _search(value, nesting - 1)]
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
    return json_text(found.value, sort_keys=True)


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
        row.is_alone
        for lines in join_laid_out(head.split(b"\n"))
        for row in _rows(lines)
        if isinstance(row, FoundMessage)
    )
    return kinds[False] > kinds[True]


def read_text_log(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each message, and a note for every other line of the log."""
    lines = (line if number else line.removeprefix(BOM) for number, line in enumerate(file))
    rows = (row for joined in join_laid_out(lines) for row in _rows(joined))
    clock = DayClock()
    senders = Senders()
    guesser = SideGuesser()
    for row in senders.after_first_methods(rows):
        if isinstance(row, NoteItem):
            yield replace(row, at=clock.time(row.at))
            continue
        named = senders.side(row)
        side, guess = guesser.side(row.raw, named)
        guess = "its line breaks" if row.is_joined else guess
        yield FrameItem(side, row.raw, at=clock.time(row.at), guess=guess)


def _rows(lines: Sequence[bytes]) -> list[FoundMessage | NoteItem]:
    """Return what is in a line, or in the lines over which an object is laid out."""
    # The line endings are those of the log.
    text = lines[0].rstrip(b"\r\n") + b"".join(each.strip() for each in lines[1:])
    if not text:
        return []
    decoded = text.decode(errors="surrogateescape")
    if found := messages_in(decoded):
        if len(lines) == 1:
            return [*found]
        return [replace(each, is_alone=False, is_joined=True) for each in found]
    if len(lines) > 1:
        return [row for line in lines for row in _rows([line])]
    at = time_in(decoded[:_MAX_AROUND])
    is_broken = _CUT_OFF.search(text) is not None
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
        self._requests: dict[str, tuple[set[str], set[str]]] = {}
        """For each spelling, the ids of the requests in each of its directions."""
        self._answering_themselves: set[str] = set()
        """Spellings of which one direction has both a request and its response."""

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
        message = read_any(found.raw)
        if isinstance(message, Batch) and message.entries:
            message = message.entries[0]
        if not isinstance(found.sender, Way):
            return False
        self._follow(found.sender, message)
        if isinstance(message, Request | Notification):
            side = side_of_method(message)
            if side is not None:
                votes = self._first_is.setdefault(found.sender.spelling, Counter())
                votes[side if found.sender.is_first else opposite(side)] += 1
                return True
        return False

    def _follow(self, way: Way, message: Message) -> None:
        requests = self._requests.setdefault(way.spelling, (set(), set()))
        match message:
            case Request(id=id_):
                requests[way.is_first].add(repr(id_))
            case SuccessResponse(id=id_) | ErrorResponse(id=id_):
                if repr(id_) in requests[way.is_first] - requests[not way.is_first]:
                    self._answering_themselves.add(way.spelling)
            case _:
                pass

    def side(self, found: FoundMessage) -> Side | None:
        """Return the sender of a message; None if the log does not say."""
        if not isinstance(found.sender, Way):
            return found.sender
        if found.sender.spelling in self._answering_themselves:
            # A sign before every line, such as `>` of a quotation, is no direction.
            return None
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
