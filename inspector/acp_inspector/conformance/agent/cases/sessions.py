"""Cases about sessions: new, load, resume, list, close, delete, modes and options."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio

from acp_inspector.conformance.model import (
    AGENT,
    PROFILES,
    UNSTABLE,
    V1,
    V2,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
)
from acp_inspector.conformance.peer import Peer, Update
from acp_inspector.conformance.wire import Reply, becomes_true, error_of, result_of
from acp_protocol.json_values import get_list, get_object, get_objects, get_string, get_text
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ErrorResponse,
    Json,
    SuccessResponse,
)
from acp_protocol.schema.vocabulary import OUTPUT, USER_MESSAGES

case = AGENT.case

SETUP: Final = "Session setup"
HISTORY: Final = OUTPUT | USER_MESSAGES
"""Updates that repeat what was said."""
NO_SESSION: Final = "no-such-session-0000"


# New sessions


@case("session.new", f"{SETUP}, Creating a session")
async def new(peer: Peer) -> None:
    """session/new returns the id of the session."""
    await peer.create_session()


@case("session.new-unique", rules=("duplicate-session-id",))
async def new_unique(peer: Peer) -> None:
    ids = [await peer.new_session() for _ in range(3)]
    if len(set(ids)) < 3:
        raise CaseFailedError("two sessions have the same id")


@case("session.new-no-cwd", "Schema, NewSessionRequest", unlike=("continuum", "openoxide"))
async def new_no_cwd(peer: Peer) -> None:
    """session/new without a working directory is refused with -32602."""
    await peer.refused("session/new", {"mcpServers": []}, INVALID_PARAMS)


@case(
    "session.new-relative-cwd",
    f"{SETUP}, Working directory",
    unlike=("continuum",),
    advice=PROFILES,
)
async def new_relative_cwd(peer: Peer) -> None:
    """A working directory that is not an absolute path is refused."""
    await peer.refused("session/new", {"cwd": "somewhere/else", "mcpServers": []})


@case(
    "session.new-bad-servers", rules=("malformed-list-accepted",), unlike=("continuum", "openoxide")
)
async def new_bad_servers(peer: Peer) -> None:
    params: Json = {"cwd": str(peer.directory), "mcpServers": "none"}
    await peer.refused("session/new", params, INVALID_PARAMS)


@case("session.new-unknown-transport", profiles=V2, rules=("unsupported-transport-accepted",))
async def new_unknown_transport(peer: Peer) -> None:
    server: Json = {"type": "_pigeon", "name": "birds"}
    params: Json = {"cwd": str(peer.directory), "mcpServers": [server]}
    await peer.refused("session/new", params, INVALID_PARAMS)


@case("session.new-relative-root", rules=("invalid-directory-ignored",))
async def new_relative_root(peer: Peer) -> None:
    peer.require("sessionCapabilities.additionalDirectories", "session.additionalDirectories")
    params: Json = {
        "cwd": str(peer.directory),
        "mcpServers": [],
        "additionalDirectories": ["not/absolute"],
    }
    await peer.refused("session/new", params)


@case("session.new-roots", f"{SETUP}, Additional directories")
async def new_roots(peer: Peer) -> None:
    """An agent that offers additional directories accepts some."""
    peer.require("sessionCapabilities.additionalDirectories", "session.additionalDirectories")
    more = anyio.Path(peer.directory / "more")
    await more.mkdir(exist_ok=True)
    await peer.create_session(additionalDirectories=[str(more)])


@case("session.unknown-prompt", f"{SETUP}, Session id")
async def unknown_prompt(peer: Peer) -> None:
    """A prompt for a session that does not exist is refused."""
    turn = await peer.prompt(NO_SESSION, "hello")
    if isinstance(turn.reply, SuccessResponse) and (turn.stop_reason != "refusal" or turn.updates):
        raise CaseFailedError("the prompt was carried out")


@case(
    "session.unknown-prompt-code", "Error codes", profiles=V2, rules=("not-found-without-session",)
)
async def unknown_prompt_code(peer: Peer) -> None:
    """The error for a session that does not exist is -32002."""
    blocks: Json = [{"type": "text", "text": "hello"}]
    params: Json = {"sessionId": NO_SESSION, "prompt": blocks}
    error = await peer.refused("session/prompt", params, RESOURCE_NOT_FOUND)
    if get_text(error.data, "sessionId") != NO_SESSION:
        raise CaseFailedError("data.sessionId does not repeat the session's id")


@case("session.unknown-cancel", "Prompt turn, Cancellation")
async def unknown_cancel(peer: Peer) -> None:
    """session/cancel for a session that does not exist is ignored."""
    at = len(peer.messages)
    await peer.notify("session/cancel", {"sessionId": NO_SESSION})
    await peer.settle()
    if any(isinstance(each, ErrorResponse) and each.id is None for each in peer.messages[at:]):
        raise CaseFailedError("session/cancel got a response")


# Load and resume


def _history(updates: list[Update], session: str, begin: int, end: int) -> list[Update]:
    return [
        each
        for each in updates
        if each.session == session and begin <= each.at < end and each.kind in HISTORY
    ]


async def _talked_session(peer: Peer) -> str:
    """Return a session with one turn behind it."""
    session = await peer.new_session()
    await peer.setup_turn(session, peer.prompt_text("text"))
    return session


def _reopen_params(peer: Peer, session: str, *, replays: bool) -> dict[str, Json]:
    params: dict[str, Json] = {"sessionId": session, "cwd": str(peer.directory), "mcpServers": []}
    if peer.version == 2 and replays:
        params["replayFrom"] = {"type": "start"}
    return params


def _load_method(peer: Peer) -> str:
    peer.require("loadSession", "-")
    return "session/load" if peer.version == 1 else "session/resume"


async def _close_if_possible(peer: Peer, session: str) -> None:
    """Close a session, so that it can be opened again."""
    if peer.version == 2 or peer.offers("sessionCapabilities.close") is not None:
        await _close(peer, session)


@asynccontextmanager
async def _reopened(peer: Peer, method: str, *, replays: bool) -> AsyncGenerator[Reopened]:
    """Talk in a session, open it again, and yield what came of it.

    Without session/close the agent is restarted: what is still open need not be loadable. If it
    does not know the session then, it may keep sessions in memory only.
    """
    session = await _talked_session(peer)
    if peer.version == 2 or peer.offers("sessionCapabilities.close") is not None:
        await _close(peer, session)
        at = len(peer.messages)
        await peer.result(method, _reopen_params(peer, session, replays=replays))
        yield Reopened(peer, session, at)
        return
    async with peer.restarted() as later:
        await later.open()
        at = len(later.messages)
        reply = await later.request(method, _reopen_params(later, session, replays=replays))
        if isinstance(reply, ErrorResponse):
            session = await _talked_session(later)
            at = len(later.messages)
            await later.result(method, _reopen_params(later, session, replays=replays))
        yield Reopened(later, session, at)


@dataclass(frozen=True, slots=True)
class Reopened:
    """A session that was opened again."""

    peer: Peer
    session: str
    at: int
    """The place of the first message after the request."""

    def history(self) -> tuple[list[Update], list[Update]]:
        """Return what was repeated of the conversation, before and after the response."""
        messages = self.peer.messages
        end = next(
            at for at in range(self.at, len(messages)) if isinstance(messages[at], SuccessResponse)
        )
        updates = _history(self.peer.updates, self.session, self.at, len(messages))
        return [u for u in updates if u.at < end], [u for u in updates if u.at > end]


async def _close(peer: Peer, session: str) -> None:
    if isinstance(await peer.request("session/close", {"sessionId": session}), ErrorResponse):
        raise NotReachedError("the session could not be closed")


@case(
    "load.replays",
    rules=("missing-replay",),
    own=True,
    unlike=("continuum",),
    is_about_order=True,
)
async def load_replays(peer: Peer) -> None:
    await peer.open()
    method = _load_method(peer)
    async with _reopened(peer, method, replays=True) as again:
        ours = [each.body for each in again.history()[0] if each.kind.startswith("user_message")]
    # An agent may send words of its own as the user, and blanks may change.
    words = "".join("".join(_texts(each)) for each in ours).split()
    if "".join(peer.prompt_text("text").split()) not in "".join(words):
        raise CaseFailedError("the user's message was not sent again before the response")


def _texts(body: Mapping[str, Json]) -> list[str]:
    """Return the texts of a message or chunk."""
    blocks = get_objects(dict(body), "content") or [get_object(dict(body), "content")]
    return [get_string(each, "text") for each in blocks]


@case(
    "load.nothing-after",
    f"{SETUP}, Loading sessions",
    own=True,
    unlike=("continuum",),
    is_about_order=True,
)
async def load_nothing_after(peer: Peer) -> None:
    """Nothing of the conversation is sent again after the response to the load."""
    await peer.open()
    method = _load_method(peer)
    async with _reopened(peer, method, replays=True) as again:
        await again.peer.settle()
        if again.history()[1]:
            raise CaseFailedError("parts of the conversation were sent after the response")


@case("load.goes-on", f"{SETUP}, Loading sessions", own=True)
async def load_goes_on(peer: Peer) -> None:
    """A session that was loaded takes prompts."""
    await peer.open()
    method = _load_method(peer)
    async with _reopened(peer, method, replays=True) as again:
        await again.peer.turn(again.session, peer.prompt_text("text"))


@case("load.unknown", f"{SETUP}, Loading sessions")
async def load_unknown(peer: Peer) -> None:
    """Loading a session that does not exist fails."""
    method = _load_method(peer)
    await peer.refused(method, _reopen_params(peer, NO_SESSION, replays=True))


@case("load.no-session-id", "Schema, LoadSessionRequest")
async def load_no_session_id(peer: Peer) -> None:
    """Loading without the id of a session is refused with -32602."""
    method = _load_method(peer)
    params: Json = {"cwd": str(peer.directory), "mcpServers": []}
    await peer.refused(method, params, INVALID_PARAMS)


@case("resume.no-replay", rules=("resume-replays-history", "unrequested-replay"), own=True)
async def resume_no_replay(peer: Peer) -> None:
    await peer.open()
    peer.require("sessionCapabilities.resume", "-")
    async with _reopened(peer, "session/resume", replays=False) as again:
        if again.history()[0]:
            raise CaseFailedError("parts of the conversation were sent again")


@case("resume.goes-on", f"{SETUP}, Resuming sessions", own=True)
async def resume_goes_on(peer: Peer) -> None:
    """A session that was resumed takes prompts."""
    await peer.open()
    peer.require("sessionCapabilities.resume", "-")
    async with _reopened(peer, "session/resume", replays=False) as again:
        await again.peer.turn(again.session, peer.prompt_text("text"))


@case("resume.unknown", f"{SETUP}, Resuming sessions")
async def resume_unknown(peer: Peer) -> None:
    """Resuming a session that does not exist fails."""
    peer.require("sessionCapabilities.resume", "-")
    await peer.refused("session/resume", _reopen_params(peer, NO_SESSION, replays=False))


@case("resume.state", profiles=V2, rules=("resume-without-state",), own=True)
async def resume_state(peer: Peer) -> None:
    await peer.open()
    session = await _talked_session(peer)
    await _close_if_possible(peer, session)
    begin = len(peer.messages)
    await peer.result("session/resume", _reopen_params(peer, session, replays=False))
    states = [each for each in peer.updates if each.at >= begin and each.kind == "state_update"]
    if not any(each.session == session for each in states):
        raise CaseFailedError("no state_update came before the response")


@case("resume.bad-cursor", profiles=V2, rules=("replay-cursor-not-refused",), own=True)
async def resume_bad_cursor(peer: Peer) -> None:
    await peer.open()
    session = await _talked_session(peer)
    await _close_if_possible(peer, session)
    params = {
        **_reopen_params(peer, session, replays=False),
        "replayFrom": {"type": "_middle"},
    }
    await peer.refused("session/resume", params, INVALID_PARAMS)


# List


@case(
    "list.is-list",
    "Session list",
    rules=("sessions-not-list", "incomplete-listed-session", "undeclared-listed-directories"),
)
async def is_list(peer: Peer) -> None:
    """session/list returns a list of sessions."""
    peer.require("sessionCapabilities.list", "-")
    result = await peer.result("session/list", {})
    if not isinstance(result.get("sessions"), list):
        raise CaseFailedError("the result has no list of sessions")


async def _listed(peer: Peer, **params: Json) -> list[str]:
    """Return the ids of all sessions, page by page."""
    ids: list[str] = []
    for _ in range(50):
        result = await peer.result("session/list", params)
        if not isinstance(result.get("sessions"), list):
            raise NotReachedError("session/list returned no list")
        ids += [get_string(each, "sessionId") for each in get_objects(dict(result), "sessions")]
        cursor = result.get("nextCursor")
        if cursor is None:
            break
        params = {**params, "cursor": cursor}
    return ids


@case("list.holds-session", "Session list", own=True)
async def holds_session(peer: Peer) -> None:
    """A session with a turn behind it is in the list."""
    await peer.open()
    peer.require("sessionCapabilities.list", "-")
    if not await _is_listed(peer, await _talked_session(peer)):
        raise CaseFailedError(
            f"the session is not in the list within {peer.options.list_wait:g} s after its turn"
        )


async def _is_listed(peer: Peer, session: str, **params: Json) -> bool:
    """Return whether a session is in the list, or soon is: some agents write it a little later."""

    async def is_there() -> bool:
        return session in await _listed(peer, **params)

    return await becomes_true(is_there, peer.options.list_wait, attempts=10)


@case("list.by-directory", rules=("session-of-other-directory",), own=True)
async def by_directory(peer: Peer) -> None:
    await peer.open()
    peer.require("sessionCapabilities.list", "-")
    session = await _talked_session(peer)
    other = anyio.Path(peer.directory / "elsewhere")
    await other.mkdir()
    if not await _is_listed(peer, session, cwd=str(peer.directory)):
        raise NotReachedError("the session is not in the list of its own directory")
    if session in await _listed(peer, cwd=str(other)):
        raise CaseFailedError("a session of another directory is in the list")


@case("list.pages-end", "Session list, Pagination", own=True)
async def pages_end(peer: Peer) -> None:
    """Following nextCursor comes to an end, and no session comes twice."""
    await peer.open()
    peer.require("sessionCapabilities.list", "-")
    for _ in range(2):
        await _talked_session(peer)
    ids = await _listed(peer)
    if len(ids) != len(set(ids)):
        raise CaseFailedError("a session is listed twice")


@case("list.bad-cursor", "Session list, Pagination")
async def bad_cursor(peer: Peer) -> None:
    """A cursor that the agent never gave should be refused."""
    peer.require("sessionCapabilities.list", "-")
    await peer.refused("session/list", {"cursor": "%%% no cursor %%%"})


# Close and delete


@case("close.succeeds", f"{SETUP}, Closing sessions")
async def close_succeeds(peer: Peer) -> None:
    """An open session can be closed."""
    peer.require("sessionCapabilities.close", "-")
    await peer.result("session/close", {"sessionId": await peer.new_session()})


@case("close.ends", f"{SETUP}, Closing sessions")
async def close_ends(peer: Peer) -> None:
    """A closed session takes no prompt until it is opened again."""
    peer.require("sessionCapabilities.close", "-")
    session = await peer.new_session()
    await _close(peer, session)
    reply = await peer.request(
        "session/prompt",
        {"sessionId": session, "prompt": [{"type": "text", "text": peer.prompt_text("text")}]},
    )
    error_of(reply, "a prompt for a closed session")


@case("close.cancels", rules=("close-without-cancelled", "close-without-idle"), own=True)
async def close_cancels(peer: Peer) -> None:
    await peer.open()
    peer.require("sessionCapabilities.close", "-")
    prompt = await peer.start_slow()
    await peer.result("session/close", {"sessionId": prompt.session})
    turn = await peer.finish(prompt)
    if turn.stop_reason != "cancelled":
        raise CaseFailedError(f"the turn ended with {turn.stop_reason}, not with cancelled")


@case("close.silent", profiles=V2, rules=("message-after-close",))
async def close_silent(peer: Peer) -> None:
    peer.require("sessionCapabilities.close", "-")
    session = await _talked_session(peer)
    await _close(peer, session)
    messages = peer.messages
    end = max(at for at, each in enumerate(messages) if isinstance(each, SuccessResponse))
    await peer.settle()
    if any(each.session == session and each.at > end for each in peer.updates):
        raise CaseFailedError("an update came after the session was closed")


@case("delete.forgets", rules=("deleted-session-listed",), own=True)
async def delete_forgets(peer: Peer) -> None:
    await peer.open()
    peer.require("sessionCapabilities.delete", "session.delete")
    session = await _talked_session(peer)
    await _close_if_possible(peer, session)
    await peer.result("session/delete", {"sessionId": session})
    peer.require("sessionCapabilities.list", "-")
    if session in await _listed(peer):
        raise CaseFailedError("the deleted session is in the list")


@case("delete.twice", "Session delete")
async def delete_twice(peer: Peer) -> None:
    """Deleting a session that does not exist should succeed."""
    peer.require("sessionCapabilities.delete", "session.delete")
    await peer.result("session/delete", {"sessionId": NO_SESSION})


# Modes and options


def _modes(peer: Peer, session: str) -> tuple[list[str], str | None]:
    modes = get_object(dict(peer.opened[session]), "modes")
    ids = [get_string(each, "id") for each in get_objects(modes, "availableModes")]
    if not ids:
        raise NotOfferedError("the session has no modes")
    return ids, get_text(modes, "currentModeId")


@case("modes.current", profiles=V1, rules=("unknown-current-mode", "duplicate-mode"))
async def modes_current(peer: Peer) -> None:
    ids, current = _modes(peer, await peer.session())
    if current not in ids:
        raise CaseFailedError(f"the current mode {current!r} is not available")


@case("modes.set", "Session modes, Setting the mode", profiles=V1)
async def modes_set(peer: Peer) -> None:
    """Every available mode can be set."""
    session = await peer.new_session()
    ids, _ = _modes(peer, session)
    for mode in [*ids[1:], ids[0]]:
        await peer.result("session/set_mode", {"sessionId": session, "modeId": mode})


@case("modes.unknown", "Session modes, Setting the mode", profiles=V1, advice=PROFILES)
async def modes_unknown(peer: Peer) -> None:
    """A mode that is not available is refused."""
    session = await peer.session()
    _modes(peer, session)
    await peer.refused("session/set_mode", {"sessionId": session, "modeId": "no-such-mode"})


def _option_id(peer: Peer, option: dict[str, Json]) -> Json:
    return option.get("id" if peer.version == 1 else "configId")


def _values(option: dict[str, Json]) -> list[Json]:
    found: list[Json] = []
    for each in get_objects(option, "options"):
        inner = get_list(each, "options")
        found += [get_text(one, "value") for one in inner] if inner else [each.get("value")]
    return found


async def _select_options(peer: Peer) -> tuple[str, list[dict[str, Json]]]:
    session = await peer.new_session()
    options = [
        option
        for option in get_objects(dict(peer.opened[session]), "configOptions")
        if option.get("type") == "select" and len(_values(option)) > 1
    ]
    if not options:
        raise NotOfferedError("the session has no option with several values")
    return session, options


def _set_params(peer: Peer, session: str, option: Json, value: Json) -> Json:
    params: dict[str, Json] = {"sessionId": session, "configId": option, "value": value}
    return params if peer.version == 1 else {**params, "type": "id"}


@case("options.set", rules=("incomplete-option-result",))
async def options_set(peer: Peer) -> None:
    session, options = await _select_options(peer)
    replies: list[Reply] = []
    for option in options:
        id_ = _option_id(peer, option)
        value = next(each for each in _values(option) if each != option.get("currentValue"))
        params = _set_params(peer, session, id_, value)
        replies.append(await peer.request("session/set_config_option", params))
        if isinstance(replies[-1], SuccessResponse):
            result = result_of(replies[-1], "session/set_config_option")
            changed = get_objects(dict(result), "configOptions")
            values = [each.get("currentValue") for each in changed if _option_id(peer, each) == id_]
            if not values:
                raise CaseFailedError("the result does not have the option that was set")
            if values != [value]:
                raise CaseFailedError("the option does not have the value that was set")
            return
    # The user's settings may keep an option from being changed, but not all of them.
    result_of(replies[0], "session/set_config_option")


@case("options.unknown", rules=("invalid-option-accepted",))
async def options_unknown(peer: Peer) -> None:
    session, (option, *_) = await _select_options(peer)
    params = _set_params(peer, session, "no-such-option", option.get("currentValue"))
    await peer.refused("session/set_config_option", params, INVALID_PARAMS)


@case("options.bad-value", "Session config options, Setting an option", advice=V1)
async def options_bad_value(peer: Peer) -> None:
    """A value that an option does not have is refused with -32602."""
    session, (option, *_) = await _select_options(peer)
    params = _set_params(peer, session, _option_id(peer, option), "no-such-value")
    await peer.refused("session/set_config_option", params, INVALID_PARAMS)


# Unstable


@case("fork.new-id", "Session fork (RFD)", profiles=("v1-unstable",), own=True)
async def fork_new_id(peer: Peer) -> None:
    """A fork has an id of its own and takes prompts."""
    await peer.open()
    peer.require("sessionCapabilities.fork")
    session = await _talked_session(peer)
    params: Json = {"sessionId": session, "cwd": str(peer.directory), "mcpServers": []}
    result = await peer.result("session/fork", params)
    fork = get_text(dict(result), "sessionId")
    if not fork or fork == session:
        raise CaseFailedError("the fork has no id of its own")
    await peer.turn(fork, peer.prompt_text("text"))


@case("title.stored", profiles=UNSTABLE, rules=("missing-stored-title",))
async def title_stored(peer: Peer) -> None:
    peer.require("sessionCapabilities.title")
    params: Json = {"sessionId": await peer.new_session(), "title": "A title"}
    if not get_text(dict(await peer.result("session/set_title", params)), "title"):
        raise CaseFailedError("the result has no title")


@case("status.unknown", profiles=UNSTABLE, rules=("wrong-status-error",))
async def status_unknown(peer: Peer) -> None:
    peer.require("sessionCapabilities.status")
    await peer.refused("session/status", {"sessionId": NO_SESSION}, RESOURCE_NOT_FOUND)


@case(
    "archive.hides",
    "Session archive (RFD)",
    profiles=UNSTABLE,
    rules=("missing-archived-flag", "archived-filter-ignored", "unarchive-loads"),
    own=True,
)
async def archive_hides(peer: Peer) -> None:
    """An archived session is not in the default list, and is there again after unarchive."""
    await peer.open()
    peer.require("sessionCapabilities.archive")
    session = await _talked_session(peer)
    await _close_if_possible(peer, session)
    await peer.result("session/archive", {"sessionId": session})
    if session in await _listed(peer):
        raise CaseFailedError("the archived session is in the list")
    await peer.result("session/unarchive", {"sessionId": session})
    if not await _is_listed(peer, session):
        raise CaseFailedError("the session is not in the list after unarchive")


@case("archive.unknown", "Session archive (RFD)", profiles=UNSTABLE)
async def archive_unknown(peer: Peer) -> None:
    """Archiving a session that does not exist is refused with -32002."""
    peer.require("sessionCapabilities.archive")
    await peer.refused("session/archive", {"sessionId": NO_SESSION}, RESOURCE_NOT_FOUND)


@case(
    "auth-status.no-login-needed",
    profiles=UNSTABLE,
    rules=("auth-status-fails", "malformed-auth-status"),
)
async def auth_status(peer: Peer) -> None:
    peer.require("auth.status")
    await peer.result("auth/status", {})


@case("providers.list", profiles=UNSTABLE, rules=("provider-headers-listed",))
async def providers_list(peer: Peer) -> None:
    peer.require("providers")
    result = await peer.result("providers/list", {})
    if not isinstance(result.get("providers"), list):
        raise CaseFailedError("the result has no list of providers")


@case("providers.unknown", "Custom LLM endpoints (RFD)", profiles=UNSTABLE)
async def providers_unknown(peer: Peer) -> None:
    """Setting a provider that does not exist is refused with -32602."""
    peer.require("providers")
    params: Json = {
        "id": "no-such-provider",
        "providerId": "no-such-provider",
        "apiType": "openai",
        "baseUrl": "http://127.0.0.1:9/v1",
        "headers": {},
    }
    await peer.refused("providers/set", params, INVALID_PARAMS)


@case("providers.required", profiles=UNSTABLE, rules=("required-provider-disabled",))
async def providers_required(peer: Peer) -> None:
    peer.require("providers")
    listed = get_objects(dict(await peer.result("providers/list", {})), "providers")
    for each in listed:
        if each.get("required") is True:
            params: Json = {"providerId": get_text(each, "providerId")}
            await peer.refused("providers/disable", params, INVALID_PARAMS)
            return
    raise NotReachedError("no provider is required")
