"""A script for `acp-agent --script`: an agent that sends the two updates of a turn in one array."""

from __future__ import annotations

from acp_agent.scripted import Agent, Call

agent = Agent(protocol=2)


async def prompt(call: Call) -> None:
    async with call.batch():
        await call.text("hi ")
        await call.text("there")
