"""Which hosts are this machine."""

from __future__ import annotations

import pytest

from acp_protocol.net import is_host_name, is_loopback, is_origin, is_server_address


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.9.10",
        "::1",
        "[::1]",
        "::1%lo",
        "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
        "localhost",
        "LocalHost.",
        "app.localhost",
    ],
)
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "128.0.0.1",
        "::2",
        "::ffff:10.0.0.1",
        "example.com",
        "localhost.example.com",
        "notlocalhost",
        "127.0.0.1.example.com",
    ],
)
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("127.0.0.1:0", True),
        ("localhost:8765", True),
        ("[::1]:65535", True),
        ("::1:80", True),
        ("127.0.0.1", False),
        ("127.0.0.1:65536", False),
        ("127.0.0.1:-1", False),
        ("example.com:80", False),
        (":80", False),
        ("", False),
    ],
)
def test_an_address_to_listen_at_has_a_port_and_no_name(address: str, is_one: bool) -> None:
    assert is_server_address(address) is is_one


@pytest.mark.parametrize(
    ("origin", "is_one"),
    [
        ("https://pages.example", True),
        ("http://localhost:3000", True),
        ("https://pages.example/", False),
        ("https://pages.example/path", False),
        ("https://me@pages.example", False),
        ("https://pages.example:0", False),
        ("https://pages.example:x", False),
        ("ftp://pages.example", False),
        ("https://", False),
        ("null", False),
        ("*", False),
    ],
)
def test_an_origin_is_a_scheme_a_host_and_a_port(origin: str, is_one: bool) -> None:
    assert is_origin(origin) is is_one


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("agents.example", True),
        ("10.0.0.7:8765", True),
        ("[::1]:80", True),
        ("Agents.example", False),
        ("agents.example/acp", False),
        ("", False),
    ],
)
def test_a_host_name_is_as_in_the_header(name: str, is_one: bool) -> None:
    assert is_host_name(name) is is_one
