"""Plays a scenario to one client."""

from __future__ import annotations

import json
import re
from functools import partial

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_agent.scripted.faults import CrashFault
from acp_protocol.jsonrpc import encode_notification, encode_request
from tests.agent.scripted.stages import HELLO, Client, heard, played
from tests.agent.scripted.test_fault_tables import SAMPLES as FAULT_SAMPLES
from tests.agent.scripted.test_step_tables import SAMPLES as DEED_SAMPLES

OPENING = (
    encode_request(0, "initialize", HELLO[1]),
    encode_request(1, "session/new", {"cwd": "/project", "mcpServers": []}),
)
FAULTS = """
[[fault]]
probability = 0.2
drop = true
[[fault]]
probability = 0.2
duplicate = 2
[[fault]]
probability = 0.3
noise = true
[[fault]]
probability = 0.3
corrupt = { bytes = 3, mode = "replace" }
[[fault]]
probability = 0.2
split = { bytes = 5 }
[[fault]]
probability = 0.1
delay = { seconds = 0.1, jitter = 1 }
[[prompt]]
steps = [
  { text = "All that chance has to do with it.", pieces = "random" },
  { tool = "c1", chance = 0.5 },
  { one_of = [[{ text = "a" }], [{ thought = "b" }]], repeat = 5 },
  { permission = "c1", chance = 0.5, await = false },
  { wait = 1, jitter = 2 },
]
"""
LINES = st.lists(
    st.sampled_from(
        [
            *OPENING,
            encode_request("s", "session/new", {"cwd": "/", "mcpServers": []}),
            encode_request(
                5, "session/prompt", {"sessionId": "session-1", "prompt": [{"type": "text"}]}
            ),
            encode_request(6, "session/prompt", {"sessionId": "session-1", "prompt": []}),
            encode_request(7, "session/list"),
            encode_request(8, "session/load", {"sessionId": "session-1"}),
            encode_request(None, "what/ever", [1]),
            encode_notification("session/cancel", {"sessionId": "session-1"}),
            encode_notification("$/cancel_request", {"requestId": 5}),
            encode_notification("$/cancel_request", {"requestId": {}}),
            b'{"jsonrpc":"2.0","id":1,"result":null}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
            b'{"jsonrpc":"2.0","id":1,"error":1}',
            b"[]",
            b"{}",
            b"\xff",
            b"",
        ]
    )
    | st.binary(max_size=20).filter(lambda raw: b"\n" not in raw),
    max_size=12,
)

FAULTY = {word: [value for value, _ in all_] for word, all_ in FAULT_SAMPLES.items()}
BESIDE = ["", ", repeat = 3", ", chance = 0.5", ", only = 2", ", session = 'x'"]
HOW = [
    *BESIDE,
    *[
        f", {word} = {value}"
        for word, values in FAULTY.items()
        if word not in {"hang", "crash", "pad", "length"}
        for value in values
    ],
]
STEPS = st.sampled_from(
    [f"{{ {action} = {value}{how} }}" for action, value in DEED_SAMPLES.items() for how in HOW]
)
"""Steps of all kinds, with faults that do not end it."""
SPEECHES = [
    (1, ""),
    (2, ""),
    (2, "framing = 'content-length'\nend = [{ text = 'a', length = -3 }]"),
    (1, "dialect = 'continuum'"),
    (1, "dialect = 'acpex'"),
    (1, "dialect = 'openoxide'"),
]
"""Versions to speak, and how."""


def ended(text: str, lines: list[bytes], seed: int, version: int = 1) -> Client:
    """Play a scenario to its end."""
    play = partial(heard, text, seed=seed, version=version)
    return anyio.run(play, *lines)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, st.integers(0, 5), st.sampled_from([1, 2]))
def test_equal_seeds_give_equal_bytes_for_equal_input(
    lines: list[bytes], seed: int, version: int
) -> None:
    first, second = (ended(FAULTS, [*OPENING, *lines], seed, version) for _ in range(2))
    assert first.pipe.writes == second.pipe.writes
    assert first.slept == second.slept
    assert first.shown == second.shown


TIMES = re.compile(rb'"(?:created|updated)At":"[^"]*"')


def test_other_seeds_give_other_bytes() -> None:
    prompt = encode_request(
        5, "session/prompt", {"sessionId": "session-1", "prompt": [{"type": "text", "text": "a"}]}
    )
    assert len({ended(FAULTS, [*OPENING, prompt], seed).raw for seed in range(5)}) == 5


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, st.sampled_from([1, 2]))
def test_every_request_has_its_answer_whatever_else_is_said(
    lines: list[bytes], version: int
) -> None:
    client = ended("", lines, 0, version)
    asked = sum(b'"method"' in line and b'"id"' in line for line in lines)
    answers = [each for each in client.messages if "method" not in each]
    assert len(answers) >= asked
    assert client.fates == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=6), LINES, st.sampled_from(SPEECHES), st.integers(0, 3))
def test_any_steps_are_played_whatever_is_said(
    steps: list[str], lines: list[bytes], speech: tuple[int, str], seed: int
) -> None:
    fields = ", ".join(steps)
    version, speaks = speech
    text = f"{speaks}\nstart = [{fields}]\n[[prompt]]\nsteps = [{fields}]\n"
    text += f"after = [{fields}]\ncancel = [{fields}]\n"
    prompt = {"sessionId": "session-1", "prompt": [{"type": "text", "text": "$prompt"}]}
    spoken = [*OPENING, encode_request("p", "session/prompt", prompt), *lines]
    first, second = (ended(text, spoken, seed, version).pipe.writes for _ in range(2))
    assert [len(each) for each in first] == [len(each) for each in second]
    # Continuum tells the time of the clock.
    assert TIMES.sub(b"", b"".join(first)) == TIMES.sub(b"", b"".join(second))


@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        (b"what?", -32700, None),
        (b"[]", -32600, None),
        (b"{}", -32600, None),
        (b"\xff", -32700, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"x"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600, None),
    ],
)
async def test_garbage_is_answered(line: bytes, code: int, id_: int | None) -> None:
    client = await heard("", line)
    (answer,) = client.messages
    assert (answer["error"]["code"], answer["id"]) == (code, id_)


async def test_an_answer_that_is_none_is_not_answered() -> None:
    client = await heard("", b'{"jsonrpc":"2.0","id":1,"error":1}')
    assert client.raw == b""
    assert client.shown == ["acp-agent: an answer that is none: no JSON-RPC: error is no object"]


async def test_what_the_client_could_not_read_is_told() -> None:
    error = '{"code":-32700,"message":"Parse \\u001b[31m error"}'
    client = await heard("", f'{{"jsonrpc":"2.0","id":null,"error":{error}}}'.encode())
    (sentence,) = client.shown
    assert sentence.startswith("acp-agent: the client could not read something: Parse ")
    assert "\x1b" not in sentence


async def test_a_last_line_without_an_end_is_heard() -> None:
    async with played("", opens=False) as client:
        client.write(b"what?")
    assert client.messages[0]["error"]["code"] == -32700


async def test_what_comes_in_bits_is_put_together() -> None:
    async with played("", opens=False) as client:
        for byte in OPENING[0] + b"\n":
            client.write(bytes([byte]))
        await client.answer_to(0)


async def test_all_that_was_asked_before_the_end_is_answered() -> None:
    lines = [encode_request(id_, "session/list") for id_ in range(300)]
    client = await heard("", *OPENING, *lines[2:])
    assert [each["id"] for each in client.messages] == list(range(300))


async def test_something_may_be_said_before_anything_is_asked_and_at_the_end() -> None:
    text = 'start = [{ line = "Hello" }, { wait = 2 }]\nend = [{ line = "Bye" }]'
    client = await heard(text, OPENING[0])
    assert (client.lines[0], client.lines[-1], client.slept) == (b"Hello", b"Bye", [2.0])


async def test_what_is_said_before_the_start_is_over_waits_for_it() -> None:
    async with played('start = [{ ask = "_ready" }, { line = "Go" }]', opens=False) as client:
        asked = client.begin("session/list")
        client.answer(await client.pending("_ready"), {})
        await client.answer_to(asked)
    assert [line[:2] for line in client.lines] == [b'{"', b"Go", b'{"']


async def test_a_start_that_waits_ends_with_the_client() -> None:
    client = await heard('start = [{ ask = "_ready" }, { wait = "forever" }]', OPENING[0])
    assert [each.get("id") for each in client.messages] == [1, 0]


async def test_who_hangs_hears_nothing_more() -> None:
    async with played("[[prompt]]\nsteps = [{ hang = 5 }]") as client:
        client.begin_prompt()
        while not client.fates:
            await anyio.lowlevel.checkpoint()
    assert client.fates[-1] == CrashFault(code=1)


async def test_a_notification_may_have_steps() -> None:
    text = """
[[on]]
method = "session/cancel"
expect = { sessionId = "session-2" }
steps = [{ text = "I heard." }]
"""
    async with played(text) as client:
        client.cancel()
        await client.until(lambda _: client.text == "I heard.")
    assert "$.sessionId is 'session-1', not 'session-2'" in client.shown[0]


async def test_what_is_required_and_never_played_is_told() -> None:
    text = "[[prompt]]\ncontains = 'a'\nrequired = true\n[[prompt]]\nnth = 2\nrequired = true\n"
    async with played(text) as client:
        await client.prompt("a")
    assert client.shown == ["acp-agent: it.toml:4: prompt 2: was never played"]
    assert client.player.connection.has_failed


async def test_who_does_not_read_does_not_keep_it_from_leaving(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "[[prompt]]\nsteps = [{ text = 'a' }]"
    async with played(text, close_timeout=0.01) as client:

        async def never(item: bytes) -> None:
            while client.pipe.is_open:
                await client.pipe.changed.wait()
            raise anyio.ClosedResourceError

        monkeypatch.setattr(client.pipe, "send", never)
        client.begin_prompt()
    assert not client.pipe.is_open


async def test_faults_strike_any_frame_that_is_meant() -> None:
    text = """
[[fault]]
method = "session/prompt"
of = "answer"
duplicate = 3
[[fault]]
update = "agent_message_chunk"
every = 2
ending = "crlf"
[[prompt]]
steps = [{ text = "abcd", pieces = "characters" }]
"""
    async with played(text) as client:
        await client.prompt()
    assert [json.loads(line).get("id") for line in client.lines[-3:]] == [3, 3, 3]
    assert len(re.findall(rb'"(a|b|c|d)"[^\n]*\r\n', client.raw)) == 2
