"""What models are told of the tools."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from acp_agent.models.model import CallTool, UserSaid
from acp_agent.models.script import script
from acp_agent.tools.catalogue import TOOLS


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_what_it_does_and_what_it_takes(name: str) -> None:
    offer = TOOLS[name].offer
    assert offer.name == name
    assert offer.about.endswith(".")
    Draft202012Validator.check_schema(offer.parameters)
    assert offer.parameters["type"] == "object"


@pytest.mark.parametrize(
    "prompt",
    [
        "read a",
        "search a",
        "list a b",
        "find *.py",
        "fetch https://example.com/?a=b&c",
        'call patch {"patch": "x"}',
        'call plan {"steps": [{"content": "x", "status": "pending"}]}',
        "call think thought=x",
        "edit a",
        "edit a: b => c",
        "write a: b",
        "delete a",
        "run a b",
        "/tour",
    ],
)
def test_what_the_demo_model_calls_fits_what_it_is_told(prompt: str) -> None:
    running = script(UserSaid(prompt))
    call = next(event for event in running if isinstance(event, CallTool))
    schema = TOOLS[call.name].offer.parameters
    assert list(Draft202012Validator(schema).iter_errors(dict(call.arguments))) == []
