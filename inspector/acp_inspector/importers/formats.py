"""The formats that can be imported, and their detection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, TypeAlias

from acp_inspector.importers.acp_el import is_acp_el, read_acp_el
from acp_inspector.importers.har import is_har, read_har
from acp_inspector.importers.json_exports import is_devtools, is_zed, read_devtools, read_zed
from acp_inspector.importers.line_logs import (
    is_capture,
    is_conductor,
    is_framed,
    is_plain,
    read_capture,
    read_conductor,
    read_framed,
    read_plain,
)
from acp_inspector.importers.model import Item
from acp_inspector.importers.text_logs import is_text_log, read_text_log
from acp_inspector.recording.format import RecordingError

Clock: TypeAlias = Literal["none", "start", "1970", "either"]
"""The moment from which a source counts seconds; `either`: 1970, unless they are few."""

_REWRITTEN: Final = "it holds parsed messages, which are encoded anew: not byte for byte"
_NO_TIMES: Final = "it has no times: all are 0"
_SIDES: Final = "the sender of each message is guessed from methods and open requests"


class UnknownFormatError(RecordingError):
    """The format of a file, or the name of a format, is not known."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of another tool."""

    name: str
    about: str
    """A short description for users."""
    recognises: Callable[[bytes], bool]
    """Returns whether a file that begins with these bytes is in this format."""
    read: Callable[[BinaryIO], Iterator[Item]]
    clock: Clock
    caveats: tuple[str, ...] = ()
    """What is lost, or guessed for every message."""


FORMATS: Final[tuple[Format, ...]] = (
    Format(
        "capture",
        'capture of {"t","dir","line"}, dir c2a, a2c or stderr',
        is_capture,
        read_capture,
        "start",
    ),
    Format(
        "conductor",
        "trace of the Rust SDK's conductor",
        is_conductor,
        read_conductor,
        "start",
        (_REWRITTEN,),
    ),
    Format("zed", "Zed's ACP log", is_zed, read_zed, "none", (_REWRITTEN, _NO_TIMES)),
    Format("acp-devtools", "session.json of acp-devtools", is_devtools, read_devtools, "1970"),
    Format(
        "acp.el",
        "traffic of acp.el",
        is_acp_el,
        read_acp_el,
        "none",
        (_REWRITTEN, _NO_TIMES, "false and {} are null in it"),
    ),
    Format(
        "har",
        "HTTP archive of a browser or of mitmproxy",
        is_har,
        read_har,
        "1970",
        ("the times of messages on streams are guessed from the requests around them",),
    ),
    Format(
        "content-length",
        "messages with Content-Length headers, and nothing else",
        is_framed,
        read_framed,
        "none",
        (_SIDES, _NO_TIMES),
    ),
    Format(
        "log",
        "text log with messages in its lines",
        is_text_log,
        read_text_log,
        "either",
        ("times, if any, are taken as UTC where they name no time zone",),
    ),
    Format(
        "ndjson", "plain messages, one a line", is_plain, read_plain, "none", (_SIDES, _NO_TIMES)
    ),
    Format(
        "acpx",
        "journal of acpx (plain messages, one a line)",
        lambda head: False,
        read_plain,
        "none",
        (_SIDES, _NO_TIMES),
    ),
)
"""In the order in which they are tried: the plain format would match others too."""


_NO_FRAMES: Final = (
    (
        rb"starting zed version|\[agent_servers::acp\]|\[agent_client_protocol\b",
        "Zed.log holds no messages; open 'dev: open acp logs' in Zed and choose Copy All Messages",
    ),
    (
        rb"[{,]\s*'(?:jsonrpc|method)'\s*:",
        "its messages are in Python's notation; log them with json.dumps",
    ),
    (
        rb"[{,]\s*(?:jsonrpc|method):\s*['\"]",
        "its messages are in JavaScript's notation; log them with JSON.stringify",
    ),
    ("\\{\\s*[“”]".encode(), 'the quotes of its messages are typographic; they have to be "'),
    (rb"\{\s*&quot;", "it is HTML; import the text that a browser shows"),
    (rb'"jsonrpc"', "its messages are shortened or cut off"),
    (
        rb"\b(?:initialize|session/[a-z]+)\b",
        "it names methods but has no messages; log what is on the agent's stdin and stdout",
    ),
)
"""Files that look like logs of messages: by what to tell them, and what is wrong with them."""


def detect_format(head: bytes) -> Format:
    """Return the format of a file that begins with `head`.

    Raises:
        UnknownFormatError: no format matches; the message lists the known ones.
    """
    for each in FORMATS:
        if each.recognises(head):
            return each
    reasons = (why for mark, why in _NO_FRAMES if re.search(mark, head))
    why = next(reasons, "no line of it holds a message")
    raise UnknownFormatError(f"its format is not known: {why}; known are {_list()}")


def find_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UnknownFormatError: no format has that name.
    """
    for each in FORMATS:
        if each.name == name:
            return each
    raise UnknownFormatError(f"there is no format {name!r}; known are {_list()}")


def _list() -> str:
    return ", ".join(f"{each.name} ({each.about})" for each in FORMATS)
