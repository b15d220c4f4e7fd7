"""What a step writes as it stands there."""

from __future__ import annotations

from tests.agent.scripted.stages import played, steps


async def test_frames_and_bytes_are_written_as_they_stand_there() -> None:
    text = steps(
        "{ frame = { a = '$session' } }",
        "{ frame = '[null]' }",
        "{ line = 'noise ü' }",
        '{ raw = "x\\ny" }',
        "{ hex = 'ff 00 0a' }",
    )
    async with played(text) as client:
        await client.prompt()
    raw = client.raw.partition(b'"session-1"}}\n')[2]
    assert raw.startswith('{"a":"session-1"}\n[null]\nnoise ü\nx\ny'.encode() + b"\xff\x00\n")


async def test_stderr_is_not_stdout() -> None:
    async with played(steps("{ stderr = 'oh, $prompt' }")) as client:
        await client.prompt("Ada")
    assert client.shown == ["oh, Ada"]
    assert b"oh" not in client.raw


async def test_a_closed_stdout_ends_nothing_else() -> None:
    text = steps("{ text = 'a' }", "{ close = 'stdout' }", "{ text = 'b' }", "{ stderr = 'c' }")
    async with played(text) as client:
        client.begin_prompt()
        while client.pipe.is_open:
            await client.pipe.changed.wait()
    assert (client.text, client.shown) == ("a", ["c"])


async def test_a_notification_of_any_method_is_sent() -> None:
    async with played(steps("{ tell = '_own', params = [1] }", "{ tell = '_bare' }")) as client:
        await client.prompt()
    assert {"jsonrpc": "2.0", "method": "_own", "params": [1]} in client.messages
    assert {"jsonrpc": "2.0", "method": "_bare"} in client.messages
