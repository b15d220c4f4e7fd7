"""What agents are reported to write to stdout, as bytes: what is read of it, and what lint says.

Each is one public report of a client that could not read an agent, retold with other names.
"""

from __future__ import annotations

import json
from typing import Final

import pytest

from acp_inspector.journal import Frame
from acp_inspector.lint.engine import lint
from acp_protocol.framing import AutoFramer, split_ending
from acp_protocol.jsonrpc import Batch, InvalidMessage, read_message
from tests.inspector.talks import answer, ask, chunk, encoded, frames, prompt

OPENING: Final = frames(
    ask("client", 0, "initialize", protocolVersion=1, clientInfo={"name": "c", "version": "1"}),
    answer("agent", 0, {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "1"}}),
    ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 1, {"sessionId": "s1"}),
    prompt(2, "go"),
)
_SAID: Final = chunk("hello")[1]
assert not isinstance(_SAID, bytes)
SAID: Final = encoded(_SAID)
END: Final = encoded({"id": 2, "result": {"stopReason": "end_turn"}})
BOTH: Final = SAID + b"\n" + END + b"\n"
LAID_OUT: Final = json.dumps(json.loads(SAID), indent=2).encode()
LOG: Final = b'{"time": "2025-11-08", "level": "info", "message": "ready", "name": "agent"}'


def with_text(text: str) -> bytes:
    return SAID.replace(b"hello", text.encode())


STREAMS: Final[dict[str, tuple[bytes, int, set[str]]]] = {
    "separators of lines of Unicode within a text": (
        with_text("a\u2028b\u2029c\u0085d\x7f") + b"\n" + END + b"\n",
        2,
        set(),
    ),
    "lines that end as on Windows": (SAID + b"\r\n" + END + b"\r\n", 2, {"crlf-line-end"}),
    "empty lines between messages": (
        b"\n" + SAID + b"\n\r\n" + END + b"\n",
        2,
        {"blank-line", "crlf-line-end"},
    ),
    "a byte order mark": (b"\xef\xbb\xbf" + BOTH, 2, {"byte-order-mark"}),
    "a message laid out over several lines": (
        LAID_OUT + b"\n" + END + b"\n",
        1,
        {"message-spans-lines"},
    ),
    "a greeting on the line of a message": (b"Welcome back ada" + BOTH, 1, {"text-on-stdout"}),
    "two messages without a newline": (SAID + END + b"\n", 0, {"glued-messages"}),
    "a name in brackets, which begins like an array": (
        b"[my-agent] ready\n" + BOTH,
        2,
        {"text-on-stdout"},
    ),
    "a message longer than the buffer of some clients": (
        with_text("x" * 200_000) + b"\n" + END + b"\n",
        2,
        set(),
    ),
    "the last line without an end": (BOTH.rstrip(b"\n"), 2, {"truncated-last-line"}),
    "a log that interrupts a message": (
        SAID[:40] + b"\n[warn] slow\n" + SAID[40:] + b"\n" + END + b"\n",
        1,
        {"not-json", "text-on-stdout"},
    ),
    "a log in the code page of the system": (b"D\xe9marrage\n" + BOTH, 2, {"invalid-utf8"}),
    "a text in the code page of the system": (
        SAID.replace(b"hello", b"h\xe9llo") + b"\n" + END + b"\n",
        1,
        {"invalid-utf8"},
    ),
    "a code for the terminal before a message": (b"\x1b[?25h" + BOTH, 1, {"text-on-stdout"}),
    "a zero before a message": (b"\0" + BOTH, 1, {"text-on-stdout"}),
    "a question of the package runner": (
        b"Need to install the following packages:\nagent@1.0.0\nOk to proceed? (y) \n" + BOTH,
        2,
        {"text-on-stdout"},
    ),
    "output of a command that a tool runs": (
        b"total 4\ndrwxr-xr-x 2 a a .\n" + BOTH,
        2,
        {"text-on-stdout"},
    ),
    "headers of language servers": (
        b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in (SAID, END)),
        2,
        set(),
    ),
    "a log in JSON": (LOG + b"\n" + BOTH, 2, {"wrong-jsonrpc-version"}),
    "both messages as an array": (
        b"[" + SAID + b"," + END + b"]\n",
        2,
        {"not-an-object", "batch-sent", "batch-response"},
    ),
    "a number that JSON does not have": (
        SAID.replace(b'"hello"', b"NaN") + b"\n" + END + b"\n",
        1,
        {"not-json"},
    ),
    "a comma behind a message": (SAID + b",\n" + END + b"\n", 1, {"glued-messages"}),
    "a message as a text in JSON": (
        json.dumps(SAID.decode()).encode() + b"\n" + END + b"\n",
        1,
        {"not-an-object"},
    ),
    "events of a server": (
        b"data: " + SAID + b"\n\ndata: " + END + b"\n\n",
        0,
        {"text-on-stdout", "blank-line"},
    ),
    "half of an emoji, as a script cuts it": (
        SAID.replace(b"hello", b"\\ud83d") + b"\n" + END + b"\n",
        2,
        {"lone-surrogate"},
    ),
}


@pytest.mark.parametrize("report", STREAMS)
def test_what_can_be_read_is_read_and_lint_names_the_rest(report: str) -> None:
    stream, messages, rules = STREAMS[report]
    framer = AutoFramer()
    lines = framer.feed(stream)
    rest = framer.rest()
    recorded: list[Frame] = []
    for number, line in enumerate([*lines, rest] if rest else lines, start=len(OPENING) + 1):
        data, end = split_ending(line)
        is_cut = line is rest and not stream.endswith(b"\n")
        recorded.append(Frame(number, number / 10, "agent", data, b"" if is_cut else end))
    read = [read_message(each.data) for each in recorded]
    entries = [len(each.entries) if isinstance(each, Batch) else 1 for each in read]
    assert messages == sum(
        count for each, count in zip(read, entries, strict=True)
        if not isinstance(each, InvalidMessage)
    )  # fmt: skip
    start = len(OPENING)
    found = {
        each.rule.name
        for each in lint([*OPENING, *recorded]).findings
        if any(number > start for number in each.frames)
    }
    assert found == rules
