"""Modes are judged by their names, and by their descriptions where these say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from acp_console.agents.session_options import (
    SessionOption,
    most_restrictive_mode,
    session_options,
)


@pytest.mark.parametrize(
    ("modes", "chosen"),
    [
        ([("code", "Code"), ("ask", "Ask")], "ask"),
        ([("ask", "Ask"), ("plan", "Plan"), ("auto", "Auto")], "plan"),
        ([("plan", "Plan"), ("ro", "Read Only")], "ro"),
        ([("read-only", "Chat"), ("architect", "Architect")], "read-only"),
        ([("default", "Default"), ("dontAsk", "Don't Ask")], None),
        ([("never_ask", "Never ask"), ("x", "Don’t ask, read & write only what is needed")], None),
        ([("yolo", "Ask nothing, auto-approve")], None),
        ([("acceptEdits", "Accept Edits"), ("default", "Always Ask")], "default"),
        ([("task", "Task")], None),
    ],
)
def test_the_mode_that_lets_the_agent_do_least(
    modes: list[tuple[str, str]], chosen: str | None
) -> None:
    option = SessionOption("mode", "mode", tuple(modes), modes[0][0], "session/set_mode")
    assert most_restrictive_mode(option) == chosen


CODEX = [
    ("read-only", "Read Only", "Approval is required to edit files or access the internet."),
    ("auto", "Default", "Codex can edit files and run commands. Approval is required for more."),
    ("full-access", "Full Access", "Runs commands without asking for approval."),
]
CLAUDE = [
    ("default", "Manual", "Always ask before making changes"),
    ("acceptEdits", "Accept edits", "Automatically accept all file edits"),
    ("plan", "Plan", "Create a plan before making changes"),
    ("bypassPermissions", "Bypass permissions", "Accepts all permissions"),
]
GEMINI = [
    ("default", "Default", "Prompts for approval"),
    ("autoEdit", "Auto Edit", "Auto-approves edit tools"),
    ("yolo", "YOLO", "Auto-approves all tools"),
]
OPENCODE = [
    ("build", "build", "Executes tools based on configured permissions."),
    ("plan", "plan", "Plan mode. Disallows all edit tools."),
]


@pytest.mark.parametrize(
    ("modes", "least", "asking"),
    [
        (CODEX, "read-only", "read-only"),
        (CODEX[1:], None, None),
        (CLAUDE, "plan", "default"),
        (GEMINI, "default", "default"),
        (OPENCODE, "plan", "plan"),
        ([("a", "A", "Requires approval for tool executions")], "a", "a"),
        ([("a", "A", "Never asks; runs everything"), ("b", "B", "Read-only")], "b", "b"),
        ([("a", "A", "Makes changes without asking before"), ("b", "B", "")], None, None),
    ],
)
def test_a_description_counts_and_the_strictest_mode_is_the_last_resort(
    modes: list[tuple[str, str, str]], least: str | None, asking: str | None
) -> None:
    available = [{"id": id_, "name": name, "description": about} for id_, name, about in modes]
    (option,) = session_options({"modes": {"availableModes": available, "currentModeId": "x"}})
    assert most_restrictive_mode(option) == least
    assert most_restrictive_mode(option, asks=True) == asking


def test_a_mode_that_asks_by_its_description_alone_is_not_remembered() -> None:
    available = [{"id": "a", "name": "A", "description": "Always ask before making changes"}]
    (option,) = session_options({"modes": {"availableModes": available, "currentModeId": "x"}})
    assert option.acts_without_asking("a")


def test_what_is_an_option_is_not_set_in_the_older_way() -> None:
    values: list[Any] = [{"value": "ask", "name": "Ask", "description": "asks"}]
    option: dict[str, Any] = {"id": "permissions", "category": "mode", "name": "Mode"}
    option |= {"type": "select", "currentValue": "ask", "options": values}
    modes = {"availableModes": [{"id": "ask", "name": "Ask"}], "currentModeId": "ask"}
    models = {"availableModels": [{"modelId": "m", "name": "M"}], "currentModelId": "m"}
    found = session_options({"modes": modes, "models": models, "configOptions": [option]})
    assert [(each.id, each.method) for each in found] == [
        ("permissions", "session/set_config_option"),
        ("model", "session/set_model"),
    ]
    assert found[0].descriptions == (("ask", "asks"),)


QWEN = [
    ("plan", "Plan", "Analyze only, do not modify files or execute commands"),
    ("default", "Default", "Require approval for file edits or shell commands"),
    ("auto-edit", "Auto Edit", "Automatically approve file edits"),
    ("auto", "Auto", "LLM classifier auto-approves safe actions, blocks risky ones"),
    ("yolo", "YOLO", "Automatically approve all tools"),
]
DEMO = [
    ("ask", "Ask", "Ask before files are changed and programs are run"),
    ("code", "Code", "Change files and run programs without asking"),
]
OTHERS = [
    ("auto", "Auto", "Claude handles permission decisions"),
    ("dontAsk", "Don't Ask", "Don't prompt for permissions, deny if not pre-approved"),
    ("never_ask", "Never ask", ""),
    ("act", "Act", "Make changes to the codebase"),
    ("smart_approve", "Smart", "Ask only for sensitive tool calls"),
    ("approve", "Approve", "Ask before every tool call"),
    ("agent", "Agent", "You are a helpful AI Agent."),
]


@pytest.mark.parametrize(
    ("modes", "unasked"),
    [
        (CLAUDE, {"acceptEdits": "edits", "bypassPermissions": "anything"}),
        (GEMINI, {"autoEdit": "edits", "yolo": "anything"}),
        (QWEN, {"auto-edit": "edits", "auto": "some", "yolo": "anything"}),
        (CODEX, {"full-access": "anything"}),
        (DEMO, {"code": "anything"}),
        (OPENCODE, {}),
        (OTHERS, {"auto": "some", "never_ask": "anything"}),
        ([("long", "auto " * 20_000, "")], {}),
    ],
)
def test_what_real_agents_do_without_asking_in_each_mode(
    modes: list[tuple[str, str, str]], unasked: dict[str, str]
) -> None:
    offered = {"availableModes": [dict(zip(("id", "name", "description"), each, strict=True))
                                  for each in modes], "currentModeId": modes[0][0]}  # fmt: skip
    (option,) = session_options({"modes": offered})
    found = {id_: option.unasked(id_) for id_, _ in option.values}
    assert {id_: what for id_, what in found.items() if what} == unasked


def test_an_option_that_is_no_mode_says_by_its_names_that_it_asks_nothing() -> None:
    policy = SessionOption(
        "approval_policy", None, (("never", "Never ask"), ("ask", "Ask")), "never", "x"
    )
    assert [policy.unasked(each) for each in ("never", "ask")] == ["anything", None]
    assert SessionOption("yolo", None, (), True, "x").unasked(True) == "anything"
    assert SessionOption("yolo", None, (), False, "x").unasked(False) is None
    speed = SessionOption("speed", None, (("all", "Allow all"),), "all", "x")
    assert speed.unasked("all") is None
