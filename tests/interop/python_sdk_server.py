"""The agent of `python_sdk_agent.py` behind the official Python SDK's server, on uvicorn.

Prints its URL. ACP_TOKEN is not checked: the SDK leaves that to its host.
"""

from __future__ import annotations

import socket
import sys
from typing import Any, cast

import uvicorn
from acp.http.asgi import create_asgi_app
from python_sdk_agent import EditingAgent


def new_agent(connection: Any) -> Any:
    """Return the agent of a connection."""
    agent = EditingAgent()
    agent.on_connect(connection)
    return agent


def main() -> None:
    """Serve until a signal comes."""
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    sys.stdout.write(f"http://127.0.0.1:{port}/acp\n")
    sys.stdout.flush()
    app = cast("Any", create_asgi_app(new_agent))
    config = uvicorn.Config(app, log_level="error", ws="websockets-sansio")
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
