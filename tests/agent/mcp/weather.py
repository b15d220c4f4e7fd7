"""An MCP server made with the official SDK; argv says over what it is served, and its faults."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import anyio
import uvicorn
from mcp.server.mcpserver import (
    Context,
    Elicit,
    ElicitationResult,
    Image,
    ListRoots,
    MCPServer,
    Resolve,
)
from mcp_types import ListRootsResult, ToolAnnotations
from pydantic import BaseModel
from starlette.applications import Starlette

server = MCPServer("weather")


class Report(BaseModel):
    """What the weather is like."""

    place: str
    degrees: int


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode())


@server.tool(title="Look\x1b[2J outside", annotations=ToolAnnotations(read_only_hint=True))
def look(place: str) -> str:
    """Tell what the weather is like in a place."""
    return f"It rains in {place}."


@server.tool()
def measure(place: str) -> Report:
    """Measure the temperature."""
    return Report(place=place, degrees=7)


@server.tool()
def paint() -> Image:
    """Paint the sky."""
    return Image(data=b"sky", format="png")


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no clouds")


@server.tool()
def flood(count: int) -> str:
    """Return much."""
    return "x" * count


@server.tool()
def secret(variable: str) -> str:
    """Return a variable of the environment."""
    return os.environ.get(variable, "unset")


@server.tool()
def where() -> str:
    """Return the directory of this program."""
    return str(Path.cwd())


@server.tool()
def family() -> list[int]:
    """Start a program, and return the process ids of this one and of that one."""
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    return [os.getpid(), child.pid]


@server.tool()
async def hang() -> str:
    """Take for ever."""
    _say("hanging")
    try:
        await anyio.sleep_forever()
    finally:
        _say("no longer hanging")
    return ""


class Wish(BaseModel):
    """What the user wishes."""

    wind: bool
    degrees: int


def _wish(message: str) -> Elicit[Wish]:
    return Elicit(message, Wish)


@server.tool()
def ask(message: str, wish: Annotated[ElicitationResult[Wish], Resolve(_wish)]) -> str:
    """Ask the user for a wish."""
    del message
    return f"{wish.action}: {wish.data if wish.action == 'accept' else None}"


def _list_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def roots(found: Annotated[ListRootsResult, Resolve(_list_roots)]) -> str:
    """Return where the session works."""
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
def die(code: int) -> str:
    """End this program."""
    os._exit(code)


def _snow() -> str:
    return "It snows."


@server.tool()
async def change(to: Literal["more", "less"], context: Context) -> str:
    """Offer another tool, or one less."""
    if to == "more":
        server.add_tool(_snow, name="snow", description="Make it snow.")
    else:
        server.remove_tool("snow")
    await context.notify_tools_changed()
    await context.request_context.session.send_tool_list_changed()
    return to


def serve_web(app: Starlette) -> None:
    """Serve on a port of this machine, which the first line on stdout tells; 0 for a free one."""
    listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    os.write(1, f"{listener.getsockname()[1]}\n".encode())
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def main(how: str) -> None:
    """Serve."""
    match how:
        case "http":
            serve_web(server.streamable_http_app())
        case "sse":
            serve_web(server.sse_app())
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            server.run("stdio")
            while True:
                signal.pause()
        case "noisy":
            os.write(1, b'Welcome!\n{"jsonrpc":"2.0","id":99,"result":{}}\n[]\n\xff\x00{\n\n')
            server.run("stdio")
        case _:
            server.run("stdio")


if __name__ == "__main__":
    _say(f"{sys.argv[1]} server is up")
    main(sys.argv[1])
