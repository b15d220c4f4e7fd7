"""Faults by chance: another --seed, other faults; the same seed, the same bytes."""

from acp_agent.scripted import (
    Agent,
    corrupt,
    delay,
    drop,
    duplicate,
    frame_kind,
    noise,
    split,
)

agent = Agent(seed=7)


async def prompt(call):
    await call.text(
        "It was a dark and stormy night; the rain fell in torrents — grüßend.", pieces="random"
    )
    if call.random.random() < 0.5:
        await call.tool("call-1", title="Thunder", status="completed")
    if call.random.random() < 0.5:
        await call.text("Then it stopped.")
    else:
        await call.thought("Will it stop?")
    await call.answer(delay(0, jitter=0.3))


def faults(message, random):
    """Return the faults of each frame."""
    if frame_kind(message) == "notification":
        if random.random() < 0.1:
            yield drop()
        if random.random() < 0.1:
            yield duplicate()
        if random.random() < 0.05:
            yield corrupt(3)
    if random.random() < 0.2:
        yield noise()
    if random.random() < 0.3:
        yield split(7)
