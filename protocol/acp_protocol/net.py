"""Facts about network hosts that need no look-up, and who may use a server on this machine."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Iterable
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

UNIX: Final = "unix:"
"""Prefix of the address of a Unix domain socket."""
HALF_OPEN_S: Final = 120
"""Seconds until a connection is closed whose other end has vanished."""


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


def is_server_address(text: str) -> bool:
    """Return whether a server can listen there: `ADDRESS:PORT` or `localhost:PORT`."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        is_host = bare == "localhost" or bool(ip_address(bare))
    except ValueError:
        return False
    return is_host and port.isascii() and port.isdecimal() and 0 <= int(port) < 2**16


def is_origin(text: str) -> bool:
    """Return whether it is an origin as browsers send it, such as `https://pages.example:8080`."""
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_web = parts.scheme in {"http", "https"} and f"{parts.scheme}://{parts.netloc}" == text
    return is_web and bool(parts.hostname) and text.isascii() and "@" not in text and has_port


def is_host_name(text: str) -> bool:
    """Return whether it is a host in lower case, with or without a port, as in `Host`."""
    return re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?", text) is not None


def caller_refusal(
    headers: Iterable[tuple[bytes, bytes]],
    hosts: Collection[str],
    origins: Collection[str] = (),
    *,
    scheme: str = "http",
) -> str | None:
    """Return why a server refuses a request by its `Host` and `Origin`; None if it does not.

    A page in a browser can make any request to this machine, but not without its own origin, and
    not by a name that the server lists. `headers` have names in lower case; `hosts` have ports.
    The server's own pages, at `scheme`, and those of `origins` are no others.
    """
    pairs = list(headers)
    if (refused := host_refusal(pairs, hosts)) is not None:
        return refused
    return origin_refusal(pairs, {f"{scheme}://{host}" for host in hosts} | set(origins))


def host_refusal(headers: Iterable[tuple[bytes, bytes]], hosts: Collection[str]) -> str | None:
    """Return why a server refuses a request by its `Host`; None for one that it lists."""
    found = [value.lower().decode("latin-1") for name, value in headers if name == b"host"]
    return None if len(found) == 1 and found[0] in hosts else "Unknown host."


def origin_refusal(headers: Iterable[tuple[bytes, bytes]], origins: Collection[str]) -> str | None:
    """Return why a server refuses a request by its `Origin`; None for a listed one, or none."""
    found = {value.decode("latin-1") for name, value in headers if name == b"origin"}
    return None if found <= set(origins) else "Other origins are refused."


def keep_alive_options() -> list[tuple[int, int, int]]:
    """Return options of a socket by which the system notices that its other end has vanished."""
    wanted = (
        ("TCP_KEEPIDLE", HALF_OPEN_S // 2),
        ("TCP_KEEPINTVL", HALF_OPEN_S // 8),
        ("TCP_KEEPCNT", 4),
    )
    # Not every system has them.
    found = ((getattr(socket, name, None), value) for name, value in wanted)
    options = [(socket.IPPROTO_TCP, name, value) for name, value in found if name is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options]
