"""The corpus: what is read of each stream, held in both directions."""

from __future__ import annotations

import pytest

from acp_protocol.framing import AutoFramer, LineFramer
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    SuccessResponse,
    parse,
    read_message,
)
from tests.fuzz.hostile import CORPUS, DEEP

pytestmark = pytest.mark.long

LETTERS = {Request: "q", Notification: "n", SuccessResponse: "r", ErrorResponse: "f"}
READ = {
    "answer-ids-of-all-types": "rrraaaa",
    "answers-nobody-asked-for": "rrf",
    "batch-cut-off": "p",
    "batch-empty": "[]",
    "batch-in-a-batch": "[ii]",
    "batch-of-answers": "[rr]",
    "batch-of-everything": "[nqrii]",
    "batch-of-notifications": "[nn]",
    "batch-of-one-id-twice": "[qq]",
    "batch-of-requests": "[qq]",
    "batch-of-rubbish": "[iiiii]",
    "blank-lines": "pppnp",
    "byte-order-mark": "n",
    "byte-order-mark-inside": "p",
    "byte-order-mark-twice": "p",
    "call-and-answer-at-once": "q",
    "cancels-of-all-kinds": "nnnnnnnnq",
    "carriage-returns-alone": "p",
    "control-character-in-text": "p",
    "crlf": "nn",
    "duplicate-envelope": "n",
    "duplicate-keys": "q",
    "errors-of-all-types": "aaaaaaaaaf",
    "escape-sequences": "pn",
    "escapes-misspelled": "ppp",
    "exponent-beyond-doubles": "n",
    "float-of-5000-digits": "n",
    "framing-of-events": "ppp",
    "framing-of-http": "ppppn",
    "framing-with-binary-lengths": "p",
    "framing-with-endless-length": "ppn",
    "framing-with-headers": "ppppn",
    "framing-with-negative-length": "ppn",
    "framing-with-record-separators": "pp",
    "framing-with-wrong-length": "ppnppn",
    "greeting-before": "ppn",
    "ids-of-all-types": "qqqqqqqiiiii",
    "indented": "n",
    "infinity": "pp",
    "integer-beyond-64-bits": "n",
    "integer-of-5000-digits": "p",
    "invalid-utf8": "p",
    "json-of-people": "pppp",
    "keys-of-another-case": "i",
    "keys-that-look-private": "q",
    "latin-1": "p",
    "line-separators-in-text": "n",
    "log-lines-between": "nppn",
    "lone-surrogates": "q",
    "markup": "n",
    "message-and-rubbish": "p",
    "methods-of-all-types": "iiiiin",
    "no-bytes": "",
    "not-a-number": "p",
    "nothing-but-a-newline": "p",
    "nul-bytes": "pp",
    "numbers-misspelled": "pppppppp",
    "object-without-members": "i",
    "one-id-asked-twice": "qq",
    "params-of-all-types": "nnniii",
    "pretty-printed": "pppp",
    "result-and-error": "ar",
    "scalars": "iiii",
    "surrogates-the-wrong-way-round": "n",
    "traceback-of-an-agent": "ppp",
    "two-messages-in-a-line": "p",
    "unterminated-and-cut-off": "np",
    "unterminated-last-line": "nn",
    "utf-16": "p",
    "utf8-cut-off": "pn",
    "utf8-of-a-surrogate": "p",
    "utf8-overlong": "p",
    "version-missing": "iia",
    "versions-of-all-types": "iiiiii",
}


def letters(message: Message) -> str:
    """Return what a frame was read as.

    Q, n, r, f are messages in small letters, `p` is no JSON, `i` no JSON-RPC, `a` a broken answer,
    and a batch is its entries in brackets.
    """
    match message:
        case Batch(entries=entries):
            return f"[{''.join(map(letters, entries))}]"
        case InvalidMessage(is_response=True):
            return "a"
        case InvalidMessage(code=code):
            return {PARSE_ERROR: "p", INVALID_REQUEST: "i"}[code]
        case _:
            return LETTERS[type(message)]


def lines(stream: bytes) -> list[bytes]:
    framer = LineFramer()
    return [*framer.feed(stream), *filter(None, [framer.rest()])]


def read(stream: bytes) -> str:
    return "".join(letters(read_message(line)) for line in lines(stream))


def test_every_stream_has_its_reading_and_every_reading_its_stream() -> None:
    assert set(CORPUS) == set(READ)


@pytest.mark.parametrize("name", READ)
def test_a_stream_is_read_as_it_was(name: str) -> None:
    assert read(CORPUS[name].read_bytes()) == READ[name]


@pytest.mark.parametrize("name", READ)
def test_a_stream_byte_by_byte_is_the_same_stream(name: str) -> None:
    stream = CORPUS[name].read_bytes()
    framer = LineFramer()
    frames = [line for byte in stream for line in framer.feed(bytes([byte]))]
    assert [*frames, *filter(None, [framer.rest()])] == lines(stream)


@pytest.mark.parametrize("name", ["framing-with-headers", "greeting-before", "crlf"])
def test_framing_that_is_known_is_recognised(name: str) -> None:
    framer = AutoFramer()
    frames = framer.feed(CORPUS[name].read_bytes())
    assert "".join(letters(read_message(frame)) for frame in frames).endswith("n")


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deeply_is_no_json_that_can_be_read(name: str) -> None:
    message = read_message(DEEP[name])
    assert isinstance(message, InvalidMessage)
    assert (message.code, message.raw) == (PARSE_ERROR, DEEP[name])
    assert "nested too deeply" in message.reason


def test_the_last_of_two_keys_counts() -> None:
    message = read_message(CORPUS["duplicate-keys"].read_bytes())
    assert isinstance(message, Request)
    assert (message.id, message.method) == (2, "m")


def test_a_broken_line_does_its_neighbours_no_harm() -> None:
    good = b'{"jsonrpc":"2.0","id":"good","method":"m"}'
    for path in CORPUS.values():
        stream = path.read_bytes()
        around = lines(good + b"\n" + stream + b"\n" + good)
        assert [parse(line) for line in (around[0], around[-1])] == [parse(good)] * 2
        assert around[1:-1] == stream.split(b"\n"), path.name
