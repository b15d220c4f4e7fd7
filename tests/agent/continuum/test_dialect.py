"""What version 1 says to clients of the Continuum dialect, which chooses modes at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from acp_agent.models.factory import create_model
from acp_agent.models.types import HistoryEntry, ModelEvent, ToolSpec
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.model import ModelSettings
from acp_protocol import jsonrpc
from acp_protocol.dialects.continuum import Continuum
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import PERMISSION, Client, Counting, connected, selected
from tests.agent.models.provider import providing, refused, sse, streamed


def continuum(cwd: Path, sessions: int = 9, **options: Any) -> AbstractAsyncContextManager[Client]:
    """Connect a client that speaks as those of the Continuum Router do."""
    dialect, limit = Continuum(str(cwd)), {"sessions.max_concurrent": sessions}
    able = {"readTextFile": False}
    options.setdefault("permission", "allow_once")
    return connected(cwd, dialect=dialect, settings=limit, capabilities=able, **options)


async def test_a_continuum_client_begins_in_the_mode_it_names(cwd: Path) -> None:
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", mode="code")
        assert (opened["mode"], opened["historyLength"]) == ("code", 0)
        content = [{"type": "text", "text": "run true"}]
        asked = {"sessionId": opened["sessionId"], "content": content}
        assert await client.ask("session/prompt", **asked) == {"stopReason": "end_turn"}
        assert client.requested == ["session/request_permission"]
        loaded = await client.ask("session/load", sessionId=opened["sessionId"])
        assert (loaded["mode"], loaded["historyLength"]) == ("code", 4)
        (listed,) = (await client.ask("session/list"))["sessions"]
        made, used = (datetime.fromisoformat(loaded[each]) for each in ("createdAt", "updatedAt"))
        assert made <= used == datetime.fromisoformat(listed["updatedAt"]).replace(microsecond=0)


ORDERS = {
    "read notes.md": "read",
    "search milk": "search",
    "edit notes.md: milk => bread": "edit",
    "write new.txt: x": "edit",
    "move notes.md to other.md": "move",
    "run true": "execute",
    "fetch https://127.0.0.1:1/": "fetch",
    "delete notes.md": "delete",
}


@pytest.mark.parametrize("is_set_later", [False, True])
@pytest.mark.parametrize(
    ("permissions", "asked"),
    [
        (PermissionPolicy(), {"edit", "move", "execute", "fetch", "delete"}),
        (
            PermissionPolicy("allow_all", always_ask=frozenset({"delete"})),
            # This machine is asked about in any case.
            {"delete", "fetch"},
        ),
        (
            PermissionPolicy(
                "ask_always",
                auto_allow=frozenset({"read", "search", "think"}),
                always_ask=frozenset({"edit", "delete", "execute"}),
            ),
            {"edit", "move", "execute", "fetch", "delete"},
        ),
    ],
    ids=["no configuration", "another configuration", "the router's configuration"],
)
async def test_in_the_mode_code_of_continuum_the_kind_of_a_call_decides_whether_to_ask(
    permissions: PermissionPolicy, asked: set[str], is_set_later: bool, cwd: Path
) -> None:
    for order, kind in ORDERS.items():
        async with continuum(cwd, permissions=permissions) as client:
            client.answers[PERMISSION] = {"outcome": "rejected"}
            if is_set_later:
                opened = await client.connection.request(
                    "session/new", {"cwd": str(cwd), "mcpServers": []}
                )
                await client.ask("session/set_mode", mode="code")
            else:
                opened = await client.ask("session/new", mode="code")
            content = [{"type": "text", "text": order}]
            prompt = {"sessionId": opened["sessionId"], "content": content}
            await client.ask("session/prompt", **prompt)
        (cwd / "notes.md").write_text("Buy milk.\n")
        assert (client.requested != []) == (kind in asked), order


@pytest.mark.parametrize(
    ("word", "kept", "asked"),
    [
        ("allow_always", "Remembered: Allow edits of notes.md, and do not ask again in this", 1),
        ("reject_always", "Remembered: Reject edits of notes.md, and do not ask again in this", 1),
        ("allow_once", None, 2),
    ],
)
async def test_after_an_always_a_continuum_client_reads_what_was_kept(
    cwd: Path, word: str, kept: str | None, asked: int
) -> None:
    async with continuum(cwd, permission=word) as client:
        opened = await client.ask("session/new", mode="code")
        for _ in range(2):
            content = [{"type": "text", "text": "edit notes.md"}]
            prompt = {"sessionId": opened["sessionId"], "content": content}
            await client.ask("session/prompt", **prompt)
        said = [each.params["content"] for each in client.notifications if "content" in each.params]
        text = "".join(block["text"] for blocks in said for block in blocks)
        assert (kept or "Remembered") in text if kept else "Remembered" not in text
        assert client.requested == [PERMISSION] * asked


async def test_an_official_client_reads_options_and_no_summary_of_them(cwd: Path) -> None:
    async with connected(cwd, permission=selected("allow-always")) as client:
        session = await client.new()
        await session.turn("edit notes.md")
        assert "Remembered" not in session.text
        described = session.opened["modes"]["availableModes"][1]["description"]
        assert described == "Change files and run programs without asking"


@pytest.mark.parametrize("params", [{}, {"mode": "code"}])
async def test_the_mode_code_is_described_as_it_works(cwd: Path, params: Json) -> None:
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", **params)
        (mode,) = [option for option in opened["configOptions"] if option["id"] == "mode"]
        about = {choice["value"]: choice["description"] for choice in mode["options"]}
        assert about["code"].endswith("ask about each kind that the policy names")


async def test_a_continuum_client_is_told_the_mode_before(cwd: Path) -> None:
    async with continuum(cwd) as client:
        await client.ask("session/new", mode="code")
        for mode, before in [("architect", "code"), ("ask", "architect"), ("ask", "ask")]:
            told = await client.ask("session/set_mode", mode=mode)
            assert told == {"mode": mode, "previousMode": before}


async def test_a_continuum_client_logs_in_by_whatever_it_has(cwd: Path) -> None:
    async with continuum(cwd) as client:
        assert await client.ask("authenticate", method="api_key", token="k") == {}


@pytest.mark.parametrize(
    ("mode", "sessions", "code"), [("zz", 9, jsonrpc.INVALID_PARAMS), ("code", 0, -32001)]
)
async def test_a_continuum_client_reads_why_no_session_is_opened(
    cwd: Path, mode: str, sessions: int, code: int
) -> None:
    async with continuum(cwd, sessions) as client:
        with pytest.raises(RequestFailedError) as refusal:
            await client.ask("session/new", mode=mode)
        assert refusal.value.code == code


async def test_a_session_is_loaded_where_it_was_opened(cwd: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", cwd=str(elsewhere))
        loaded = await client.ask("session/load", sessionId=opened["sessionId"])
        assert loaded["sessionId"] == opened["sessionId"]
        for wrong in [{"sessionId": "nope"}, {"sessionId": opened["sessionId"], "cwd": str(cwd)}]:
            with pytest.raises(RequestFailedError):
                await client.ask("session/load", **wrong)


class Named(Counting):
    """A model of that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        self.asked += 1
        async for event in super().reply(history, tools):
            yield event


async def test_a_continuum_prompt_is_answered_by_the_model_it_names(cwd: Path) -> None:
    first, second = Named("openai:gpt-4o"), Named("openai:gpt-5")
    async with continuum(cwd, model=first, others=[second]) as client:
        opened = await client.ask("session/new", mode="code")
        prompt: Json = {"sessionId": opened["sessionId"], "content": []}
        for model in ["openai:gpt-5", "gpt-5", None, "gpt-4o"]:
            prompt["model"] = model
            await client.ask("session/prompt", **prompt)
        assert (first.asked, second.asked) == (1, 3)
        for name in ["gpt-nope", "gpt", "", 5]:
            with pytest.raises(RequestFailedError, match="model: there is no model") as refusal:
                prompt["model"] = name
                await client.ask("session/prompt", **prompt)
            assert refusal.value.code == jsonrpc.INVALID_PARAMS
        assert (first.asked, second.asked) == (1, 3)


async def test_a_continuum_prompt_says_how_its_model_replies(cwd: Path) -> None:
    well = streamed(sse({"choices": [{"delta": {"content": "Well."}, "finish_reason": "stop"}]}))
    whole = {"choices": [{"message": {"content": "Well."}, "finish_reason": "stop"}]}
    answers = (well, refused(200, whole, Content_Type="application/json"), well)
    async with providing(*answers) as provider:
        settings = ModelSettings(name="ollama:m", base_url=provider.url, max_tokens=9)
        async with continuum(cwd, model=create_model(settings, {})) as client:
            opened = await client.ask("session/new", mode="code")
            prompt: Json = {"sessionId": opened["sessionId"], "content": []}
            options = {"temperature": 0.7, "maxTokens": 4096, "stream": True}
            await client.ask("session/prompt", **prompt, **options)
            await client.ask("session/prompt", **prompt, stream=False, temperature=0)
            await client.ask("session/prompt", **prompt, temperature=None)
        names = ("temperature", "max_tokens", "stream")
        asked = [[each.body.get(name) for name in names] for each in provider.asked]
    # They hold for one prompt.
    assert asked == [[0.7, 4096, True], [0, 9, False], [None, 9, True]]


@pytest.mark.parametrize(
    "option",
    [
        *({"temperature": value} for value in (-1, 2.5, "0.7", True)),
        *({"maxTokens": value} for value in (0, 1.5, "9", True)),
        *({"stream": value} for value in (0, "no")),
    ],
)
async def test_an_invalid_option_of_a_prompt_is_named(cwd: Path, option: dict[str, Json]) -> None:
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", mode="code")
        prompt: Json = {"sessionId": opened["sessionId"], "content": []}
        refused_ = await client.refusal("session/prompt", **prompt, **option)
        assert refused_.code == jsonrpc.INVALID_PARAMS
        assert refused_.message.startswith(f"Invalid params: {next(iter(option))} must be")


@pytest.mark.parametrize(("option", "count"), [({"stream": False}, 1), ({}, 2)])
async def test_a_reply_that_is_not_streamed_comes_as_a_whole(
    cwd: Path, option: dict[str, Json], count: int
) -> None:
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", mode="code")
        content = [{"type": "text", "text": "hello"}]
        prompt: Json = {"sessionId": opened["sessionId"], "content": content}
        await client.ask("session/prompt", **prompt, **option)
        said = [each.params["content"] for each in client.notifications if "content" in each.params]
        assert min(len(said), 2) == count


async def test_the_demo_stands_in_for_every_model(cwd: Path) -> None:
    async with continuum(cwd) as client:
        opened = await client.ask("session/new", mode="code")
        prompt: Json = {"sessionId": opened["sessionId"], "content": [], "model": "gpt-4o"}
        assert await client.ask("session/prompt", **prompt) == {"stopReason": "end_turn"}


async def test_an_official_client_hears_nothing_of_the_dialect(cwd: Path) -> None:
    async with connected(cwd, lints=False) as it:
        assert "_meta" not in await (await it.new()).reopen()
        with pytest.raises(RequestFailedError, match="there is no method"):
            await it.ask("authenticate", methodId="api_key")
