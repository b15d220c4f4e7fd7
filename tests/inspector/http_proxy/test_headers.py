"""Headers of one hop stay there, and secrets in headers are recognised."""

from __future__ import annotations

import pytest

from acp_inspector.http_proxy.headers import MAX_SECRETS, ONE_OF_MANY, HeaderRedactor, forwarded

SECRET = "hunter2-hunter2"


def test_headers_of_one_hop_stay_there() -> None:
    headers = [(b"Connection", b"close, X-A"), (b"X-A", b"1"), (b"TE", b"x"), (b"X-B", b"2")]
    assert forwarded(headers) == [(b"X-B", b"2")]
    assert forwarded(headers, without={b"x-b"}) == []


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", f"Bearer {SECRET}", "Bearer «secret:1»"),
        ("authorization", SECRET, "«secret:1»"),
        ("Cookie", f"a={SECRET}; b={SECRET}", "a=«secret:1»; b=«secret:1»"),
        ("Set-Cookie", f"a={SECRET}; Path=/; Secure", "a=«secret:1»; Path=/; Secure"),
        ("Set-Cookie", "a=; Max-Age=0", "a=; Max-Age=0"),
        # A cookie may have no name, and a header of credentials no scheme.
        ("Cookie", f"{SECRET}; b={SECRET}", "«secret:1»; b=«secret:1»"),
        ("Set-Cookie", f"{SECRET}; Path=/", "«secret:1»; Path=/"),
        ("Authorization", f"{SECRET} and more", "«secret:1»"),
        ("Sec-WebSocket-Protocol", f"acp, acp.bearer.{SECRET}", "acp, «secret:1»"),
        ("X-Api-Key", SECRET, "«secret:1»"),
        ("X-Goog-Api-Key", SECRET, "«secret:1»"),
        ("X-Session-Token", SECRET, "«secret:1»"),
        ("Location", f"https://h/?token={SECRET}&v=1", "https://h/?token=«secret:1»&v=1"),
        (
            "Referer",
            f"https://h/?k={SECRET}&tok={SECRET}",
            "https://h/?k=«secret:1»&tok=«secret:1»",
        ),
        ("Link", f"<https://u:{SECRET}@h/>", "<https://u:«secret:1»@h/>"),
        # What tells connections and sessions apart is no credential.
        ("Acp-Connection-Id", "0b6a6e1e-6f6f-4c1e-9a39-2c9d1d8f0c55", None),
        ("Acp-Session-Id", "sess_abcdef0123456789", None),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", None),
        ("Content-Type", "application/json; charset=utf-8", None),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)", None),
    ],
)
def test_secrets_in_headers_are_replaced(name: str, value: str, shown: str | None) -> None:
    found = HeaderRedactor().headers([(name.encode(), value.encode())])
    assert found == {name.lower(): value if shown is None else shown}


def test_the_same_secret_has_the_same_placeholder_everywhere() -> None:
    redactor = HeaderRedactor()
    both = [(b"X-Api-Key", SECRET.encode()), (b"x-other-token", b"another-secret")]
    assert redactor.headers(both) == {"x-api-key": "«secret:1»", "x-other-token": "«secret:2»"}
    assert redactor.target(f"/acp?ticket={SECRET}&page=2".encode()) == (
        "/acp?ticket=«secret:1»&page=2"
    )


def test_repeated_headers_are_joined_one_a_line() -> None:
    found = HeaderRedactor().headers([(b"Link", b"<a>"), (b"Link", b"<b>")])
    assert found == {"link": "<a>\n<b>"}


def test_of_too_many_secrets_the_last_ones_share_a_placeholder() -> None:
    redactor = HeaderRedactor()
    for number in range(MAX_SECRETS):
        redactor.headers([(b"x-api-key", b"secret-%d" % number)])
    found = redactor.headers([(b"x-api-key", b"one-more"), (b"referer", b"/?token=another")])
    assert found == {"x-api-key": ONE_OF_MANY, "referer": f"/?token={ONE_OF_MANY}"}
    assert redactor.headers([(b"x-api-key", b"secret-1")]) == {"x-api-key": "«secret:2»"}
