"""A client that sets where models are reached."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import create_model
from acp_agent.models.types import Model
from acp_agent.settings.model import ModelSettings
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import Client, connected
from tests.agent.models.provider import providing, refused, sse, streamed

VERSIONS = pytest.mark.parametrize("version", [1, 2])
CANARY = "sk-canary-0123456789"
_CHOICE = {"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}
HELLO = streamed(sse({"choices": [_CHOICE]}, done=True))
GREETING = streamed(
    sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
)


def model(name: str = "openai:m") -> Model:
    """Return a model whose key is known."""
    return create_model(ModelSettings(name=name), {"OPENAI_API_KEY": "sk-of-the-user-012345"})


async def set_(it: Client, url: str, id_: str = "openai", **members: Json) -> Json:
    """Set where a provider is reached."""
    params: dict[str, Json] = {"providerId": id_, "apiType": id_, "baseUrl": url}
    return await it.ask("providers/set", **(params | members))


@VERSIONS
async def test_a_provider_is_asked_where_the_client_says_and_with_its_headers(
    cwd: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with providing(HELLO) as provider:
        async with connected(cwd, version, model=model(), unstable=True) as it:
            [listed] = (await it.ask("providers/list"))["providers"]
            assert listed["current"]["baseUrl"] == "https://api.openai.com/v1"
            headers = {"Authorization": f"Bearer {CANARY}", "X-Team": "a", "user-agent": "mine"}
            assert await set_(it, f"{provider.url}/v1/", headers=headers) == {}
            [listed] = (await it.ask("providers/list"))["providers"]
            assert listed == {
                "providerId": "openai",
                "supported": ["openai"],
                "required": True,
                "current": {"apiType": "openai", "baseUrl": f"{provider.url}/v1"},
            }
            session = await it.new()
            await session.turn("hello")
            assert session.text == "Hello."
        [asked] = provider.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {CANARY}"
    assert asked.headers["x-team"] == "a"
    assert asked.headers["user-agent"] == "mine"
    assert CANARY not in caplog.text


async def test_a_key_of_the_user_does_not_follow_to_where_the_client_leads(cwd: Path) -> None:
    async with providing(HELLO) as provider:
        async with connected(cwd, model=model(), unstable=True) as it:
            await set_(it, provider.url)
            await (await it.new()).turn("hello")
        assert "authorization" not in provider.asked[0].headers


async def test_a_key_for_anthropic_goes_as_it_came(cwd: Path) -> None:
    async with providing(GREETING) as provider:
        async with connected(cwd, model=model("anthropic:m"), unstable=True) as it:
            await set_(it, provider.url, "anthropic", headers={"X-Api-Key": CANARY})
            session = await it.new()
            await session.turn("hello")
            assert session.text == "Hi."
        assert provider.asked[0].headers["x-api-key"] == CANARY


async def test_a_refusal_that_repeats_the_key_is_told_without_it(cwd: Path) -> None:
    said = {"error": {"message": f"Incorrect API key provided: {CANARY}"}}
    async with (
        providing(refused(401, said)) as provider,
        connected(cwd, model=model(), unstable=True) as it,
    ):
        await set_(it, provider.url, headers={"authorization": f"bearer {CANARY}"})
        session = await it.new()
        with pytest.raises(RequestFailedError) as caught:
            await session.prompt("hello")
    # No login of the agent would help: the key is the client's.
    assert caught.value.code == jsonrpc.INTERNAL_ERROR
    assert CANARY not in json.dumps([caught.value.message, caught.value.data])


@VERSIONS
async def test_a_provider_is_switched_off_until_it_is_set(cwd: Path, version: int) -> None:
    async with (
        providing(HELLO) as provider,
        connected(cwd, version, model=DemoModel(), others=[model()], unstable=True) as it,
    ):
        session = await it.new()
        await session.choose("model", "openai:m")
        for _ in range(2):
            assert await it.ask("providers/disable", providerId="openai") == {}
        assert await it.ask("providers/disable", providerId="nobody") == {}
        [listed] = (await it.ask("providers/list"))["providers"]
        assert (listed["required"], listed.get("current")) == (False, None)
        if version == 1:
            with pytest.raises(RequestFailedError, match="OpenAI was switched off"):
                await session.prompt("hello")
        else:
            assert await session.turn("hello") == "error"
        await set_(it, provider.url)
        await session.turn("hello")
        assert session.text == "Hello."


@pytest.mark.parametrize(
    ("method", "members", "reason"),
    [
        ("set", {"providerId": "x"}, "params.providerId: there is no provider 'x'"),
        ("set", {"apiType": "azure"}, "params.apiType: 'azure' is not spoken here"),
        ("set", {"baseUrl": "ftp://a"}, "params.baseUrl: "),
        ("set", {"baseUrl": f"https://me:{CANARY}@a"}, "params.baseUrl: "),
        ("set", {"headers": {"a b": CANARY}}, "params.headers: "),
        ("set", {"headers": {"a": f"{CANARY}\n"}}, "params.headers: "),
        ("set", {"headers": {"Host": CANARY}}, "params.headers: host belongs"),
        ("disable", {}, "params.providerId: openai is required"),
    ],
)
async def test_what_cannot_be_set_is_refused(
    cwd: Path, method: str, members: dict[str, Json], reason: str
) -> None:
    params: dict[str, Json] = {"providerId": "openai"}
    if method == "set":
        params |= {"apiType": "openai", "baseUrl": "https://localhost"}
    async with connected(cwd, model=model(), unstable=True) as it:
        before = await it.ask("providers/list")
        with pytest.raises(RequestFailedError) as caught:
            await it.connection.request(f"providers/{method}", params | members)
        assert caught.value.code == jsonrpc.INVALID_PARAMS
        assert caught.value.message.startswith(f"Invalid params: {reason}")
        assert CANARY not in caught.value.message
        assert await it.ask("providers/list") == before


async def test_providers_are_unstable(cwd: Path) -> None:
    async with connected(cwd, lints=False) as it:
        assert "providers" not in it.initialized["agentCapabilities"]
        with pytest.raises(RequestFailedError) as caught:
            await it.connection.request("providers/list", {})
        assert caught.value.code == jsonrpc.METHOD_NOT_FOUND
