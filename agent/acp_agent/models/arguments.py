"""The arguments of a tool call, as a model has written them, and the ids that calls go by."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Final

from acp_agent.models.characters import whole
from acp_agent.models.model import CallTool
from acp_agent.models.parts import members
from acp_agent.numbers import is_finite
from acp_protocol.json_text import parse

ANYTHING: Final = re.compile(r".+", re.DOTALL)


class CallIds:
    """Names the calls of a history apart, whatever those who made them have called them.

    Some count the calls of each reply anew, and some call all of them the same; services refuse a
    history in which two calls have one id, or one whose signs they do not know.
    """

    def __init__(self, prefix: str, fit: re.Pattern[str] = ANYTHING) -> None:
        self._prefix = prefix
        self._fit = fit
        self._taken: set[str] = set()

    def at(self, place: int) -> Callable[[str], str]:
        """Return what gives the calls of the reply at `place` their ids, one after the other."""
        numbers = count()

        def id_of(told: str) -> str:
            number = next(numbers)
            if told in self._taken or not self._fit.fullmatch(told):
                told = f"{self._prefix}_{place}_{number}"
                while told in self._taken:
                    told += "_"
            self._taken.add(told)
            return told

        return id_of


def read_arguments(name: str, written: str, id_: str = "") -> CallTool:
    """Return the call; what is no JSON object is told to the model, and never carried out."""
    if not written.strip():
        return CallTool(name, {}, id_)
    try:
        arguments = parse(written.encode("utf-8", "surrogatepass"))
    except ValueError as problem:
        return CallTool(name, {}, id_, f"the arguments are no JSON: {problem}")
    if not isinstance(arguments, dict):
        return CallTool(name, {}, id_, "the arguments are no JSON object")
    if not is_finite(arguments):
        return CallTool(name, {}, id_, "a number in the arguments is out of range")
    if whole(arguments) != arguments:
        return CallTool(name, {}, id_, "half a character in the arguments has no UTF-8 form")
    return CallTool(name, members(arguments), id_)
