"""Where a remote agent is, and what of it may be shown."""

from __future__ import annotations

import pytest

from acp_protocol.transport.remote import (
    RemoteAddressError,
    RemoteAgent,
    RemoteLimits,
    in_one_line,
    retry_delays,
    shown_headers,
    shown_url,
)


@pytest.mark.parametrize(
    ("url", "is_websocket", "is_secure"),
    [
        ("http://h/acp", False, False),
        ("https://h:8443/acp", False, True),
        ("ws://[::1]:80/acp", True, False),
        ("WSS://h/acp?tenant=1", True, True),
    ],
)
def test_the_scheme_says_how_an_agent_is_reached(
    url: str, is_websocket: bool, is_secure: bool
) -> None:
    agent = RemoteAgent(url)
    assert (agent.is_websocket, agent.is_secure) == (is_websocket, is_secure)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://h/acp", "not the URL of an agent"),
        ("my-agent", "not the URL of an agent"),
        ("http:///acp", "names no host"),
        ("http://h:0/acp", "names no host"),
        ("http://h:99999/", "a port that cannot be one"),
        ("http://me:secret@h:port/", "a port that cannot be one"),
        ("http://[::1/acp?key=secret", "a host or a port"),
        ("http://h/a b", "names no host"),
        ("http://me:secret@h/", "a user or a password"),
        ("http://h/#x", "behind #"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, why: str) -> None:
    with pytest.raises(RemoteAddressError, match=why) as caught:
        RemoteAgent(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Acp-Session-Id", "1"),
        ("content-type", "text/plain"),
        ("Sec-WebSocket-Key", "x"),
        ("a b", "1"),
        ("", "1"),
        ("X-A", "secret\r\nX-B: 1"),
        ("X-A", "secretж"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(name: str, value: str) -> None:
    with pytest.raises(RemoteAddressError) as caught:
        RemoteAgent("http://h/", {name: value})
    assert "secret" not in str(caught.value)


def test_a_remote_agent_shows_no_secret() -> None:
    agent = RemoteAgent("https://h/acp?key=s3cret", {"X-Key": "s3cret"}, "s3cret")
    assert agent.own_headers == {"X-Key": "s3cret", "Authorization": "Bearer s3cret"}
    assert "s3cret" not in f"{agent!r} {agent.shown_url} {agent.host}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/acp?a=1&version=2&b", "https://h/acp?a=…&version=2&b=…"),
        ("https://me:pw@h:1/acp#x", "https://h:1/acp"),
        ("https://h/acp?token", "https://h/acp?token=…"),
        ("http://[", "…"),
    ],
)
def test_values_in_a_url_are_hidden(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_secrets_in_headers_are_hidden() -> None:
    pairs = [
        ("Authorization", "Bearer abc"),
        ("X-Api-Key", "abc"),
        ("Cookie", "sid=abc; theme=abc"),
        ("Set-Cookie", "sid=abc; Path=/; HttpOnly"),
        ("Set-Cookie", "two=abc"),
        ("X-Team", "abc"),
        ("Sec-WebSocket-Protocol", "acp, token.abc"),
        ("Location", "https://h/?t=abc"),
        ("Content-Type", "text/event-stream"),
    ]
    assert shown_headers(pairs, ["x-team"]) == {
        "authorization": "Bearer …",
        "x-api-key": "…",
        "cookie": "sid=…; theme=…",
        "set-cookie": "sid=…; Path=/; HttpOnly\ntwo=…",
        "x-team": "…",
        "sec-websocket-protocol": "acp, …",
        "location": "https://h/?t=…",
        "content-type": "text/event-stream",
    }


def test_delays_grow_and_differ() -> None:
    limits = RemoteLimits(retry_s=1, max_retry_s=4)
    delays = retry_delays(limits)
    bounds = [(0.5, 1), (1, 2), (2, 4), (2, 4)]
    assert all(low <= next(delays) <= high for low, high in bounds)


def test_a_message_becomes_one_line() -> None:
    assert in_one_line(b'{\r\n "a": 1\n}\n') == b'{   "a": 1 }'
    assert in_one_line(b"{}") == b"{}"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("X-Goog-Api-Key", "s3cret", "…"),
        ("X-Forwarded-Access-Token", "s3cret", "…"),
        ("Authorization", "s3cret", "…"),
        ("Cf-Access-Jwt-Assertion", "s3cret", "…"),
        ("Content-Location", "/x?key=s3cret", "/x?key=…"),
        ("Access-Control-Allow-Credentials", "true", "true"),
        ("WWW-Authenticate", "Bearer", "Bearer"),
        ("Acp-Connection-Id", "c1", "c1"),
    ],
)
def test_a_server_may_send_secrets_in_headers_too(name: str, value: str, shown: str) -> None:
    assert shown_headers([(name, value)]) == {name.lower(): shown}
