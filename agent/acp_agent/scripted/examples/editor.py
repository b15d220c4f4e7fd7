"""Asks the client for what version 1 lets an agent ask: files, a terminal, a form.

An answer that is not as expected is reported on stderr, and the exit code is 1 then.
"""

from pathlib import Path

from acp_agent.scripted import Failed


async def prompt(call):
    does = {"read": _read, "write": _write, "run": _run, "form": _form}
    for word, action in does.items():
        if word in call.prompt:
            try:
                await action(call)
            except Failed as refusal:
                await call.text(f"I cannot: {refusal.message}")
            return
    await call.text("Say read, write, run or form.")


async def _read(call):
    content = await call.read(str(Path(call.cwd, "notes.md")))
    await call.text(f"It says: {content}")


async def _write(call):
    path = str(Path(call.cwd, "made.txt"))
    await call.write(path, "Made by the agent.\n")
    if call.offers("fs", "readTextFile"):
        assert await call.read(path) == "Made by the agent.\n"
    await call.text("Written.")


async def _run(call):
    await call.tool("run-1", title="echo hello", kind="execute")
    try:
        result = await call.run("echo", "hello", call_id="run-1")
    except Failed:
        await call.tool("run-1", status="failed")
        raise
    assert result["output"] == "hello\n"
    assert result["exitStatus"]["exitCode"] == 0
    await call.tool("run-1", status="completed")
    await call.text(f"It printed: {result['output']}")


async def _form(call):
    name = {"type": "string", "title": "Name"}
    answer = await call.elicit("Who are you?", {"properties": {"name": name}, "required": ["name"]})
    match answer["action"]:
        case "accept":
            await call.text(f"Hello, {answer['content']['name']}.")
        case "decline":
            await call.text("As you like.")
        case _:
            await call.text("Another time.")
