"""A bare reverse proxy on the same libraries as ours: it passes bytes on, and nothing more.

`python -m benchmarks.reverse_proxy URL` prints its own URL, and ends with its stdin.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

HOP_BY_HOP: Final = {"connection", "host", "keep-alive", "transfer-encoding"}


def bare_proxy(url: str) -> Starlette:
    """Return an application that passes every request on to `url`."""
    # Both sides keep their connections open.
    client = httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None))

    async def forward(request: Request) -> StreamingResponse:
        headers = [each for each in request.headers.items() if each[0] not in HOP_BY_HOP]
        passed = client.build_request(
            request.method, url, headers=headers, content=await request.body()
        )
        answer = await client.send(passed, stream=True)
        kept = {k: v for k, v in answer.headers.items() if k not in HOP_BY_HOP}
        closing = BackgroundTask(answer.aclose)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, kept, background=closing)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with client:
            yield

    route = Route(urlsplit(url).path, forward, methods=["GET", "POST", "DELETE"])
    return Starlette(routes=[route], lifespan=lifespan)


def main() -> None:
    """Serve until stdin ends."""
    url = sys.argv[1]
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(bare_proxy(url), log_level="critical"))

    def wait_end() -> None:
        sys.stdin.buffer.read()
        server.should_exit = server.force_exit = True

    sys.stdout.write(f"http://127.0.0.1:{port}{urlsplit(url).path}\n")
    sys.stdout.flush()
    threading.Thread(target=wait_end, daemon=True).start()
    server.run([listener])


if __name__ == "__main__":
    main()
