"""How a scenario speaks."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run as run_process

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted.faults import OutgoingFrame
from acp_agent.scripted.wire import FRAMINGS, frame_codec
from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import Json, encode_request
from tests.agent.scripted.sdk_client import AGENT, LIMIT
from tests.agent.scripted.stages import HELLO, heard, played


@given(st.lists(st.binary(min_size=1).map(lambda raw: raw.replace(b"\n", b"")), max_size=5))
@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_leaves_is_read_again_frame_by_frame(framing: str, frames: list[bytes]) -> None:
    codec = frame_codec(framing, None)
    framer = codec.framer()
    read: list[bytes] = []
    for frame in frames:
        for piece in OutgoingFrame(frame, codec.framing).pieces():
            read += framer.feed(piece)
    assert read == frames


@pytest.mark.parametrize(
    ("framing", "dialect", "spoken"),
    [
        (None, None, "lines"),
        ("content-length", None, "headers"),
        (None, "continuum", "lines"),
        ("content-length", "continuum", "headers"),
        (None, "openoxide", "headers"),
        ("lines", "openoxide", "lines"),
    ],
)
def test_a_dialect_has_its_framing_unless_another_is_wanted(
    framing: str | None, dialect: str | None, spoken: Framing
) -> None:
    assert frame_codec(framing, dialect).framing == spoken


def test_without_a_dialect_bytes_stay_as_they_are() -> None:
    speech = frame_codec(None, None)
    assert (speech.written(b"{ }"), speech.read(b"{ }").forward) == ((b"{ }",), (b"{ }",))


PLAYED = """
[[prompt]]
contains = "edit"
steps = [
  { text = "Let me see. " },
  { tool = "call-1", title = "Edit", kind = "edit" },
  { permission = "call-1", allowed = [
    { text = "Grüße", spelling = "ascii" },
  ] },
]
"""


@pytest.mark.parametrize(
    "spoken",
    [
        "",
        "framing = 'content-length'",
        "dialect = 'continuum'",
        "dialect = 'acpex'",
        "dialect = 'openoxide'",
    ],
)
def test_our_client_is_played_to_however_it_is_spoken(tmp_path: Path, spoken: str) -> None:
    script = tmp_path / "it.toml"
    script.write_text(f"{spoken}\n{PLAYED}", "utf-8")
    dialect = spoken.partition("dialect = ")[2].strip("'")
    options = ["--allow", "all", *(["--dialect", dialect] if dialect else [])]
    command = [sys.executable, "-m", "acp_console", "exec", *options, "edit it", "--", *AGENT]
    done = run_process(
        [*command, "--script", str(script)], capture_output=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, b"* Edit")
    assert done.stdout.decode().split() == ["Let", "me", "see.", "Grüße"]


async def test_a_dialect_is_heard_and_answered_in_its_own_words() -> None:
    text = "dialect = 'continuum'\n[[prompt]]\nsteps = [{ text = 'Hi $prompt' }]"
    opening: Json = {"protocolVersion": 1, "clientCapabilities": {"readTextFile": True}}
    async with played(text, opens=False) as client:
        early = await client.ask("session/list")
        hello = await client.ask("initialize", **opening)
        opened = await client.ask("session/new", mode="code")
        await client.ask("session/prompt", content=[{"type": "text", "text": "you"}])
        cancelled = await client.ask("session/cancel")
    assert early["error"]["code"] == -32002
    assert hello["result"]["agentCapabilities"]["embeddedContext"] is True
    assert opened["result"]["historyLength"] == 0
    fields = [each["params"] for each in client.messages if each.get("method") == "session/update"]
    assert [each["content"] for each in fields] == [[{"type": "text", "text": "Hi you"}]]
    assert cancelled["result"] == {}


async def test_a_header_with_another_length_is_written() -> None:
    text = "framing = 'content-length'\n[[on]]\nmethod = 'initialize'\nlength = -7"
    client = await heard(text, encode_request(1, "initialize", HELLO[1]))
    header, body = client.raw.split(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % (len(body) - 7)
