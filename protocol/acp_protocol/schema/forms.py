"""The forms and addresses of elicitations: what fits them, and what does not.

Source: ACP, Elicitation; ACP version 2, Elicitation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Final, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_object, get_object
from acp_protocol.jsonrpc import Json

MAX_SHOWN: Final = 80
"""Characters shown of the name of a field, or of a choice."""
_NOUNS: Final[Mapping[str, str]] = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "array": "a list of choices",
}
_FORMATS: Final[Mapping[str, Callable[[str], object]]] = {
    "date": date.fromisoformat,
    "date-time": datetime.fromisoformat,
    "email": lambda text: all(text.rpartition("@")),
    "uri": lambda text: urlsplit(text).scheme,
}


def ascii_url(url: str) -> str:
    """Return `url` with its host as the network spells it.

    Raises:
        ValueError: the network cannot.

    Source: RFC 3490, "Internationalizing Domain Names in Applications".
    """
    parts = urlsplit(url)
    # Browsers decode what is percent-encoded in a host.
    plain = unquote(parts.netloc)
    if plain.isascii():
        return url
    before, at, place = plain.rpartition("@")
    host, colon, port = place.partition(":")
    spelled = host.encode("idna").decode()
    return urlunsplit(parts._replace(netloc=f"{before}{at}{spelled}{colon}{port}"))


def form_errors(schema: Mapping[str, Json], content: Mapping[str, Json]) -> Iterator[str]:
    """Yield what does not fit, field by field; `schema` is the restricted one of a form.

    Values without a field are ignored, and so are fields of unknown types. Patterns are not
    checked: an untrusted server may send one that takes for ever.

    Source: ACP, Elicitation, "Restricted JSON Schema"; ACP version 2, Elicitation.
    """
    required: Json = schema.get("required")
    for name, described in get_object(schema, "properties").items():
        shown = single_line(name, MAX_SHOWN)
        if name in content:
            if error := field_error(as_object(described), content[name]):
                yield f"{shown} {error}"
        elif isinstance(required, list) and name in required:
            yield f"{shown} is missing"


def field_error(field: Mapping[str, Json], value: Json) -> str | None:
    """Return what does not fit a field, as the end of a sentence that begins with its name."""
    match field.get("type"):
        case "string" if isinstance(value, str):
            return (
                _choice_error(field, value)
                or _range_error(field, len(value), "minLength", "maxLength", " characters")
                or _format_error(field.get("format"), value)
            )
        case "array" if isinstance(value, list):
            choices = cast("list[Json]", value)
            for choice in choices:
                if not isinstance(choice, str):
                    return "holds something that is not text"
                if error := _choice_error(get_object(field, "items"), choice):
                    return error
            return _range_error(field, len(choices), "minItems", "maxItems", " choices")
        case "number" | "integer" as kind if type(value) in (int, float):
            if kind == "integer" and value != int(value):
                return "is not a whole number"
            return _range_error(field, value, "minimum", "maximum")
        case str(kind) if kind in _NOUNS and not (kind == "boolean" and isinstance(value, bool)):
            return f"is not {_NOUNS[kind]}"
        case _:
            return None


def _choice_error(field: Mapping[str, Json], value: str) -> str | None:
    choices: Json = field.get("enum")
    titled: Json = field.get("oneOf") or field.get("anyOf")
    if isinstance(titled, list):
        choices = [as_object(each).get("const") for each in cast("list[Json]", titled)]
    if not isinstance(choices, list) or value in choices:
        return None
    return f"does not offer {single_line(value, MAX_SHOWN)!r}"


def _range_error(
    field: Mapping[str, Json], size: float, minimum: str, maximum: str, unit: str = ""
) -> str | None:
    least, most = field.get(minimum), field.get(maximum)
    if isinstance(least, int | float) and size < least:
        return f"is less than {least}{unit}"
    if isinstance(most, int | float) and size > most:
        return f"is more than {most}{unit}"
    return None


def _format_error(format_: Json, value: str) -> str | None:
    check = _FORMATS.get(format_) if isinstance(format_, str) else None
    try:
        fits = check is None or bool(check(value))
    except ValueError:
        fits = False
    return None if fits else f"is not a valid {format_}"
