"""Prompts of version 2: accepted at once, given an id, sent back as a user message, or rejected.

Source: ACP version 2, "Prompt Lifecycle"; schema, PromptRequest and PromptResponse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import (
    DELIVERY_TIMEOUT_S,
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix
from acp_inspector.lint.rules.content import REQUIRED, takes
from acp_inspector.lint.rules.errors import OTHER_REASONS
from acp_inspector.lint.rules.sessions import Endings
from acp_inspector.lint.rules.v2_turn_state import Echo, Foreground, foreground, foregrounds_of
from acp_inspector.lint.state import LintState, SentRequest
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import INVALID_PARAMS, REQUEST_CANCELLED, Json
from acp_protocol.schema.newer import feature_of_value
from acp_protocol.schema.vocabulary import PROMPT_CAPABILITIES, USER_MESSAGES

rule = LintSubject("version-2", version=2)
prompt_lifecycle = LintSubject("prompt-lifecycle", version=2)

MAX_PENDING_S: Final = 30.0
"""Seconds after which a pending prompt is reported."""


@prompt_lifecycle.error(
    159, "must", "agent", on.result("session/prompt"), source="v2/prompt-lifecycle.mdx"
)
@fix("Respond as soon as the prompt is accepted.")
def prompt_result_after_work(context: Context) -> CheckResult:
    """The prompt response does not wait for completion: an idle state update ending the work before
    the response is a v1 habit.

    The work certainly belongs to the prompt if the prompt's message was reported before.
    """
    ask = context.request
    if ask is None or context.session is None:
        return None
    own = foreground(context)
    ended, began = own.ended, own.began
    if ended is None or began is None or ended.seq < ask.seq:
        return OK
    echo = _echo_of(context, own)
    if echo is not None:
        is_its_own = ask.seq < echo.point.seq < ended.seq
    else:
        is_its_own = "stopReason" in context.result_object and began.seq > ask.seq
    if is_its_own:
        return context.problem(
            "session/prompt is answered only after its work ended", ask, began, ended
        )
    return OK


def _echo_of(context: Context, own: Foreground) -> Echo | None:
    id_ = context.result_object.get("messageId")
    return own.echoes.get(id_) if isinstance(id_, str) else None


@check(
    "prompt-not-echoed",
    on.update("state_update"),
    fix="Report each accepted prompt by a user_message with the id of its result.",
    is_under_other_id=False,
)
def prompts_are_reported_in_time(context: Context, *, is_under_other_id: bool) -> CheckResult:
    if context.update.get("state") != "idle" or context.session is None:
        return None
    own = foreground(context)
    if not own.is_busy or not own.accepted:
        return None
    return tuple(
        Problem(text, (*frames, context.seq))
        for text, frames in _unreported(own, is_under_other_id=is_under_other_id)
    )


@rule.error(432, "must", "agent", on.update("state_update"))
@fix("Use the id of the result in the user message.")
@checked_by(prompts_are_reported_in_time, is_under_other_id=True)
def echo_with_other_id() -> None:
    """The live echo of a prompt uses exactly the `messageId` of its result."""


@check("echo-with-other-id", on.END, is_under_other_id=True)
def prompts_are_reported_by_the_end(ending: EndContext, *, is_under_other_id: bool) -> CheckResult:
    found: list[Problem] = []
    for own in foregrounds_of(ending.state).values():
        last = own.accepted[-1].responded if own.accepted else None
        if last is None or ending.point.time - last.time <= DELIVERY_TIMEOUT_S:
            continue
        found += [
            Problem(text, frames)
            for text, frames in _unreported(own, is_under_other_id=is_under_other_id)
        ]
    return tuple(found) or None


@prompt_lifecycle.error(160, "must", "agent", on.END, since="2026-11")
@fix("Report each accepted prompt by a user_message.")
@checked_by(prompts_are_reported_by_the_end, is_under_other_id=False)
def prompt_not_echoed() -> None:
    """Each accepted prompt is echoed live by a `user_message` or `user_message_chunk` with the
    `messageId` of its result; either order.
    """


def _unreported(
    own: Foreground, *, is_under_other_id: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for ask in own.accepted:
        id_ = as_object(ask.result).get("messageId")
        if not isinstance(id_, str) or id_ in own.echoes or ask.responded is None:
            continue
        other = _mismatched_echo(own, ask)
        if (other is not None) is not is_under_other_id:
            continue
        if other is None:
            yield (
                f"no user message has the id of the prompt {quoted(id_)}",
                (ask.seq, ask.responded.seq),
            )
        else:
            yield (
                f"the prompt {quoted(id_)} is reported back under the id {quoted(other)}",
                (ask.seq, *sorted((ask.responded.seq, own.echoes[other].point.seq))),
            )


def _mismatched_echo(own: Foreground, ask: SentRequest) -> str | None:
    """Return the id of a user message after a prompt that matches its text but not its id."""
    for id_, echo in reversed(own.echoes.items()):
        if echo.point.seq < ask.seq:
            return None
        if id_ not in own.named and _may_echo(echo.content, ask):
            return id_
    return None


def _may_echo(content: list[Json] | None, ask: SentRequest) -> bool:
    """Return whether a message may echo a prompt: same content, or sent in chunks."""
    return content is None or _normalized(content) == _normalized(as_list(ask.params.get("prompt")))


def _normalized(blocks: list[Json]) -> tuple[str, tuple[str, ...]]:
    """Return the text of a message with normalized white space, and its other block types."""
    words: list[str] = []
    others: list[str] = []
    for block in map(as_object, blocks):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            words += text.split()
        else:
            others.append(str(block.get("type")))
    return " ".join(words), tuple(sorted(others))


@prompt_lifecycle.info(168, "implied", "client", on.response("session/prompt"), since="2026-11")
@fix("Report that the prompt is waiting.")
def long_held_prompt(context: Context) -> CheckResult:
    """`session/prompt` during work is legal: the Agent inserts it or holds it (request stays open).
    Report long-held prompts.
    """
    if context.request is None:
        return None
    waited = context.time - context.request.time
    if waited > MAX_PENDING_S:
        return context.problem(f"the prompt was held for {waited:.0f} seconds", context.request)
    return OK


@prompt_lifecycle.error(173, "must", "agent", on.update(*USER_MESSAGES), since="2026-11")
@fix("Do not report rejected prompts as user messages.")
def rejected_prompt_echoed(context: Context) -> CheckResult:
    """A rejected prompt (error response) produces no user-message update."""
    session = context.session
    last = None if session is None else session.last_prompt
    if session is None or last is None or last.error is None or session.is_replaying:
        return None
    own = foreground(context)
    id_ = context.update.get("messageId")
    if not isinstance(id_, str) or id_ in own.echoes or id_ in own.named:
        return OK
    content = context.update.get("content")
    prompt = as_list(last.params.get("prompt"))
    if content in prompt if isinstance(content, dict) else as_list(content) == prompt:
        return context.problem(
            "the prompt was rejected, but a user message reports it", last, last.responded
        )
    return OK


@prompt_lifecycle.warning(
    174, "heuristic", "agent", on.result("session/prompt"), on.update("user_message")
)
@details(source="v2/prompt-lifecycle.mdx")
@fix("Send the user's message back as it was sent.")
def echo_differs_from_prompt(context: Context) -> CheckResult:
    """The acknowledged user message content equals the prompt content.

    White space, and the content of links and resources, may differ.
    """
    if context.session is None:
        return None
    own = foreground(context)
    if context.kind == "result":
        echo, ask = _echo_of(context, own), context.request
        content, at = (None, None) if echo is None else (echo.content, echo.point)
    else:
        id_ = context.update.get("messageId")
        ask = own.named.get(id_) if isinstance(id_, str) and id_ not in own.echoes else None
        sent_back = context.update.get("content")
        content, at = (as_list(sent_back) if isinstance(sent_back, list) else None), context.point
    if ask is None or content is None:
        return None
    if _may_echo(content, ask):
        return OK
    return context.problem("the user message differs from its prompt", ask, at)


@rule.error(433, "must", "agent", on.error("session/prompt"))
@fix("End the work with the stop reason error.")
def echoed_prompt_fails(context: Context) -> CheckResult:
    """After the user message was inserted (echo seen) the prompt is not answered with an error;
    failures end in idle with `stopReason:"error"`.
    """
    ask, session = context.request, context.session
    if ask is None or session is None:
        return None
    own = foreground(context)
    other = _mismatched_echo(own, ask)
    if other is not None and (own.echoes[other].content is not None or len(session.prompts) == 1):
        return context.problem(
            f"the prompt fails, but came into the conversation as {quoted(other)}",
            ask,
            own.echoes[other].point,
        )
    return OK


@rule.warning(435, "must", "agent", on.response("session/prompt"))
@fix("Reject prompts with unsupported blocks with -32602.")
def unsupported_block_accepted(context: Context) -> CheckResult:
    """A prompt with an unsupported (unadvertised or unknown) block type is answered -32602, not
    accepted.
    """
    if context.request is None or not context.state.is_ready:
        return None
    for block in map(as_object, as_list(context.request.params.get("prompt"))):
        type_ = block.get("type")
        if not isinstance(type_, str) or type_.startswith("_") or _is_taken(context.state, type_):
            continue
        if feature_of_value(2, "params.prompt.type", type_):
            continue
        if context.code == INVALID_PARAMS:
            return OK
        if context.code in OTHER_REASONS:
            return None
        how = "taken in" if context.kind == "result" else f"answered with {context.code}"
        return context.problem(
            f"a prompt with a block of type {quoted(type_)} is {how}, though the agent "
            "does not claim to take such",
            context.request,
        )
    return None


def _is_taken(state: LintState, type_: str) -> bool:
    return type_ in REQUIRED and (
        type_ not in PROMPT_CAPABILITIES or takes(state, PROMPT_CAPABILITIES[type_])
    )


@check(
    "held-prompt-unanswered",
    on.response("session/prompt"),
    fix="Respond with -32800 to the prompts that are pending when a session is closed.",
)
def held_prompts_end_with_their_session(context: Context) -> CheckResult:
    ask, session = context.request, context.session
    if ask is None or session is None or session.closed is None or session.closed.seq < ask.seq:
        return None
    # A prompt sent after the request was not pending.
    was_held = ask.seq in context.state.of(Endings).prompts
    if not was_held or context.kind == "result" or context.code == REQUEST_CANCELLED:
        return OK
    return context.problem(
        f"the prompt that the closed session held gets the error {context.code}",
        ask,
        session.closed,
    )


@rule.error(439, "must", "agent", on.END)
@fix("Respond to the prompts that are pending when a session is closed.")
def held_prompt_unanswered(ending: EndContext) -> CheckResult:
    """Prompts still held when the session closes are answered: -32800 if not inserted,
    `{messageId}` if inserted.
    """
    found: list[Problem] = []
    for session in ending.state.sessions.values():
        if session.closed is None or ending.point.time - session.closed.time <= DELIVERY_TIMEOUT_S:
            continue
        found += [
            Problem("a closed session still holds a prompt", (ask.seq, session.closed.seq))
            for ask in session.prompts
            if ask.seq < session.closed.seq
        ]
    return tuple(found) or None


@rule.error(431, "schema", "agent", on.result("session/prompt"))
@details(unlike=(BATCHES,))
@fix("Name the user message's id in the result.")
@checked_by(schema, at="messageId")
def prompt_result_without_id() -> None:
    """The `session/prompt` result has a non-null string `messageId` (`{}` is the alpha.3 shape)."""


@rule.error(434, "must", "client", on.request("session/prompt"), case="prompt.not-empty")
@fix("Send at least one content block.")
@checked_by(schema, at="prompt", kinds="range")
def empty_prompt() -> None:
    """`prompt` is not an empty array."""
