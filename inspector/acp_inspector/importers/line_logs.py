"""Logs with one message a line and a fixed form: captures, the conductor, acpx and plain `tee`.

Each format has a section with its source.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import BinaryIO, Final, cast

from acp_inspector.importers.json_exports import MALFORMED
from acp_inspector.importers.model import (
    EventItem,
    FrameItem,
    Item,
    NoteItem,
    SkippedItem,
    StderrItem,
    broken,
    request,
    response,
    seconds,
)
from acp_inspector.recording.format import BOM
from acp_protocol import jsonrpc
from acp_protocol.framing import (
    AutoFramer,
    Side,
    WireFrame,
    opposite,
    split_ending,
    unfinished_frame,
)
from acp_protocol.jsonrpc import (
    ENVELOPE,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
)
from acp_protocol.schema.methods import VERSIONS, find_method

# What is a message


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


def read_any(raw: bytes) -> Message:
    """Return the message in a frame, also if it lacks the version of JSON-RPC."""
    message = jsonrpc.read_message(raw)
    if isinstance(message, InvalidMessage) and message.code == jsonrpc.INVALID_REQUEST:
        value = jsonrpc.parse(raw)
        if isinstance(value, dict) and "jsonrpc" not in value and is_message(value):
            return jsonrpc.read_message(jsonrpc.encode({"jsonrpc": "2.0", **value}))
    return message


# Sides, where the source does not name them: guessed from methods and open requests

NOISE: Final = "lines that are not a message are the agent's"
UNKNOWN: Final = (
    "methods that no schema knows: a request is the client's, a notification the agent's"
)
ORPHAN: Final = "responses that fit no request, or requests of both sides"


def side_of_method(message: Request | Notification) -> Side | None:
    """Return the only side that sends a method; None if both do, or no schema knows it."""
    kind = "request" if isinstance(message, Request) else "notification"
    for version in sorted(VERSIONS):
        row = find_method(message.method, version, kind=kind)
        if row is not None and row.sent_by != "either":
            return row.sent_by
    return None


class SideGuesser:
    """Follows a conversation and guesses the sender of each message."""

    def __init__(self) -> None:
        self._open: list[tuple[Side, RequestId, type]] = []
        """Open requests, the newest last."""

    def side(self, raw: bytes, named: Side | None = None) -> tuple[Side, str]:
        """Return the sender of `raw`, and, if it was guessed, how.

        Args:
            raw: The message.
            named: The sender, if the source names it.
        """
        return self._of(read_any(raw), named)

    def _of(self, message: Message, named: Side | None) -> tuple[Side, str]:
        match message:
            case Request():
                side, guess = (named, "") if named else self._caller(message)
                self._open.append((side, message.id, type(message.id)))
            case Notification():
                side, guess = self._caller(message)
            case SuccessResponse() | ErrorResponse():
                side, guess = self._side_of_response(message.id, named)
            case Batch(entries=entries):
                sides = [self._of(entry, named) for entry in entries]
                side, guess = sides[0] if sides else ("agent", NOISE)
            case InvalidMessage():
                side, guess = "agent", NOISE
        return (named, "") if named else (side, guess)

    def _caller(self, message: Request | Notification) -> tuple[Side, str]:
        if side := side_of_method(message):
            return side, ""
        return ("client" if isinstance(message, Request) else "agent"), UNKNOWN

    def _side_of_response(self, id_: RequestId, named: Side | None) -> tuple[Side, str]:
        """The newest open request with that id: requests within a turn are answered first."""
        places = [
            place
            for place, (side, request_id, kind) in enumerate(self._open)
            if request_id == id_ and kind is type(id_) and side != named
        ]
        if not places:
            return "agent", ORPHAN
        sides = {self._open[place][0] for place in places}
        side = self._open.pop(places[-1])[0]
        return opposite(side), ORPHAN if len(sides) > 1 else ""


# acpx and plain messages
#
# Messages, one per line, with nothing around them: as written by acpx or `tee`.
#
# Source: acpx, docs/2026-02-27-acpx-session-model.md, "ACP Stream Contract".


_LINES: Final = 20
"""First lines that are looked at."""


def is_plain(head: bytes) -> bool:
    """Return whether one of the first lines is a message."""
    lines = head.split(b"\n")[:_LINES]
    return any(
        line.lstrip().startswith((b"{", b"["))
        and (b'"jsonrpc"' in line or (b'"method"' in line and b'"params"' in line))
        for line in lines
    )


def read_plain(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each line; its side is guessed.

    If the first lines all end with CRLF, these are the line endings of the file, not of the
    messages.
    """
    sides = SideGuesser()
    first = list(islice(file, _LINES))
    endings = {line[-2:] == b"\r\n" for line in first if line.endswith(b"\n")}
    for number, text in enumerate(chain(first, file)):
        line = text if number else text.removeprefix(BOM)
        if not line.strip():
            continue
        raw, end = split_ending(line[:-1]) if line.endswith(b"\n") else (line, b"")
        end = b"\n" if endings == {True} and end else end
        side, guess = sides.side(raw)
        yield FrameItem(side, raw, end, guess=guess, is_broken=guess == NOISE)


# Messages with lengths
#
# Messages with Content-Length headers, with nothing between them: the stream of one side, or of
# both if each write is whole.
#
# Source: Language Server Protocol, "Base Protocol".

_PIECE_BYTES: Final = 1 << 16


def is_framed(head: bytes) -> bool:
    """Return whether the first bytes are a header with a length."""
    framer = AutoFramer()
    return any(frame.header for frame in framer.split(head)) and framer.framing == "headers"


def read_framed(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each message, with its header; its side is guessed."""
    sides, framer = SideGuesser(), AutoFramer()

    def item(frame: WireFrame) -> FrameItem:
        side, guess = sides.side(frame.data)
        is_broken = guess == NOISE
        return FrameItem(
            side, frame.data, frame.ending, guess=guess, is_broken=is_broken, header=frame.header
        )

    while piece := file.read(_PIECE_BYTES):
        yield from map(item, framer.split(piece))
    if rest := framer.rest():
        yield item(unfinished_frame(rest))


# Captures
#
# Captures of `{"t", "dir", "line"}`, one per line.
#
# `t` is seconds, `dir` one of `c2a`, `a2c` and `stderr`, `line` the text, `b64` the bytes if they
# are not UTF-8, `noeol` marks a line without a line ending, `proc` counts restarts of the agent.

_CAPTURE_HEAD: Final = re.compile(
    rb'\s*\{(?=[^\n]*"t"\s*:)(?=[^\n]*"line"\s*:)[^\n]*"dir"\s*:\s*"(c2a|a2c|stderr)"'
)
_CAPTURE_SIDES: Final[dict[str, Side]] = {"c2a": "client", "a2c": "agent"}


def is_capture(head: bytes) -> bool:
    """Return whether the first line is one of a capture."""
    return _CAPTURE_HEAD.match(head) is not None


def read_capture(file: BinaryIO) -> Iterator[Item]:
    """Yield the items of each process; between two, the end of one and the start of the next."""
    current: int | None = None
    for line in file:
        try:
            entry = jsonrpc.parse(line)
            item = _capture_item(entry)
            process = int(entry.get("proc") or 0)
        except MALFORMED:
            yield broken(line)
            continue
        if current is not None and process > current:
            yield EventItem("exit", {}, item.at)
            yield EventItem("spawn", {}, item.at)
        current = process if current is None else max(current, process)
        if process < current and isinstance(item, FrameItem):
            # Its ids are those of a process that has ended, not those of the next one.
            yield NoteItem(line.decode(errors="backslashreplace").rstrip("\r\n"), item.at)
        else:
            yield item


def _capture_item(entry: Json) -> FrameItem | StderrItem:
    at = seconds(entry["t"])
    if "b64" in entry:
        raw = base64.b64decode(entry["b64"], validate=True)
    else:
        raw = entry["line"].encode(errors="surrogatepass")
    end = b"" if entry.get("noeol") else b"\n"
    if entry["dir"] == "stderr":
        return StderrItem(raw + end, at)
    side = _CAPTURE_SIDES[entry["dir"]]
    if not end:
        return FrameItem(side, raw, end, at)
    return FrameItem(side, *split_ending(raw), at)


# The conductor of the Rust SDK
#
# Traces of the Rust SDK's conductor (`.jsons`): one event a line, between named components.
#
# A conductor is between a client and a chain of proxies that ends in the agent. The client's
# connection is imported; messages between the parts of the conductor are counted and skipped.
#
# Source: agentclientprotocol/rust-sdk, md/trace-viewer.md, "Event Schema".

CLIENT: Final = "client"
ELSEWHERE: Final = "messages between the conductor's parts"
MCP: Final = "messages of MCP"

_CONDUCTOR_HEAD: Final = re.compile(
    rb'\s*\{(?=[^\n]*"ts"\s*:)(?=[^\n]*"from"\s*:)(?=[^\n]*"to"\s*:)'
    rb'[^\n]*"type"\s*:\s*"(request|response|notification)"'
)


def is_conductor(head: bytes) -> bool:
    """Return whether the first line is an event of a trace."""
    return _CONDUCTOR_HEAD.match(head) is not None


def read_conductor(file: BinaryIO) -> Iterator[Item]:
    """Yield a frame for each event of the client's connection."""
    of_mcp: set[tuple[str, str]] = set()
    for line in file:
        if not line.strip():
            continue
        try:
            yield _conductor_item(jsonrpc.parse(line), of_mcp)
        except MALFORMED:
            yield broken(line)


def _conductor_item(entry: Json, of_mcp: set[tuple[str, str]]) -> Item:
    sender, receiver = str(entry["from"]).lower(), str(entry["to"]).lower()
    if CLIENT not in {sender, receiver}:
        return SkippedItem(ELSEWHERE)
    side: Side = "client" if sender == CLIENT else "agent"
    at, kind = seconds(entry["ts"]), entry["type"]
    # A response does not name its protocol; its request did.
    requester = (
        receiver if kind == "response" else sender,
        jsonrpc.encode(entry.get("id")).decode(),
    )
    if entry.get("protocol") == "mcp" or (kind == "response" and requester in of_mcp):
        of_mcp ^= {requester} if "id" in entry else set()
        return SkippedItem(MCP)
    match kind:
        case "request":
            raw = request(entry["method"], entry["params"], entry["id"], has_id=True)
        case "notification":
            raw = request(entry["method"], entry["params"], has_id=False)
        case "response":
            raw = response(entry["id"], entry["payload"], is_error=entry["is_error"] is True)
        case _:
            raise ValueError("a kind of event that is not known")
    return FrameItem(side, raw, at=at)
