"""Errors of model services, as sentences that a user can act on.

A service's own message is untrusted: it is quoted short, on one line, made printable, and without
the key, which some services repeat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from acp_agent.models.types import ModelFailedError
from acp_agent.settings.providers import SET_BY_CLIENT, Provider
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_codec import Json, parse
from acp_protocol.json_values import as_object, as_string

MAX_QUOTE: Final = 300
"""Characters of a service's own message that are shown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A kind of failure; `{quote}` in the sentence is the service's message after a colon."""

    sentence: str
    is_transient: bool = False
    """Whether another attempt may succeed."""


NO_KEY: Final = Failure("{title} needs a key: set {variables} where the agent is started.")
UNREACHABLE: Final = Failure(
    "{title} cannot be reached at {url}: {detail}. Is it running, and is {url_variable} right?"
)
UNTRUSTED: Final = Failure(
    "{title} cannot be reached safely at {url}: {detail}. Check {url_variable}, and SSL_CERT_FILE "
    "for certificates of your own."
)
SILENT: Final = Failure("{title} sent nothing for {detail} seconds.", is_transient=True)
CUT: Final = Failure(
    "The stream from {title} ended before the response was complete.", is_transient=True
)
TOO_BIG: Final = Failure("The response from {title} is longer than the limit of {detail} bytes.")
INVALID: Final = Failure("{title} sent an invalid response: {detail}. Is {url_variable} right?")
ABORTED: Final = Failure("{title} aborted its response{quote}.")
TOO_LONG: Final = Failure(
    "The conversation is too long for {model}{quote}. `/compact` makes room, or begin a new "
    "session."
)
NO_CREDIT: Final = Failure("{title} refuses the request for lack of credit{quote}.")
_OVERLOADED: Final = Failure("{title} is overloaded{quote}.", is_transient=True)
_BY_STATUS: Final[Mapping[int, Failure]] = {
    401: Failure("{title} {key_advice}"),
    402: NO_CREDIT,
    403: Failure("{title} does not allow this key to use the model {model}{quote}."),
    404: Failure("{title} has no model {model} at {url}{quote}. Check --model and {url_variable}."),
    413: TOO_LONG,
    429: Failure("{title} limits the rate of requests{rest}{quote}.", is_transient=True),
    503: _OVERLOADED,
    # What Anthropic sends if it is overloaded.
    529: _OVERLOADED,
}
_TRANSIENT_STATUSES: Final = frozenset({408, 409, 425, 429})
_TOO_LONG: Final = re.compile(
    r"context[_ ](length|size|window)|prompt is too long|too many tokens|maximum context"
    r"|request_too_large|exceeds? the (available|model's) context|input is too long",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_BUSY: Final = re.compile(
    r"overloaded|rate_limit|api_error|server_error|timeout|\b(408|409|425|429|50[0234]|529)\b",
    re.IGNORECASE,
)


class ServiceFailedError(ModelFailedError):
    """A service sent no response, or not all of it."""

    def __init__(
        self,
        sentence: str,
        *,
        needs_key: bool = False,
        is_transient: bool = False,
        is_too_long: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(sentence, needs_key=needs_key, is_too_long=is_too_long)
        self.is_transient = is_transient
        """Whether another attempt may succeed."""
        self.retry_after_s = retry_after_s
        """Seconds to wait before it, if the service says so."""


class ServiceErrors:
    """Makes the errors of one service and model."""

    def __init__(self, service: Provider, model: str) -> None:
        self._service = service
        self._model = single_line(model, 80)

    def error(
        self,
        failure: Failure,
        detail: str = "",
        *,
        is_transient: bool = False,
        needs_key: bool = False,
        retry_after_s: float | None = None,
    ) -> ServiceFailedError:
        """Return the error of that kind; `detail` may hold words of the service."""
        service, detail = self._service, self._safe(detail)
        quote = f": {detail}" if detail else ""
        sentence = failure.sentence.format(
            title=service.title,
            model=self._model,
            url=service.base_url,
            url_variable=service.url_variable,
            variables=" or ".join(service.key_variables),
            detail=detail,
            quote=quote,
            rest="" if retry_after_s is None else f"; retry after {retry_after_s:g} seconds",
            key_advice=self._key_advice(quote),
        )
        return ServiceFailedError(
            sentence,
            needs_key=needs_key or failure is NO_KEY,
            is_transient=is_transient or failure.is_transient,
            is_too_long=failure is TOO_LONG,
            retry_after_s=retry_after_s,
        )

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ServiceFailedError:
        """Return the error that a response with another status than 200 reports."""
        kind, message = _kind_and_message(body)
        words = f"{kind} {self._safe(message)}"
        if _TOO_LONG.search(words):
            failure = TOO_LONG
        elif _NO_CREDIT.search(words):
            failure = NO_CREDIT
        elif status in _BY_STATUS:
            failure = _BY_STATUS[status]
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            failure = Failure(f"{{title}} failed with status {status}{{quote}}.", is_transient=True)
        elif status < HTTPStatus.BAD_REQUEST:
            failure = Failure(f"{{title}} redirects, status {status}: check {{url_variable}}.")
        else:
            failure = Failure(
                f"{{title}} rejected the request with status {status}{{quote}}.",
                is_transient=status in _TRANSIENT_STATUSES,
            )
        # Without a way to log in, asking for a login would lead nowhere.
        needs_key = status == HTTPStatus.UNAUTHORIZED and self._service.needs_key
        return self.error(
            failure, message, needs_key=needs_key, retry_after_s=retry_after_s(headers)
        )

    def aborted(self, error: Json) -> ServiceFailedError:
        """Return the error that a message amid a stream reports."""
        kind, message = _kind_and_message(error)
        if _TOO_LONG.search(f"{kind} {self._safe(message)}"):
            return self.error(TOO_LONG, message)
        is_busy = _BUSY.search(kind) is not None
        return self.error(ABORTED, message or kind, is_transient=is_busy)

    def no_stream(self, body: bytes) -> ServiceFailedError:
        """Return the error that one JSON object in place of a stream reports."""
        try:
            value = parse(body)
        except ValueError:
            value = None
        if as_object(value).get("error"):
            return self.aborted(value)
        return self.error(INVALID, "it is application/json, not text/event-stream")

    def _key_advice(self, quote: str) -> str:
        service = self._service
        if service.key is not None:
            origin = service.key_origin or f"in {' or '.join(service.key_variables[:1])}"
            return f"does not accept the key {origin}{quote}."
        if service.key_origin == SET_BY_CLIENT:
            advice = "The client has set its address, and has to set a header with one."
        elif service.key_variables:
            advice = f"Set {service.key_variables[0]} where the agent starts."
        else:
            advice = "Name the variable that holds one as api_key_env, beside base_url."
        return f"requires a key{quote}. {advice}"

    def _safe(self, message: str) -> str:
        if secret := self._service.secret:
            once = json.dumps(secret)[1:-1]
            for spelled in (json.dumps(once)[1:-1], once, secret):
                message = message.replace(spelled, "…")
        return single_line(" ".join(message[: 4 * MAX_QUOTE].split()), MAX_QUOTE).rstrip(".")


def _kind_and_message(body: bytes | Json) -> tuple[str, str]:
    """Return code and type of an error, and its message, wherever the services put them."""
    if isinstance(body, bytes):
        try:
            body = parse(body)
        except ValueError:
            page = body.decode("utf-8", "replace").strip()
            # A page for browsers says nothing that a sentence could hold.
            return "", "" if page.startswith("<") else page
    error = as_object(body).get("error", body)
    if not as_object(error):
        return "", as_string(error)
    kinds = [as_object(error).get(name) for name in ("code", "type")]
    kind = " ".join(str(each) for each in kinds if isinstance(each, str | int))
    return kind, as_string(as_object(error).get("message", as_object(error).get("detail")))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which the service wants the next attempt.

    Source: RFC 9110, 10.2.3, Retry-After.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII):
            return float(value) * unit
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
