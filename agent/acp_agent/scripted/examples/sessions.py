"""Sessions from before, more than one page of them, and a login."""

from acp_agent.scripted import Agent, Failed, Saved


async def _monday(call):
    await call.user("What is the time?")
    await call.text("Nine o'clock.")
    await call.tool("clock", title="Look at the clock", kind="other", status="completed")


agent = Agent(
    logins={"key": "A key: any will do"},
    wants_login=True,
    page=2,
    sessions=[
        Saved(
            id="monday",
            title="What happened on Monday",
            cwd="/project",
            updated_at="2026-01-05T09:00:00Z",
            history=_monday,
        ),
        Saved(id="tuesday", title="Tuesday", cwd="/project"),
        Saved(id="wednesday", cwd="/elsewhere"),
    ],
)


async def session_load(call):
    if call.nth == 3:  # the third one that is loaded is gone
        raise Failed(-32002, "It is gone")
