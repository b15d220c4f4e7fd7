"""Facts about network hosts that need no look-up."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Return whether `host` is this machine: `127.0.0.0/8`, `::1`, `localhost`, `*.localhost`.

    `host` is a name or an address, with or without the brackets of an IPv6 address in a URL.
    Nothing is resolved, so any other name is not loopback, wherever it leads.
    """
    name = host.strip().removeprefix("[").removesuffix("]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback
