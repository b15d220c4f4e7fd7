"""What the faster library reads and writes is what the standard library reads and writes."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from enum import IntEnum, StrEnum

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol import json_codec
from acp_protocol.json_codec import encode, parse

texts = st.text(st.characters(exclude_categories=()), max_size=8)
doubles = st.binary(min_size=8, max_size=8).map(lambda eight: struct.unpack("<d", eight)[0])
numbers = (
    st.integers()
    | st.integers(min_value=2**63 - 2, max_value=2**64 + 2)
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats()
    | doubles
    | st.floats(min_value=-0.01, max_value=0.01)
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=8,
)


class Word(StrEnum):
    YES = "yes"


class Number(IntEnum):
    ONE = 1


@pytest.fixture(scope="module", autouse=True)
def the_fast_library_is_there() -> None:
    while json_codec._orjson.loads is None:
        parse(b"0")


def written_by_the_standard_library(value: object) -> bytes | type[Exception]:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, TypeError) as problem:
        return type(problem)


def written(value: object) -> bytes | type[Exception]:
    try:
        return encode(value)
    except (ValueError, TypeError) as problem:
        return type(problem)


@given(values)
@example(1e-7)
@example(7.2e-05)
@example(1e16)
@example(-0.0)
@example(math.nan)
@example([math.inf])
@example(2**64)
@example({1: None, False: 2, None: 3, 1.5: 4})
@example({"key": Word.YES, Word.YES: [Number.ONE]})
@example("\ud800\x00\x7f\u2028/")
@example({1, 2})
@example(b"bytes")
def test_values_are_spelled_as_the_standard_library_spells_them(value: object) -> None:
    assert written(value) == written_by_the_standard_library(value)


def test_deep_values_are_spelled_as_far_as_the_standard_library_goes() -> None:
    value: object = 1
    for _ in range(400):
        value = [value]
    assert encode(value) == b"[" * 400 + b"1" + b"]" * 400


def seen(value: object) -> str:
    """Return what tells values apart that compare as equal: 1, 1.0 and true."""
    return repr(value)


@given(
    st.binary(max_size=12)
    | values.map(written).filter(lambda raw: isinstance(raw, bytes))
    | st.from_regex(rb"\A-?(0|[1-9]\d{0,40})(\.\d{1,40})?([eE][+-]?\d{1,4})?\Z")
    | st.from_regex(rb'\A"(\\u[dD][89a-fA-F]..|\\.|[ -~]){0,4}"\Z')
)
@example(b'{"a":1,"b":2,"a":3}')
@example(b"-0")
@example(b"-0.0")
@example(b"18446744073709551616")
@example(b"-9223372036854775809")
@example(b"[123456789012345678901e0]")
@example(b"1e400")
@example(b'"\\ud800"')
@example(b'"\xed\xa0\x80"')
@example(b"\xef\xbb\xbf1")
@example(b"\t[1]\r\n")
@example(b"\x0c1")
@example(b"NaN")
def test_bytes_are_read_as_the_standard_library_reads_them(raw: bytes) -> None:
    def read(by: Callable[[bytes], object]) -> str:
        try:
            return seen(by(raw))
        except ValueError as problem:
            return str(problem)

    assert read(parse) == read(json_codec._parse_slowly)


@pytest.mark.parametrize("depth", [100, 900, 1010, 100_000])
def test_nesting_is_followed_as_far_as_the_standard_library_follows_it(depth: int) -> None:
    def is_read(by: Callable[[bytes], object]) -> bool:
        try:
            by(b"[" * depth + b"]" * depth)
        except ValueError:
            return False
        return True

    assert is_read(parse) == is_read(json_codec._parse_slowly)


def test_a_few_frames_do_without_the_fast_library() -> None:
    """A command that reads a line or two must not wait until it is imported."""
    program = (
        "import sys; from acp_protocol import json_codec as j\n"
        "for n in range(j.VALUES_BEFORE_ORJSON - 1): j.parse(j.encode(n)) if n % 2 else None\n"
        "print('orjson' in sys.modules)\n"
        "for n in range(j.VALUES_BEFORE_ORJSON): j.parse(b'0')\n"
        "print('orjson' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True"]


def test_what_was_written_holds_no_more_memory_than_it_says() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [encode({"number": number, "text": "x" * 100}) for number in range(100)]
        assert tracemalloc.get_traced_memory()[0] - before < 300 * len(kept)
    finally:
        tracemalloc.stop()
