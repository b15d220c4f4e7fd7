"""What can go wrong with a frame."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted import faults
from acp_agent.scripted.faults import FrameFault, OutgoingFrame
from tests.agent.scripted.stages import played

PAGE = Path(__file__).parents[3] / "docs/scripted-agent.md"
FRAME = '{"jsonrpc":"2.0","method":"m","params":{"text":"grüße"}}'.encode()


def spelling(way: str) -> FrameFault:
    return faults.EncodingFault.model_validate({"as": way})


def struck(fault: FrameFault, raw: bytes | None = FRAME, seed: int = 1) -> OutgoingFrame:
    outgoing = OutgoingFrame(raw)
    fault.apply(outgoing, Random(seed))
    return outgoing


def raw_of(fault: FrameFault, raw: bytes = FRAME) -> bytes:
    left = struck(fault, raw).raw
    assert left is not None
    return left


@given(st.binary(), st.integers(1, 20), st.sampled_from(["flip", "replace"]), st.integers())
def test_damage_ends_no_line_and_is_the_same_for_a_seed(
    raw: bytes, count: int, mode: Literal["flip", "replace"], seed: int
) -> None:
    fault = faults.CorruptFault(bytes=count, mode=mode)
    first, second = (struck(fault, raw, seed).raw or b"" for _ in range(2))
    assert first == second
    assert len(first) == len(raw)
    assert sum(a != b for a, b in zip(first, raw, strict=True)) == min(count, len(raw))
    for new, old in zip(first, raw, strict=True):
        assert new == old or new not in b"\r\n"


def test_an_invalid_byte_makes_it_no_utf8() -> None:
    with pytest.raises(UnicodeDecodeError):
        raw_of(faults.InvalidUtf8Fault()).decode()


@pytest.mark.parametrize("way", ["ascii", "spaced"])
def test_another_spelling_says_the_same(way: str) -> None:
    raw = raw_of(spelling(way))
    assert raw != FRAME
    assert json.loads(raw) == json.loads(FRAME)
    assert b"\n" not in raw


@pytest.mark.parametrize(
    ("way", "begin"), [("bom", b"\xef\xbb\xbf{"), ("utf-16", b"\xff\xfe{\x00"), ("latin-1", b'{"')]
)
def test_another_encoding_is_other_bytes(way: str, begin: bytes) -> None:
    raw = raw_of(spelling(way))
    assert raw != FRAME
    assert raw.startswith(begin)


def test_what_is_no_json_has_no_other_spelling() -> None:
    assert raw_of(spelling("ascii"), b"what?") == b"what?"


def test_a_padded_line_says_the_same_at_length() -> None:
    raw = raw_of(faults.PadFault(bytes=10_000))
    assert len(raw) == 10_000
    assert json.loads(raw) == json.loads(FRAME)


def test_a_nested_member_is_json_all_the_same() -> None:
    nested = json.loads(raw_of(faults.NestFault(depth=50)))["_deep"]
    for _ in range(49):
        (nested,) = nested
    assert nested == []


def test_noise_by_chance_is_the_same_for_a_seed() -> None:
    noise = faults.NoiseFault(newline=True)
    assert struck(noise, seed=5).prefix == struck(noise, seed=5).prefix
    assert len({struck(noise, seed=seed).prefix for seed in range(50)}) > 1


@pytest.mark.parametrize(
    "fault",
    [
        faults.CorruptFault(bytes=3),
        faults.InvalidUtf8Fault(),
        faults.PadFault(bytes=100),
        faults.NestFault(depth=3),
        spelling("ascii"),
        faults.DuplicateFault(times=2),
        faults.CutFault(bytes=3),
        faults.ReorderFault(seconds=1.0),
        faults.WrongLengthFault(by=1),
    ],
)
def test_where_there_is_no_frame_none_comes_up(fault: FrameFault) -> None:
    assert struck(fault, None).raw is None


def test_delays_add_up() -> None:
    outgoing = OutgoingFrame(FRAME)
    for _ in range(2):
        faults.DelayFault(seconds=1.0, jitter=0.5).apply(outgoing, Random(1))
    assert 2.0 < outgoing.delay < 3.0


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("drop = true", "unanswered-request"),
        ("duplicate = 2", "duplicate-response"),
        ("cut = 20", "not-json"),
        ("invalid = true", "invalid-utf8"),
        ("noise = 'DEBUG: here'", "text-on-stdout"),
        ("ending = 'crlf'", "crlf-line-end"),
        ("ending = 'none'\nafter = [{ text = 'a' }]", "glued-messages"),
        ("spelling = 'bom'", "byte-order-mark"),
        ("steps = [{ text = 'ü', spelling = 'latin-1' }]", "invalid-utf8"),
        ("steps = [{ text = 'ü', session = 'nobody' }]", "agent-names-unknown-session"),
        ("stop = 'out_of_coffee'", "invalid-stop-reason"),
        ("crash = 1", "unanswered-request"),
        ("id = 'other'", "unknown-response-id"),
        ("id = 'retyped'", "unknown-response-id"),
        ("id = 'null'", "null-response-id"),
        ("id = 'missing'", "unanswered-request"),
        ("id = 'previous'", "duplicate-response"),
    ],
)
async def test_what_goes_wrong_is_found_by_its_rule(text: str, rule: str) -> None:
    async with played(f"[[prompt]]\n{text}") as client:
        client.begin_prompt()
    assert rule in client.findings
    assert rule in PAGE.read_text()
