"""Resolves the name of a host, and checks whether its addresses are public.

A name may lead anywhere: to this machine, to a router, to the metadata service of a cloud. So a
name is judged by all its addresses, and a connection goes to a judged address, not to the name.
A lookup is visible to others, so it needs consent as well.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

import anyio

RESOLVE_TIMEOUT_S: Final = 5.0
"""Seconds that looking up a name may take."""
_TUNNELS: Final = tuple(
    ip_network(net)
    for net in (
        *("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
    )
)
"""Address ranges that embed other addresses, which may be private."""

_SHARED: Final = ip_network("100.64.0.0/10")
"""Behind the machines of a provider, or in a network laid over others; no one calls it private."""
_KEYS: Final = tuple(
    ip_network(net)
    for net in ("100.100.100.200/32", "fd00:42::42/128", "fd00:ec2::/32", "fd20:ce::254/128")
)
"""Where cloud machines ask for their keys although the address looks like any other's.

Source: Alibaba Cloud, Scaleway, Amazon EC2 and Google Compute Engine, each on its metadata server.
"""

_NAME: Final = re.compile(
    r"(?=.{1,255}$)(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.(?!$)|$))+", re.ASCII
)
_NUMBER: Final = re.compile(r"[0-9.]+|0[xX].*", re.ASCII)


def literal_addresses(host: str) -> list[str]:
    """Return the addresses that `host` leads to as it is written; none for a name to be looked up.

    `127.1` is an address, too. This machine's own name needs no look-up.
    """
    if _is_local(host):
        return ["127.0.0.1", "::1"]
    try:
        entries = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except (OSError, ValueError):
        return []
    return [str(entry[4][0]) for entry in entries]


def canonical_host(host: str) -> str:
    """Return the one name for all spellings of `host`: `127.0.0.1` for `127.1` and `0x7f000001`.

    A version 6 address that embeds one of version 4 is called by that one.
    """
    name = host.removeprefix("[").removesuffix("]").lower().rstrip(".")
    addresses = literal_addresses(name)
    address = _address(addresses[0]) if len(addresses) == 1 else None
    if address is None:
        return name
    return f"[{address}]" if isinstance(address, IPv6Address) else str(address)


async def resolve_host(host: str, port: int, *, timeout_s: float = RESOLVE_TIMEOUT_S) -> list[str]:
    """Return the addresses that `host` leads to, in the order to try them; none if to nowhere."""
    with anyio.move_on_after(timeout_s):
        try:
            entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    return []


class PrivateHosts:
    """Hosts that may be fetched although not everybody can reach them, as somebody has listed them.

    A name includes whatever it leads to in private networks, but not for this machine and what
    is only on the same cable: there lie the keys of cloud machines, as they do at a few addresses
    elsewhere. These want to be listed by their number, or as `localhost` and what lies below it.
    """

    def __init__(self, listed: Iterable[str] = ()) -> None:
        """Take names such as `wiki.intra` and `*.intra`, and addresses and networks.

        Raises:
            ValueError: one of them is neither.
        """
        self._names: list[str] = []
        self._networks: list[IPv4Network | IPv6Network] = []
        for each in listed:
            if each.lower() == "localhost":
                self._networks += [ip_network("127.0.0.0/8"), ip_network("::1/128")]
            elif _NAME.fullmatch(each) and not _NUMBER.fullmatch(each):
                self._names.append(each.lower())
            else:
                self._networks.append(ip_network(each))

    def include(self, host: str, addresses: Sequence[str]) -> bool:
        """Return whether `host` may be fetched where it leads to `addresses`, every one of them.

        It may where they are public, as far as their numbers show, or listed.
        """
        return bool(addresses) and all(self._includes(host.lower(), each) for each in addresses)

    def _includes(self, host: str, text: str) -> bool:
        address = _address(text)
        if address is None:
            return False
        if _is_public(address) or any(address in network for network in self._networks):
            return True
        is_named = any(_is_named(host, name) for name in self._names)
        return is_named and (_is_intranet(address) or (_is_local(host) and address.is_loopback))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address, the embedded one of version 4 if there is one; None if `text` is none."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _is_intranet(address: IPv4Address | IPv6Address) -> bool:
    """Return whether a name may lead there without its number being listed."""
    is_near = address.is_loopback or address.is_link_local or address.is_unspecified
    is_else = address.is_reserved or any(address in net for net in _KEYS)
    return (address.is_private or address in _SHARED) and not is_near and not is_else


def _is_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _is_named(host: str, name: str) -> bool:
    """Return whether a listed name means `host`; a star means what lies below the rest."""
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    is_tunnel = any(address in net for net in _TUNNELS)
    return address.is_global and not address.is_multicast and not is_tunnel
