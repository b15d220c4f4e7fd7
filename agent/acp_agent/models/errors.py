"""What it means when a service gives no answer, as sentences that a user can act on.

What a service says itself is untrusted text: it is quoted short, on one line, made visible, and
without the key, which some services repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from acp_agent.models.providers import SET_BY_CLIENT, Provider
from acp_agent.models.types import ModelFailedError
from acp_agent.models.wire import members, text
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_codec import Json, parse

MAX_QUOTE: Final = 300
"""Characters of a service's own words that are shown."""
OVERLOADED: Final = 529
"""What Anthropic answers when it has too much to do."""
_TOO_LONG: Final = re.compile(
    r"context[_ ](length|size|window)|prompt is too long|too many tokens|maximum context"
    r"|request_too_large|exceeds? the (available|model's) context|input is too long",
    re.IGNORECASE,
)
_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, OVERLOADED})
_NO_CREDIT: Final = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_BUSY: Final = re.compile(r"overloaded|rate_limit|api_error|server_error|timeout", re.IGNORECASE)


class ServiceFailedError(ModelFailedError):
    """A service has given no answer, or not all of it."""

    def __init__(
        self,
        sentence: str,
        *,
        needs_key: bool = False,
        is_passing: bool = False,
        is_too_long: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(sentence, needs_key=needs_key, is_too_long=is_too_long)
        self.is_transient = is_passing
        """Whether asking again may help."""
        self.retry_after_s = wait
        """Seconds that the service wants us to wait before; None where it does not say."""


class ServiceErrors:
    """Finds the sentences for what one service does, asked for one model."""

    def __init__(self, service: Provider, model: str) -> None:
        self._service = service
        self._model = single_line(model, 80)

    def without_key(self) -> ServiceFailedError:
        """Return what to say where nobody is let in without a key, and there is none."""
        wanted = " or ".join(self._service.key_variables)
        return ServiceFailedError(
            f"{self._service.title} needs a key: set {wanted} where the agent is started.",
            needs_key=True,
        )

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceFailedError:
        """Return what an answer with another status than 200 means."""
        kind, message = self.message(body)
        wait = _wait(headers)
        words = f"{kind} {message}"
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _TOO_LONG.search(words):
            return self._too_long(message)
        if status == HTTPStatus.PAYMENT_REQUIRED or _NO_CREDIT.search(words):
            sentence = f"{self._service.title} wants to be paid first{_quote(message)}."
            return ServiceFailedError(sentence)
        return ServiceFailedError(
            self._sentence(status, message, wait),
            # Where the agent has no way to log in, asking for a login would lead nowhere.
            needs_key=status == HTTPStatus.UNAUTHORIZED and self._service.needs_key,
            is_passing=status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR,
            wait=wait,
        )

    def broken_off(self, error: Json) -> ServiceFailedError:
        """Return what an error amid a stream means."""
        kind, message = _words(error)
        message = self._safe(message)
        if _TOO_LONG.search(f"{kind} {message}"):
            return self._too_long(message)
        codes = {str(code) for code in _PASSING}
        is_passing = _BUSY.search(kind) is not None or not codes.isdisjoint(kind.split())
        sentence = (
            f"{self._service.title} broke its answer off{_quote(message or self._safe(kind))}."
        )
        return ServiceFailedError(sentence, is_passing=is_passing)

    def no_stream(self, body: bytes) -> ServiceFailedError:
        """Return what an answer means that is one whole object instead of a stream."""
        try:
            answer = parse(body)
        except ValueError:
            answer = None
        if members(answer).get("error"):
            return self.broken_off(answer)
        return self.malformed("it is application/json, not text/event-stream")

    def untrusted(self, why: str) -> ServiceFailedError:
        """Return what to say where no safe connection came about."""
        return ServiceFailedError(
            f"{self._service.title} cannot be reached safely at {self._service.base_url}: "
            f"{self._safe(why)}. Check {self._service.url_variable}, and SSL_CERT_FILE for "
            "certificates of your own."
        )

    def cut(self) -> ServiceFailedError:
        """Return what to say of a stream that ended before the answer did."""
        return ServiceFailedError(
            f"The stream from {self._service.title} was cut before the answer was whole.",
            is_passing=True,
        )

    def malformed(self, what: str) -> ServiceFailedError:
        """Return what to say of what is not as the service's own documents want it."""
        return ServiceFailedError(
            f"{self._service.title} sent what is no answer of its kind: {self._safe(what)}. "
            f"Is {self._service.url_variable} right?"
        )

    def too_big(self, limit: int) -> ServiceFailedError:
        """Return what to say of an answer that has no end."""
        return ServiceFailedError(
            f"The answer from {self._service.title} is longer than {limit} bytes, the most that "
            "is taken."
        )

    def unreachable(self, why: str, *, is_passing: bool) -> ServiceFailedError:
        """Return what to say where no connection came about."""
        return ServiceFailedError(
            f"{self._service.title} cannot be reached at {self._service.base_url}: "
            f"{self._safe(why)}. Is it running, and is {self._service.url_variable} right?",
            is_passing=is_passing,
        )

    def silent(self, seconds: float) -> ServiceFailedError:
        """Return what to say of a service that sent nothing for that long."""
        return ServiceFailedError(
            f"{self._service.title} sent nothing for {seconds:g} seconds.", is_passing=True
        )

    def message(self, body: bytes) -> tuple[str, str]:
        """Return the kind of an error and what the service says of it, safe to be shown."""
        try:
            answer = parse(body)
        except ValueError:
            # A page for browsers says nothing that a sentence could hold.
            page = body.decode("utf-8", "replace").strip()
            return "", "" if page.startswith("<") else self._safe(page)
        kind, message = _words(answer)
        return kind, self._safe(message)

    def _sentence(self, status: int, message: str, wait: float | None) -> str:
        title, quote = self._service.title, _quote(message)
        match status:
            case HTTPStatus.UNAUTHORIZED if self._service.key is None:
                return f"{title} wants a key{quote}. {self._advice()}"
            case HTTPStatus.UNAUTHORIZED:
                origin = self._service.key_origin or f"in {self._service.key_variables[0]}"
                return f"{title} does not accept the key {origin}{quote}."
            case HTTPStatus.FORBIDDEN:
                return f"{title} forbids the model {self._model} to this key{quote}."
            case HTTPStatus.NOT_FOUND:
                return (
                    f"{title} has no model {self._model} at {self._service.base_url}{quote}. "
                    f"Check --model and {self._service.url_variable}."
                )
            case HTTPStatus.TOO_MANY_REQUESTS:
                later = "" if wait is None else f"; it wants {wait:g} seconds of rest"
                return f"{title} was asked too often{later}{quote}."
            case HTTPStatus.SERVICE_UNAVAILABLE | 529:
                return f"{title} has too much to do just now{quote}."
            case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return f"{title} has a fault of its own, status {status}{quote}."
            case _ if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
                return f"{title} is elsewhere, status {status}: check {self._service.url_variable}."
            case _:
                return f"{title} did not take the request, status {status}{quote}."

    def _advice(self) -> str:
        """Return how a key is brought to a service that was asked without."""
        service = self._service
        if service.key_origin == SET_BY_CLIENT:
            return "The client has set its address, and has to set a header with one."
        if not service.key_variables:
            return "Name the variable that holds one as api_key_env, beside base_url."
        return f"Set {service.key_variables[0]} where the agent starts."

    def _too_long(self, message: str) -> ServiceFailedError:
        return ServiceFailedError(
            f"The conversation is too long for {self._model}{_quote(message)}. "
            "`/compact` makes room, or begin a new session.",
            is_too_long=True,
        )

    def _safe(self, message: str) -> str:
        if secret := self._service.secret:
            once = json.dumps(secret)[1:-1]
            for spelled in (json.dumps(once)[1:-1], once, secret, "*" * len(secret)):
                message = message.replace(spelled, "…")
        return single_line(" ".join(message[: 4 * MAX_QUOTE].split()), MAX_QUOTE).rstrip(".")


def _words(answer: Json) -> tuple[str, str]:
    """Return kind and message of an error, wherever the services put them."""
    error = members(answer).get("error", answer)
    if not members(error):
        return "", text(error)
    kinds = [members(error).get(name) for name in ("code", "type")]
    kind = " ".join(str(each) for each in kinds if isinstance(each, str | int))
    return kind, text(members(error).get("message", members(error).get("detail")))


def _quote(message: str) -> str:
    return f": {message}" if message else ""


def _wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which the service wants to be asked again.

    Source: RFC 9110, 10.2.3, Retry-After.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII):
            return float(value) * unit
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        # A time zone may be far from every other.
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
