"""What an ordinary client does: traffic for the cases that have only rules.

These cases have no verdict. Each has a connection of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from acp_inspector.conformance.model import Case, CaseFailedError
from acp_inspector.conformance.peer import PROMPT_KINDS, Peer
from acp_protocol.json_values import get_object, get_objects, get_text
from acp_protocol.jsonrpc import Json

NOT_ORDINARY: Final = frozenset({"slow", "mcp"})
"""Kinds of prompts that need more than a session: a cancellation, a server."""


async def turns(peer: Peer) -> None:
    """Play a turn of each kind that the agent has a prompt for, and set each mode."""
    session = await peer.new_session()
    with suppress(CaseFailedError):
        await peer.request("_conform/ordinary", {})
    for kind in PROMPT_KINDS:
        if kind in NOT_ORDINARY or kind not in peer.options.prompts:
            continue
        try:
            await peer.prompt(session, peer.prompt_text(kind))
        except CaseFailedError:
            # The turn may still run.
            session = await peer.new_session()
    await _set_modes(peer)


async def _set_modes(peer: Peer) -> None:
    session = await peer.new_session()
    modes = get_objects(get_object(dict(peer.opened[session]), "modes"), "availableModes")
    ids = [get_text(each, "id") for each in modes]
    for mode in [*ids[1:], *ids[:1]]:
        with suppress(CaseFailedError):
            await peer.request("session/set_mode", {"sessionId": session, "modeId": mode})


async def offered_methods(peer: Peer) -> None:
    """Call what every agent has, or this one offers, for a session that does not exist.

    A logout would be the user's.
    """
    await peer.open()
    session: dict[str, Json] = {"sessionId": "no-such-session-0000"}
    place: dict[str, Json] = {"cwd": str(peer.directory), "mcpServers": []}
    calls: list[tuple[str, str, str, dict[str, Json]]] = [
        ("", "-", "session/prompt", {**session, "prompt": [{"type": "text", "text": "hello"}]}),
        ("loadSession", "", "session/load", {**session, **place}),
        ("sessionCapabilities.resume", "-", "session/resume", {**session, **place}),
        ("sessionCapabilities.list", "-", "session/list", {}),
        ("sessionCapabilities.close", "-", "session/close", session),
        ("sessionCapabilities.delete", "session.delete", "session/delete", session),
    ]
    for v1, v2, method, params in calls:
        path = v1 if peer.version == 1 else v2
        is_baseline = path == "-" or method == "session/prompt"
        if is_baseline or (path and peer.offers(path, path) is not None):
            with suppress(CaseFailedError):
                await peer.request(method, params)


async def bare_turn(peer: Peer) -> None:
    """Play a turn as a client that claims nothing."""
    await peer.prompt(await peer.new_session(), peer.prompt_text("text"))


async def unreadable(peer: Peer) -> None:
    """Send a line that can get an error with the id null."""
    await peer.open()
    await peer.send(b'{"jsonrpc": "2.0", "id": 76, "method": ')
    await peer.settle()


def _ordinary(id_: str, steps: Callable[[Peer], Awaitable[None]], *, is_bare: bool = False) -> Case:
    return Case(id=id_, section="", sentence="", steps=steps, own=True, is_bare=is_bare)


ORDINARY: Final = (
    _ordinary("ordinary.turns", turns),
    _ordinary("ordinary.offered-methods", offered_methods),
    _ordinary("ordinary.bare-turn", bare_turn, is_bare=True),
    _ordinary("ordinary.unreadable", unreadable),
)
