"""Text that an agent sends again after its pieces.

Source: ACP, "Prompt Turn" and version 2's "Prompt Lifecycle": each chunk is the next piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_object

rule = LintSubject("updates", page="prompt-turn.mdx")

SPOKEN: Final = ("agent_message_chunk", "agent_thought_chunk")
MIN_CHARACTERS: Final = 20
"""Shorter texts may well be said twice."""
GROWN: Final = 2
"""Pieces in a row that begin with the piece before, from which on that is no coincidence."""


@dataclass(slots=True)
class _Pieces:
    """The pieces of a text so far."""

    first: Point
    count: int = 0
    size: int = 0
    checksum: int = 0

    def add(self, text: str) -> None:
        self.count += 1
        self.size += len(text)
        self.checksum = crc32(text.encode(errors="surrogatepass"), self.checksum)

    def are(self, text: str) -> bool:
        """Return whether several pieces make up this text."""
        is_long = self.count > 1 and self.size == len(text) >= MIN_CHARACTERS
        return is_long and self.checksum == crc32(text.encode(errors="surrogatepass"))


@dataclass(slots=True)
class _Stream:
    """What an agent has said or thought in a turn."""

    whole: _Pieces
    since_tool: _Pieces
    """Since the last tool call."""
    last: str = ""
    """The newest piece."""
    grown: int = 0
    """How many pieces in a row began with the piece before."""

    def grows_to(self, text: str) -> bool:
        """Return whether a piece is the one before and more."""
        return len(self.last) < len(text) and bool(self.last) and text.startswith(self.last)


@dataclass(slots=True)
class _Streams:
    """By kind of chunk, of each session."""

    of: dict[str, dict[str, _Stream]] = field(default_factory=dict[str, dict[str, _Stream]])


def _stream(context: Context) -> _Stream | None:
    streams = context.state.of(_Streams).of.get(context.session_id or "", {})
    return streams.get(context.variant or "")


def _text(context: Context) -> str:
    text = as_object(context.update.get("content")).get("text")
    return text if isinstance(text, str) else ""


@rule.info(525, "heuristic", "agent", on.update(*SPOKEN))
@fix("Send each piece once: clients append every chunk to the message.")
def repeated_message_text(context: Context) -> CheckResult:
    """A chunk holds the next piece of a message: neither the whole message again after its pieces,
    nor all of the text before it.
    """
    stream, text = _stream(context), _text(context)
    if stream is None or not text or context.session is None or context.session.is_replaying:
        return None
    for pieces in (stream.since_tool, stream.whole):
        if pieces.are(text):
            return context.problem(
                f"this {context.variant} repeats the {pieces.count} pieces before it",
                pieces.first,
                at="content.text",
                topic=context.topic(),
            )
    if stream.grown + 1 >= GROWN and len(text) >= MIN_CHARACTERS and stream.grows_to(text):
        return context.problem(
            f"each {context.variant} repeats the text before it",
            stream.whole.first,
            at="content.text",
            topic=context.topic(),
        )
    return OK


@track(on.update(*SPOKEN))
def _keep_piece(context: Context) -> None:
    text = _text(context)
    if not text or context.session_id is None:
        return
    streams = context.state.of(_Streams).of.setdefault(context.session_id, {})
    stream = streams.get(context.variant or "")
    if stream is None:
        stream = streams[context.variant or ""] = _Stream(
            _Pieces(context.point), _Pieces(context.point)
        )
    if not stream.since_tool.count:
        stream.since_tool.first = context.point
    stream.whole.add(text)
    stream.since_tool.add(text)
    stream.grown = stream.grown + 1 if stream.grows_to(text) else 0
    stream.last = text


@track(on.update("tool_call", "tool_call_update"))
def _pause(context: Context) -> None:
    for stream in context.state.of(_Streams).of.get(context.session_id or "", {}).values():
        stream.since_tool = _Pieces(context.point)


@track(on.request("session/prompt", "session/load", "session/resume"))
def _begin_anew(context: Context) -> None:
    context.state.of(_Streams).of.pop(context.session_id or "", None)
