"""The smallest script that says something of its own."""


async def prompt(call):
    await call.text("Hello from the scripted agent.", pieces="words")
