"""Headers on their way: what concerns one hop only, and what is secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, TypeAlias

from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.patterns import RULES, is_ambiguous_name, is_secret_name
from acp_inspector.redaction.placeholders import PlaceholderMap, TooManySecretsError, redact_text
from acp_protocol.jsonrpc import Json

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""Headers that concern one connection, see RFC 9110, section 7.6.1."""
MAX_SECRETS: Final = 10_000
"""Distinct secrets that have a placeholder each."""
ONE_OF_MANY: Final = "«secret:0»"
"""The placeholder of all others."""
_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization"})
_PUBLIC_PROTOCOLS: Final = re.compile(r"acp(?:[./-]?v?\d{1,2})?|json(?:rpc)?", re.IGNORECASE)
"""Subprotocols that are no secrets; tokens travel as others."""
_QUERY: Final = re.compile(r"([?&;])([^=&;#]*)=([^&;#]*)")
_QUERY_NAMES: Final = frozenset(
    {
        *("assertion", "code", "cred", "k", "key", "nonce", "otp", "pin", "sid", "sig"),
        *("signature", "state", "t", "ticket", "tok"),
    }
)
_FOUND_BY: Final = frozenset({"key"})


def value_of(headers: Headers, name: bytes) -> str | None:
    """Return the first value of a header; None if there is none."""
    for key, value in headers:
        if key.lower() == name:
            return value.decode("latin-1")
    return None


def forwarded(headers: Headers, *, without: Collection[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers that the next hop gets, as they came."""
    listed = (value for name, value in headers if name.lower() == b"connection")
    named = {each.strip().lower() for value in listed for each in value.split(b",")}
    left_out = HOP_BY_HOP | named | set(without)
    return [(name, value) for name, value in headers if name.lower() not in left_out]


class HeaderRedactor:
    """Replaces the secrets in what a recording says of HTTP; the same one gets the same number."""

    def __init__(self, first: int = 1) -> None:
        """Begin; `first` is the number of the first placeholder."""
        self._placeholders = PlaceholderMap(first=first, limit=MAX_SECRETS)
        self._detector = SecretDetector(RULES, {})

    def target(self, target: bytes) -> str:
        """Return path and query without secrets."""
        return _guarded(self._plain, target.decode("latin-1"))

    def headers(self, headers: Headers) -> dict[str, Json]:
        """Return headers with lower-case names; repeated ones are joined, one a line."""
        found: dict[str, Json] = {}
        for raw_name, raw_value in headers:
            name = raw_name.decode("latin-1").lower()
            value = _guarded(partial(self._value, name), raw_value.decode("latin-1"))
            found[name] = f"{found[name]}\n{value}" if name in found else value
        return found

    def _value(self, name: str, value: str) -> str:
        if name == "cookie":
            return ";".join(self._cookie(pair) for pair in value.split(";"))
        if name == "set-cookie":
            pair, semicolon, attributes = value.partition(";")
            return self._cookie(pair) + semicolon + attributes
        if name in _SECRET_HEADERS:
            scheme, space, rest = value.partition(" ")
            has_scheme = space and scheme.isalpha()
            return f"{scheme} {self._secret(rest)}" if has_scheme else self._secret(value)
        if name == "sec-websocket-protocol":
            return ", ".join(self._protocol(each.strip()) for each in value.split(","))
        if is_secret_name(name) or is_ambiguous_name(name):
            return self._secret(value)
        return self._plain(value)

    def _plain(self, text: str) -> str:
        return self._text(_QUERY.sub(self._without_parameter, text))

    def _cookie(self, pair: str) -> str:
        """Return a cookie without its value; one may have no name."""
        bare = pair.lstrip(" ")
        name, is_named, value = bare.partition("=")
        shown = f"{name}={self._secret(value)}" if is_named else self._secret(bare)
        return pair[: len(pair) - len(bare)] + shown

    def _protocol(self, protocol: str) -> str:
        return protocol if _PUBLIC_PROTOCOLS.fullmatch(protocol) else self._secret(protocol)

    def _without_parameter(self, found: re.Match[str]) -> str:
        mark, name, value = found.groups()
        is_named = is_secret_name(name) or is_ambiguous_name(name) or name.lower() in _QUERY_NAMES
        return f"{mark}{name}={self._secret(value) if is_named else value}"

    def _text(self, text: str) -> str:
        try:
            return redact_text(text, self._detector, self._placeholders)[0]
        except TooManySecretsError:
            return ONE_OF_MANY

    def _secret(self, value: str) -> str:
        if not value:
            return value
        try:
            return self._placeholders.placeholder(SecretMatch(0, len(value), value, _FOUND_BY))
        except TooManySecretsError:
            return ONE_OF_MANY


def _guarded(redact: Callable[[str], str], text: str) -> str:
    """Return a text without secrets; nothing of it if that fails."""
    try:
        return redact(text)
    except Exception:  # noqa: BLE001 - what is shown of the traffic must not stop it
        return ONE_OF_MANY
