"""Secrets that their shape gives away, and what is only like them.

Every secret here is made up; those that a scanner of sources would take for real are put together
from pieces.
"""

from __future__ import annotations

import pytest

from acp_inspector.redaction.patterns import SECRET_PATTERNS, entropy_spans, query_spans

BODY = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5jK7mN9"
SECRETS = {
    "anthropic": ["sk-ant-" + "api03-" + BODY],
    "openai": ["sk-" + BODY, "sk-proj-" + BODY, "sk-or-v1-" + "0a" * 32, "sk-svcacct-" + BODY],
    "github": ["ghp_" + BODY[:36], "gho_" + BODY[:36], "github_pat_" + BODY],
    "gitlab": ["glpat-" + BODY[:20]],
    "google": ["AIza" + BODY[:35], "GOCSPX-" + BODY[:28], "ya29." + BODY],
    "aws": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "IOSFODNN7EXAMPLE"],
    "slack": ["xoxb-" + "123456789012-" + BODY[:24], "xapp-" + "1-A012-345-" + "abc"],
    "token": [
        "hf_" + "a" * 17 + "B" * 17,
        "npm_" + BODY[:36],
        "pypi-" + "AgEIcHlwaS5vcmc" + BODY,
        "sk_live_" + BODY[:24],
        "gsk_" + BODY + BODY[:10],
        "xai-" + BODY + BODY,
        "r8_" + BODY[:37],
        "dop_v1_" + "0a" * 32,
        "SG." + BODY[:22] + "." + BODY,
        "123456789:AA" + BODY[:33],
        "hvs." + BODY[:24],
        "dapi" + "0a" * 16,
        "sntrys_" + BODY,
        "tvly-" + BODY[:24],
        "AGE-SECRET-KEY-1" + "Q" * 58,
    ],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + BODY, "eyJhbGciOiJkaXIifQ...iv.tag"],
    "pem": [
        "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r",
        "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n\nxxx\n-----END PGP PRIVATE KEY BLOCK-----",
    ],
}
ROWS = [(name, secret) for name, secrets in SECRETS.items() for secret in secrets]
BY_NAME = {shape.name: shape for shape in SECRET_PATTERNS}


@pytest.mark.parametrize(("name", "secret"), ROWS)
def test_a_secret_of_a_known_shape_is_found_whole(name: str, secret: str) -> None:
    text = f"here: {secret}"
    assert [text[start:end] for start, end in BY_NAME[name].spans(text)] == [secret]


@pytest.mark.parametrize("before", ["\x1b[31m", "\x1b[m", "\\n", "=", "«", "-"])
def test_text_before_a_secret_does_not_hide_it(before: str) -> None:
    secret = SECRETS["github"][0]
    text = f"{before}{secret}"
    assert [text[start:end] for start, end in BY_NAME["github"].spans(text)] == [secret]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc123.def-456", "abc123.def-456"),
        ("authorization: bearer 0123456789abcdef==", "0123456789abcdef=="),
    ],
)
def test_a_token_after_bearer_is_found(text: str, secret: str) -> None:
    assert [text[start:end] for start, end in BY_NAME["bearer"].spans(text)] == [secret]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://me:s3cret@db.example:5432/x", "s3cret"),
        ("https://:pa55@host/", "pa55"),
        ("redis://default:a/b@host", None),
        ("https://x0123456789abcdef01234@github.com/a/b", "x0123456789abcdef01234"),
        ("ssh://git@github.com/a/b", None),
        ("http://localhost:8080/@scope/name", None),
        ("https://example.com/a:b@c", None),
    ],
)
def test_the_password_of_a_url_is_found_and_its_user_is_not(text: str, secret: str | None) -> None:
    places = [text[start:end] for start, end in BY_NAME["url-userinfo"].spans(text)]
    assert places == ([secret] if secret else [])


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("https://a.b/c?access_token=abc123&page=2", ["abc123"]),
        ("https://a.b/c?page=2&sig=abc%2F123#token=xyz789", ["abc%2F123", "xyz789"]),
        ("https://a.b/?key=AbCdEf", ["AbCdEf"]),
        ("https://a.b/?page=2&q=token", []),
    ],
)
def test_secrets_in_the_query_of_a_url_are_found(text: str, secrets: list[str]) -> None:
    assert [text[start:end] for start, end in query_spans(text)] == secrets


@pytest.mark.parametrize(
    "word",
    [
        "0191f0a2-7b1c-7def-8abc-0123456789ab",
        "sess_0191f0a27b1c7def8abc0123456789ab",
        "toolu_01A09q90qw90lq917835lq9xYzAbCdEf12",
        "call_Zq8dPz6bXn2KxR7vQe1TgY4M9sLw3HcU",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV01ARZ3NDEK",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ThisIsALongClassNameInSomeProgram2Test3Case4",
        "test_a_late_answer_is_kept_and_flagged_123",
        "/usr/lib/x86_64-linux-gnu/libQt5Core/Some5Long7Path9/AbC1dE2fG3",
    ],
)
def test_ids_hashes_paths_and_names_are_not_too_random(word: str) -> None:
    assert list(entropy_spans(f"see {word} there")) == []


def test_a_random_word_is_found() -> None:
    word = "q7Rf2LxP9vKt4ZmB8wNs3HdJ6yGc5TaE"
    text = f"it is {word}."
    assert [text[start:end] for start, end in entropy_spans(text)] == [word]


def test_a_megabyte_of_base64_is_no_word() -> None:
    assert list(entropy_spans("q7Rf2LxP9vKt4ZmB8wNs3HdJ6yGc5TaE" * 30_000)) == []
