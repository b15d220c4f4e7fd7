"""Agents that die, want a login, or speak a later version."""

from __future__ import annotations

from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, CaseFailedError, NotReachedError
from acp_protocol.jsonrpc import Notification, Request

case = CLIENT.case


@case("dying.leaves", "Transports, stdio", persona="dying")
async def leaves(stage: Stage) -> None:
    """A client whose agent has ended its output closes the connection."""
    await stage.say("I do not feel so w")
    await stage.close_output()
    await stage.wait_for(lambda: True if stage.has_ended else None, "the end of its output")


@case(
    "login.known-method",
    "Authentication",
    persona="login",
    rules=("unknown-auth-method", "unknown-login-method", "terminal-method-as-login"),
    own=True,
)
async def login_known(stage: Stage) -> None:
    """A client that logs in uses a method that was offered, and creates the session after it."""
    if stage.login_method not in stage.notes:
        raise NotReachedError("the client did not log in")
    if not stage.sessions:
        raise CaseFailedError("the client created no session after the login")


@case("future.leaves", persona="future", rules=("version-mismatch-ignored",), own=True)
async def future(stage: Stage) -> None:
    if not stage.messages:
        raise NotReachedError("the client sent no initialize")
    for each in stage.messages[1:]:
        if isinstance(each, Request | Notification):
            raise CaseFailedError(f"the client sent {each.method} in version 77")
