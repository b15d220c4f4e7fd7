"""Where a host on the network really is, and whether everybody can reach it.

A name may lead anywhere: to this machine, to a router, to the service that knows a cloud machine's
keys. So a name is judged by all that it leads to, and whoever connects goes to what was judged and
not to the name. Looking it up tells others of it, so that needs consent as well.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

import anyio

TIME_LIMIT: Final = 5.0
"""Seconds that looking up a name may take."""
_TUNNELS: Final = tuple(
    ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)
"""Addresses that stand for others, which may be private."""


def spelled_out(host: str) -> list[str]:
    """Return the addresses that `host` leads to as it is written; none for a name to be looked up.

    `127.1` is an address, too. This machine's own name needs no look-up.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return ["127.0.0.1", "::1"]
    try:
        entries = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except (OSError, ValueError):
        return []
    return [str(entry[4][0]) for entry in entries]


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses that `host` leads to, in the order to try them; none if to nowhere."""
    found: list[str] = []
    with anyio.move_on_after(TIME_LIMIT):
        try:
            entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        found = [str(entry[4][0]) for entry in entries]
    return list(dict.fromkeys(found))


def are_public(addresses: Sequence[str]) -> bool:
    """Return whether every one of `addresses` is open to everybody, as far as can be told."""
    return all(map(_is_public, addresses))


def _is_public(text: str) -> bool:
    try:
        address: IPv4Address | IPv6Address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif any(address in net for net in _TUNNELS):
            return False
    return address.is_global and not address.is_multicast
