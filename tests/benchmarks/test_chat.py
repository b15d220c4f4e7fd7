"""The measure of the chat, with few updates: it has to work, however fast."""

from __future__ import annotations

import json
import sys

import pytest

from acp_protocol.schema.validate import validate_params
from benchmarks import chat
from benchmarks.chat import Flood
from benchmarks.flood import KINDS
from benchmarks.terminal import Terminal

pytestmark = pytest.mark.long


def test_terminal_sees_what_a_program_draws_and_ends_it() -> None:
    echo = "import sys; print('re' + 'ady', flush=True); print(input()[::-1]); sys.stdin.read()"
    with Terminal((sys.executable, "-c", echo), {}) as terminal:
        ready = terminal.seen("ready", 20)
        terminal.press("abc\r")
        seen = terminal.seen("cba", 20)
        assert ready is not None
        assert seen is not None
        assert terminal.started < ready < seen
        assert terminal.seen("nothing", 0) is None
        assert terminal.terminate(20) is not None


@pytest.mark.parametrize("kind", ["cells", "permissions"])
def test_console_shows_the_end_of_a_flood_and_ends(kind: str) -> None:
    values = chat.stress(Flood(kind, 3))
    assert values["end"] is not None
    assert values["peak"]
    assert values["stop"] is not None


@pytest.mark.parametrize("kind", KINDS)
def test_each_flood_says_what_its_schema_allows(kind: str) -> None:
    messages = [json.loads(line) for line in KINDS[kind](3)]
    assert len(messages) >= 3
    for message in messages:
        assert validate_params(message["method"], message["params"]) == ()


def test_cancel_reaches_the_agent() -> None:
    assert chat.cancel(Flood("chunks", 3_000, chat.RATE))["cancel"] is not None


def test_keys_are_seen_while_the_agent_sends() -> None:
    values = chat.echo_during(Flood("chunks", 100, chat.RATE))
    assert values["p50"]


def test_limit_is_printed_where_it_was_reached() -> None:
    assert chat.seconds(None) == "> 60 s"
    assert chat.seconds(0.25) == "250 ms"
