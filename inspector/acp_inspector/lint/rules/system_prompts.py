"""System prompts of sessions: stable in version 1 but for forks, unstable in version 2.

Source: ACP schema, `SystemPrompt`.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import CREATING, OPENING, RESTORING

rule = LintSubject("system-prompts")

MODES: Final = frozenset({"append", "override"})
REMEMBERED: Final = 10_000
"""Sessions that are remembered."""
PROMPT: Final = "params.systemPrompt"


class _Prompts(dict[str, tuple[int, Point]]):
    """By session: its system prompt, and the frame that set it."""


def _prompt(params: dict[str, Json]) -> dict[str, Json] | None:
    prompt: Json = params.get("systemPrompt")
    return as_object(prompt) if prompt is not None else None


def _checked_prompt(context: Context, params: dict[str, Json]) -> dict[str, Json] | None:
    """Return the system prompt; None if there is none, or if it is unstable and not checked."""
    is_stable = context.version == 1 and context.method != "session/fork"
    return _prompt(params) if is_stable or context.state.unstable else None


def _claim(context: Context, path: str = "") -> str:
    return f"{'session' if context.version == 2 else 'sessionCapabilities'}.systemPrompt{path}"


@rule.error(484, "must", "client", on.request(*OPENING))
@fix("Send systemPrompt only where the agent claimed it.")
def undeclared_system_prompt(context: Context) -> CheckResult:
    """`systemPrompt` on new/load/resume/fork only with the `systemPrompt` capability."""
    if _checked_prompt(context, context.params) is None:
        return None
    return claimed(context, _claim(context), at="systemPrompt")


@rule.error(485, "must", "client", on.request(*OPENING))
@fix("Override only where the agent claimed mode.override.")
def undeclared_prompt_override(context: Context) -> CheckResult:
    """`mode:"override"` only with `systemPrompt.mode.override`."""
    if _checked_prompt(context, context.params) is None:
        return None
    capability = _claim(context, ".mode.override")
    return claimed(context, capability, at="systemPrompt.mode", value="override")


@rule.error(486, "must", "client", on.request(*OPENING))
@fix("Send at least one block, and only of text.")
def malformed_system_prompt(context: Context) -> CheckResult:
    """`systemPrompt.content` is a non-empty array of `text` blocks."""
    prompt = _checked_prompt(context, context.params)
    if prompt is None:
        return None
    content: Json = prompt.get("content")
    if not isinstance(content, list):
        what = "no array" if "content" in prompt else "missing"
        return context.problem(f"the content is {what}", path=f"{PROMPT}.content")
    if not content:
        return context.problem("the content is empty", path=f"{PROMPT}.content")
    return context.problems(
        (
            f"a block is of type {quoted(as_object(each).get('type'))}, not text",
            f"{PROMPT}.content.{index}.type",
        )
        for index, each in enumerate(as_list(content))
        if as_object(each).get("type") != "text"
    )


@rule.error(487, "must", "agent", on.result(*OPENING))
@fix("Answer an error where a prompt cannot be taken as it is.")
def system_prompt_ignored(context: Context) -> CheckResult:
    """An unsupported mode or block in `systemPrompt` fails the request; no session results.

    An agent without the capability does not know the field.
    """
    ask = context.request
    prompt = None if ask is None else _checked_prompt(context, ask.params)
    if prompt is None or not context.state.claims("agent", _claim(context)):
        return None
    mode = prompt.get("mode")
    is_known = isinstance(mode, str) and (mode in MODES or mode.startswith("_"))
    can_override = context.state.claims("agent", _claim(context, ".mode.override"))
    if not is_known or (mode == "override" and not can_override):
        return context.problem(
            f"the session was created with the mode {quoted(mode)}, which was not claimed",
            context.state.initialize,
            context.request,
        )
    kinds = [as_object(each).get("type") for each in as_list(prompt.get("content"))]
    strange = [kind for kind in kinds if kind != "text"]
    if strange:
        return context.problem(
            f"the session was created with a block of type {quoted(strange[0])}", context.request
        )
    return OK


@rule.info(488, "should", "client", on.request(*RESTORING, "session/fork"))
@fix("Send the systemPrompt again that the session began with.")
def system_prompt_not_repeated(context: Context) -> CheckResult:
    """Load, resume and fork repeat the `systemPrompt` used at creation."""
    created = context.state.of(_Prompts).get(context.session_id or "")
    if created is None:
        return None
    if _digest(context.params) == created[0]:
        return OK
    what = "without" if _prompt(context.params) is None else "with another"
    return context.problem(
        f"{context.method} comes {what} systemPrompt than the session was created with",
        created[1],
        path=PROMPT,
    )


@track(on.result(*CREATING))
def _keep_prompt(context: Context) -> None:
    created, id_ = context.state.of(_Prompts), context.result_object.get("sessionId")
    if context.request is None or not isinstance(id_, str) or len(created) >= REMEMBERED:
        return
    if _prompt(context.request.params) is not None:
        created[id_] = _digest(context.request.params), context.point


def _digest(params: dict[str, Json]) -> int:
    return hash(json_text(params.get("systemPrompt"), sort_keys=True, default=str))
