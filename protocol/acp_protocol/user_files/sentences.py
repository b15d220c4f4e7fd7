"""Errors of pydantic as sentences, to be read behind the path of a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic_core import ErrorDetails

from acp_protocol.host.did_you_mean import did_you_mean

_SENTENCES: Final = {
    "missing": "is missing",
    "string_type": "must be a string",
    "string_unicode": "has no UTF-8 form",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
}
"""What is wrong, by pydantic's type of error."""
_TABLES: Final = frozenset({"dict_type", "model_type", "model_attributes_type"})


def error_sentence(
    error: ErrorDetails, known: Iterable[str] = (), *, table: str = "a table"
) -> str:
    """Return what is wrong with a value, without its path.

    Args:
        error: One of `ValidationError.errors()`.
        known: The keys that there are, for a key that is unknown.
        table: What an object is called.
    """
    kind, context = error["type"], error.get("ctx", {})
    if kind in _TABLES:
        return f"must be {table}"
    match kind:
        case "extra_forbidden":
            near = did_you_mean(str(error["loc"][-1]), known)
            return f"unknown key; {near}" if near else "unknown key"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            choices = str(context["expected"]).replace("'", "")
            if "," in choices:
                choices = f"one of {choices.replace(' or ', ', ')}"
            return f"must be {choices}"
        case "too_short":
            return f"must have at least {_items(context['min_length'])}"
        case "too_long":
            return f"must have at most {_items(context['max_length'])}"
        case _:
            found = _SENTENCES.get(kind)
            return error["msg"] if found is None else found.format(**context)


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"
