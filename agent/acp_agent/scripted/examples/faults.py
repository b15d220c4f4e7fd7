"""One fault for each prompt, by its name.

What a client should do: not crash, say what was wrong, and go on with what is right.
"""

from acp_agent.scripted import (
    Failed,
    crash,
    cut,
    delay,
    drop,
    duplicate,
    ending,
    hang,
    invalid,
    nest,
    noise,
    pad,
    reorder,
    spelling,
    split,
    throttle,
    wrong_id,
)


async def _noise(call):  # lines that are no frames, before and among them
    await call.raw("DEBUG: starting up\n")
    await call.text("Hello", noise("a line among frames"))
    await call.raw("\n")
    await call.text(" there.")


async def _split(call):  # cut inside each character of several bytes
    await call.text("Grüße aus Köln — 你好 🙂", split("characters"))


async def _slow(call):  # two hundred bytes a second
    await call.text("Slowly.", throttle(200))


async def _huge(call):  # a line of ten million bytes
    await call.text("Much of it: " * 833_334)


async def _padded(call):  # the same length, but white space says nothing
    await call.text("Little of it.", pad(10_000_000))


async def _deep(call):  # more brackets than some readers bear
    await call.text("Deep.", nest(100_000))


async def _crlf(call):
    await call.text("With a carriage return.", ending("crlf"))
    await call.answer(ending("crlf"))


async def _glued(call):  # two frames on one line
    await call.text("One", ending("none"))
    await call.text(" line.")


async def _invalid(call):  # a byte that no UTF-8 has
    await call.text("Broken.", invalid())


async def _latin(call):
    await call.text("Grüße.", spelling("latin-1"))


async def _batch(call):
    async with call.batch():
        await call.text("Two")
        await call.text(" in one.")


async def _flood(call):  # updates faster than anybody reads
    for _ in range(20_000):
        await call.text("flood ")


async def _stranger(call):  # an update for an unknown session
    text = {"type": "text", "text": "Who?"}
    await call.update("agent_message_chunk", session_id="unknown", messageId="m", content=text)
    await call.text("You.")


async def _unknown(call):  # an update and a method that do not exist
    await call.update("something_new", value=1)
    await call.notify("session/something", sessionId=call.session.id)
    try:
        await call.ask("session/something")
    except Failed:
        await call.text("It was refused.")


async def _malformed(call):  # frames that are no JSON-RPC
    await call.frame({"jsonrpc": "1.0", "method": "session/update"})
    await call.frame({"id": 5})
    await call.frame([1, 2, 3])
    await call.raw('{"jsonrpc":\n')
    await call.raw(b"\x00\xff\n")


async def _twins(call):  # two questions of one id, which get one answer each, or one refusal
    await call.tool("call-1", title="One thing")
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": call.session.id, "options": options}
    tool_call = {"toolCallId": "call-1"}
    params |= (
        {"toolCall": tool_call}
        if call.version < 2
        else {"title": "Twins", "subject": {"type": "tool_call", "toolCall": tool_call}}
    )
    request = {"jsonrpc": "2.0", "id": "same", "method": "session/request_permission"}
    for _ in range(2):
        await call.frame({**request, "params": params})
    await call.sleep(2)


async def _twice(call):  # answered twice
    await call.answer(duplicate())


async def _late(call):  # updates behind the answer
    await call.text("Before")
    await call.answer()
    await call.sleep(0.05)
    await call.text("and behind.")


async def _overtaken(call):  # the update of a tool call before the call
    await call.tool("call-1", reorder(), title="Think", kind="think")
    await call.tool("call-1", status="completed")
    await call.text("Overtaken.")


async def _reordered(call):  # of two sessions at work, the first is answered last
    await call.answer(reorder(of="response", seconds=2))


async def _swapped(call):  # of two sessions at work, each is answered with the other's id
    await call.sleep(0.5)
    await call.text("Whose?")
    await call.answer(wrong_id("swapped"))


async def _delayed(call):  # an answer that takes long
    await call.answer(delay(1))


async def _never(call):  # no answer at all
    await call.answer(drop())


async def _other_id(call):  # an answer to nothing that was asked, and none to what was
    await call.answer(wrong_id("other"))


async def _retyped(call):  # the id as a text, if it was a number
    await call.answer(wrong_id("retyped"))


async def _reason(call):
    return "out_of_coffee"


async def _error(call):
    raise Failed(-32603, "It broke", {"why": "on purpose"})


async def _cut(call):  # half a frame, and stdout is closed
    await call.text("This will not come to its end.", cut(60))


async def _close(call):
    await call.text("Bye.")
    await call.close_stdout()


async def _exit(call):
    await call.stderr("fatal: out of ideas")
    await call.fault(crash(3))


async def _kill(call):
    await call.text("Now")
    await call.fault(crash(signal="KILL"))


async def _hang(call):  # nothing is read or written any more, and TERM is ignored
    await call.text("Still here.")
    await call.fault(hang(600, ignore="TERM"))


FAULTS = {
    name[1:].replace("_", " "): value
    for name, value in list(globals().items())
    if name.startswith("_") and not name.startswith("__")
}


async def prompt(call):
    for name, fault in FAULTS.items():
        if name in call.prompt:
            return await fault(call)
    await call.text(f"Say one of: {', '.join(FAULTS)}.")
    return None
