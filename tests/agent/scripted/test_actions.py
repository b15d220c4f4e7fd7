"""What a step tells the client."""

from __future__ import annotations

from base64 import b64decode

import pytest

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.validate import validate_params
from tests.agent.scripted.stages import Client, played, steps

NEUTRAL = """
[[prompt]]
steps = [
  { thought = "Hm." },
  { text = "Hello, $prompt!" },
  { text = " More." },
  { plan = ["look", { content = "do", status = "completed", priority = "high" }] },
  { tool = "c1", title = "Edit", kind = "edit", locations = ["/a", { path = "/b", line = 2 }] },
  { tool = "c1", status = "in_progress", input = { x = 1 } },
  { tool = "c1", diff = { path = "/a", old = "1\\n", new = "2\\n" } },
  { tool = "c1", more = ["one", "two"] },
  { tool = "c1", status = "cancelled", output = [1] },
  { text = "Again." },
  { block = { type = "resource_link", uri = "file:///a", name = "a" } },
  { user = "What I said." },
  { mode = "code", modes = ["ask", "code"] },
  { commands = { go = "Go on" } },
  { title = "About $prompt" },
  { update = '{"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": null}' },
  { state = "running" },
]
"""


async def shown(client: Client, text: str = "Ada") -> list[Json]:
    before = len(client.updates)
    await client.prompt(text)
    return client.updates[before:]


def problems(client: Client, version: int) -> list[str]:
    return [
        str(complaint)
        for message in client.messages
        if "method" in message
        for complaint in validate_params(message["method"], message["params"], version)
    ]


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_said_in_no_version_fits_the_shapes_of_both(version: int) -> None:
    async with played(NEUTRAL, version=version) as client:
        await client.prompt("Ada")
    assert problems(client, version) == []
    assert client.lint == []
    assert client.text == "Hello, Ada! More.Again."


async def test_version_1_has_its_words() -> None:
    async with played(NEUTRAL) as client:
        fields = await shown(client)
    assert [each["sessionUpdate"] for each in fields] == [
        "agent_thought_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "plan",
        "tool_call",
        *["tool_call_update"] * 5,
        "agent_message_chunk",
        "agent_message_chunk",
        "user_message_chunk",
        "current_mode_update",
        "available_commands_update",
        "session_info_update",
        "usage_update",
    ]
    call, _, edited, one, two, ended = fields[4:10]
    assert (call["title"], call["status"]) == ("Edit", "pending")
    assert edited["content"] == [{"type": "diff", "path": "/a", "oldText": "1\n", "newText": "2\n"}]
    assert [len(each["content"]) for each in (one, two)] == [2, 3]
    assert ended["status"] == "failed"


async def test_version_2_has_its_words() -> None:
    async with played(NEUTRAL, version=2) as client:
        fields = await shown(client)
    kinds = [each["sessionUpdate"] for each in fields]
    assert kinds[:2] == ["user_message", "state_update"]
    assert kinds[2:11] == [
        "agent_thought_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "plan_update",
        "tool_call_update",
        "tool_call_update",
        "tool_call_update",
        "tool_call_content_chunk",
        "tool_call_content_chunk",
    ]
    thought, first, second, again = (fields[number]["messageId"] for number in (2, 3, 4, 12))
    assert first == second
    assert len({thought, first, again}) == 3
    assert fields[8]["content"][0]["patch"]["format"] == "git_patch"
    assert fields[11]["status"] == "cancelled"
    assert "config_option_update" in kinds
    assert kinds[-1] == "state_update"


@pytest.mark.parametrize("pieces", ["1", "3", "100", "'words'", "'characters'", "'random'"])
async def test_pieces_are_the_text(pieces: str) -> None:
    text = "Grüße aus Köln,  und 你好 🙂."
    async with played(steps(f"{{ text = '{text}', pieces = {pieces} }}")) as client:
        fields = await shown(client)
    assert client.text == text
    assert all(each["content"]["text"] for each in fields)
    if pieces in {"1", "3"}:
        assert len(fields) == int(pieces)


async def test_a_text_of_nothing_is_said_all_the_same() -> None:
    async with played(steps("{ text = '', pieces = 3 }")) as client:
        (fields,) = await shown(client)
    assert fields["content"]["text"] == ""


async def test_pieces_may_have_pauses() -> None:
    async with played(steps("{ text = 'a b c', pieces = 'words', pause = 0.5 }")) as client:
        await client.prompt()
    assert client.slept == [0.5, 0.5]


async def test_a_text_is_as_long_as_it_is_wanted() -> None:
    async with played(steps("{ text = 'äb', size = 1000 }")) as client:
        await client.prompt()
    assert 1000 <= len(client.text.encode()) <= 1002


async def test_a_message_may_be_said_anew() -> None:
    text = steps("{ text = 'a' }", "{ text = 'b', whole = true }")
    async with played(text) as client:
        await client.prompt()
    assert client.kinds == ["agent_message_chunk"] * 2
    async with played(text, version=2) as client:
        _, _, chunk, whole, _ = await shown(client)
    assert whole["sessionUpdate"] == "agent_message"
    assert (whole["messageId"], whole["content"][0]["text"]) == (chunk["messageId"], "b")
    assert problems(client, 2) == []


TERMINAL = steps(
    "{ tool = 'c1', with = { _meta = { own = 1 } } }",
    "{ terminal = 't1', tool = 'c1', command = 'ls', output = 'ä' }",
    "{ terminal = 't1', tool = 'c1', output = 'öü', chunk = 3, exit = 2 }",
)


async def test_version_2_has_terminals_of_the_agent() -> None:
    async with played(TERMINAL, version=2) as client:
        await client.prompt()
    assert problems(client, 2) == []
    assert client.kinds[2:-1] == [
        "tool_call_update",
        "terminal_update",
        "tool_call_content_chunk",
        *["terminal_output_chunk"] * 3,
        "terminal_update",
    ]
    assert client.updates[2]["_meta"] == {"own": 1}
    chunks = [b64decode(each["data"]) for each in client.updates if "data" in each]
    assert chunks == ["ä".encode(), "öü".encode()[:3], "öü".encode()[3:]]
    assert client.updates[-2]["exitStatus"] == {"exitCode": 2}
    assert client.lint == []


async def test_version_1_shows_the_output_of_a_terminal_as_text() -> None:
    async with played(TERMINAL) as client:
        await client.prompt()
    assert problems(client, 1) == []
    assert client.kinds == ["tool_call", "tool_call_update", "tool_call_update"]
    assert [each["content"]["text"] for each in client.updates[-1]["content"]] == ["ä", "öü"]


async def test_a_message_may_have_an_id_of_ones_own() -> None:
    async with played(steps("{ text = 'a', message = 'm1' }", "{ text = 'b' }")) as client:
        first, second = await shown(client)
    assert first["messageId"] == "m1"
    assert "messageId" not in second


async def test_a_step_for_one_version_is_left_out_in_the_other() -> None:
    text = steps("{ text = 'one', only = 1 }", "{ text = 'two', only = 2 }")
    for version, word in {1: "one", 2: "two"}.items():
        async with played(text, version=version) as client:
            await client.prompt()
        assert client.text == word


async def test_steps_are_repeated_and_left_to_chance() -> None:
    text = steps("{ text = 'a', repeat = 200, chance = 0.5 }", "{ text = 'b', chance = 0 }")
    lengths: set[int] = set()
    for seed in (1, 1, 2):
        async with played(text, seed=seed) as client:
            await client.prompt()
        assert set(client.text) == {"a"}
        lengths.add(len(client.text))
    assert len(lengths) == 2


async def test_an_update_may_be_about_a_session_that_nobody_knows() -> None:
    async with played(steps("{ text = 'a', session = 'nobody' }", "{ text = 'b' }")) as client:
        await client.prompt()
    fields = [each["params"]["sessionId"] for each in client.messages if "params" in each]
    assert fields == ["nobody", "session-1"]


@pytest.mark.parametrize("accident", ["crash = 3", "hang = 5", "noise = 'oh'"])
async def test_an_accident_happens_between_frames(accident: str) -> None:
    async with played(steps("{ text = 'a' }", f"{{ {accident} }}")) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
    assert client.fates or b"oh\n" in client.raw


async def test_the_faults_of_a_step_are_those_of_its_frames_alone() -> None:
    text = steps(
        "{ steps = [{ text = 'a', duplicate = 2 }, { text = 'b' }] }",
        "{ text = 'c', ending = 'crlf', noise = 'oh' }",
    )
    async with played(text) as client:
        await client.prompt()
    assert client.text == "aabc"
    assert client.raw.count(b"\r\n") == 1
    assert client.raw.count(b"oh\n{") == 1
