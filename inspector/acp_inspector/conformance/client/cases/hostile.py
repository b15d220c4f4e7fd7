"""Messages that are broken, and contents that may do harm."""

from __future__ import annotations

from functools import partial

from acp_inspector.conformance.client.checks import ALLOW, REJECT, check_survival, outcome_of
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, V2, CaseFailedError
from acp_inspector.conformance.wire import error_of
from acp_protocol.jsonrpc import (
    PARSE_ERROR,
    ErrorResponse,
    Json,
    Message,
    SuccessResponse,
    encode,
    encode_request,
)

case = partial(CLIENT.case, persona="hostile")


def _harmless(id_: str, sentence: str, *lines: bytes, section: str = "Transports, stdio") -> None:
    """Register a case about bytes after which the client goes on."""

    @case(id_, section, says=sentence, is_official=True)
    async def goes_on(stage: Stage) -> None:
        for each in lines:
            await stage.send(each)
        await check_survival(stage)


_harmless("hostile.garbage", "A line that is no JSON does not end the connection.", b"Hi! I'm up.")
_harmless("hostile.blank", "An empty line does no harm.", b"", b"   ")
_harmless(
    "hostile.no-utf8", "Bytes that are no UTF-8 do not end the connection.", b'{"x": "\xff\xfe"}'
)
_harmless(
    "hostile.no-message", "An object that is no message does not end the connection.", b"{}", b"17"
)
_harmless(
    "hostile.unknown-response",
    "A response to a request that was never sent is ignored.",
    b'{"jsonrpc":"2.0","id":987654,"result":{}}',
    b'{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"no"}}',
    section="Overview, JSON-RPC (JSON-RPC 2.0, section 5)",
)
_harmless(
    "hostile.deep",
    "JSON that is nested two hundred levels deep does not end the connection.",
    b'{"jsonrpc":"2.0","method":"_conform/deep","params":{"x":' + b"[" * 200 + b"]" * 200 + b"}}",
)


@case("hostile.parse-error", "Overview, JSON-RPC (JSON-RPC 2.0, section 5.1)", is_official=True)
async def parse_error(stage: Stage) -> None:
    """A line that is no JSON gets the error -32700 with the id null."""
    at = len(stage.messages)
    await stage.send(b'{"jsonrpc": "2.0", "id": 77, "method": ')
    reply = await stage.message(_is_reply_to_nothing, at, "an error with the id null")
    assert isinstance(reply, ErrorResponse)
    error_of(reply, "a broken line", PARSE_ERROR)


def _is_reply_to_nothing(message: Message) -> bool:
    return isinstance(message, ErrorResponse) and message.id is None


@case(
    "hostile.array",
    "Transports",
    rules=("batch-not-refused", "batch-response"),
    is_official=True,
    unlike=("v2-batch",),
)
async def array(stage: Stage) -> None:
    """An array of messages is not carried out."""
    at = len(stage.messages)
    inner: Json = {"jsonrpc": "2.0", "id": "inner", "method": "_conform/inner", "params": {}}
    await stage.send(encode([inner]))
    await stage.settle()
    for each in stage.messages[at:]:
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id == "inner":
            raise CaseFailedError("a request in an array was carried out")


@case("hostile.jsonrpc-1", "Overview, JSON-RPC (JSON-RPC 2.0, section 4)", is_official=True)
async def jsonrpc_1(stage: Stage) -> None:
    """A request whose jsonrpc is not "2.0" gets no result."""
    at = len(stage.messages)
    options = () if stage.version == 1 else (ALLOW, REJECT)
    line = encode_request("old", "session/request_permission", stage.permission(*options))
    await stage.send(line.replace(b'"2.0"', b'"1.0"'))
    await stage.settle()
    for each in stage.messages[at:]:
        if isinstance(each, SuccessResponse) and each.id == "old":
            raise CaseFailedError("the request got a result")


# The document of Continuum Router has no options: each request is answered by one of four words.
@case("hostile.no-options", "Tool calls, Permission options", unlike=("continuum",))
async def no_options(stage: Stage) -> None:
    """A permission request without options selects nothing."""
    reply = await stage.request("session/request_permission", stage.permission())
    if isinstance(reply, SuccessResponse) and outcome_of(reply).get("outcome") != "cancelled":
        raise CaseFailedError("an option was selected, and none was offered")


@case("hostile.unknown-update", "Schema, SessionUpdate")
async def unknown_update(stage: Stage) -> None:
    """An update of an unknown kind does not end the session."""
    await stage.update("confetti", amount=9)
    await check_survival(stage)


@case("hostile.broken-update", "Schema, SessionUpdate")
async def broken_update(stage: Stage) -> None:
    """An update without its fields does not end the session."""
    await stage.update("agent_message_chunk")
    await stage.update("tool_call_update", toolCallId=17)
    await stage.notify("session/update", {"sessionId": stage.session})
    await check_survival(stage)


@case("hostile.unknown-session", "Session setup, Session id")
async def unknown_session(stage: Stage) -> None:
    """An update for a session that the client does not have does no harm."""
    await stage.say("Who is there?", "no-such-session-0000")
    await check_survival(stage)


@case("hostile.custom-values", "Extensibility, Custom values", profiles=V2)
async def custom_values(stage: Stage) -> None:
    """Statuses, kinds, types and states of extensions do not end the session."""
    await stage.update("state_update", state="_example.org/thinking")
    await stage.update(
        "tool_call_update",
        toolCallId="custom",
        title="Custom",
        kind="_example.org/dance",
        status="_example.org/dancing",
        content=[{"type": "_example.org/figure", "steps": 3}],
    )
    await stage.chunk("agent_message_chunk", {"type": "_example.org/smell", "of": "roses"})
    await stage.update("state_update", state="running")
    await check_survival(stage)


@case("hostile.control-characters", "Prompt turn, Updates")
async def control_characters(stage: Stage) -> None:
    """Control characters in texts do not end the session."""
    await stage.say("\x1b[2J\x1b]0;title\x07\x00\u202e\u2028\x9b31m")
    title = "\x1b[31mrm -rf /\r\x1b[0m"
    kind = "tool_call" if stage.version == 1 else "tool_call_update"
    await stage.update(kind, toolCallId="ctl", title=title, status="completed")
    await check_survival(stage)
