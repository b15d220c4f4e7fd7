"""Numbers that cannot be said again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_agent.models.wire import read_arguments
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import is_finite
from acp_protocol.jsonrpc import Request, read_message
from tests.agent.client import open_session


@pytest.mark.parametrize("written", ["1e400", '[1, {"a": [-1e999]}]', '{"a": {"b": 1e309}}'])
def test_a_number_out_of_range_is_found_wherever_it_stands(written: str) -> None:
    assert not is_finite(json.loads(written))
    assert is_finite(json.loads(written.replace("e", "e-")))


async def test_a_prompt_that_holds_one_is_refused(cwd: Path) -> None:
    async with open_session(cwd, 2) as session:
        line = (
            '{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"%s",'
            '"prompt":[{"type":"text","text":"hi","annotations":{"priority":1e400}}]}}'
        )
        request = read_message((line % session.id).encode())
        assert isinstance(request, Request)
        with pytest.raises(RequestFailedError, match="a number is out of range"):
            await session.client.server.handle_request(request)


def test_arguments_of_a_model_that_hold_one_are_told_to_it() -> None:
    assert read_arguments("x", '{"a": 1e400}').fault == "a number in the arguments is out of range"
