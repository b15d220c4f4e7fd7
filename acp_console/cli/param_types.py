"""Values of options that have a syntax of their own."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import Any, Final

import click

from acp_protocol.host.arguments import parse_duration


class Parsed(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer click
    """A value that a function parses; the text of its `ValueError` becomes the error."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


def parse_pace(text: str) -> float:
    """Return the factor for recorded pauses: 0 for `instant`, 1 for `recorded`, or a number.

    Raises:
        ValueError: it is none of them.
    """
    known = {"instant": 0.0, "recorded": 1.0}
    try:
        factor = known[text] if text in known else float(text)
    except ValueError:
        factor = -1.0
    if not isfinite(factor) or factor < 0:
        raise ValueError(f"{text!r} is not instant, recorded or a factor such as 0.5")
    return factor


def parse_duration_or_never(text: str) -> float:
    """Return a duration in seconds, infinity for `never`.

    Raises:
        ValueError: it is neither.
    """
    return inf if text == "never" else parse_duration(text)


DURATION: Final = Parsed("duration", parse_duration)
"""A duration such as `90`, `500ms` or `5m`; the value is in seconds."""
DURATION_OR_NEVER: Final = Parsed("duration", parse_duration_or_never)
"""A duration, or `never`; the value is in seconds, infinity for that."""
PACE: Final = Parsed("pace", parse_pace)
"""A factor for recorded pauses."""
