"""Which addresses are open to everybody."""

from __future__ import annotations

import anyio
import pytest

from acp_agent.net import (
    PrivateHosts,
    canonical_host,
    literal_addresses,
    resolve_host,
)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("[::ffff:7f00:1]", "127.0.0.1"),
        ("0:0::1", "[::1]"),
        ("Blocked.example.", "blocked.example"),
        ("localhost", "localhost"),
        ("a.localhost", "a.localhost"),
        ("example.com", "example.com"),
        ("", ""),
    ],
)
def test_a_host_has_one_name_however_it_is_spelled(host: str, name: str) -> None:
    assert canonical_host(host) == name


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "192.0.2.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "::7f00:1",
        "::a00:1",
        "::ffff:0:7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "nonsense",
    ],
)
def test_an_address_is_not_public(address: str) -> None:
    assert not PrivateHosts().include("a", [address])
    assert not PrivateHosts().include("a", ["8.8.8.8", address])


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_is_public(address: str) -> None:
    assert PrivateHosts().include("a", [address])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
async def test_a_number_however_it_is_spelled_leads_to_this_machine(host: str) -> None:
    assert await resolve_host(host, 80) == ["127.0.0.1"]
    assert literal_addresses(host) == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["", "x" * 300, "a..b", "no such host", "\ud800"])
async def test_what_is_no_host_leads_nowhere(host: str) -> None:
    assert literal_addresses(host) == []
    found = await resolve_host(host, 80)
    assert found == [] or not PrivateHosts().include("a", found)


async def test_a_name_that_nobody_answers_for_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(*_: object, **__: object) -> object:
        return await anyio.sleep_forever()

    monkeypatch.setattr(anyio, "getaddrinfo", silent)
    assert await resolve_host("example.com", 80, timeout_s=0.01) == []


@pytest.mark.parametrize(
    ("listed", "host", "leads", "is_in"),
    [
        (["wiki.intra"], "wiki.intra", ["10.0.0.1"], True),
        (["Wiki.Intra"], "wiki.INTRA", ["fd00::1"], True),
        (["wiki.intra"], "wiki.intra", ["10.0.0.1", "8.8.8.8"], True),
        (["wiki.intra"], "a.wiki.intra", ["10.0.0.1"], False),
        (["*.intra"], "a.b.intra", ["10.0.0.1"], True),
        (["*.intra"], "intra", ["10.0.0.1"], False),
        (["*.intra"], "evil-intra", ["10.0.0.1"], False),
        (["wiki.intra"], "wiki.intra", ["127.0.0.1"], False),
        (["wiki.intra"], "wiki.intra", ["10.0.0.1", "127.0.0.1"], False),
        (["wiki.intra"], "wiki.intra", ["169.254.169.254"], False),
        (["wiki.intra"], "wiki.intra", ["::ffff:127.0.0.1"], False),
        (["wiki.intra"], "wiki.intra", ["fe80::1%eth0"], False),
        (["wiki.intra"], "wiki.intra", ["0.0.0.0"], False),
        (["wiki.intra"], "wiki.intra", ["224.0.0.1"], False),
        (["wiki.intra"], "wiki.intra", [], False),
        (["wiki.intra"], "wiki.intra", ["nonsense"], False),
        (["wiki.intra", "169.254.0.0/16"], "wiki.intra", ["169.254.169.254"], True),
        (["10.0.0.0/8"], "10.1.2.3", ["10.1.2.3"], True),
        (["10.0.0.0/8"], "wiki.intra", ["10.1.2.3"], True),
        (["10.0.0.0/8"], "x", ["10.1.2.3", "192.168.0.1"], False),
        (["10.0.0.0/8"], "x", ["::ffff:10.1.2.3"], True),
        (["192.168.1.7"], "192.168.1.7", ["192.168.1.7"], True),
        (["192.168.1.7"], "192.168.1.8", ["192.168.1.8"], False),
        (["fd00::/8"], "x", ["fd00::1"], True),
        (["localhost"], "localhost", ["127.0.0.1", "::1"], True),
        (["LOCALHOST"], "localhost", ["127.0.0.1", "::1"], True),
        (["*.localhost"], "app.localhost", ["127.0.0.1", "::1"], True),
        (["*.localhost"], "localhost", ["127.0.0.1"], False),
        (["*.localhost"], "wiki.intra", ["127.0.0.1"], False),
        (["*.localhost"], "app.localhost", ["169.254.169.254"], False),
        (["pc.tail.ts.net"], "pc.tail.ts.net", ["100.64.0.7"], True),
        (["pc.tail.ts.net"], "pc.tail.ts.net", ["100.100.100.200"], False),
        (["*.intra"], "a.intra", ["fd00:ec2::254"], False),
        (["*.intra"], "a.intra", ["fd20:ce::254"], False),
        (["*.intra"], "a.intra", ["240.0.0.1"], False),
        (["*.intra", "fd00:ec2::254"], "a.intra", ["fd00:ec2::254"], True),
        ([], "x", ["10.0.0.1"], False),
    ],
)
def test_what_is_listed_may_be_reached_and_nothing_else(
    listed: list[str], host: str, leads: list[str], is_in: bool
) -> None:
    assert PrivateHosts(listed).include(host, leads) is is_in


@pytest.mark.parametrize(
    "listed",
    [
        "",
        "a b",
        "http://wiki.intra",
        "10.0.0.0/33",
        "10.1.2.3/8",
        "*",
        "1.2",
        "a.*",
        "x/y",
        "a..b",
        "*..b",
    ],
)
def test_what_is_no_host_is_not_listed(listed: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are those of the library
        PrivateHosts([listed])
