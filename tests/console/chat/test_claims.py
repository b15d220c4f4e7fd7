"""The client claims what it serves, and nothing else: claims against schema and handlers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from acp_console.chat.elicitation import Elicitation, ElicitationAnswer
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.session.updates import UPDATES
from acp_inspector.views.capabilities import FEATURES, features_of_call
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json, Request
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.words import UpdateKind

CLIENT = "clientCapabilities."
EVERY_WAY = list(product([False, True], repeat=5))


class Forms:
    """Someone who fills in forms."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        del request
        return ElicitationAnswer("cancel")

    def complete(self, elicitation_id: str) -> None:
        del elicitation_id


def handlers(ways: tuple[bool, ...]) -> ClientHandlers:
    reads, writes, runs, elicits, shows = ways
    return ClientHandlers(
        PolicyDecider("none", lambda _ask, _is_allowed: None),
        reads=reads,
        writes=writes,
        runs=runs,
        elicitor=Forms() if elicits else None,
        runs_logins=runs,
        shows_all_updates=shows,
    )


def claims(value: Json, path: str = "") -> Iterator[str]:
    """Return the paths of what is claimed: `true`, or an empty object."""
    members = as_object(value)
    for name, each in members.items():
        if name != "_meta":
            yield from claims(each, f"{path}.{name}" if path else name)
    if path and not members and value not in (None, False):
        yield path


async def is_served(host: ClientHandlers, method: str, **params: Json) -> bool:
    try:
        await host.handle_request(Request(1, method, params, b""))
    except RequestFailedError as refusal:
        return refusal.code != jsonrpc.METHOD_NOT_FOUND
    return True


@pytest.mark.parametrize("ways", EVERY_WAY)
@pytest.mark.parametrize("version", [1, 2])
async def test_a_request_is_served_if_and_only_if_it_is_claimed(
    ways: tuple[bool, ...], version: int
) -> None:
    async with handlers(ways) as host:
        host.version = version
        claimed = set(claims(host.capabilities if version == 1 else host.capabilities_v2))
        gated = {
            each.name: (each.gate or "").removeprefix(CLIENT)
            for each in METHODS
            if each.version == version and each.sent_by == "agent" and each.kind == "request"
            if (each.gate or "").startswith(CLIENT)
        }
        for method, gate in gated.items():
            is_claimed = any(path == gate or path.startswith(f"{gate}.") for path in claimed)
            assert await is_served(host, method) == is_claimed, method
        # What the schema does not offer is not served: neither are requests of the other version.
        for each in METHODS:
            is_foreign = each.name not in gated and each.name != "session/request_permission"
            if is_foreign and each.sent_by != "client" and each.kind == "request":
                assert not await is_served(host, each.name), each.name


@pytest.mark.parametrize("ways", EVERY_WAY)
def test_nothing_is_claimed_that_the_schema_does_not_know(ways: tuple[bool, ...]) -> None:
    host = handlers(ways)
    for version, found in ((1, host.capabilities), (2, host.capabilities_v2)):
        known = {path.removeprefix(CLIENT) for path in FEATURES[version] if CLIENT in path}
        known |= {
            (each.gate or "").removeprefix(CLIENT) for each in METHODS if each.version == version
        }
        assert set(claims(found)) <= known


@pytest.mark.parametrize("is_shown", [False, True])
def test_updates_that_need_a_claim_are_claimed_where_all_are_shown(is_shown: bool) -> None:
    claimed = set(claims(handlers((False,) * 4 + (is_shown,)).capabilities))
    kinds = UpdateKind.__args__
    gated = {
        path.removeprefix(CLIENT): kind
        for kind in kinds
        for path in features_of_call("session/update", {"update": {"sessionUpdate": kind}}, 1)
    }
    assert gated
    for path, kind in gated.items():
        assert kind in UPDATES
        assert (path in claimed) == is_shown, path
