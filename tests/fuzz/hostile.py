"""What a hostile or broken peer writes: a corpus in files, and strategies that make more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hypothesis import strategies as st

from acp_protocol.jsonrpc import Json

CORPUS: Final = {path.stem: path for path in Path(__file__).with_name("corpus").glob("*.bin")}
"""Streams of bytes as they would stand on a wire, by what is wrong with them."""

DEPTH: Final = 100_000
"""Nesting that no reader follows to its end."""
DEEP: Final = {
    "arrays": b"[" * DEPTH + b"]" * DEPTH,
    "arrays that never end": b"[" * DEPTH,
    "objects": b'{"a":' * DEPTH + b"0" + b"}" * DEPTH,
    "params": b'{"jsonrpc":"2.0","id":1,"method":"m","params":'
    + b"[" * DEPTH
    + b"]" * DEPTH
    + b"}",
    "a batch": b"[" * DEPTH + b'{"jsonrpc":"2.0","id":1,"method":"m"}' + b"]" * DEPTH,
}
"""Frames that are too large for files."""

ODD_IDS: Final[Sequence[Json]] = [1.0, True, [], {}]
texts = st.text(st.characters(exclude_categories=()), max_size=8)
values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids: st.SearchStrategy[Json] = (
    st.none() | st.integers(-1, 3) | texts | st.just("1") | st.sampled_from(ODD_IDS)
)
methods = st.sampled_from(["m", "session/update", "initialize", "$/cancel_request", "_x", ""])
errors = st.fixed_dictionaries({"code": st.integers() | values, "message": texts | values})


def _calls() -> st.SearchStrategy[Json]:
    params = (
        values
        | st.fixed_dictionaries({"sessionId": st.just("s1") | values, "update": values})
        | st.fixed_dictionaries({"requestId": ids})
    )
    return st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | values, "method": methods | values},
        optional={"id": ids, "params": params, "result": values, "_meta": values},
    )


def _answers() -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")},
        optional={"id": ids, "result": values, "error": errors | values},
    )


entries = _calls() | _answers() | values
messages = entries | st.lists(entries, max_size=4)
"""JSON that looks like messages and batches, right ones and wrong ones."""


@st.composite
def damaged(draw: st.DrawFn, frames: st.SearchStrategy[bytes]) -> bytes:
    """Draw a frame of which a piece is missing, doubled or replaced."""
    frame = draw(frames)
    start = draw(st.integers(0, len(frame)))
    end = draw(st.integers(start, len(frame)))
    return frame[:start] + draw(st.binary(max_size=3) | st.sampled_from(SHARDS)) + frame[end:]


def spelled(value: Json, is_ascii: bool, indent: int | None) -> bytes:
    """Return one of the spellings of a value; a lone surrogate stands in it as it can."""
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    return text.encode(errors="surrogatepass").replace(b"\n", b" ")


def deep_request(depth: int, brackets: tuple[bytes, bytes]) -> bytes:
    """Return a request whose params are nested so deeply."""
    opening, closing = brackets
    params = opening * depth + b"1" + closing * depth
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % params


BRACKETS: Final[Sequence[tuple[bytes, bytes]]] = [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"":', b"}]")]
SHARDS: Final[Sequence[bytes]] = [
    b"\xef\xbb\xbf",
    b"\r",
    b"\x00",
    b"\x1b]52;c;",
    b"\\ud800",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"01",
    b"9" * 5000,
    b"[" * 2000,
    b'{"a":' * 2000,
    b'"id":1,"id":"1",',
    b"Content-Length: 2\r\n\r\n",
    b"]",
    b"}",
]
"""Pieces that have broken readers."""

spellings = st.builds(spelled, messages, st.booleans(), st.sampled_from([None, 1]))
nested = st.builds(deep_request, st.integers(0, 1100), st.sampled_from(BRACKETS))
"""Requests on both sides of the depth that can be read."""
frames = st.one_of(
    spellings,
    nested,
    damaged(spellings),
    damaged(damaged(spellings)),
    st.binary(max_size=40),
    st.sampled_from(sorted(CORPUS.values())).map(lambda path: path.read_bytes().split(b"\n")[0]),
).map(lambda frame: frame.replace(b"\n", b" "))
"""One line each, whatever stands in it."""
streams = st.lists(frames | st.sampled_from([b"", b"Content-Length: 2\r", b"\r"])).map(b"\n".join)
"""What comes out of a pipe."""


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Return `stream` in chunks, some of them empty."""
    marks = sorted(place % (len(stream) + 1) for place in places)
    return [
        stream[start:end] for start, end in zip([0, *marks], [*marks, len(stream)], strict=True)
    ]
