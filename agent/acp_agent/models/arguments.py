"""The arguments of a tool call, as a model has written them."""

from __future__ import annotations

from acp_agent.models.model import CallTool
from acp_agent.models.parts import members
from acp_agent.numbers import is_finite
from acp_protocol.json_text import parse


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
    return CallTool(name, members(arguments), id_)
