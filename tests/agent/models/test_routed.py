"""Models that are reached elsewhere, or think harder, from one moment to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.models.factory import create_model
from acp_agent.models.types import Model, PromptMessage, SupportsEffort
from acp_agent.settings.model import Effort, ModelSettings
from tests.agent.client import connected, open_session
from tests.agent.models.provider import LocalProvider, providing, replied, said, sse, streamed

_CHOICE = {"index": 0, "delta": {"content": "Well."}, "finish_reason": "stop"}
WELL = streamed(sse({"choices": [_CHOICE]}, done=True))


def model(provider: LocalProvider, thinking: Effort | None = None) -> Model:
    """Return a model of a service that needs no key."""
    choice = ModelSettings(name="openai:m", base_url=provider.url, thinking=thinking)
    return create_model(choice, {})


async def test_an_effort_holds_for_whoever_chose_it() -> None:
    async with providing(WELL, WELL, WELL) as provider:
        routed = model(provider, "low")
        assert isinstance(routed, SupportsEffort)
        for each in (routed, routed.at("high"), routed):
            assert each.name == "openai:m"
            assert said(await replied(each, [PromptMessage("hello")])) == "Well."
        efforts = [asked.body["reasoning_effort"] for asked in provider.asked]
    assert efforts == ["low", "high", "low"]


@pytest.mark.parametrize("version", [1, 2])
async def test_an_effort_is_chosen_for_a_session(cwd: Path, version: int) -> None:
    async with providing(WELL, WELL, WELL) as provider:
        async with connected(cwd, version, model=model(provider)) as it:
            one, other = await it.new(), await it.new()
            await one.choose("effort", "medium")
            await one.turn("hello")
            await other.turn("hello")
            await one.choose("effort", "default")
            await one.turn("hello")
        efforts = [asked.body.get("reasoning_effort") for asked in provider.asked]
    assert efforts == ["medium", None, None]


async def test_the_demo_model_has_no_effort(cwd: Path) -> None:
    async with open_session(cwd) as session:
        options = (await session.choose("mode", "ask"))["configOptions"]
    assert [option["id"] for option in options] == ["mode", "model", "thinking", "policy"]
