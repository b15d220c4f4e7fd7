"""Facts about methods that stand in the protocol's text, not in its schema.

A gate is the path of the capability that allows a method. It starts with a member of `initialize`:
`agentCapabilities…` are the agent's (in its response), `clientCapabilities…` the client's (in its
request). Version 2 calls both `capabilities`, and here the same words tell them apart:
`agentCapabilities.session` is `capabilities.session` of the agent. Methods that are missing here
need no capability.
"""

from __future__ import annotations

from typing import Final

_SESSION: Final = "agentCapabilities.sessionCapabilities"

GATES: Final[dict[int, dict[str, str]]] = {
    1: {
        "auth/status": "agentCapabilities.auth.status",
        "auth/status_update": "agentCapabilities.auth.status",
        "authenticate": "authMethods",
        "elicitation/create": "clientCapabilities.elicitation",
        "elicitation/complete": "clientCapabilities.elicitation.url",
        "fs/read_text_file": "clientCapabilities.fs.readTextFile",
        "fs/write_text_file": "clientCapabilities.fs.writeTextFile",
        "logout": "agentCapabilities.auth.logout",
        "mcp/message": "agentCapabilities.mcpCapabilities.acp",
        "providers/disable": "agentCapabilities.providers",
        "providers/list": "agentCapabilities.providers",
        "providers/set": "agentCapabilities.providers",
        "session/archive": f"{_SESSION}.archive",
        "session/close": f"{_SESSION}.close",
        "session/delete": f"{_SESSION}.delete",
        "session/fork": f"{_SESSION}.fork",
        "session/list": f"{_SESSION}.list",
        "session/load": "agentCapabilities.loadSession",
        "session/resume": f"{_SESSION}.resume",
        "session/set_title": f"{_SESSION}.title",
        "session/status": f"{_SESSION}.status",
        "session/unarchive": f"{_SESSION}.archive",
        "terminal/create": "clientCapabilities.terminal",
        "terminal/kill": "clientCapabilities.terminal",
        "terminal/output": "clientCapabilities.terminal",
        "terminal/release": "clientCapabilities.terminal",
        "terminal/wait_for_exit": "clientCapabilities.terminal",
    },
    2: {
        "auth/login": "authMethods",
        "auth/logout": "authMethods",
        "auth/status": "agentCapabilities.auth.status",
        "auth/status_update": "agentCapabilities.auth.status",
        "elicitation/create": "clientCapabilities.elicitation",
        "elicitation/complete": "clientCapabilities.elicitation.url",
        "mcp/message": "agentCapabilities.session.mcp.acp",
        "providers/disable": "agentCapabilities.providers",
        "providers/list": "agentCapabilities.providers",
        "providers/set": "agentCapabilities.providers",
        "session/archive": "agentCapabilities.session.archive",
        "session/cancel": "agentCapabilities.session",
        "session/close": "agentCapabilities.session",
        "session/delete": "agentCapabilities.session.delete",
        "session/fork": "agentCapabilities.session.fork",
        "session/list": "agentCapabilities.session",
        "session/new": "agentCapabilities.session",
        "session/prompt": "agentCapabilities.session",
        "session/resume": "agentCapabilities.session",
        "session/set_config_option": "agentCapabilities.session",
        "session/set_title": "agentCapabilities.session.title",
        "session/status": "agentCapabilities.session.status",
        "session/unarchive": "agentCapabilities.session.archive",
    },
}

SENT_BY: Final = {"proxy/initialize": "client"}
"""Who sends a method whose `x-side` is a proxy; the others go both ways."""
