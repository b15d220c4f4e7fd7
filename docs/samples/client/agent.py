async def prompt(call):
    if "hello" in call.prompt:
        await call.text("Hello. ", pieces="words")
        await call.text("What shall I do?")
    elif "delete" in call.prompt:
        await call.tool("call-1", title="Delete notes.md", kind="delete")
        allowed = await call.permission("call-1") == "allow_once"
        await call.text("Deleted." if allowed else "Not deleted.")
