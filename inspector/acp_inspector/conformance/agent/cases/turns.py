"""Cases about turns: prompts, tool calls, permissions, files, terminals, forms, cancellation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from acp_inspector.conformance.model import (
    AGENT,
    V1,
    V2,
    CaseFailedError,
    NotReachedError,
)
from acp_inspector.conformance.peer import Peer, StartedPrompt, Turn
from acp_inspector.conformance.wire import error_of
from acp_protocol.json_values import get, get_object, get_objects, get_string, get_text
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    REQUEST_CANCELLED,
    ErrorResponse,
    Json,
    SuccessResponse,
    encode_notification,
)
from acp_protocol.schema.vocabulary import FINAL_STATUSES, OUTPUT

case = AGENT.case

TURN: Final = "Prompt turn"
PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
SILENCE: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
STOP_REASONS: Final = frozenset(
    {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
)


# Prompts


@case("prompt.ends", f"{TURN}, The prompt turn lifecycle", rules=("invalid-stop-reason",))
async def prompt_ends(peer: Peer) -> None:
    """A turn ends with a stop reason of the protocol."""
    turn = await peer.turn(await peer.session(), peer.prompt_text("text"))
    if turn.stop_reason not in STOP_REASONS and not (
        peer.version == 2 and (turn.stop_reason or "_").startswith("_")
    ):
        raise CaseFailedError(f"the stop reason is {turn.stop_reason!r}")


@case("prompt.not-cancelled", f"{TURN}, Stop reasons")
async def not_cancelled(peer: Peer) -> None:
    """A turn that the client does not cancel does not end with cancelled."""
    turn = await peer.turn(await peer.session(), peer.prompt_text("text"))
    if turn.stop_reason == "cancelled":
        raise CaseFailedError("the turn ended with cancelled")


@case("prompt.again", f"{TURN}, The prompt turn lifecycle")
async def again(peer: Peer) -> None:
    """A session takes one prompt after the other."""
    session = await peer.new_session()
    for _ in range(2):
        await peer.turn(session, peer.prompt_text("text"))


@case("prompt.two-sessions", f"{TURN}; Session setup", advice=V1)
async def two_sessions(peer: Peer) -> None:
    """Turns of two sessions may run at the same time."""
    text = peer.prompt_text("text")
    sessions = [await peer.new_session() for _ in range(2)]
    prompts = [await peer.start_prompt(session, text) for session in sessions]
    for each in prompts:
        turn = await peer.finish(each)
        if isinstance(turn.reply, ErrorResponse):
            raise CaseFailedError(f"a turn failed: {turn.reply.code} {turn.reply.message}")


@case("prompt.silent-afterwards", f"{TURN}, The prompt turn lifecycle", profiles=V1)
async def silent_afterwards(peer: Peer) -> None:
    """What belongs to a turn is sent before the response that ends it."""
    session = await peer.new_session()
    await peer.turn(session, peer.prompt_text("text"))
    end = max(at for at, each in enumerate(peer.messages) if isinstance(each, SuccessResponse))
    await _expect_silence(peer, session, end)


async def _expect_silence(peer: Peer, session: str, end: int) -> None:
    await peer.settle()
    for each in peer.updates:
        if each.at > end and each.session == session and each.kind in OUTPUT:
            raise CaseFailedError(f"{each.kind} came after the end of the turn")


@case("prompt.resource-link", "Content, Resource link")
async def resource_link(peer: Peer) -> None:
    """Every agent accepts resource links."""
    link: Json = {"type": "resource_link", "name": "notes.txt", "uri": _uri(peer)}
    await peer.turn(await peer.session(), [_text(peer), link])


@case("prompt.annotations", "Content, Annotations")
async def annotated(peer: Peer) -> None:
    """Annotations and _meta of a block are no error."""
    block: Json = {
        **_text(peer),
        "annotations": {"audience": ["assistant"], "priority": 1},
        "_meta": {"example.org/from": "dictation"},
    }
    await peer.turn(await peer.session(), [block])


@case("prompt.unicode", "Transports, stdio")
async def any_characters(peer: Peer) -> None:
    """A prompt may hold any characters."""
    text = f'{peer.prompt_text("text")} \u2028 \U0001f600 e\u0301 \u0000 \\ " \u202e'
    await peer.turn(await peer.session(), text)


@case("prompt.image", "Content, Image")
async def image(peer: Peer) -> None:
    """An agent that offers images accepts one."""
    peer.require("promptCapabilities.image", "session.prompt.image")
    block: Json = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    await peer.turn(await peer.new_session(), [_text(peer), block])


@case("prompt.audio", "Content, Audio")
async def audio(peer: Peer) -> None:
    """An agent that offers audio accepts it."""
    peer.require("promptCapabilities.audio", "session.prompt.audio")
    block: Json = {"type": "audio", "mimeType": "audio/wav", "data": SILENCE}
    await peer.turn(await peer.new_session(), [_text(peer), block])


@case("prompt.embedded-text", "Content, Embedded resource")
async def embedded_text(peer: Peer) -> None:
    """An agent that offers embedded context accepts a resource with text."""
    peer.require("promptCapabilities.embeddedContext", "session.prompt.embeddedContext")
    resource: Json = {"uri": _uri(peer), "mimeType": "text/plain", "text": "three words here"}
    await peer.turn(await peer.session(), [_text(peer), {"type": "resource", "resource": resource}])


@case("prompt.embedded-blob", "Content, Embedded resource")
async def embedded_blob(peer: Peer) -> None:
    """An agent that offers embedded context accepts a resource with bytes."""
    peer.require("promptCapabilities.embeddedContext", "session.prompt.embeddedContext")
    resource: Json = {"uri": _uri(peer), "mimeType": "image/png", "blob": PIXEL}
    await peer.turn(
        await peer.new_session(), [_text(peer), {"type": "resource", "resource": resource}]
    )


def _bad_prompt(
    id_: str, sentence: str, prompt: Json, section: str = "Schema, PromptRequest"
) -> None:
    """Register a case about a prompt that is refused with -32602."""

    @case(id_, section, says=sentence)
    async def refused(peer: Peer) -> None:
        params: dict[str, Json] = {"sessionId": await peer.session()}
        if prompt is not None:
            params["prompt"] = prompt
        await peer.refused("session/prompt", params, INVALID_PARAMS)


_bad_prompt("prompt.missing", "A prompt without content is refused with -32602.", None)
_bad_prompt("prompt.no-list", "A prompt that is a string is refused with -32602.", "hello")
_bad_prompt(
    "prompt.block-no-type",
    "A content block without a type is refused with -32602.",
    [{"text": "hello"}],
)
_bad_prompt(
    "prompt.block-no-text",
    "A text block without its text is refused with -32602.",
    [{"type": "text"}],
)
_bad_prompt(
    "prompt.block-unknown",
    "A content block of an unknown type is refused with -32602.",
    [{"type": "hologram", "data": "x"}],
    "Content",
)
_bad_prompt(
    "prompt.link-no-uri",
    "A resource link without its uri is refused with -32602.",
    [{"type": "resource_link", "name": "notes"}],
)


@case("prompt.no-session-id", "Schema, PromptRequest", unlike=("continuum",))
async def no_session_id(peer: Peer) -> None:
    """A prompt that names no session is refused with -32602."""
    await peer.refused("session/prompt", {"prompt": [_text(peer)]}, INVALID_PARAMS)


@case("prompt.after-refusal", f"{TURN}, Errors")
async def after_refusal(peer: Peer) -> None:
    """After a prompt that was refused, the session takes the next one."""
    session = await peer.new_session()
    params: Json = {"sessionId": session, "prompt": "no list"}
    await peer.request("session/prompt", params)
    await peer.turn(session, peer.prompt_text("text"))


@case("prompt.image-not-offered", profiles=V2, rules=("unsupported-block-accepted",))
async def image_not_offered(peer: Peer) -> None:
    offered = [
        name for name in ("image", "audio") if peer.offers("", f"session.prompt.{name}") is not None
    ]
    kind = next((name for name in ("image", "audio") if name not in offered), None)
    if kind is None:
        raise NotReachedError("the agent offers every kind of block")
    block: Json = {"type": kind, "mimeType": f"{kind}/png", "data": PIXEL}
    params: Json = {"sessionId": await peer.session(), "prompt": [block]}
    await peer.refused("session/prompt", params, INVALID_PARAMS)


@case(
    "prompt.message-id",
    "Prompt lifecycle, Prompts (version 2)",
    profiles=V2,
    rules=(
        "stop-reason-in-result",
        "prompt-not-echoed",
        "prompt-result-without-id",
        "echo-with-other-id",
        "echoed-prompt-fails",
    ),
    unlike=("v2-batch",),
)
async def message_id(peer: Peer) -> None:
    """The response to a prompt names the message, and the message is sent with that id."""
    turn = await peer.turn(await peer.session(), peer.prompt_text("text"))
    assert isinstance(turn.reply, SuccessResponse)
    id_ = get_text(turn.reply.result, "messageId")
    if not id_:
        raise CaseFailedError("the result of session/prompt has no messageId")
    echoes = [each for each in turn.updates if each.kind.startswith("user_message")]
    if not any(each.body.get("messageId") == id_ for each in echoes):
        raise CaseFailedError("the user's message was not sent with that id")


@case(
    "prompt.running-first",
    "Prompt lifecycle, States (version 2)",
    profiles=V2,
    rules=(
        "prompt-result-after-work",
        "output-before-running",
        "work-not-ended",
        "requires-action-without-end",
    ),
)
async def running_first(peer: Peer) -> None:
    """Work begins with a state_update running and ends with idle."""
    turn = await peer.turn(await peer.session(), peer.prompt_text("text"))
    states = [each.body.get("state") for each in turn.updates if each.kind == "state_update"]
    if states[:1] not in (["running"], ["requires_action"]):
        raise CaseFailedError("no state_update running came before idle")


# Cancellation


def _expect_cancelled(turn: Turn) -> None:
    if isinstance(turn.reply, ErrorResponse):
        raise CaseFailedError(
            f"the cancelled prompt failed with {turn.reply.code} {turn.reply.message}"
        )
    if turn.stop_reason != "cancelled":
        raise CaseFailedError(f"the stop reason is {turn.stop_reason!r}, not cancelled")


@case("cancel.ends-turn", f"{TURN}, Cancellation", own=True)
async def cancel_ends_turn(peer: Peer) -> None:
    """A turn that the client cancels ends with the stop reason cancelled, not with an error."""
    prompt = await peer.start_slow()
    await peer.notify("session/cancel", {"sessionId": prompt.session})
    _expect_cancelled(await peer.finish(prompt))


@case("cancel.goes-on", f"{TURN}, Cancellation", own=True)
async def cancel_goes_on(peer: Peer) -> None:
    """After a cancelled turn the session takes the next prompt."""
    prompt = await peer.start_slow()
    await peer.notify("session/cancel", {"sessionId": prompt.session})
    await peer.finish(prompt)
    turn = await peer.turn(prompt.session, peer.prompt_text("text"))
    if turn.stop_reason == "cancelled":
        raise CaseFailedError("the next turn was cancelled too")


@case("cancel.twice", f"{TURN}, Cancellation", own=True)
async def cancel_twice(peer: Peer) -> None:
    """Cancelling a turn twice gives one response."""
    prompt = await peer.start_slow()
    for _ in range(2):
        await peer.notify("session/cancel", {"sessionId": prompt.session})
    await peer.finish(prompt)
    await peer.settle()
    replies = [
        each
        for each in peer.messages
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id == prompt.id
    ]
    if len(replies) != 1:
        raise CaseFailedError(f"the prompt got {len(replies)} responses")


@case("cancel.idle", f"{TURN}, Cancellation")
async def cancel_idle(peer: Peer) -> None:
    """Cancelling a session without a running turn has no effect."""
    session = await peer.new_session()
    await peer.notify("session/cancel", {"sessionId": session})
    await peer.ping()
    turn = await peer.turn(session, peer.prompt_text("text"))
    if turn.stop_reason == "cancelled":
        raise CaseFailedError("the prompt after it was cancelled")


def _cancel(session: str) -> bytes:
    return encode_notification("session/cancel", {"sessionId": session})


@case("cancel.same-write", f"{TURN}, Cancellation", own=True, is_official=True)
async def cancel_same_write(peer: Peer) -> None:
    """A cancellation that comes with the prompt ends the turn."""
    is_slow = "slow" in peer.options.prompts
    text = peer.prompt_text("slow" if is_slow else "text")
    if is_slow:
        # Unless the turn takes long by itself, its end says nothing about the cancellation.
        slow = await peer.start_slow()
        await peer.notify("session/cancel", {"sessionId": slow.session})
    session = await peer.new_session()
    turn = await peer.finish(await peer.start_prompt(session, text, after=[_cancel(session)]))
    if is_slow or isinstance(turn.reply, ErrorResponse):
        # A short turn may be over before the agent reads on.
        _expect_cancelled(turn)


@case("cancel.after-end", f"{TURN}, Cancellation", own=True)
async def cancel_after_end(peer: Peer) -> None:
    """A cancellation that crosses the end of the turn does not cancel the next one."""
    session = await peer.new_session()
    text = peer.prompt_text("text")
    await peer.setup_turn(session, text)
    at = len(peer.messages)
    await peer.notify("session/cancel", {"sessionId": session})
    await peer.ping()
    if any(isinstance(each, ErrorResponse) and each.id is None for each in peer.messages[at:]):
        raise CaseFailedError("session/cancel got a response")
    turn = await peer.turn(session, text)
    if turn.stop_reason == "cancelled":
        raise CaseFailedError("the next turn was cancelled")


@case("cancel.then-prompt", f"{TURN}, Cancellation", profiles=V1, own=True, is_official=True)
async def cancel_then_prompt(peer: Peer) -> None:
    """A prompt that follows a cancellation at once gets a turn of its own, or an error."""
    prompt = await peer.start_slow()
    text = peer.prompt_text("text")
    cancel = _cancel(prompt.session)
    following = await peer.start_prompt(prompt.session, text, before=[cancel])
    await peer.finish(prompt)
    turn = await peer.finish(following)
    if turn.stop_reason == "cancelled":
        raise CaseFailedError("the prompt after the cancellation was cancelled, too")
    if isinstance(turn.reply, ErrorResponse):
        # It may take one prompt at a time; then the next one has to do.
        await peer.turn(prompt.session, text)


@case("cancel.only-its-session", f"{TURN}, Cancellation", own=True)
async def cancel_only_its_session(peer: Peer) -> None:
    """Cancelling one session does not end the turn of another one."""
    await peer.open()
    other = await peer.new_session()
    prompt = await peer.start_slow()
    await peer.notify("session/cancel", {"sessionId": other})
    await _expect_running(peer, prompt)


@case("session.new-during-turn", f"{TURN}; Session setup", own=True)
async def new_during_turn(peer: Peer) -> None:
    """A new session does not end the running turn of another one."""
    prompt = await peer.start_slow()
    await peer.new_session()
    await _expect_running(peer, prompt)


async def _expect_running(peer: Peer, prompt: StartedPrompt) -> None:
    """Expect that a turn still runs, and cancel it."""
    await peer.settle()
    is_over = peer.is_over(prompt)
    await peer.notify("session/cancel", {"sessionId": prompt.session})
    turn = await peer.finish(prompt)
    if is_over and turn.stop_reason != "cancelled":
        raise NotReachedError("the turn ended by itself")
    if is_over:
        raise CaseFailedError("the turn of the other session ended")


@case("cancel.silent-afterwards", profiles=V1, rules=("update-after-cancelled-turn",), own=True)
async def cancel_silent_afterwards(peer: Peer) -> None:
    prompt = await peer.start_slow()
    await peer.notify("session/cancel", {"sessionId": prompt.session})
    await peer.finish(prompt)
    end = next(
        at
        for at, each in enumerate(peer.messages)
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id == prompt.id
    )
    await _expect_silence(peer, prompt.session, end)


@case("cancel-request.prompt", "Cancellation", rules=("cancelled-request-unanswered",), own=True)
async def cancel_request_prompt(peer: Peer) -> None:
    """A prompt that $/cancel_request names still gets exactly one response."""
    prompt = await peer.start_slow()
    await peer.notify("$/cancel_request", {"requestId": prompt.id})
    await peer.ping()
    # An agent need not support it: then the turn is ended the usual way.
    await peer.notify("session/cancel", {"sessionId": prompt.session})
    reply = (await peer.finish(prompt)).reply
    if isinstance(reply, ErrorResponse):
        error_of(reply, "the cancelled prompt", REQUEST_CANCELLED)


@case(
    "cancel.permission",
    f"{TURN}, Cancellation",
    rules=(
        "cancel-not-confirmed",
        "cancelled-prompt-fails",
        "idle-without-cancelled",
        "update-after-cancelled-work",
    ),
    own=True,
)
async def cancel_permission(peer: Peer) -> None:
    """A turn that is cancelled while a permission is requested ends with cancelled."""
    text = peer.prompt_text("permission")
    session = await peer.new_session()
    peer.permission = "hold"
    prompt = await peer.start_prompt(session, text)
    await _await_permission(peer, prompt)
    await peer.notify("session/cancel", {"sessionId": session})
    await peer.release("cancel")
    _expect_cancelled(await peer.finish(prompt))


# Tool calls


async def _await_permission(peer: Peer, prompt: StartedPrompt) -> None:
    """Wait for a permission request; the turn may also end without one."""

    def found() -> bool | None:
        if peer.held:
            return True
        return False if peer.is_over(prompt) else None

    if not await peer.wait_for(found, "a permission request"):
        raise NotReachedError("no permission was requested")


def _calls(turn: Turn) -> dict[str, list[str]]:
    """Return the statuses of each tool call, in order."""
    found: dict[str, list[str]] = {}
    for each in turn.updates:
        if each.kind in {"tool_call", "tool_call_update"}:
            id_ = get_string(dict(each.body), "toolCallId")
            statuses = found.setdefault(id_, [])
            if status := get_text(dict(each.body), "status"):
                statuses.append(status)
    return found


async def _tool_turn(peer: Peer, kind: str) -> Turn:
    text = peer.prompt_text(kind)
    turn = await peer.setup_turn(await peer.new_session(), text)
    if not _calls(turn):
        raise NotReachedError(f"the prompt for {kind} led to no tool call")
    return turn


@case("tool-call.finished", "Tool calls, Status")
async def tool_call_finished(peer: Peer) -> None:
    """No tool call is left pending or in progress at the end of a turn."""
    _expect_finished(await _tool_turn(peer, "tool"))


@case("tool-call.command-finished", "Tool calls, Status")
async def command_finished(peer: Peer) -> None:
    """No tool call that runs a command is left pending or in progress at the end of a turn."""
    _expect_finished(await _tool_turn(peer, "terminal"))


def _expect_finished(turn: Turn) -> None:
    for id_, statuses in _calls(turn).items():
        if not statuses or statuses[-1] not in FINAL_STATUSES:
            state = statuses[-1] if statuses else "pending"
            raise CaseFailedError(f"the tool call {id_} is still {state}")


def _permission_requests(turn: Turn) -> list[dict[str, Json]]:
    found = [each for each in turn.requests if each.method == "session/request_permission"]
    if not found:
        raise NotReachedError("no permission was requested")
    return [dict(get_object({"params": each.params}, "params")) for each in found]


def _call_of(peer: Peer, request: dict[str, Json]) -> str:
    call = (
        get(request, "toolCall") if peer.version == 1 else get(get(request, "subject"), "toolCall")
    )
    return get_string(call, "toolCallId")


@case("permission.allowed", "Tool calls, Requesting permission", own=True)
async def permission_allowed(peer: Peer) -> None:
    """A tool call that is allowed is carried out, and the turn ends."""
    turn = await _tool_turn(peer, "permission")
    requested = {_call_of(peer, each) for each in _permission_requests(turn)}
    calls = _calls(turn)
    if not any(calls.get(id_, [""])[-1:] in (["completed"], ["failed"]) for id_ in requested):
        raise CaseFailedError("the allowed tool call was never completed or failed")


@case(
    "permission.rejected",
    "Tool calls, Requesting permission",
    rules=("runs-after-rejection", "runs-without-approval"),
    own=True,
    unlike=("acpex", "openoxide"),
)
async def permission_rejected(peer: Peer) -> None:
    """A tool call that is rejected is not carried out, and the turn ends."""
    await peer.open()
    peer.permission = "reject"
    await _expect_not_done(peer)


async def _expect_not_done(peer: Peer) -> None:
    before = (peer.directory / "notes.txt").read_bytes()
    turn = await peer.prompt(await peer.new_session(), peer.prompt_text("permission"))
    requests = _permission_requests(turn)
    calls = _calls(turn)
    for request in requests:
        if "completed" in calls.get(_call_of(peer, request), []):
            raise CaseFailedError("the tool call was completed all the same")
    if (peer.directory / "notes.txt").read_bytes() != before:
        raise CaseFailedError("the file was changed all the same")


@case(
    "permission.dialog-failed",
    "Tool calls, Requesting permission",
    own=True,
    unlike=("acpex", "openoxide"),
)
async def permission_failed(peer: Peer) -> None:
    """A permission request that fails is no permission, and the turn ends."""
    await peer.open()
    peer.permission = "fail"
    await _expect_not_done(peer)


@case(
    "permission.options",
    "Tool calls, Permission options",
    rules=(
        "no-permission-options",
        "duplicate-permission-option",
        "incomplete-permission-option",
        "unknown-option-kind",
    ),
    own=True,
)
async def permission_options(peer: Peer) -> None:
    """A permission request has options with ids of their own, names and kinds."""
    turn = await _tool_turn(peer, "permission")
    for request in _permission_requests(turn):
        options = get_objects(request, "options")
        ids = [get_text(each, "optionId") for each in options]
        if not ids or len(set(ids)) != len(ids):
            raise CaseFailedError("there is no option, or two have the same id")


# Files and terminals


def _gated(id_: str, prefix: str, kind: str, what: str, *rules: str) -> None:
    """Register a case about requests that a client without the capability must not get."""

    @case(
        id_,
        "Initialization, Client capabilities",
        says=f"A client that does not offer {what} gets no request for it.",
        own=True,
        is_bare=True,
        rules=rules,
        profiles=V1 if prefix != "elicitation/" else ("v1", "v1-unstable", "v2"),
    )
    async def gated(peer: Peer) -> None:
        text = peer.prompt_text(kind)
        turn = await peer.prompt(await peer.new_session(), text)
        sent = [each.method for each in turn.requests if each.method.startswith(prefix)]
        if sent:
            raise CaseFailedError(f"{sent[0]} was sent, which the client does not offer")


_gated("files.not-offered", "fs/", "tool", "files", "undeclared-file-read")
_gated(
    "files.write-not-offered", "fs/write", "permission", "writing files", "undeclared-file-write"
)
_gated("terminal.not-offered", "terminal/", "terminal", "terminals", "undeclared-terminal")
_gated(
    "elicitation.not-offered",
    "elicitation/",
    "elicitation",
    "forms",
    "undeclared-form",
    "undeclared-url",
)


@case("files.refused", "File system", profiles=V1, own=True)
async def files_refused(peer: Peer) -> None:
    """A file request that fails does not keep the turn from ending."""
    await peer.open()
    peer.refuses_files = True
    # Some agents read files themselves, and only write them by the client.
    for kind in ("tool", "permission"):
        turn = await peer.prompt(await peer.new_session(), peer.prompt_text(kind))
        if any(each.method.startswith("fs/") for each in turn.requests):
            return
    raise NotReachedError("the agent requested no file")


def _terminal_case(
    id_: str, sentence: str, section: str, look: Callable[[list[str], Turn], str | None]
) -> None:
    @case(id_, section, says=sentence, profiles=V1, own=True)
    async def look_at_terminals(peer: Peer) -> None:
        turn = await peer.setup_turn(await peer.new_session(), peer.prompt_text("terminal"))
        methods = [each.method for each in turn.requests if each.method.startswith("terminal/")]
        if not methods:
            raise NotReachedError("the agent used no terminal of the client")
        await peer.settle()
        methods = [each.method for each in peer.requests if each.method.startswith("terminal/")]
        if problem := look(methods, turn):
            raise CaseFailedError(problem)


def _unreleased(methods: list[str], turn: Turn) -> str | None:
    del turn
    created, released = methods.count("terminal/create"), methods.count("terminal/release")
    return f"{created} created, {released} released" if released < created else None


_terminal_case(
    "terminal.released",
    "Every terminal that the agent creates is released.",
    "Terminals, Releasing terminals",
    _unreleased,
)


# Forms


@case("elicitation.declined", "Elicitation", own=True)
async def elicitation_declined(peer: Peer) -> None:
    """A form that the user declines does not keep the turn from ending."""
    text = peer.prompt_text("elicitation")
    turn = await peer.prompt(await peer.new_session(), text)
    if not any(each.method == "elicitation/create" for each in turn.requests):
        raise NotReachedError("the agent showed no form")


@case("elicitation.cancelled", "Elicitation", own=True)
async def elicitation_cancelled(peer: Peer) -> None:
    """A form that the user cancels does not keep the turn from ending."""
    await peer.open()
    text = peer.prompt_text("elicitation")
    peer.elicitation = "cancel"
    turn = await peer.prompt(await peer.new_session(), text)
    if not any(each.method == "elicitation/create" for each in turn.requests):
        raise NotReachedError("the agent showed no form")


@case(
    "plan.sent",
    "Agent plan",
    rules=(
        "incomplete-plan-entry",
        "unknown-plan-word",
        "plan-entry-not-object",
        "incomplete-plan",
        "misnamed-plan-id",
    ),
)
async def plan_sent(peer: Peer) -> None:
    """A plan is a list of entries, each with content, priority and status."""
    text = peer.prompt_text("plan")
    turn = await peer.setup_turn(await peer.session(), text)
    if not any(each.kind in {"plan", "plan_update"} for each in turn.updates):
        raise NotReachedError("the prompt led to no plan")


# Version 2


@case(
    "entity-cancel.unknown-call",
    profiles=V2,
    rules=("invalid-cancel-accepted",),
    unlike=("v2-batch",),
)
async def unknown_call(peer: Peer) -> None:
    params: Json = {"sessionId": await peer.session(), "toolCallId": "no-such-call"}
    await peer.refused("tool_call/cancel", params, INVALID_PARAMS)


@case(
    "entity-cancel.unknown-terminal",
    "Terminals, Cancellation (version 2)",
    profiles=V2,
    unlike=("v2-batch",),
)
async def unknown_terminal(peer: Peer) -> None:
    """Cancelling a terminal that does not exist is refused with -32602."""
    params: Json = {"sessionId": await peer.session(), "terminalId": "no-such-terminal"}
    await peer.refused("terminal/cancel", params, INVALID_PARAMS)


def _text(peer: Peer) -> dict[str, Json]:
    return {"type": "text", "text": peer.prompt_text("text")}


def _uri(peer: Peer) -> str:
    return (peer.directory / "notes.txt").as_uri()
