"""All that an agent shows in a turn, as a correct agent shows it, in both versions."""

from pathlib import Path

from acp_agent.scripted import Agent

agent = Agent(
    name="tour",
    modes=["ask", "code"],
    commands={"tour": "Show everything", "help": "Say what this is"},
)


async def prompt(call):
    await call.title("A tour")
    await call.thought("They want to see everything.", pieces=2)
    await call.text(f"You said: {call.prompt}\n\n", pieces="words")
    await call.plan(
        {"content": "Read the notes", "status": "in_progress", "priority": "high"}, "Change them"
    )
    notes = str(Path(call.cwd, "notes.md"))
    read, edit, count, run = (f"{name}-{call.nth}" for name in ("read", "edit", "count", "run"))

    await call.tool(
        read, title="Read notes.md", kind="read", status="in_progress", locations=[notes]
    )
    await call.tool(read, status="completed", text="Buy milk.", rawOutput={"lines": 1})

    diff = (notes, "Buy milk.\n", "Buy oat milk.\n")
    await call.tool(edit, title="Edit notes.md", kind="edit", diff=diff)
    if await call.permission(edit) == "allow_once":
        await call.tool(edit, status="in_progress")
        await call.tool(edit, status="completed")
        await call.text("Changed.")
    else:
        await call.tool(edit, status="failed")
        await call.text("Then not.")

    await call.tool(count, title="Count to three", kind="other", status="in_progress")
    for word in ("one", "two", "three"):
        await call.show_more(count, word)
    await call.tool(count, status="completed")

    await call.tool(run, title="ls", kind="execute", status="in_progress")
    await call.terminal(run, "ls", "notes.md\n")
    await call.terminal(run, "ls", "notes.md\nhäßlich.txt\n", exit_code=0)
    await call.tool(run, status="completed")

    await call.plan(
        {"content": "Read the notes", "status": "completed", "priority": "high"},
        {"content": "Change them", "status": "completed"},
    )
    await call.mode("code")
    await call.update("usage_update", used=1200, size=200_000)
    await call.text("That was all.")
