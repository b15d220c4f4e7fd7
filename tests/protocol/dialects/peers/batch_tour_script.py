"""A script for `acp-agent --script`: an agent that sends a question, and updates, in arrays."""

from __future__ import annotations

from acp_agent.scripted import Agent, Call

agent = Agent(protocol=2)


async def prompt(call: Call) -> None:
    async with call.batch() as batch:
        await call.text("May I read the notes? ")
        await call.tool("call-1", title="Read notes.md", kind="read", status="pending")
        chosen = batch.start(call.permission("call-1"))
    allowed = await chosen
    async with call.batch():
        await call.tool("call-1", status="completed" if allowed == "allow_once" else "failed")
        await call.text("That is all.")
