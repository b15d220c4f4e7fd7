"""Turns that take long, and what they do when the client cancels them."""


async def prompt(call):
    if "stubborn" in call.prompt:  # goes on, and ends as if nothing had been said
        call.ignore_cancel()
        await call.wait_cancel()
        await call.text("I was cancelled, and I go on.", pieces="words", pause=0.05)
        return "end_turn"
    if "late" in call.prompt:  # ends, but takes its time
        call.ignore_cancel()
        await call.text("Cancel me.")
        await call.wait_cancel()
        await call.sleep(0.5)
        await call.text("I am on my way…")
        return "cancelled"
    if "wrong" in call.prompt:  # stops, but gives another reason
        call.ignore_cancel()
        await call.text("Cancel me.")
        await call.wait_cancel()
        return "refusal"
    if "ask" in call.prompt:  # asks for permission, and waits
        await call.tool("call-1", title="Something to allow", kind="execute")
        choice = await call.permission("call-1")
        await call.tool("call-1", status="completed" if choice == "allow_once" else "failed")
        await call.text("That was decided.")
        return "end_turn"
    await call.text("Cancel me.")  # does as it should
    await call.forever()
    return None
