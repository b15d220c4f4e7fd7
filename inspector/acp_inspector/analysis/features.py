"""What is used of the protocol that a capability allows, beside whole methods.

Methods have their capability in the table of the schema. Here stands what is a part of a message: a
kind of block in a prompt, a kind of server in a session, a kind of update.

Source: ACP, Initialization, "Capabilities"; the same of version 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from acp_inspector.analysis.items import entries, member, string
from acp_protocol.jsonrpc import Json

AGENT: Final = "agentCapabilities"
CLIENT: Final = "clientCapabilities"
_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_PROMPT: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
_UPDATES: Final[Mapping[str, str]] = {
    "notice": f"{CLIENT}.session.notices",
    "compaction_update": f"{CLIENT}.session.compaction",
    "compaction_summary_chunk": f"{CLIENT}.session.compaction",
    "plan_update": f"{CLIENT}.plan",
    "plan_removed": f"{CLIENT}.plan",
    "subagent_update": f"{CLIENT}.subagents",
    "session_message": f"{CLIENT}.subagents",
    "session_message_chunk": f"{CLIENT}.subagents",
}
"""Updates that version 1 needs leave for; version 2 needs none."""

FEATURES: Final[Mapping[int, tuple[str, ...]]] = {
    1: (
        *(f"{AGENT}.promptCapabilities.{name}" for name in _PROMPT.values()),
        *(f"{AGENT}.mcpCapabilities.{name}" for name in ("http", "sse", "acp")),
        f"{AGENT}.sessionCapabilities.additionalDirectories",
        f"{AGENT}.sessionCapabilities.systemPrompt",
        f"{CLIENT}.auth.terminal",
        f"{CLIENT}.elicitation.form",
        f"{CLIENT}.elicitation.url",
        f"{CLIENT}.session.configOptions.boolean",
        *dict.fromkeys(_UPDATES.values()),
    ),
    2: (
        *(f"{AGENT}.session.prompt.{name}" for name in _PROMPT.values()),
        *(f"{AGENT}.session.mcp.{name}" for name in ("stdio", "http", "acp")),
        f"{AGENT}.session.additionalDirectories",
        f"{AGENT}.session.systemPrompt",
        f"{CLIENT}.auth.terminal",
        f"{CLIENT}.elicitation.form",
        f"{CLIENT}.elicitation.url",
    ),
}
"""Every capability that `used_by_call` and `used_by_answer` can tell of, by version."""


def used_by_call(method: str, params: Json, version: int) -> set[str]:
    """Return the capabilities that a request or notification makes use of by what it holds."""
    if method == "session/prompt":
        return set(_prompt(params, version))
    if method in _OPENING:
        return set(_opening(params, version))
    if method == "elicitation/create":
        mode = string(params, "mode") or "form"
        return {f"{CLIENT}.elicitation.{mode}"} if mode in {"form", "url"} else set()
    if method == "session/update" and version == 1:
        return set(_update(member(params, "update")))
    return set()


def used_by_answer(method: str, result: Json, version: int) -> set[str]:
    """Return the capabilities that an answer makes use of."""
    if method == "initialize":
        kinds = {string(each, "type") for each in entries(member(result, "authMethods"))}
        return {f"{CLIENT}.auth.terminal"} if "terminal" in kinds else set()
    if method in _OPENING and version == 1 and _has_boolean(result):
        return {f"{CLIENT}.session.configOptions.boolean"}
    return set()


def _prompt(params: Json, version: int) -> Iterator[str]:
    room = f"{AGENT}.promptCapabilities" if version == 1 else f"{AGENT}.session.prompt"
    for block in entries(member(params, "prompt")):
        if name := _PROMPT.get(string(block, "type")):
            yield f"{room}.{name}"


def _opening(params: Json, version: int) -> Iterator[str]:
    servers = entries(member(params, "mcpServers"))
    kinds = {string(server, "type") for server in servers}
    if version == 1:
        # Version 1 has no capability for stdio: every agent has to know it.
        yield from (f"{AGENT}.mcpCapabilities.{kind}" for kind in kinds & {"http", "sse", "acp"})
    else:
        yield from (f"{AGENT}.session.mcp.{kind}" for kind in kinds & {"stdio", "http", "acp"})
    room = f"{AGENT}.sessionCapabilities" if version == 1 else f"{AGENT}.session"
    if entries(member(params, "additionalDirectories")):
        yield f"{room}.additionalDirectories"
    if member(params, "systemPrompt") is not None:
        yield f"{room}.systemPrompt"


def _update(update: Json) -> Iterator[str]:
    name = string(update, "sessionUpdate")
    if name in _UPDATES:
        yield _UPDATES[name]
    if name == "config_option_update" and _has_boolean(update):
        yield f"{CLIENT}.session.configOptions.boolean"


def _has_boolean(source: Json) -> bool:
    options = entries(member(source, "configOptions"))
    return any(member(option, "type") == "boolean" for option in options)
