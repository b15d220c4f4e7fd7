"""Prompts of version 2: taken in at once, named by an id, told back, or turned down.

Source: ACP version 2, "Prompt Lifecycle"; schema, PromptRequest and PromptResponse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint.moment import (
    FINE,
    PATIENCE,
    Ending,
    Found,
    Moment,
    Problem,
    entries,
    members,
    quoted,
)
from acp_inspector.lint.registry import (
    answers,
    asks,
    check,
    check_at_end,
    failures,
    results,
    updates,
)
from acp_inspector.lint.rules.content import REQUIRED, takes
from acp_inspector.lint.rules.errors import INVALID_PARAMS, OTHER_REASONS
from acp_inspector.lint.rules.foreground import Echo, Foreground, foreground, foregrounds_of
from acp_inspector.lint.rules.session_ends import Endings
from acp_inspector.lint.state import Ask, State
from acp_protocol.jsonrpc import Json

HELD: Final = 30.0
"""Seconds after which a prompt that waits to be taken in is worth telling of."""
CANCELLED: Final = -32800
NEEDED: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""What an agent has to claim for prompts with blocks of a type."""


@check("ACP-L158", results("session/prompt"), fix="Name the messageId; tell the stop when idle.")
def prompts_are_not_answered_by_their_end(moment: Moment) -> Found:
    """Tell of version 1's results."""
    if "stopReason" in moment.result_object:
        return moment.problem(
            "the result of session/prompt has a stopReason, as in version 1",
            moment.ask,
            path="result.stopReason",
        )
    return FINE


@check("ACP-L431", results("session/prompt"), fix="Name the user message's id in the result.")
def results_name_the_message(moment: Moment) -> Found:
    """Tell of results that do not say which message the prompt became."""
    id_ = moment.result_object.get("messageId")
    if isinstance(id_, str):
        return FINE
    what = f"is {quoted(id_)}" if "messageId" in moment.result_object else "is missing"
    return moment.problem(
        f"messageId {what} in the result of session/prompt", moment.ask, path="result.messageId"
    )


@check("ACP-L159", results("session/prompt"), fix="Answer as soon as the prompt was taken in.")
def prompts_are_answered_before_their_work_ends(moment: Moment) -> Found:
    """Tell of results that wait for the end.

    That the work was this prompt's is certain where its message was told before.
    """
    ask = moment.ask
    if ask is None or moment.session is None:
        return None
    own = foreground(moment)
    ended, began = own.ended, own.began
    if ended is None or began is None or ended.n < ask.n:
        return FINE
    echo = _echo_of(moment, own)
    if echo is not None:
        is_its_own = ask.n < echo.point.n < ended.n
    else:
        is_its_own = "stopReason" in moment.result_object and began.n > ask.n
    if is_its_own:
        return moment.problem(
            "session/prompt is answered only after its work ended", ask, began, ended
        )
    return FINE


def _echo_of(moment: Moment, own: Foreground) -> Echo | None:
    id_ = moment.result_object.get("messageId")
    return own.echoes.get(id_) if isinstance(id_, str) else None


@check(
    "ACP-L160",
    updates("state_update"),
    fix="Tell of each prompt you take in by a user_message with the id in its result.",
)
def prompts_are_told_back(moment: Moment) -> Found:
    """Tell, where work ends, of prompts that came into no conversation."""
    return _untold_by_now(moment, is_under_other_id=False)


@check("ACP-L432", updates("state_update"), fix="Use the id of the result in the user message.")
def prompts_are_told_back_by_their_id(moment: Moment) -> Found:
    """Tell, where work ends, of prompts that came into the conversation under another id."""
    return _untold_by_now(moment, is_under_other_id=True)


def _untold_by_now(moment: Moment, *, is_under_other_id: bool) -> Found:
    if moment.update.get("state") != "idle" or moment.session is None:
        return None
    own = foreground(moment)
    if not own.is_busy or not own.accepted:
        return None
    return tuple(
        Problem(text, (*frames, moment.n))
        for text, frames in _untold(own, is_under_other_id=is_under_other_id)
    )


@check_at_end("ACP-L160", fix="Tell of each prompt you take in by a user_message.")
def prompts_were_told_back(ending: Ending) -> Found:
    """Tell of prompts that never came into a conversation."""
    return _untold_at_end(ending, is_under_other_id=False)


@check_at_end("ACP-L432", fix="Use the id of the result in the user message.")
def prompts_were_told_back_by_their_id(ending: Ending) -> Found:
    """Tell of prompts that came into a conversation under another id."""
    return _untold_at_end(ending, is_under_other_id=True)


def _untold_at_end(ending: Ending, *, is_under_other_id: bool) -> Found:
    found: list[Problem] = []
    for own in foregrounds_of(ending.state).values():
        last = own.accepted[-1].answered if own.accepted else None
        if last is None or ending.point.at - last.at <= PATIENCE:
            continue
        found += [
            Problem(text, frames)
            for text, frames in _untold(own, is_under_other_id=is_under_other_id)
        ]
    return tuple(found) or None


def _untold(own: Foreground, *, is_under_other_id: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    for ask in own.accepted:
        id_ = members(ask.result).get("messageId")
        if not isinstance(id_, str) or id_ in own.echoes or ask.answered is None:
            continue
        other = _stray(own, ask)
        if (other is not None) is not is_under_other_id:
            continue
        if other is None:
            yield f"no user message tells of the prompt {quoted(id_)}", (ask.n, ask.answered.n)
        else:
            yield (
                f"the prompt {quoted(id_)} is told back under the id {quoted(other)}",
                (ask.n, *sorted((ask.answered.n, own.echoes[other].point.n))),
            )


def _stray(own: Foreground, ask: Ask) -> str | None:
    """Return the id of a user message that came since a prompt, and is no prompt's."""
    for id_, echo in reversed(own.echoes.items()):
        if echo.point.n < ask.n:
            return None
        if id_ not in own.named and _says(echo.content, ask):
            return id_
    return None


def _says(content: list[Json] | None, ask: Ask) -> bool:
    """Tell whether a message may be a prompt's: it says the same, or came in pieces."""
    return content is None or _gist(content) == _gist(entries(ask.params.get("prompt")))


def _gist(blocks: list[Json]) -> tuple[str, tuple[str, ...]]:
    """Return the words of a message, however spaced, and what else it holds."""
    words: list[str] = []
    others: list[str] = []
    for block in map(members, blocks):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            words += text.split()
        else:
            others.append(str(block.get("type")))
    return " ".join(words), tuple(sorted(others))


@check("ACP-L168", answers("session/prompt"), fix="Tell the user that the prompt waits its turn.")
def held_prompts_are_told_of(moment: Moment) -> Found:
    """Tell of prompts that waited long before they were taken in."""
    if moment.ask is None:
        return None
    waited = moment.at - moment.ask.at
    if waited > HELD:
        return moment.problem(f"the prompt was held for {waited:.0f} seconds", moment.ask)
    return FINE


@check(
    "ACP-L173",
    updates("user_message", "user_message_chunk"),
    fix="Leave prompts that you turned down out of the conversation.",
)
def rejected_prompts_are_not_told_back(moment: Moment) -> Found:
    """Tell of user messages that say what a prompt said that was turned down."""
    session = moment.session
    last = None if session is None else session.last_prompt
    if session is None or last is None or last.error is None or session.is_replaying:
        return None
    own = foreground(moment)
    id_ = moment.update.get("messageId")
    if not isinstance(id_, str) or id_ in own.echoes or id_ in own.named:
        return FINE
    content = moment.update.get("content")
    prompt = entries(last.params.get("prompt"))
    if content in prompt if isinstance(content, dict) else entries(content) == prompt:
        return moment.problem(
            "the prompt was turned down, but comes back as a user message", last, last.answered
        )
    return FINE


@check(
    "ACP-L174",
    results("session/prompt"),
    updates("user_message"),
    fix="Tell the user's message back as it was sent.",
)
def prompts_are_told_back_as_sent(moment: Moment) -> Found:
    """Tell of user messages that say something else than their prompt.

    White space, and what links and resources hold, may differ.
    """
    if moment.session is None:
        return None
    own = foreground(moment)
    if moment.kind == "result":
        echo, ask = _echo_of(moment, own), moment.ask
        content, at = (None, None) if echo is None else (echo.content, echo.point)
    else:
        id_ = moment.update.get("messageId")
        ask = own.named.get(id_) if isinstance(id_, str) and id_ not in own.echoes else None
        told = moment.update.get("content")
        content, at = (entries(told) if isinstance(told, list) else None), moment.point
    if ask is None or content is None:
        return None
    if _says(content, ask):
        return FINE
    return moment.problem("the user message says something else than its prompt", ask, at)


@check("ACP-L433", failures("session/prompt"), fix="End the work with the stop reason error.")
def prompts_do_not_fail_after_they_were_taken_in(moment: Moment) -> Found:
    """Tell of errors for prompts whose message was told before."""
    ask, session = moment.ask, moment.session
    if ask is None or session is None:
        return None
    own = foreground(moment)
    other = _stray(own, ask)
    if other is not None and (own.echoes[other].content is not None or len(session.prompts) == 1):
        return moment.problem(
            f"the prompt fails, but came into the conversation as {quoted(other)}",
            ask,
            own.echoes[other].point,
        )
    return FINE


@check("ACP-L434", asks("session/prompt"), fix="Send at least one content block.")
def prompts_are_not_empty(moment: Moment) -> Found:
    """Tell of prompts of no blocks."""
    prompt: Json = moment.params.get("prompt")
    if not isinstance(prompt, list):
        return None
    return FINE if prompt else moment.problem("the prompt is empty", path="params.prompt")


@check(
    "ACP-L435",
    answers("session/prompt"),
    fix="Answer prompts with blocks that you do not take with -32602.",
)
def prompts_that_are_not_understood_are_turned_down(moment: Moment) -> Found:
    """Tell of prompts that are taken in though the agent does not take such blocks."""
    if moment.ask is None or not moment.state.is_ready:
        return None
    for block in map(members, entries(moment.ask.params.get("prompt"))):
        type_ = block.get("type")
        if not isinstance(type_, str) or type_.startswith("_") or _is_taken(moment.state, type_):
            continue
        if moment.code == INVALID_PARAMS:
            return FINE
        if moment.code in OTHER_REASONS:
            return None
        how = "taken in" if moment.kind == "result" else f"answered with {moment.code}"
        return moment.problem(
            f"a prompt with a block of type {quoted(type_)} is {how}, though the agent "
            "does not claim to take such",
            moment.ask,
        )
    return None


def _is_taken(state: State, type_: str) -> bool:
    return type_ in REQUIRED and (type_ not in NEEDED or takes(state, NEEDED[type_]))


@check(
    "ACP-L439",
    answers("session/prompt"),
    fix="Answer the prompts that a closed session still held with -32800.",
)
def held_prompts_end_with_their_session(moment: Moment) -> Found:
    """Tell of other errors for prompts that a session held when it was closed."""
    ask, session = moment.ask, moment.session
    if ask is None or session is None or session.closed is None or session.closed.n < ask.n:
        return None
    # One that came behind the request is not among those that were held.
    was_held = ask.n in moment.state.of(Endings).prompts
    if not was_held or moment.kind == "result" or moment.code == CANCELLED:
        return FINE
    return moment.problem(
        f"the prompt that the closed session held gets the error {moment.code}",
        ask,
        session.closed,
    )


@check_at_end("ACP-L439", fix="Answer the prompts that a closed session still held.")
def held_prompts_were_answered(ending: Ending) -> Found:
    """Tell of prompts that a session held when it was closed, and that got no answer."""
    found: list[Problem] = []
    for session in ending.state.sessions.values():
        if session.closed is None or ending.point.at - session.closed.at <= PATIENCE:
            continue
        found += [
            Problem("a closed session still holds a prompt", (ask.n, session.closed.n))
            for ask in session.prompts
            if ask.n < session.closed.n
        ]
    return tuple(found) or None
