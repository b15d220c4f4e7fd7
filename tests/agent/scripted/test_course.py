"""What a step does with time, or with other steps."""

from __future__ import annotations

from tests.agent.scripted.stages import played, steps


async def test_chance_takes_one_of_several_ways() -> None:
    text = steps("{ repeat = 50, one_of = [[{ text = 'a' }], [{ text = 'b' }, { text = 'c' }]] }")
    async with played(text) as client:
        await client.prompt()
    assert "a" in client.text
    assert client.text.replace("bc", "").strip("a") == ""
    assert "bc" in client.text


async def test_a_batch_is_one_frame() -> None:
    async with played(steps("{ batch = [{ text = 'a' }, { permission = 'c' }] }")) as client:
        await client.prompt()
    (batch,) = [line for line in client.lines if line.startswith(b"[")]
    assert batch.count(b'"jsonrpc"') == 3


async def test_what_goes_on_beside_is_waited_for() -> None:
    ways = "[[{ wait = 'cancel' }, { text = 'b' }], [{ text = 'a' }]]"
    text = steps(f"{{ beside = {ways} }}", "{ text = 'c' }").replace(
        "steps", "cancel='ignore'\nsteps", 1
    )
    async with played(text) as client:
        asked = client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        client.cancel()
        await client.answer_to(asked)
    assert client.text == "abc"


async def test_time_passes_by_the_seed() -> None:
    text = steps("{ wait = 1, jitter = 1 }", "{ wait = 2.5 }")
    slept: list[list[float]] = []
    for _ in range(2):
        async with played(text, seed=5) as client:
            await client.prompt()
        slept.append(client.slept)
    assert slept[0] == slept[1]
    assert 1 < slept[0][0] < 2
    assert slept[0][1] == 2.5


async def test_who_waits_for_ever_waits_no_longer_than_the_client_is_there() -> None:
    async with played(steps("{ wait = 'forever' }", "{ text = 'end' }")) as client:
        client.begin_prompt()
    assert client.text == "end"
