"""The system prompt that a client sets a session up with (unstable).

Source: ACP schema, `SystemPrompt`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.registry import asks, check, learns, results
from acp_inspector.lint.rules.mcp_servers import SETUPS
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

MODES: Final = frozenset({"append", "override"})
LATER: Final = ("session/load", "session/resume", "session/fork")
"""Requests about a session that was created before."""
REMEMBERED: Final = 10_000
"""Sessions that are remembered."""
PROMPT: Final = "params.systemPrompt"


@dataclass(slots=True)
class _Prompts:
    """By session: the system prompt that it was created with, and where."""

    created: dict[str, tuple[int, Point]] = field(default_factory=dict[str, tuple[int, Point]])


def _prompt(params: dict[str, Json]) -> dict[str, Json] | None:
    prompt: Json = params.get("systemPrompt")
    return members(prompt) if prompt is not None else None


def _claim(moment: Moment, path: str = "") -> str:
    return f"{'session' if moment.version == 2 else 'sessionCapabilities'}.systemPrompt{path}"


@check("ACP-L484", asks(*SETUPS), fix="Send systemPrompt only where the agent claimed it.")
def system_prompts_are_claimed(moment: Moment) -> Found:
    """Tell of system prompts for an agent that takes none."""
    if _prompt(moment.params) is None:
        return None
    if not gated(moment, _claim(moment)):
        return FINE if moment.state.is_ready else None
    return moment.problem(
        f"systemPrompt was sent though the agent did not claim {_claim(moment)}",
        moment.state.initialize,
        path=PROMPT,
    )


@check("ACP-L485", asks(*SETUPS), fix="Override only where the agent claimed mode.override.")
def overriding_is_claimed(moment: Moment) -> Found:
    """Tell of system prompts that replace one that the agent does not let go."""
    prompt = _prompt(moment.params)
    if prompt is None or prompt.get("mode") != "override":
        return None
    if not gated(moment, _claim(moment, ".mode.override")):
        return FINE if moment.state.is_ready else None
    return moment.problem(
        f"the mode is override though the agent did not claim {_claim(moment, '.mode.override')}",
        moment.state.initialize,
        path=f"{PROMPT}.mode",
    )


@check("ACP-L486", asks(*SETUPS), fix="Send at least one block, and only of text.")
def system_prompts_are_text(moment: Moment) -> Found:
    """Tell of system prompts that are empty, or something other than text."""
    prompt = _prompt(moment.params)
    if prompt is None:
        return None
    content: Json = prompt.get("content")
    if not isinstance(content, list):
        what = "no array" if "content" in prompt else "missing"
        return moment.problem(f"the content is {what}", path=f"{PROMPT}.content")
    if not content:
        return moment.problem("the content is empty", path=f"{PROMPT}.content")
    return tuple(
        Problem(
            f"a block is of type {quoted(members(each).get('type'))}, not text",
            (moment.n,),
            path=f"{PROMPT}.content.{index}.type",
        )
        for index, each in enumerate(entries(content))
        if members(each).get("type") != "text"
    )


@check("ACP-L487", results(*SETUPS), fix="Answer an error where a prompt cannot be taken as it is.")
def what_is_not_supported_is_refused(moment: Moment) -> Found:
    """Tell of sessions that came about though their system prompt cannot have been taken.

    An agent that claimed none at all does not know the member.
    """
    prompt = _prompt(moment.ask.params) if moment.ask is not None else None
    if prompt is None or not moment.state.claims("agent", _claim(moment)):
        return None
    mode = prompt.get("mode")
    is_known = isinstance(mode, str) and (mode in MODES or mode.startswith("_"))
    can_override = moment.state.claims("agent", _claim(moment, ".mode.override"))
    if not is_known or (mode == "override" and not can_override):
        return moment.problem(
            f"the session came about with the mode {quoted(mode)}, which was not claimed",
            moment.state.initialize,
            moment.ask,
        )
    kinds = [members(each).get("type") for each in entries(prompt.get("content"))]
    strange = [kind for kind in kinds if kind != "text"]
    if strange:
        return moment.problem(
            f"the session came about with a block of type {quoted(strange[0])}", moment.ask
        )
    return FINE


@check("ACP-L488", asks(*LATER), fix="Send the systemPrompt again that the session began with.")
def system_prompts_are_repeated(moment: Moment) -> Found:
    """Tell of sessions that are taken up with another system prompt than they began with."""
    created = moment.state.of(_Prompts).created.get(moment.session_id or "")
    if created is None:
        return None
    if _digest(moment.params) == created[0]:
        return FINE
    what = "without" if _prompt(moment.params) is None else "with another"
    return moment.problem(
        f"{moment.method} comes {what} systemPrompt than the session was created with",
        created[1],
        path=PROMPT,
    )


@learns(results("session/new", "session/fork"))
def _keep_prompt(moment: Moment) -> None:
    created, id_ = moment.state.of(_Prompts).created, moment.result_object.get("sessionId")
    if moment.ask is None or not isinstance(id_, str) or len(created) >= REMEMBERED:
        return
    if _prompt(moment.ask.params) is not None:
        created[id_] = _digest(moment.ask.params), moment.point


def _digest(params: dict[str, Json]) -> int:
    return hash(json.dumps(params.get("systemPrompt"), sort_keys=True, default=str))
