"""Logging in and out, in both versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import create_model, keyring
from acp_agent.models.types import Model, ModelFailedError, PromptMessage
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.providers import PROVIDERS
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import Client, connected
from tests.agent.models.provider import providing, refused, replied, said, sse, streamed

VERSIONS = pytest.mark.parametrize("version", [1, 2])
KEY = "sk-canary-0123456789"
WELL: Json = {"index": 0, "delta": {"content": "Well."}, "finish_reason": "stop"}
TERMINALS: dict[int, Json] = {1: {"auth": {"terminal": True}}, 2: {"auth": {"terminal": {}}}}
LOGIN = {1: "authenticate", 2: "auth/login"}
LOGOUT = {1: "logout", 2: "auth/logout"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the agent is started with; tests bring a key into it later."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def model(environment: dict[str, str], name: str = "openai:m") -> Model:
    """Return a model that needs a key."""
    return create_model(ModelSettings(name=name), environment)


async def opening(it: Client) -> RequestFailedError:
    """Return the refusal of a new session."""
    return await it.refusal("session/new", cwd=str(it.cwd), mcpServers=[])


@VERSIONS
@pytest.mark.parametrize("has_terminal", [False, True])
async def test_a_session_wants_the_key_first_and_tells_how_it_is_brought(
    cwd: Path, version: int, has_terminal: bool, environment: dict[str, str]
) -> None:
    able = TERMINALS[version] if has_terminal else None
    async with connected(cwd, version, model=model(environment), capabilities=able) as it:
        offered = it.initialized["authMethods"]
        denied = await opening(it)
        assert (denied.code, denied.data) == (jsonrpc.AUTH_REQUIRED, {"authMethods": offered})
        assert denied.message.startswith("OpenAI needs a key: set OPENAI_API_KEY")
    id_ = "id" if version == 1 else "methodId"
    first, *rest = offered
    assert first[id_] == "openai-env"
    assert "OPENAI_API_KEY" in first["description"]
    shown = [(each["type"], each[id_], each["args"]) for each in rest]
    assert shown == ([("terminal", "openai-login", ["--login", "openai"])] if has_terminal else [])


@VERSIONS
async def test_who_has_a_key_logs_in_and_out(
    cwd: Path, version: int, environment: dict[str, str]
) -> None:
    async with connected(cwd, version, model=model(environment), unstable=True) as it:
        assert await it.ask("auth/status") == {"state": "unauthenticated"}
        method = {"methodId": "openai-env"}
        assert (await it.refusal(LOGIN[version], **method)).code == jsonrpc.AUTH_REQUIRED
        environment["OPENAI_API_KEY"] = KEY
        assert await it.ask(LOGIN[version], **method) == {}
        status = {
            "state": "authenticated",
            "accounts": [{"label": "OpenAI API key", "active": True}],
        }
        assert await it.ask("auth/status") == status
        session = await it.new()
        assert await it.ask(LOGOUT[version]) == {}
        assert (await opening(it)).code == jsonrpc.AUTH_REQUIRED
        if version == 1:
            denied = await it.refusal(
                "session/prompt", sessionId=session.id, prompt=[{"type": "text", "text": "x"}]
            )
            assert (denied.code, denied.data["authMethods"][0]["id"]) == (-32000, "openai-env")
        else:
            assert await session.turn("x") == "error"
            error = session.idles()[-1]["error"]
            assert (error["code"], error["data"]["authMethods"][0]["type"]) == (-32000, "agent")
        assert await it.ask(LOGIN[version], **method) == {}
        await it.new()
        told = [each for each in it.notifications if each.method == "auth/status_update"]
        assert [each.params["state"] for each in told] == [
            "authenticated",
            "unauthenticated",
            "authenticated",
        ]


async def test_a_key_that_comes_later_is_found_without_a_login(
    cwd: Path, environment: dict[str, str]
) -> None:
    async with connected(cwd, model=model(environment)) as it:
        await opening(it)
        keyring(environment).put("openai", KEY)
        await it.new()
        await it.ask("logout")
        assert keyring(environment).get("openai") is None


@VERSIONS
async def test_a_model_that_needs_nothing_needs_no_login(
    cwd: Path, version: int, environment: dict[str, str]
) -> None:
    async with connected(cwd, version, unstable=True) as it:
        assert it.initialized["authMethods"] == []
        assert await it.ask("auth/status") == {"state": "not_required"}
    async with connected(
        cwd, version, model=DemoModel(), others=[model(environment)], unstable=True
    ) as it:
        await it.new()
        assert await it.ask("auth/status") == {"state": "not_required"}


@VERSIONS
async def test_a_stub_takes_everybody(cwd: Path, version: int) -> None:
    async with connected(
        cwd, version, settings={"auth.mode": "stub"}, unstable=True, lints=False
    ) as it:
        await it.new()
        assert await it.ask(LOGIN[version], methodId="api_key") == {}
        assert await it.ask("auth/status") == {"state": "authenticated"}


@VERSIONS
async def test_a_login_may_be_required(cwd: Path, version: int) -> None:
    async with connected(cwd, version, settings={"auth.mode": "required"}, unstable=True) as it:
        [offered] = it.initialized["authMethods"]
        id_ = offered["id" if version == 1 else "methodId"]
        assert (await opening(it)).code == jsonrpc.AUTH_REQUIRED
        assert await it.ask("auth/status") == {"state": "unauthenticated"}
        await it.ask(LOGIN[version], methodId=id_)
        await it.new()
        await it.ask(LOGOUT[version])
        assert (await opening(it)).code == jsonrpc.AUTH_REQUIRED


@VERSIONS
async def test_a_method_that_is_none_is_refused(
    cwd: Path, version: int, environment: dict[str, str]
) -> None:
    able = TERMINALS[version]
    async with connected(
        cwd, version, model=model(environment), capabilities=able, lints=False
    ) as it:
        for id_ in ("nobody", "openai-login"):
            denied = await it.refusal(LOGIN[version], methodId=id_)
            assert denied.code == jsonrpc.INVALID_PARAMS


async def test_a_keyring_that_is_none_is_told_in_a_sentence(
    cwd: Path, environment: dict[str, str]
) -> None:
    ring = keyring(environment)
    async with connected(cwd, model=model(environment)) as it:
        ring.put("anthropic", KEY)
        ring.path.write_text("[]")
        denied = await opening(it)
    assert denied.message == f"{ring.path} cannot be read as what holds keys; remove it."


@VERSIONS
@pytest.mark.parametrize("key", [None, KEY])
async def test_a_refusal_at_an_address_of_ones_own_asks_for_no_login_that_is_none(
    cwd: Path, version: int, environment: dict[str, str], key: str | None
) -> None:
    async with providing(refused(401)) as provider:
        environment |= {"OPENAI_BASE_URL": provider.url}
        environment |= {"OPENAI_API_KEY": key} if key else {}
        async with connected(cwd, version, model=model(environment), lints=False) as it:
            assert it.initialized["authMethods"] == []
            session = await it.new()
            if version == 1:
                prompt = [{"type": "text", "text": "x"}]
                error = await session.refusal("session/prompt", prompt=prompt)
                code, message = error.code, error.message
            else:
                assert await session.turn("x") == "error"
                idle = session.idles()[-1]["error"]
                code, message = idle["code"], idle["message"]
            none = await it.refusal("authenticate", methodId="openai-env") if version == 1 else None
    assert code == jsonrpc.INTERNAL_ERROR
    assert "OPENAI_API_KEY" in message
    assert none is None or "none is needed" not in none.message


@pytest.mark.parametrize(
    ("choice", "held"),
    [
        (ModelSettings(name="openai:m"), {"OPENAI_API_KEY": KEY}),
        (ModelSettings(name="openai:m", api_key_env="OWN_KEY"), {}),
        (ModelSettings(name="openai:m", api_key_env="OWN_KEY", base_url="http://own"), {}),
    ],
)
async def test_no_key_is_to_be_typed_in_that_would_not_be_used(
    cwd: Path, environment: dict[str, str], choice: ModelSettings, held: dict[str, str]
) -> None:
    routed = create_model(choice, environment | held)
    async with connected(cwd, model=routed, capabilities=TERMINALS[1]) as it:
        assert [each["id"] for each in it.initialized["authMethods"]] == ["openai-env"]


async def test_a_key_that_was_refused_is_replaced_by_the_next_one_that_is_typed_in(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring(environment).put("openai", KEY)
    async with providing(refused(401), streamed(sse({"choices": [WELL]}, done=True))) as provider:
        here = replace(PROVIDERS["openai"], base_url=provider.url)
        monkeypatch.setitem(PROVIDERS, "openai", here)
        routed = model(environment)
        with pytest.raises(ModelFailedError, match=r"the key that was typed in\.") as caught:
            await replied(routed, [PromptMessage("x")])
        assert caught.value.needs_key
        keyring(environment).put("openai", "sk-another-one")
        assert said(await replied(routed, [PromptMessage("x")])) == "Well."
        assert provider.asked[1].headers["authorization"] == "Bearer sk-another-one"
