"""Which hosts are this machine."""

from __future__ import annotations

import pytest

from acp_protocol.net import is_loopback


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
