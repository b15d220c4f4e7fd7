"""Prints a turn while it runs: the reply to stdout, messages for the user to stderr."""

from __future__ import annotations

import json
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from acp_console.cli.errors import say
from acp_inspector.journal import Entry, Frame, StderrChunk
from acp_inspector.messages import Decoder
from acp_protocol.dialects.base import Dialect
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import as_list, get
from acp_protocol.jsonrpc import InvalidMessage, Json, Notification

Format: TypeAlias = Literal["text", "json", "quiet"]

TITLE_WIDTH: Final = 120
"""Characters of a tool call's title, at most."""


class TurnPrinter:
    """Observes a journal and prints the agent's output as it arrives."""

    def __init__(
        self,
        format_: Format,
        on_reader_gone: Callable[[], None],
        dialect: Dialect | None = None,
        *,
        has_stderr: bool = False,
    ) -> None:
        """Print in `format_`; call `left` when the reader of our stdout has gone.

        Messages are translated from `dialect`; None: detect it. `has_stderr` prints the stderr of
        the agent as well.
        """
        self._format: Format = format_
        self._left = on_reader_gone
        self._is_in_line = False
        self._decoder = Decoder(dialect)
        self._messages: set[str] = set()
        """Ids of messages that were printed at least in part."""
        self._calls: set[str] = set()
        self._stderr = getincrementaldecoder("utf-8")("replace") if has_stderr else None
        self.stray_lines = 0
        """Lines of the agent's stdout that were no message."""
        self.is_read = True
        """Whether the reader of stdout is still there."""

    def show(self, entry: Entry) -> None:
        if isinstance(entry, StderrChunk) and self._stderr is not None:
            sys.stderr.write(escape_controls(self._stderr.decode(entry.data)))
        if not isinstance(entry, Frame):
            return
        for message in self._decoder.decode(entry).messages:
            if isinstance(message, InvalidMessage) and entry.side == "agent":
                self.stray_lines += bool(entry.data.strip())
            if isinstance(message, Notification) and message.method == "session/update":
                update = get(message.params, "update")
                if self._format == "json":
                    self._write_json({"update": update})
                else:
                    self._show_text(update)

    def end(self, session_id: str, answer: Mapping[str, Json]) -> None:
        reason = answer["stopReason"]
        if self._format == "json":
            end = {"stopReason": reason, "sessionId": session_id, "usage": answer.get("usage")}
            self._write_json(end)
        elif reason != "end_turn":
            self.finish()
            say(f"the turn ended early: {single_line(str(reason), TITLE_WIDTH)}")

    def finish(self) -> None:
        """End the last line."""
        if self._is_in_line:
            self._write("\n")
        self._is_in_line = False

    def _show_text(self, update: Json) -> None:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": content}:
                self._messages.add(str(get(update, "messageId")))
                self._show_block(content)
            case {"sessionUpdate": "agent_message", "messageId": str(id_), "content": blocks}:
                # Version 2 may send a whole message, and again after a change.
                if id_ not in self._messages:
                    self._messages.add(id_)
                    for block in as_list(blocks):
                        self._show_block(block)
            case {
                "sessionUpdate": "tool_call" | "tool_call_update",
                "toolCallId": str(id_),
                "title": str(title),
            } if self._format == "text" and id_ not in self._calls:
                self._calls.add(id_)
                self.finish()
                say(single_line(title, TITLE_WIDTH), indent="  * ")
            case _:
                pass

    def _show_block(self, block: Json) -> None:
        match block:
            case {"type": "text", "text": str(text)} | {"text": str(text)}:
                self._write(escape_controls(text))
                self._is_in_line = not text.endswith("\n")
            case {"type": str(kind)}:
                self._write(f"[{single_line(kind, TITLE_WIDTH)}]")
                self._is_in_line = True
            case _:
                pass

    def _write_json(self, value: Json) -> None:
        self._write(f"{ascii_json(value)}\n")

    def _write(self, text: str) -> None:
        if not (text and self.is_read):
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            self.is_read = False
            self._left()


def ascii_json(value: Json) -> str:
    """Return `value` as JSON on one line, in ASCII only: it contains no terminal escapes."""
    # DEL is the one such character that json leaves as it is.
    return json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
