"""What an agent asks the user by a form, or on a page that the user opens.

Nothing opens by itself: a screen opens an address only after the user agrees.

Source: ACP, Elicitation; ACP version 2, Elicitation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Final, Literal, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object, get, get_list, get_object, get_string, get_text
from acp_protocol.jsonrpc import Json, RequestId
from acp_protocol.safe_regex import PatternError, compile_pattern
from acp_protocol.schema.forms import ascii_url, field_error

_WHOLE: Final = re.compile(r"[-+]?\d+")
"""A number that is sent as it was typed, without a fraction."""
PATTERN_TIMEOUT_S: Final = 0.1
"""Seconds that the pattern of a field may take; after that the value counts as fitting."""
_HOST: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d+)?", re.ASCII | re.IGNORECASE)

FieldKind: TypeAlias = Literal["string", "number", "integer", "boolean", "choice", "choices"]
_KINDS: Final[Mapping[str, FieldKind]] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "choices",
}


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A value to choose; its texts are untrusted."""

    value: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ElicitationField:
    """A field of a form; its texts are untrusted."""

    name: str
    title: str
    description: str
    kind: FieldKind
    is_required: bool
    choices: tuple[FieldChoice, ...]
    """What a choice, or choices, can be."""
    default: Json
    """A value that fits; None if there is none."""
    schema: Mapping[str, Json] = field(repr=False)

    def value(self, text: str) -> Json:
        """Return the value that a typed text means, or the text itself if it means none."""
        with suppress(ValueError):
            if self.kind == "integer" or (self.kind == "number" and _WHOLE.fullmatch(text.strip())):
                return int(text)
            if self.kind == "number" and isfinite(number := float(text)):
                return number
        if self.kind == "boolean":
            return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
        if self.kind == "choice":
            titles = {choice.title.lower(): choice.value for choice in reversed(self.choices)}
            known = any(choice.value == text for choice in self.choices)
            return text if known else titles.get(text.lower(), text)
        return text

    def error(self, value: Json) -> str | None:
        """Return what does not fit, as a predicate: "is not a valid date"; None if it fits."""
        if error := field_error(self.schema, value):
            return error
        pattern = get_text(self.schema, "pattern")
        if pattern is None or not isinstance(value, str):
            return None
        try:
            fits = compile_pattern(pattern).search(value, timeout=PATTERN_TIMEOUT_S)
        except (PatternError, TimeoutError):
            return None
        return None if fits else f"does not fit the pattern {pattern}"


@dataclass(frozen=True, slots=True)
class FormRequest:
    """A form to fill in; its texts are untrusted."""

    request_id: RequestId
    session_id: str | None
    """None: it belongs to a request of ours, such as a login."""
    message: str
    title: str
    description: str
    fields: tuple[ElicitationField, ...]

    @property
    def only_choice(self) -> ElicitationField | None:
        """The field of a form that asks for nothing but one of some values."""
        is_choice = len(self.fields) == 1 and self.fields[0].kind == "choice"
        return self.fields[0] if is_choice and self.fields[0].choices else None

    def errors(self, content: Mapping[str, Json]) -> dict[str, str]:
        """Return what does not fit, by the name of the field."""

        def found() -> Iterator[tuple[str, str]]:
            for each in self.fields:
                if each.name in content:
                    if error := each.error(content[each.name]):
                        yield each.name, error
                elif each.is_required:
                    yield each.name, "is missing"

        return dict(found())


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page to open; its texts are untrusted."""

    request_id: RequestId
    session_id: str | None
    """None: it belongs to a request of ours, such as a login."""
    message: str
    url: str
    """An https address in letters of which no two look alike."""
    host: str
    """Where the address leads, for the user to judge; with the port if it names one."""
    elicitation_id: str


Elicitation: TypeAlias = FormRequest | PageRequest


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """What the user says to an elicitation."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Json] | None = None
    """The values of an accepted form; they fit it."""

    def result(self) -> dict[str, Json]:
        if self.action != "accept" or self.content is None:
            return {"action": self.action}
        return {"action": self.action, "content": dict(self.content)}


class Elicitor(Protocol):
    """Asks the user; a client that has one claims forms and pages."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Return the user's answer; the agent may withdraw the request, which cancels this."""
        ...

    def complete(self, elicitation_id: str) -> None:
        """Take note that the user has done what a page was for."""
        ...


def parse_elicitation(request_id: RequestId, params: Mapping[str, Json]) -> Elicitation:
    """Return what validated params ask for.

    Raises:
        RequestFailedError: it cannot be shown, or leads to no https address.
    """
    session_id, message = get_text(params, "sessionId"), get_string(params, "message")
    match params:
        case {"mode": "form", "requestedSchema": schema}:
            title, description = (get_string(schema, name) for name in ("title", "description"))
            fields = tuple(_fields(as_object(schema)))
            return FormRequest(request_id, session_id, message, title, description, fields)
        case {"mode": "url", "url": str(address), "elicitationId": str(id_)}:
            url, host = _https(address)
            return PageRequest(request_id, session_id, message, url, host, id_)
        case _:
            raise _refusal(f"no such mode of elicitation: {params.get('mode')}")


def _fields(schema: Mapping[str, Json]) -> Iterator[ElicitationField]:
    required = get_list(schema, "required")
    for name, described in get_object(schema, "properties").items():
        kind = _KINDS.get(get_string(described, "type"))
        if kind is None:
            if name in required:
                raise _refusal(f"the field {name} is of a type that cannot be filled in here")
            continue
        choices = tuple(_choices(get(described, "items") if kind == "choices" else described))
        if kind == "string" and choices:
            kind = "choice"
        found = ElicitationField(
            name,
            get_text(described, "title") or name,
            get_string(described, "description"),
            kind,
            name in required,
            choices,
            None,
            as_object(described),
        )
        default = get(described, "default")
        if default is not None and found.error(default) is None:
            found = replace(found, default=default)
        yield found


def _choices(described: Json) -> Iterator[FieldChoice]:
    for each in get_list(described, "oneOf") or get_list(described, "anyOf"):
        if (value := get_text(each, "const")) is not None:
            title, about = get_text(each, "title") or value, get_string(each, "description")
            yield FieldChoice(value, title, about)
    for value in get_list(described, "enum"):
        if isinstance(value, str):
            yield FieldChoice(value, value)


def _https(address: str) -> tuple[str, str]:
    """Return an address in ASCII, and where a browser would go with it."""
    try:
        url = ascii_url(address)
        parts = urlsplit(url)
    except ValueError:
        raise _refusal("the address names no host that there could be") from None
    host = unquote(parts.netloc).lower()
    # A browser leaves out blanks, reads "\" as "/", and goes to what follows "@".
    is_plain = address.isprintable() and " " not in address and _HOST.fullmatch(host)
    if parts.scheme != "https" or not is_plain:
        raise _refusal("only plain https addresses are shown to the user")
    return url, host


def _refusal(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, reason)
