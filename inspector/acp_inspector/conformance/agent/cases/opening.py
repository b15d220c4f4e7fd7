"""Cases about `initialize`, authentication, and JSON-RPC itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from acp_inspector.conformance.model import (
    AGENT,
    PROFILES,
    V1,
    V2,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
)
from acp_inspector.conformance.peer import Peer
from acp_inspector.conformance.wire import Reply, error_of
from acp_protocol.json_values import as_object, get, get_object, get_objects, get_text
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    SuccessResponse,
    encode,
    parse,
)

case = AGENT.case

INITIALIZATION: Final = "Initialization"
JSON_RPC: Final = "Overview, JSON-RPC"


def _version_of(result: object) -> int:
    match result:
        case {"protocolVersion": int(version)}:
            return version
        case _:
            raise CaseFailedError("the result of initialize has no integer protocolVersion")


# initialize


@case(
    "initialize.responds",
    f"{INITIALIZATION}, Protocol version",
    rules=("invalid-protocol-version",),
    own=True,
)
async def responds(peer: Peer) -> None:
    """The agent responds to initialize with the protocol version as an integer."""
    _version_of(await peer.initialize())


@case(
    "initialize.same-version", f"{INITIALIZATION}, Version negotiation", own=True, is_official=True
)
async def same_version(peer: Peer) -> None:
    """An agent that supports the requested version responds with that version."""
    got = _version_of(await peer.initialize())
    if got > peer.version:
        raise CaseFailedError(f"version {peer.version} was requested, and {got} came back")
    if got != peer.version:
        raise NotOfferedError(f"the agent's newest version is {got}")


@case(
    "initialize.newer-version",
    f"{INITIALIZATION}, Version negotiation",
    rules=("version-in-disguise",),
    own=True,
    is_official=True,
)
async def newer_version(peer: Peer) -> None:
    """An agent that is asked for a version it does not know responds with its own newest one."""
    params = peer.claims()
    if peer.version == 2:
        # A client of both versions sends the members of both.
        params |= {"clientCapabilities": {}, "clientInfo": params["info"]}
    result = await peer.result("initialize", {**params, "protocolVersion": 65535})
    got = _version_of(result)
    if got == 65535 or got < 1:
        raise CaseFailedError(f"version 65535 was requested, and {got} came back")


@case(
    "initialize.version-zero",
    "Initialization, Version negotiation (version 2)",
    profiles=V2,
    rules=("wrong-version-answered", "unsupported-version-accepted", "incomplete-version-error"),
    own=True,
)
async def version_zero(peer: Peer) -> None:
    """An agent without a version at or below the requested one fails with -32022."""
    reply = await peer.request("initialize", {**peer.claims(), "protocolVersion": 0})
    error = error_of(reply, "initialize for version 0", UNSUPPORTED_VERSION)
    match error.data:
        case {"requested": 0, "supported": [*_]}:
            pass
        case _:
            raise CaseFailedError("the error's data lacks requested and supported")


@case(
    "initialize.version-as-text",
    "Schema, InitializeRequest",
    own=True,
    is_official=True,
    advice=PROFILES,
)
async def version_as_text(peer: Peer) -> None:
    """A protocol version that is not an integer is refused with -32602."""
    params = {**peer.claims(), "protocolVersion": str(peer.version)}
    error_of(await peer.request("initialize", params), "initialize", INVALID_PARAMS)


@case("initialize.no-version", "Schema, InitializeRequest", own=True, is_official=True)
async def no_version(peer: Peer) -> None:
    """`initialize` without a protocol version is refused with -32602."""
    params = peer.claims()
    del params["protocolVersion"]
    error_of(await peer.request("initialize", params), "initialize", INVALID_PARAMS)


@case("initialize.only-version", f"{INITIALIZATION}, Capabilities", profiles=V1, own=True)
async def only_version(peer: Peer) -> None:
    """Everything but the protocol version is optional in initialize."""
    _version_of(await peer.result("initialize", {"protocolVersion": 1}))


@case(
    "initialize.no-info",
    f"{INITIALIZATION}, Implementation information (version 2)",
    profiles=V2,
    own=True,
)
async def no_info(peer: Peer) -> None:
    """`initialize` of version 2 without the client's info is refused with -32602."""
    params = peer.claims()
    del params["info"]
    error_of(await peer.request("initialize", params), "initialize", INVALID_PARAMS)


@case("initialize.unknown-capability", f"{INITIALIZATION}, Capabilities", own=True)
async def unknown_capability(peer: Peer) -> None:
    """Capabilities that the agent does not know are no error."""
    params = peer.claims()
    name = "clientCapabilities" if peer.version == 1 else "capabilities"
    params[name] = {**get_object(params, name), "_meta": {"example.org/fancy": {"level": 3}}}
    _version_of(await peer.result("initialize", params))


@case(
    "initialize.malformed-capability",
    "Schema, ClientCapabilities",
    profiles=V1,
    own=True,
    is_official=True,
)
async def malformed_capability(peer: Peer) -> None:
    """A malformed capability counts as not supported, and initialize succeeds."""
    params = {**peer.claims(), "clientCapabilities": {"fs": {"readTextFile": "yes"}}}
    _version_of(await peer.result("initialize", params))


@case("initialize.no-session-before", "Session setup", own=True, advice=PROFILES)
async def no_session_before(peer: Peer) -> None:
    """No session is created before initialize."""
    params: Json = {"cwd": str(peer.directory), "mcpServers": []}
    try:
        reply = await peer.request("session/new", params)
    except CaseFailedError:
        # A server may close a WebSocket that begins otherwise (1002).
        if peer.options.transport == "websocket" and peer.has_ended:
            return
        raise
    error_of(reply, "session/new before initialize")


@case("initialize.repeated", "Initialization (version 2)", profiles=V2, own=True)
async def repeated(peer: Peer) -> None:
    """`initialize` may be repeated before the first other request."""
    _version_of(await peer.initialize())
    _version_of(await peer.initialize())


# Authentication


def _login_methods(peer: Peer) -> list[str | None]:
    """Return the methods that take a request; those in a terminal take none."""
    methods = get_objects(dict(peer.initialized), "authMethods")
    name = "id" if peer.version == 1 else "methodId"
    found = [get_text(each, name) for each in methods if each.get("type") != "terminal"]
    if not found:
        raise NotOfferedError("no login by request is offered")
    return found


@case("authentication.login", "Authentication", own=True)
async def login(peer: Peer) -> None:
    """A login by a method that the agent offers succeeds."""
    peer.initialized = await peer.initialize()
    methods = _login_methods(peer)
    method = peer.options.auth_method
    if method is None:
        raise NotReachedError("no method is chosen; give --auth METHOD")
    if method not in methods:
        raise NotOfferedError(f"the agent does not offer {method}")
    await peer.log_in(method)


@case("authentication.unknown-method", "Authentication", advice=PROFILES)
async def unknown_method(peer: Peer) -> None:
    """A login by a method that was not offered is refused."""
    _login_methods(peer)
    method = "authenticate" if peer.version == 1 else "auth/login"
    await peer.refused(method, {"methodId": "no-such-method"})


@case("authentication.no-method-id", "Schema, AuthenticateRequest")
async def no_method_id(peer: Peer) -> None:
    """A login that names no method is refused with -32602."""
    _login_methods(peer)
    method = "authenticate" if peer.version == 1 else "auth/login"
    await peer.refused(method, {}, INVALID_PARAMS)


@case("authentication.logout", "Authentication, Logout", own=True)
async def logout(peer: Peer) -> None:
    """An agent that offers logout carries it out."""
    await peer.open()
    if peer.version == 1:
        peer.require("auth.logout")
    elif not get_objects(dict(peer.initialized), "authMethods"):
        raise NotOfferedError("no authMethods are offered")
    if peer.options.auth_method is None:
        # The login is the user's, and may need a person.
        raise NotReachedError("it would log you out; give --auth METHOD to log in again")
    await peer.result("logout" if peer.version == 1 else "auth/logout", {})


# JSON-RPC


def _is_reply_to_nothing(message: Message) -> bool:
    return isinstance(message, ErrorResponse) and message.id is None


async def _reply_to(peer: Peer, line: bytes, *ids: int | None) -> Reply:
    """Send a line that is no valid message, and return the response with one of `ids`.

    An agent that has responded to a later request had its time for this one.
    """
    await peer.open()
    at = len(peer.messages)
    await peer.send(line)
    # It may end the connection once it has responded.
    with suppress(CaseFailedError):
        await peer.settle()
    for each in peer.messages[at:]:
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id in ids:
            return each
    came = _what_came(peer.messages[at:])
    if peer.has_ended:
        came = came or ["sent no error"]
        raise CaseFailedError(f"the agent closed the connection, and {' and '.join(came)}")
    if came:
        raise CaseFailedError(f"the agent {' and '.join(came)}")
    raise CaseFailedError("no error came, but the response to a later request did")


def _what_came(messages: Sequence[Message]) -> list[str]:
    """Return what an agent sent that is almost the expected error."""
    found: list[str] = []
    for each in messages:
        match each:
            case InvalidMessage(is_response=True):
                message = as_object(parse(each.raw))
                code = get(get(message, "error"), "code")
                what = "an invalid id" if "id" in message else "no id"
                found.append(f"sent the error {code} with {what}, not with the id null")
            case ErrorResponse(code=code) if code in {PARSE_ERROR, INVALID_REQUEST}:
                found.append(f"sent the error {code} with the id {encode(each.id).decode()}")
            case _:
                pass
    return found


@case("jsonrpc.parse-error", f"{JSON_RPC} (JSON-RPC 2.0, section 5.1)", own=True, is_official=True)
async def parse_error(peer: Peer) -> None:
    """A line that is no JSON gets the error -32700 with the id null."""
    line = b'{"jsonrpc": "2.0", "id": 77, "method": '
    error_of(await _reply_to(peer, line, None), "a broken line", PARSE_ERROR)


@case("jsonrpc.survives-garbage", "Transports, stdio", own=True, is_official=True)
async def survives_garbage(peer: Peer) -> None:
    """A line that is no JSON does not end the connection."""
    await peer.open()
    await peer.send(b"this is no JSON")
    await peer.send(b"{}")
    await peer.ping()


@case("jsonrpc.survives-blank-line", "Transports, stdio", own=True, is_official=True)
async def survives_blank_line(peer: Peer) -> None:
    """An empty line between two messages does no harm."""
    await peer.open()
    await peer.send(b"")
    await peer.ping()


@case("jsonrpc.no-request", f"{JSON_RPC} (JSON-RPC 2.0, section 5.1)", own=True, is_official=True)
async def no_request(peer: Peer) -> None:
    """An object that is no JSON-RPC message gets the error -32600."""
    # With an id it would look like a response, to which nothing is said.
    line = encode({"jsonrpc": "2.0", "verb": "jump"})
    error_of(await _reply_to(peer, line, None), "an object without a method", INVALID_REQUEST)


@case(
    "jsonrpc.no-batch",
    f"{JSON_RPC}; Transports",
    rules=("batch-not-refused", "batch-response"),
    own=True,
    is_official=True,
    unlike=("v2-batch",),
)
async def no_batch(peer: Peer) -> None:
    """An array of messages is refused as a whole with one error -32600 with the id null."""
    inner: Json = {"jsonrpc": "2.0", "id": 79, "method": "_conform/inner", "params": {}}
    reply = await _reply_to(peer, encode([inner]), None, 79)
    if reply.id is not None:
        raise CaseFailedError("the array was carried out")
    error_of(reply, "an array", INVALID_REQUEST)


@case("jsonrpc.wrong-version", f"{JSON_RPC} (JSON-RPC 2.0, section 4)", own=True, is_official=True)
async def wrong_version(peer: Peer) -> None:
    """A request whose jsonrpc is not "2.0" is refused."""
    await peer.open()
    at = len(peer.messages)
    # No agent takes long for a method that it does not know.
    await peer.send(encode({"jsonrpc": "1.0", "id": 80, "method": "_conform/old", "params": {}}))
    await peer.settle()
    for each in peer.messages[at:]:
        is_reply = isinstance(each, SuccessResponse | ErrorResponse) and each.id == 80
        if is_reply and getattr(each, "code", METHOD_NOT_FOUND) == METHOD_NOT_FOUND:
            raise CaseFailedError('a request with "jsonrpc": "1.0" was taken like any other')


@case("jsonrpc.unknown-method", rules=("unknown-method-not-refused",))
async def unknown_request(peer: Peer) -> None:
    await peer.refused("session/levitate", {}, METHOD_NOT_FOUND)


@case("jsonrpc.unknown-extension", rules=("custom-request-unanswered",))
async def unknown_extension(peer: Peer) -> None:
    await peer.refused("_example.org/levitate", {"height": 3}, METHOD_NOT_FOUND)


@case(
    "jsonrpc.unknown-notification",
    "Extensibility, Custom notifications",
    rules=("answered-notification",),
)
async def unknown_notification(peer: Peer) -> None:
    """An unknown notification is ignored."""
    at = len(peer.messages)
    await peer.notify("session/applause", {"loud": True})
    await peer.notify("_example.org/applause", {"loud": True})
    await peer.settle()
    if any(_is_reply_to_nothing(each) for each in peer.messages[at:]):
        raise CaseFailedError("the notification got an error response")


@case(
    "jsonrpc.request-as-notification",
    f"{JSON_RPC} (JSON-RPC 2.0, section 4.1)",
    own=True,
    is_official=True,
)
async def request_as_notification(peer: Peer) -> None:
    """A request without an id gets no response."""
    await peer.open()
    at = len(peer.messages)
    await peer.notify("session/new", {"cwd": str(peer.directory), "mcpServers": []})
    await peer.settle()
    for each in peer.messages[at:]:
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id is None:
            raise CaseFailedError("a message without an id got a response")


async def _echoes(peer: Peer, id_: str | int) -> None:
    await peer.request("_conform/echo", {}, id_)


@case("jsonrpc.text-id", "Schema, RequestId", is_official=True)
async def text_id(peer: Peer) -> None:
    """A response repeats an id that is a string, as a string."""
    await _echoes(peer, "00000000-0000-4000-8000-00000000c0de")


@case("jsonrpc.digits-id", "Schema, RequestId", is_official=True)
async def digits_id(peer: Peer) -> None:
    """A response repeats a string of digits as a string, not as a number."""
    await _echoes(peer, "4711")


@case("jsonrpc.zero-id", "Schema, RequestId", is_official=True)
async def zero_id(peer: Peer) -> None:
    """0 is an id like any other."""
    await _echoes(peer, 0)


@case("jsonrpc.negative-id", "Schema, RequestId", is_official=True)
async def negative_id(peer: Peer) -> None:
    """A negative integer is an id like any other."""
    await _echoes(peer, -3)


@case("jsonrpc.large-id", "Schema, RequestId", is_official=True)
async def large_id(peer: Peer) -> None:
    """A response repeats an integer of 53 bits exactly."""
    await _echoes(peer, 9007199254740991)


@case("jsonrpc.empty-id", "Schema, RequestId", is_official=True)
async def empty_id(peer: Peer) -> None:
    """The empty string is an id like any other."""
    await _echoes(peer, "")


@case(
    "jsonrpc.null-id",
    f"{JSON_RPC} (version 2)",
    profiles=V2,
    rules=("unusable-request-id",),
    own=True,
    is_official=True,
)
async def null_id(peer: Peer) -> None:
    """A request with the id null is refused with -32600."""
    line = encode({"jsonrpc": "2.0", "id": None, "method": "_conform/x", "params": {}})
    error_of(await _reply_to(peer, line, None), "a request with the id null", INVALID_REQUEST)


@case("jsonrpc.many-requests", f"{JSON_RPC} (JSON-RPC 2.0, section 5)")
async def many_requests(peer: Peer) -> None:
    """Requests that are sent at once each get the response with their id."""
    at = len(peer.messages)
    ids = [await peer.start("_conform/many", {"number": each}) for each in range(20)]
    for id_ in ids:
        await peer.response(id_, at, "a response to each of 20 requests")


@case("jsonrpc.stray-response", f"{JSON_RPC} (JSON-RPC 2.0, section 5)", own=True)
async def stray_response(peer: Peer) -> None:
    """A response to a request that the agent never sent is ignored."""
    await peer.open()
    at = len(peer.messages)
    await peer.send(encode({"jsonrpc": "2.0", "id": 987654, "result": {}}))
    await peer.send(
        encode({"jsonrpc": "2.0", "id": "x", "error": {"code": INTERNAL_ERROR, "message": "no"}})
    )
    await peer.settle()
    if any(_is_reply_to_nothing(each) for each in peer.messages[at:]):
        raise CaseFailedError("a response got a response")


@case("jsonrpc.params-array", "Schema", is_official=True)
async def params_array(peer: Peer) -> None:
    """Params by position are refused."""
    await peer.refused("session/new", [str(peer.directory), []], INVALID_PARAMS, INVALID_REQUEST)


@case("jsonrpc.params-missing", "Schema, NewSessionRequest", unlike=("continuum", "openoxide"))
async def params_missing(peer: Peer) -> None:
    """A request without its required params is refused with -32602."""
    await peer.refused("session/new", None, INVALID_PARAMS)


@case("jsonrpc.escaped-text", "Transports, stdio", is_official=True)
async def escaped_text(peer: Peer) -> None:
    """Characters may be written as UTF-8 or by escapes, with the same meaning."""
    at = len(peer.messages)
    await peer.send(
        '{"jsonrpc":"2.0","id":"gr\\u00fc\\u00df","method":"_conform/\\ud83d\\ude00","params":{"t":"日本"}}'.encode()
    )
    await peer.response("grüß", at, "a response with the same id")


@case("jsonrpc.members-in-any-order", f"{JSON_RPC} (JSON-RPC 2.0, section 4)", is_official=True)
async def any_order(peer: Peer) -> None:
    """The members of a message may come in any order, with blanks between them."""
    at = len(peer.messages)
    await peer.send(
        b'{ "params" : { } , "id" : "order" , "method" : "_conform/order" , "jsonrpc" : "2.0" }'
    )
    await peer.response("order", at, "a response")


@case("jsonrpc.long-message", "Transports, stdio", own=True)
async def long_message(peer: Peer) -> None:
    """A message of a million bytes is read like any other."""
    await peer.open()
    await peer.request("_conform/long", {"text": "x" * 1_000_000})


@case("jsonrpc.carriage-return", "Transports, stdio", is_official=True)
async def carriage_return(peer: Peer) -> None:
    """A carriage return before the newline is white space."""
    at = len(peer.messages)
    await peer.send(b'{"jsonrpc":"2.0","id":"cr","method":"_conform/cr","params":{}}\r')
    await peer.response("cr", at, "a response")


@case("jsonrpc.ends-with-stdin", "Transports, stdio, Shutdown", own=True, is_official=True)
async def ends_with_stdin(peer: Peer) -> None:
    """The agent ends when the client closes its stdin."""
    await peer.open()
    await peer.close_stdin()
    await peer.wait_for(lambda: True if peer.has_ended else None, "the end of its output")


# Extensibility


@case("extensibility.meta", "Extensibility, The _meta field")
async def meta(peer: Peer) -> None:
    """Unknown entries of _meta are no error."""
    await peer.create_session(
        _meta={"example.org/note": {"deep": [1, 2]}, "traceparent": "00-0-0-00"}
    )


@case("cancel-request.unknown", "Cancellation", rules=("cancel-answered",))
async def cancel_unknown(peer: Peer) -> None:
    """A $/cancel_request for an unknown request is ignored."""
    at = len(peer.messages)
    await peer.notify("$/cancel_request", {"requestId": "never-sent"})
    await peer.settle()
    if any(_is_reply_to_nothing(each) for each in peer.messages[at:]):
        raise CaseFailedError("$/cancel_request got a response")
