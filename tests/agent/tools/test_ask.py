"""What the user is asked, and what is not asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.ask import ask_user_tool, open_page_tool
from acp_agent.tools.call import ToolFailedError
from acp_agent.world.elicitation import ElicitationResult, UserElicitation
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.jsonrpc import Json
from tests.agent.client import open_session


class Nobody(UserElicitation):
    """A user who is not asked."""

    def __init__(self) -> None:
        pass

    async def form(self, message: str, schema: Mapping[str, Json]) -> ElicitationResult:
        raise AssertionError((message, schema))

    async def page(self, message: str, url: str) -> ElicitationResult:
        raise AssertionError((message, url))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "message is missing"),
        ({"message": "What is your password?"}, "secrets are not asked for"),
        ({"message": "See https://localhost"}, "cannot open a page"),
        ({"message": "q", "fields": "x"}, "fields must be a list"),
        ({"message": "q", "fields": [{"name": "a", "kind": "text"}] * 21}, "at most 20 items"),
        ({"message": "q", "fields": ["x"]}, r"fields\[1\] must be an object"),
        ({"message": "q", "fields": [{"name": "a", "kind": "text"}] * 2}, "field 2 has no name"),
        ({"message": "q", "fields": [{"name": "API key", "kind": "text"}]}, "secrets are not"),
        ({"message": "q", "fields": [{"name": "a", "kind": "colour"}]}, "kind must be one of"),
        ({"message": "q", "fields": [{"name": "a", "kind": "choice"}]}, "a has no options"),
        (
            {"message": "q", "fields": [{"name": "a", "kind": "choices", "options": ["x", "x"]}]},
            "a has no options, or one of them twice",
        ),
    ],
)
async def test_a_question_that_makes_no_sense_is_not_asked(
    workspace: Workspace, arguments: dict[str, Json], reason: str
) -> None:
    with pytest.raises(ToolFailedError, match=reason):
        await ask_user_tool(Nobody()).prepare(arguments, workspace)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "file:///etc/passwd",
        "https://",
        "https://[x",
        "https://ada:lovelace@example.org",
        "https://example.org/?access_token=1",
        "https://example.org/?token=abcdef",
        "https://example.org/?a=b&key=abcdef",
        "https://example.org/?apikey=abcdef",
        "https://example.org/?client_secret=abcdef",
        "https://example.org/?Password=abcdef",
        "https://example.org/?code=abcdef",
        "https://example.org/#id_token=abcdef",
        "https://example.org/?%74oken=abcdef",
        "https://example.org/?for=ada%40example.org",
        "https://example.org/ x",
        "javascript:alert(1)",
    ],
)
async def test_a_page_that_nobody_should_open_is_not_opened(workspace: Workspace, url: str) -> None:
    with pytest.raises(ToolFailedError):
        await open_page_tool(Nobody()).prepare({"url": url, "reason": "x"}, workspace)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/authorize?response_type=code&client_id=a&state=x&code_challenge=y",
        "https://example.org/?monkey=1&postcode=2&author=3&design=4",
        "https://example.org/?token=",
        "https://example.org/tokens/keys",
        "https://example.org/pkg@1.2.3",
        "http://127.0.0.2:8080/",
        "http://[::1]/",
        "http://app.localhost/",
    ],
)
async def test_a_page_without_secrets_is_opened(workspace: Workspace, url: str) -> None:
    await open_page_tool(Nobody()).prepare({"url": url, "reason": "x"}, workspace)


async def test_what_is_asked_stands_on_one_line(workspace: Workspace) -> None:
    call = await ask_user_tool(Nobody()).prepare({"message": "a\x1b[2J\nb"}, workspace)
    assert call.title == "Ask: a␛[2J⏎b"
    near = await open_page_tool(Nobody()).prepare(
        {"url": "http://localhost:1", "reason": ""}, workspace
    )
    assert near.title == "Open http://localhost:1"


@pytest.mark.parametrize(
    "rules",
    [
        PermissionPolicy("ask_always"),
        PermissionPolicy("ask_always", always_ask=frozenset({"think"})),
        PermissionPolicy("ask_always", rules=(PolicyRule("ask", "think"),)),
    ],
)
async def test_a_question_is_the_only_question(cwd: Path, rules: PermissionPolicy) -> None:
    answers: dict[str, Json] = {
        "elicitation/create": {"action": "accept", "content": {"answer": "red"}}
    }
    offered: Json = {"elicitation": {"form": {}}}
    async with open_session(
        cwd, answers=answers, capabilities=offered, permissions=rules
    ) as session:
        await session.turn("ask Which colour?: red, green")
    assert session.client.requested == ["elicitation/create"]
    assert session.calls[0]["statuses"][-1] == "completed"
