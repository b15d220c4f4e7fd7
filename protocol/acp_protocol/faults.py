"""What can go wrong with a frame on its way out, as functions; nothing here does I/O.

A fault changes an `OutgoingFrame`: its bytes, or how they are written. The owner of the stream
writes `pieces()` and keeps to the times.

Source: docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

import json
import re
import signal as signals
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, TypeAlias

from acp_protocol import jsonrpc
from acp_protocol.framing import Framing
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

FrameKind: TypeAlias = Literal["request", "notification", "response"]
WrongId: TypeAlias = Literal["other", "retyped", "null", "missing", "previous", "swapped"]
Ending: TypeAlias = Literal["lf", "crlf", "cr", "none"]
UNKNOWN_ID: Final = 987_654_321
"""An id that no request has."""
Spelling: TypeAlias = Literal["ascii", "spaced", "bom", "utf-16", "latin-1"]
ENDINGS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r", "none": b""}
_WIDE: Final = re.compile(rb"[\xc0-\xff](?=[\x80-\xbf])")
_LINE_ENDS: Final = frozenset(b"\r\n")
_NOISE: Final = (
    "DEBUG: cache warmed up",
    "Listening on stdin…",
    "(node:4711) Warning: this feature is experimental",
    "{'not': 'json'}",
    "Traceback (most recent call last):",
    "",
)
"""Lines as they end up on stdout by mistake."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The process ends at once: with a code, or by a signal."""

    code: int = 1
    signal: signals.Signals | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """The process reads and writes nothing more, and ignores some signals."""

    seconds: float
    """It ends after this time if it is not killed."""
    ignore: Sequence[signals.Signals] = ()


@dataclass(slots=True, eq=False)
class OutgoingFrame:
    """A frame on its way out, and what becomes of it."""

    raw: bytes | None
    """None: no frame, but perhaps something in its place."""
    framing: Framing | None = "lines"
    """How it is kept apart from the next; None for bytes that are no frame."""
    kind: FrameKind | None = None
    """What it is, if it is one message."""
    ending: bytes | None = None
    """How its line ends, or each line of its header; None for as usual."""
    extra_length: int = 0
    """Bytes that its header announces beyond those that there are."""
    prefix: bytes = b""
    """Bytes that are written before it."""
    copies: int = 1
    delay_s: float = 0.0
    """How long it waits; others may overtake it."""
    behind: int = 0
    """How many frames that come later are written before it."""
    behind_kind: FrameKind | None = None
    """What those are; None for any."""
    behind_s: float = 0.0
    """How long it waits for them, at most."""
    piece: int | Literal["characters"] | None = None
    """Bytes of a piece; or pieces that end inside each character of several bytes."""
    pause_s: float = 0.0
    """Between two pieces."""
    rate: float | None = None
    """Bytes a second; None for as fast as possible."""
    cut_at: int | None = None
    """Bytes that are written before the stream is closed; None for all, and it stays open."""
    wrong_id: WrongId | None = None
    """The id that a response has instead of its own."""
    is_dropped: bool = False
    end: Crash | Hang | None = None
    """What happens instead of writing it."""

    @property
    def is_frame(self) -> bool:
        """Whether a frame is written at all."""
        return self.raw is not None and self.framing is not None and not self.is_dropped

    def pieces(self) -> Iterator[bytes]:
        """Yield what is written, piece by piece."""
        frame = self._framed()
        if self.cut_at is not None:
            yield self.prefix + frame[: self.cut_at]
            return
        if self.prefix:
            yield self.prefix
        for _ in range(self.copies if frame else 0):
            yield from in_pieces(frame, self.piece)

    def _framed(self) -> bytes:
        if self.raw is None or self.is_dropped:
            return b""
        if self.framing == "headers":
            end = b"\r\n" if self.ending is None else self.ending
            length = len(self.raw) + self.extra_length
            return b"Content-Length: %d%b%b%b" % (length, end, end, self.raw)
        usual = b"" if self.framing is None else b"\n"
        return self.raw + (usual if self.ending is None else self.ending)


Fault: TypeAlias = Callable[[OutgoingFrame, Random], None]
"""Changes a frame; its random numbers make the same choice in each run."""


def in_pieces(frame: bytes, piece: int | Literal["characters"] | None) -> Iterator[bytes]:
    """Yield a frame in pieces of so many bytes, or cut inside each character of several bytes."""
    if piece is None:
        yield frame
    elif piece == "characters":
        begin = 0
        for found in _WIDE.finditer(frame):
            yield frame[begin : found.end()]
            begin = found.end()
        yield frame[begin:]
    else:
        for begin in range(0, len(frame), piece):
            yield frame[begin : begin + piece]


def frame_kind(message: Json) -> FrameKind | None:
    """Return what a message is; None for what is not one message."""
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        return "response"
    return "request" if "id" in message else "notification"


def _setting(**fields: object) -> Fault:
    def apply(frame: OutgoingFrame, random: Random) -> None:
        del random
        for name, value in fields.items():
            setattr(frame, name, value)

    return apply


def _changing(change: Callable[[bytes, Random], bytes]) -> Fault:
    def apply(frame: OutgoingFrame, random: Random) -> None:
        if frame.raw is not None:
            frame.raw = change(frame.raw, random)

    return apply


def delay(seconds: float, jitter: float = 0.0) -> Fault:
    """Send the frame later, and by up to `jitter` seconds more; others may overtake it."""

    def apply(frame: OutgoingFrame, random: Random) -> None:
        frame.delay_s += delayed(seconds, jitter, random)

    return apply


def delayed(seconds: float, jitter: float, random: Random) -> float:
    """Return how long a frame waits."""
    return seconds + (random.uniform(0, jitter) if jitter else 0.0)


def drop() -> Fault:
    """Do not send the frame."""
    return _setting(is_dropped=True)


def duplicate(times: int = 2) -> Fault:
    """Send the frame several times."""

    def apply(frame: OutgoingFrame, random: Random) -> None:
        del random
        frame.copies *= times

    return apply


def reorder(frames: int = 1, *, of: FrameKind | None = None, seconds: float = 5.0) -> Fault:
    """Send later frames first, of one kind or of any; wait `seconds` for them at most."""
    return _setting(behind=frames, behind_kind=of, behind_s=seconds)


def split(piece: int | Literal["characters"], *, pause: float = 0.001) -> Fault:
    """Write the frame in pieces of so many bytes, or cut inside each wide character.

    Without a pause a pipe would put the pieces together again.
    """
    return _setting(piece=piece, pause_s=pause)


def throttle(rate: float) -> Fault:
    """Write so many bytes a second."""
    return _setting(rate=rate)


def cut(size: int) -> Fault:
    """Write the first bytes of the frame, and close the stream."""
    return _setting(cut_at=size)


def corrupt(count: int = 1, mode: Literal["flip", "replace"] = "flip") -> Fault:
    """Damage bytes of the frame: one bit of each, or all of it."""
    return _changing(lambda raw, random: corrupted(raw, count, mode, random))


def corrupted(raw: bytes, count: int, mode: str, random: Random) -> bytes:
    """Return `raw` with damaged bytes, but without a new line ending: that is another fault."""
    line = bytearray(raw)
    for at in random.sample(range(len(line)), min(count, len(line))):
        flipped = [line[at] ^ 1 << bit for bit in range(8)]
        others = [byte for byte in range(256) if byte != line[at]]
        choices = flipped if mode == "flip" else others
        line[at] = random.choice([byte for byte in choices if byte not in _LINE_ENDS])
    return bytes(line)


def invalid() -> Fault:
    """Put a byte that UTF-8 does not have into the middle of the frame."""
    return _changing(lambda raw, _: raw[: len(raw) // 2] + b"\xff" + raw[len(raw) // 2 :])


def noise(text: str | bytes | None = None, *, newline: bool = True) -> Fault:
    """Write something that is no frame before it; without a text, a line at random."""

    def apply(frame: OutgoingFrame, random: Random) -> None:
        chosen = random.choice(_NOISE) if text is None else text
        content = chosen.encode() if isinstance(chosen, str) else chosen
        frame.prefix += content + (b"\n" if newline else b"")

    return apply


def ending(name: Ending) -> Fault:
    """End the line in another way; with `none` the next frame follows on the same line."""
    return _setting(ending=ENDINGS[name])


def length(by: int) -> Fault:
    """State a wrong length in the header: too large, or too small if it is negative."""
    return _setting(extra_length=by)


def spelling(name: Spelling) -> Fault:
    """Encode the same message in other bytes."""
    return _changing(lambda raw, _: _spelled(raw, name))


def _spelled(raw: bytes, name: Spelling) -> bytes:
    if name == "bom":
        return b"\xef\xbb\xbf" + raw
    if name in {"utf-16", "latin-1"}:
        return raw.decode("utf-8", "replace").encode(name, "replace")
    try:
        value = jsonrpc.parse(raw)
    except ValueError:
        return raw
    if name == "ascii":
        return json.dumps(value, separators=(",", ":")).encode()
    return json.dumps(value, ensure_ascii=False, separators=("  ,  ", "  :  ")).encode()


def pad(size: int) -> Fault:
    """Pad the line with white space to at least so many bytes."""
    return _changing(lambda raw, _: raw[:1] + b" " * (size - len(raw)) + raw[1:])


def nest(depth: int) -> Fault:
    """Add a member with so many nested brackets."""

    def change(raw: bytes, random: Random) -> bytes:
        del random
        nested = b',"_deep":' + b"[" * depth + b"]" * depth + b"}"
        return raw[:-1] + nested if raw.endswith(b"}") else raw

    return _changing(change)


def wrong_id(kind: WrongId) -> Fault:
    """Give a response the id of another request, or none."""
    return _setting(wrong_id=kind)


def with_id(raw: bytes, id_: Json, kind: WrongId | None, previous: Json = None) -> bytes:
    """Return a response with the id of its request, or with a wrong one.

    `previous` is the id of the response before it.
    """
    ids: dict[str | None, Json] = {
        "other": UNKNOWN_ID,
        "retyped": str(id_) if isinstance(id_, int) else len(id_ or ""),
        "null": None,
        "previous": previous,
    }
    value = as_object(jsonrpc.parse(raw))
    value["id"] = ids.get(kind, id_)
    if kind == "missing":
        del value["id"]
    return jsonrpc.encode(value)


def crash(code: int = 1, *, signal: str | None = None) -> Fault:
    """End the process instead of sending the frame: with a code, or by a signal such as `KILL`."""
    return _setting(end=Crash(code, None if signal is None else find_signal(signal)))


def hang(seconds: float = 600.0, *, ignore: str | Sequence[str] = ()) -> Fault:
    """Read and write nothing more, and ignore these signals; end after `seconds`."""
    names = [ignore] if isinstance(ignore, str) else ignore
    return _setting(end=Hang(seconds, tuple(find_signal(name) for name in names)))


def find_signal(name: str) -> signals.Signals:
    """Return the signal of a name such as `KILL` or `SIGKILL`.

    Raises:
        ValueError: there is none here.
    """
    try:
        return signals.Signals[f"SIG{name.removeprefix('SIG')}"]
    except KeyError:
        raise ValueError(f"{name} is not a signal here; try KILL, TERM or SEGV") from None
