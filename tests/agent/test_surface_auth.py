"""Logging in and out, in both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.models.choice import ModelChoice, chosen
from acp_agent.models.demo import DemoModel
from acp_agent.models.keyring import keyring
from acp_agent.models.model import Model
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.visits import Visit, visit

VERSIONS = pytest.mark.parametrize("version", [1, 2])
KEY = "sk-canary-0123456789"
TERMINALS: dict[int, dict[str, Json]] = {
    1: {"clientCapabilities": {"auth": {"terminal": True}}},
    2: {"capabilities": {"auth": {"terminal": {}}}},
}
LOGIN = {1: "authenticate", 2: "auth/login"}
LOGOUT = {1: "logout", 2: "auth/logout"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the agent is started with; tests bring a key into it later."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def model(environment: dict[str, str], name: str = "openai:m") -> Model:
    """Return a model that needs a key."""
    return chosen(ModelChoice(name=name), environment)


async def refusal(it: Visit, method: str, **params: Json) -> RequestFailedError:
    """Return the refusal of a question."""
    with pytest.raises(RequestFailedError) as caught:
        await it.connection.request(method, params)
    return caught.value


async def opening(it: Visit) -> RequestFailedError:
    """Return the refusal of a new session."""
    return await refusal(it, "session/new", cwd=str(it.cwd), mcpServers=[])


@VERSIONS
@pytest.mark.parametrize("has_terminal", [False, True])
async def test_a_session_wants_the_key_first_and_tells_how_it_is_brought(
    cwd: Path, version: int, has_terminal: bool, environment: dict[str, str]
) -> None:
    hello = TERMINALS[version] if has_terminal else None
    async with visit(cwd, version, model=model(environment), hello=hello) as it:
        offered = it.hello["authMethods"]
        refused = await opening(it)
        assert (refused.code, refused.data) == (jsonrpc.AUTH_REQUIRED, {"authMethods": offered})
        assert refused.message.startswith("OpenAI needs a key: set OPENAI_API_KEY")
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
    async with visit(cwd, version, model=model(environment), unstable=True) as it:
        assert await it.ask("auth/status") == {"state": "unauthenticated"}
        method = {"methodId": "openai-env"}
        assert (await refusal(it, LOGIN[version], **method)).code == jsonrpc.AUTH_REQUIRED
        environment["OPENAI_API_KEY"] = KEY
        assert await it.ask(LOGIN[version], **method) == {}
        status = {
            "state": "authenticated",
            "accounts": [{"label": "OpenAI API key", "active": True}],
        }
        assert await it.ask("auth/status") == status
        session_id = await it.new()
        assert await it.ask(LOGOUT[version]) == {}
        assert (await opening(it)).code == jsonrpc.AUTH_REQUIRED
        if version == 1:
            refused = await refusal(
                it, "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "x"}]
            )
            assert (refused.code, refused.data["authMethods"][0]["id"]) == (-32000, "openai-env")
        else:
            assert await it.turn(session_id, "x") == "error"
            error = it.visitor.idles(session_id)[-1]["error"]
            assert (error["code"], error["data"]["authMethods"][0]["type"]) == (-32000, "agent")
        assert await it.ask(LOGIN[version], **method) == {}
        await it.new()
        told = [params["state"] for name, params in it.visitor.told if name == "auth/status_update"]
        assert told == ["authenticated", "unauthenticated", "authenticated"]


async def test_a_key_that_comes_later_is_found_without_a_login(
    cwd: Path, environment: dict[str, str]
) -> None:
    async with visit(cwd, model=model(environment)) as it:
        await opening(it)
        keyring(environment).put("openai", KEY)
        await it.new()
        await it.ask("logout")
        assert keyring(environment).get("openai") is None


@VERSIONS
async def test_a_model_that_needs_nothing_needs_no_login(
    cwd: Path, version: int, environment: dict[str, str]
) -> None:
    async with visit(cwd, version, unstable=True) as it:
        assert it.hello["authMethods"] == []
        assert await it.ask("auth/status") == {"state": "not_required"}
    async with visit(
        cwd, version, model=DemoModel(), others=[model(environment)], unstable=True
    ) as it:
        await it.new()
        assert await it.ask("auth/status") == {"state": "not_required"}


@VERSIONS
async def test_a_stub_takes_everybody(cwd: Path, version: int) -> None:
    async with visit(cwd, version, auth="stub", unstable=True, lints=False) as it:
        await it.new()
        assert await it.ask(LOGIN[version], methodId="api_key") == {}
        assert await it.ask("auth/status") == {"state": "authenticated"}


@VERSIONS
async def test_a_login_may_be_required(cwd: Path, version: int) -> None:
    async with visit(cwd, version, auth="required", unstable=True) as it:
        [offered] = it.hello["authMethods"]
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
    hello = TERMINALS[version]
    async with visit(cwd, version, model=model(environment), hello=hello, lints=False) as it:
        for id_ in ("nobody", "openai-login"):
            refused = await refusal(it, LOGIN[version], methodId=id_)
            assert refused.code == jsonrpc.INVALID_PARAMS


async def test_a_keyring_that_is_none_is_told_in_a_sentence(
    cwd: Path, environment: dict[str, str]
) -> None:
    ring = keyring(environment)
    async with visit(cwd, model=model(environment)) as it:
        ring.put("anthropic", KEY)
        ring.path.write_text("[]")
        refused = await opening(it)
    assert refused.message == f"{ring.path} cannot be read as what holds keys; remove it."
