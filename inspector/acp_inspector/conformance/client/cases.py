"""The cases for clients: what each persona tries, and rules for all traffic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio

from acp_inspector.conformance.client.stage import LATE_UPDATES, LATE_UPDATES_READ, Stage
from acp_inspector.conformance.model import (
    CLIENT,
    PROFILES,
    V1,
    V2,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
    Profile,
)
from acp_inspector.conformance.wire import Reply, error_of, result_of
from acp_protocol.json_values import get, get_object, get_text
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
    encode,
    encode_request,
)

case = CLIENT.case

WELL: Final = "well-behaved"
NOTE: Final = "acp-conform-note.txt"
"""A file that is written by the client in the directory of the session, and removed afterwards."""
TEXT: Final = "one\ntwo\nthree\nfour\n"
ALLOW: Final = ("allow", "allow_once")
REJECT: Final = ("reject", "reject_once")


def _outcome(reply: Reply) -> dict[str, Json]:
    return get_object(result_of_object(reply, "session/request_permission"), "outcome")


def result_of_object(reply: Reply, method: str) -> Json:
    return dict(result_of(reply, method))


def _check_outcome(reply: Reply, *offered: str) -> None:
    outcome = _outcome(reply)
    if outcome.get("outcome") == "cancelled":
        return
    if outcome.get("outcome") != "selected" or outcome.get("optionId") not in offered:
        raise CaseFailedError("the outcome is neither cancelled nor one of the options")


# Requests


@case(
    "requests.unknown-method",
    "Extensibility, Custom requests",
    "An unknown request gets the error -32601.",
    persona=WELL,
    rules=("unknown-method-not-refused",),
)
async def unknown_method(stage: Stage) -> None:
    error_of(await stage.request("session/levitate", {}), "session/levitate", METHOD_NOT_FOUND)


@case(
    "requests.unknown-extension",
    "Extensibility, Custom requests",
    "An unknown request of an extension gets the error -32601.",
    persona=WELL,
    rules=("custom-request-unanswered",),
)
async def unknown_extension(stage: Stage) -> None:
    reply = await stage.request("_example.org/levitate", {"height": 3})
    error_of(reply, "_example.org/levitate", METHOD_NOT_FOUND)


@case(
    "requests.text-id",
    "Schema, RequestId",
    "A response repeats an id that is a string.",
    persona=WELL,
)
async def text_id(stage: Stage) -> None:
    await stage.request("_conform/echo", {}, "00000000-0000-4000-8000-00000000c0de")


@case(
    "requests.digits-id",
    "Schema, RequestId",
    "A response repeats a string of digits as a string, not as a number.",
    persona=WELL,
)
async def digits_id(stage: Stage) -> None:
    await stage.request("_conform/echo", {}, "4711")


@case(
    "requests.large-id",
    "Schema, RequestId",
    "A response repeats an integer of 53 bits exactly.",
    persona=WELL,
)
async def large_id(stage: Stage) -> None:
    await stage.request("_conform/echo", {}, 9007199254740991)


@case(
    "requests.many",
    "Overview, JSON-RPC (JSON-RPC 2.0, section 5)",
    "Requests that are sent at once each get the response with their id.",
    persona=WELL,
)
async def many(stage: Stage) -> None:
    at = len(stage.messages)
    ids = [await stage.start("_conform/many", {"number": each}) for each in range(20)]
    for id_ in ids:
        await stage.response(id_, at, "a response to each of 20 requests")


@case(
    "requests.params-missing",
    "Schema, RequestPermissionRequest",
    "A request without its required params is refused with -32602.",
    persona=WELL,
)
async def params_missing(stage: Stage) -> None:
    reply = await stage.request("session/request_permission", {"sessionId": stage.session})
    error_of(reply, "session/request_permission", INVALID_PARAMS)


@case(
    "requests.unknown-notification",
    "Extensibility, Custom notifications",
    "An unknown notification is ignored.",
    persona=WELL,
    rules=("answered-notification",),
)
async def unknown_notification(stage: Stage) -> None:
    at = len(stage.messages)
    await stage.notify("session/applause", {"loud": True})
    await stage.notify("_example.org/applause", {"loud": True})
    await stage.settle()
    _expect_no_reply(stage, at, "the notification")


def _expect_no_reply(stage: Stage, at: int, what: str) -> None:
    if any(isinstance(each, ErrorResponse) and each.id is None for each in stage.messages[at:]):
        raise CaseFailedError(f"{what} got an error response")


@case(
    "requests.meta",
    "Extensibility, The _meta field",
    "Unknown entries of _meta in an update are no error.",
    persona=WELL,
)
async def meta(stage: Stage) -> None:
    at = len(stage.messages)
    content: Json = {"type": "text", "text": "…", "_meta": {"example.org/tone": "calm"}}
    await stage.chunk("agent_message_chunk", content, _meta={"example.org/n": 1})
    await stage.settle()
    _expect_no_reply(stage, at, "the update")


@case(
    "cancel-request.unknown",
    "Cancellation",
    "A $/cancel_request for an unknown request is ignored.",
    persona=WELL,
    rules=("cancel-answered",),
)
async def cancel_unknown(stage: Stage) -> None:
    at = len(stage.messages)
    await stage.notify("$/cancel_request", {"requestId": "never-sent"})
    await stage.settle()
    _expect_no_reply(stage, at, "$/cancel_request")


@case(
    "cancel-request.permission",
    "Cancellation",
    "A permission request that $/cancel_request names still gets a response.",
    persona=WELL,
    rules=("cancelled-request-unanswered",),
)
async def cancel_permission(stage: Stage) -> None:
    at = len(stage.messages)
    id_ = await stage.start("session/request_permission", stage.permission(ALLOW))
    await stage.notify("$/cancel_request", {"requestId": id_})
    await stage.response(id_, at, "a response to the cancelled request")


# Permissions


@case(
    "permission.outcome",
    "Tool calls, Requesting permission",
    "A permission request gets the outcome cancelled, or an option that was offered.",
    persona=WELL,
    rules=("option-not-offered", "malformed-permission-outcome", "unknown-permission-outcome"),
)
async def permission_outcome(stage: Stage) -> None:
    _check_outcome(await stage.ask(ALLOW, REJECT), "allow", "reject")


@case(
    "permission.only-reject",
    "Tool calls, Permission options",
    "A request that offers only rejections is not allowed by the client.",
    persona=WELL,
)
async def permission_only_reject(stage: Stage) -> None:
    reply = await stage.ask(("no", "reject_once"), ("never", "reject_always"))
    _check_outcome(reply, "no", "never")


@case(
    "permission.odd-ids",
    "Tool calls, Permission options",
    "The id of an option is any text, and is sent back as it was.",
    persona=WELL,
)
async def permission_odd_ids(stage: Stage) -> None:
    ids = ("Ja, gerne ☺", "0")
    reply = await stage.ask((ids[0], "allow_once"), (ids[1], "reject_once"))
    _check_outcome(reply, *ids)


# Files


async def _write(stage: Stage, text: str) -> Reply:
    path = f"{stage.cwd}/{NOTE}"
    params: Json = {"sessionId": stage.session, "path": path, "content": text}
    return await stage.request("fs/write_text_file", params)


async def _read(stage: Stage, **more: Json) -> str:
    params: Json = {"sessionId": stage.session, "path": f"{stage.cwd}/{NOTE}", **more}
    result = result_of(await stage.request("fs/read_text_file", params), "fs/read_text_file")
    content = result.get("content")
    if not isinstance(content, str):
        raise CaseFailedError("the result of fs/read_text_file has no text as content")
    return content


def _both(stage: Stage) -> None:
    stage.require("fs.readTextFile")
    stage.require("fs.writeTextFile")


@case(
    "files.write-new",
    "File system, Writing files",
    "Writing a file that does not exist creates it.",
    profiles=V1,
    persona=WELL,
    rules=("write-refused-as-missing",),
)
async def write_new(stage: Stage) -> None:
    stage.require("fs.writeTextFile")
    await _remove(stage)
    result_of(await _write(stage, TEXT), "fs/write_text_file")
    await _remove(stage)


async def _remove(stage: Stage) -> None:
    await anyio.Path(Path(stage.cwd) / NOTE).unlink(missing_ok=True)


@case(
    "files.read-back",
    "File system, Reading files",
    "What was written is read again, to the letter.",
    profiles=V1,
    persona=WELL,
    rules=("missing-file-content",),
)
async def read_back(stage: Stage) -> None:
    _both(stage)
    text = f"{TEXT}é 日本 \U0001f600\n"
    result_of(await _write(stage, text), "fs/write_text_file")
    got = await _read(stage)
    await _remove(stage)
    if got != text:
        raise CaseFailedError("the text that was read is not the text that was written")


@case(
    "files.read-part",
    "File system, Reading files",
    "line and limit select lines; the first line is 1.",
    profiles=V1,
    persona=WELL,
)
async def read_part(stage: Stage) -> None:
    _both(stage)
    result_of(await _write(stage, TEXT), "fs/write_text_file")
    got = await _read(stage, line=2, limit=2)
    await _remove(stage)
    if got.removesuffix("\n") != "two\nthree":
        raise CaseFailedError(f"lines 2 and 3 were requested, and came as {got!r}")


@case(
    "files.write-over",
    "File system, Writing files",
    "Writing a file replaces all of its text.",
    profiles=V1,
    persona=WELL,
)
async def write_over(stage: Stage) -> None:
    _both(stage)
    for text in (TEXT, "short\n"):
        result_of(await _write(stage, text), "fs/write_text_file")
    got = await _read(stage)
    await _remove(stage)
    if got != "short\n":
        raise CaseFailedError("the file does not hold just what was written last")


@case(
    "files.missing",
    "File system, Reading files",
    "Reading a file that does not exist is refused with -32002.",
    profiles=V1,
    persona=WELL,
)
async def missing(stage: Stage) -> None:
    stage.require("fs.readTextFile")
    params: Json = {"sessionId": stage.session, "path": f"{stage.cwd}/no-such-file-0000"}
    error_of(await stage.request("fs/read_text_file", params), "reading it", RESOURCE_NOT_FOUND)


@case(
    "files.relative",
    "File system",
    "A path that is not absolute is refused.",
    profiles=V1,
    persona=WELL,
)
async def relative(stage: Stage) -> None:
    stage.require("fs.readTextFile")
    params: Json = {"sessionId": stage.session, "path": "no-such-directory/notes.txt"}
    error_of(await stage.request("fs/read_text_file", params), "reading it")


def _not_offered(
    id_: str,
    capability: str,
    method: str,
    params: dict[str, Json],
    profiles: tuple[Profile, ...] = V1,
) -> None:
    @case(
        id_,
        "Initialization, Client capabilities",
        f"A client that does not offer {method} refuses it.",
        profiles=profiles,
        persona=WELL,
    )
    async def refuses(stage: Stage) -> None:
        if stage.offers(capability):
            raise NotReachedError(f"the client offers {capability}")
        reply = await stage.request(method, {"sessionId": stage.session, **params})
        error_of(reply, method)


_not_offered(
    "files.read-not-offered", "fs.readTextFile", "fs/read_text_file", {"path": "/dev/null"}
)
_not_offered(
    "files.write-not-offered",
    "fs.writeTextFile",
    "fs/write_text_file",
    {"path": f"/no-such-directory/{NOTE}", "content": ""},
)
_not_offered("terminal.not-offered", "terminal", "terminal/create", {"command": "true"})
_not_offered(
    "elicitation.not-offered",
    "elicitation.form",
    "elicitation/create",
    {
        "mode": "form",
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
    },
    PROFILES,
)


@case(
    "methods.of-version-1",
    "Migration from version 1, Client methods",
    "Requests for files and terminals are unknown in version 2, and get the error -32601.",
    profiles=V2,
    persona=WELL,
)
async def of_version_1(stage: Stage) -> None:
    params: Json = {"sessionId": stage.session, "path": "/dev/null"}
    reply = await stage.request("fs/read_text_file", params)
    error_of(reply, "fs/read_text_file", METHOD_NOT_FOUND)
    params = {"sessionId": stage.session, "command": "true"}
    reply = await stage.request("terminal/create", params)
    error_of(reply, "terminal/create", METHOD_NOT_FOUND)


# Terminals


class _Terminal:
    """A terminal of the client."""

    def __init__(self, stage: Stage, id_: str) -> None:
        self.stage, self.id = stage, id_

    async def call(self, method: str) -> Reply:
        params: Json = {"sessionId": self.stage.session, "terminalId": self.id}
        return await self.stage.request(f"terminal/{method}", params)

    async def result(self, method: str) -> dict[str, Json]:
        return dict(result_of(await self.call(method), f"terminal/{method}"))


async def _terminal(stage: Stage, *command: str, **more: Json) -> _Terminal:
    stage.require("terminal")
    params: Json = {
        "sessionId": stage.session,
        "command": command[0],
        "args": list(command[1:]),
        **more,
    }
    result = result_of(await stage.request("terminal/create", params), "terminal/create")
    id_ = get_text(dict(result), "terminalId")
    if not id_:
        raise CaseFailedError("the result of terminal/create has no terminalId")
    return _Terminal(stage, id_)


@case(
    "terminal.runs",
    "Terminals, Getting output",
    "A command runs, and its output and exit status can be read.",
    profiles=V1,
    persona=WELL,
    rules=("incomplete-terminal-output", "invalid-exit-code"),
)
async def runs(stage: Stage) -> None:
    terminal = await _terminal(stage, "echo", "conformance")
    status = await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    if status.get("exitCode") != 0:
        raise CaseFailedError(f"echo ended with {status.get('exitCode')!r}")
    if "conformance" not in str(output.get("output")):
        raise CaseFailedError("the output of echo is missing")


@case(
    "terminal.exit-code",
    "Terminals, Waiting for exit",
    "The exit code of a command that fails is passed on.",
    profiles=V1,
    persona=WELL,
)
async def exit_code(stage: Stage) -> None:
    terminal = await _terminal(stage, "sh", "-c", "exit 3")
    status = await terminal.result("wait_for_exit")
    await terminal.result("release")
    if status.get("exitCode") != 3:
        raise CaseFailedError(f"the exit code was 3, and came as {status.get('exitCode')!r}")


@case(
    "terminal.at-once",
    "Terminals, Creating terminals",
    "terminal/create responds while the command runs, and terminal/output without an exit status.",
    profiles=V1,
    persona=WELL,
    rules=("slow-terminal-create",),
)
async def at_once(stage: Stage) -> None:
    terminal = await _terminal(stage, "sleep", "30")
    output = await terminal.result("output")
    await terminal.result("release")
    if output.get("exitStatus") is not None:
        raise CaseFailedError("a command that runs has an exit status")


@case(
    "terminal.kill",
    "Terminals, Killing commands",
    "terminal/kill ends the command, and the terminal stays.",
    profiles=V1,
    persona=WELL,
)
async def kill(stage: Stage) -> None:
    terminal = await _terminal(stage, "sleep", "30")
    await terminal.result("kill")
    await terminal.result("wait_for_exit")
    await terminal.result("output")
    await terminal.result("release")


@case(
    "terminal.released",
    "Terminals, Releasing terminals",
    "A terminal that was released is not known any more.",
    profiles=V1,
    persona=WELL,
)
async def released(stage: Stage) -> None:
    terminal = await _terminal(stage, "true")
    await terminal.result("release")
    error_of(await terminal.call("output"), "terminal/output")


@case(
    "terminal.limit",
    "Terminals, Output",
    "No more output is kept than the limit, and that it was cut is said.",
    profiles=V1,
    persona=WELL,
    rules=("output-over-limit",),
)
async def limit(stage: Stage) -> None:
    script = "i=0; while [ $i -lt 100 ]; do echo line-$i; i=$((i+1)); done"
    terminal = await _terminal(stage, "sh", "-c", script, outputByteLimit=64)
    await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    text = str(output.get("output"))
    if len(text.encode()) > 64 or output.get("truncated") is not True:
        raise CaseFailedError("the output is longer than its limit, or not marked as truncated")
    if "line-99" not in text:
        raise CaseFailedError("the end of the output is missing; it is cut at its beginning")


@case(
    "terminal.environment",
    "Terminals, Creating terminals",
    "A command gets the variables and the directory that the agent names.",
    profiles=V1,
    persona=WELL,
)
async def environment(stage: Stage) -> None:
    variable: Json = [{"name": "ACP_CONFORM", "value": "given"}]
    script = 'echo "$ACP_CONFORM in $(pwd -P)"'
    terminal = await _terminal(stage, "sh", "-c", script, env=variable, cwd=stage.cwd)
    await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    directory = await anyio.Path(stage.cwd).resolve()
    if f"given in {directory}" not in str(output.get("output")):
        raise CaseFailedError("the variable or the directory is missing")


@case(
    "terminal.own-ids",
    "Terminals, Creating terminals",
    "Two terminals have two ids.",
    profiles=V1,
    persona=WELL,
    rules=("duplicate-terminal-id",),
)
async def own_ids(stage: Stage) -> None:
    terminals = [await _terminal(stage, "sleep", "30") for _ in range(2)]
    for each in {each.id: each for each in terminals}.values():
        await each.result("release")
    if terminals[0].id == terminals[1].id:
        raise CaseFailedError("two terminals have the same id")


@case(
    "terminal.unknown",
    "Terminals",
    "A terminal that was never created is refused.",
    profiles=V1,
    persona=WELL,
)
async def unknown_terminal(stage: Stage) -> None:
    stage.require("terminal")
    error_of(await _Terminal(stage, "no-such-terminal").call("output"), "terminal/output")


# Forms


@case(
    "elicitation.form",
    "Elicitation, Form mode",
    "A form gets one of the actions accept, decline and cancel.",
    persona=WELL,
    rules=("unknown-elicitation-action", "nested-form-value"),
)
async def form(stage: Stage) -> None:
    stage.require("elicitation.form")
    schema: Json = {
        "type": "object",
        "properties": {"size": {"type": "string", "enum": ["small", "large"]}},
    }
    params: Json = {
        "sessionId": stage.session,
        "mode": "form",
        "message": "Which size?",
        "requestedSchema": schema,
    }
    result = result_of(await stage.request("elicitation/create", params), "elicitation/create")
    if result.get("action") not in {"accept", "decline", "cancel"}:
        raise CaseFailedError(f"the action is {result.get('action')!r}")


@case(
    "elicitation.unknown-mode",
    "Elicitation",
    "A mode that the client does not offer is refused.",
    persona=WELL,
    rules=("undeclared-elicitation-not-refused",),
)
async def unknown_mode(stage: Stage) -> None:
    if stage.offers("elicitation.url"):
        raise NotReachedError("the client offers every mode")
    params: Json = {
        "sessionId": stage.session,
        "mode": "url",
        "message": "Open it",
        "elicitationId": "page-1",
        "url": "https://example.org/",
    }
    reply = await stage.request("elicitation/create", params)
    error_of(reply, "elicitation/create", INVALID_PARAMS, METHOD_NOT_FOUND)


@case(
    "elicitation.unknown-complete",
    "Elicitation, URL mode",
    "An elicitation/complete for an id that is unknown or finished is ignored.",
    persona=WELL,
)
async def unknown_complete(stage: Stage) -> None:
    if not (stage.offers("elicitation.form") or stage.offers("elicitation.url")):
        raise NotOfferedError("elicitation is not offered")
    at = len(stage.messages)
    finished = "page-2"
    if stage.offers("elicitation.url"):
        params: Json = {
            "sessionId": stage.session,
            "mode": "url",
            "message": "Open it",
            "elicitationId": finished,
            "url": "https://example.org/",
        }
        await stage.request("elicitation/create", params)
    for id_ in (finished, finished, "no-such-page"):
        await stage.notify("elicitation/complete", {"elicitationId": id_})
    await stage.settle()
    _expect_no_reply(stage, at, "elicitation/complete")


@case(
    "initialize.capabilities",
    "Initialization, Client capabilities",
    "The client states its capabilities.",
    persona=WELL,
    advice=PROFILES,
    own=True,
)
async def capabilities(stage: Stage) -> None:
    name = "clientCapabilities" if stage.version == 1 else "capabilities"
    for each in stage.messages:
        if isinstance(each, Request) and each.method == "initialize":
            if get(each.params, name) is None:
                raise CaseFailedError(f"initialize came without {name}")
            return
    raise NotReachedError("the client sent no initialize")


# Chatty


async def _survives(stage: Stage) -> None:
    """Raise unless the client still responds."""
    await stage.ping()


@case(
    "chatty.flood",
    "Prompt turn, Updates",
    "Two thousand updates in a row do no harm.",
    persona="chatty",
)
async def flood(stage: Stage) -> None:
    for number in range(2000):
        await stage.say(f"word {number} ")
    await _survives(stage)


@case(
    "chatty.long",
    "Transports, stdio",
    "A message of a million bytes is read like any other.",
    persona="chatty",
)
async def long_message(stage: Stage) -> None:
    await stage.say("x" * 1_000_000)
    await _survives(stage)


@case(
    "chatty.every-update",
    "Prompt turn, Updates",
    "Every kind of update of the protocol is understood.",
    persona="chatty",
)
async def every_update(stage: Stage) -> None:
    at = len(stage.messages)
    for kind, fields in _EVERY_UPDATE[stage.version]:
        await stage.update(kind, **fields)
    await stage.settle()
    _expect_no_reply(stage, at, "an update")


_TEXT: Final[Json] = {"type": "text", "text": "text"}
_IMAGE: Final[Json] = {"type": "image", "mimeType": "image/png", "data": "AA=="}
_LINK: Final[Json] = {"type": "resource_link", "name": "a", "uri": "file:///home/ada/a"}
_ENTRIES: Final[Json] = [{"content": "Look", "priority": "high", "status": "pending"}]
_USAGE: Final[dict[str, Json]] = {
    "used": 10,
    "size": 1000,
    "cost": {"amount": 0.5, "currency": "USD"},
}
_TITLE: Final[dict[str, Json]] = {"title": "A talk", "updatedAt": "2026-01-01T00:00:00Z"}
_DIFF: Final[Json] = {
    "type": "diff",
    "changes": [{"operation": "add", "path": "/home/ada/a", "fileType": "text"}],
    "patch": {
        "format": "git_patch",
        "text": "diff --git /home/ada/a /home/ada/a\nnew file mode 100644\n"
        "--- /dev/null\n+++ /home/ada/a\n@@ -0,0 +1 @@\n+b\n",
    },
}
_EVERY_UPDATE: Final[Mapping[int, tuple[tuple[str, dict[str, Json]], ...]]] = {
    1: (
        ("agent_thought_chunk", {"content": _TEXT}),
        ("agent_message_chunk", {"content": _IMAGE}),
        ("agent_message_chunk", {"content": _LINK}),
        ("plan", {"entries": _ENTRIES}),
        ("plan", {"entries": []}),
        ("current_mode_update", {"currentModeId": "code"}),
        ("session_info_update", _TITLE),
        ("usage_update", _USAGE),
        ("available_commands_update", {"availableCommands": []}),
        (
            "tool_call",
            {"toolCallId": "e1", "title": "Look", "kind": "search", "status": "pending"},
        ),
        (
            "tool_call_update",
            {"toolCallId": "e1", "status": "in_progress", "rawInput": {"q": 1}},
        ),
        (
            "tool_call_update",
            {
                "toolCallId": "e1",
                "status": "completed",
                "locations": [{"path": "/home/ada/a", "line": 3}],
                "content": [
                    {"type": "content", "content": _TEXT},
                    {"type": "diff", "path": "/home/ada/a", "oldText": None, "newText": "b"},
                ],
            },
        ),
    ),
    2: (
        ("agent_thought_chunk", {"messageId": "t1", "content": _TEXT}),
        ("agent_thought", {"messageId": "t1", "content": [_TEXT]}),
        ("agent_message_chunk", {"messageId": "m1", "content": _IMAGE}),
        ("agent_message_chunk", {"messageId": "m1", "content": _LINK}),
        ("agent_message", {"messageId": "m1", "content": [_TEXT]}),
        ("agent_message", {"messageId": "m1", "content": None}),
        ("plan_update", {"plan": {"type": "items", "planId": "p1", "entries": _ENTRIES}}),
        ("plan_update", {"plan": {"type": "items", "planId": "p1", "entries": []}}),
        ("session_info_update", _TITLE),
        ("session_info_update", {"title": None}),
        ("usage_update", _USAGE),
        ("available_commands_update", {"availableCommands": []}),
        ("notice", {"severity": "info", "title": "A notice"}),
        ("compaction_update", {"compactionId": "k1", "status": "in_progress"}),
        ("compaction_update", {"compactionId": "k1", "status": "completed"}),
        ("terminal_update", {"terminalId": "t1", "command": "true", "cwd": "/home/ada"}),
        ("terminal_output_chunk", {"terminalId": "t1", "data": "b2sK"}),
        ("terminal_update", {"terminalId": "t1", "exitStatus": {"exitCode": 0}}),
        (
            "tool_call_update",
            {"toolCallId": "e1", "title": "Look", "kind": "search", "status": "pending"},
        ),
        (
            "tool_call_content_chunk",
            {"toolCallId": "e1", "content": {"type": "content", "content": _TEXT}},
        ),
        (
            "tool_call_update",
            {
                "toolCallId": "e1",
                "status": "completed",
                "rawInput": {"q": 1},
                "locations": [{"path": "/home/ada/a", "line": 3}],
                "content": [
                    {"type": "content", "content": _TEXT},
                    _DIFF,
                    {"type": "terminal", "terminalId": "t1"},
                ],
            },
        ),
        ("tool_call_update", {"toolCallId": "e1", "content": None}),
    ),
}
"""By version of the protocol."""


@case(
    "chatty.many-calls",
    "Tool calls",
    "A hundred tool calls at the same time do no harm.",
    persona="chatty",
)
async def many_calls(stage: Stage) -> None:
    for status in ("pending", "in_progress", "completed"):
        for number in range(100):
            is_new = status == "pending" and stage.version == 1
            kind = "tool_call" if is_new else "tool_call_update"
            await stage.update(kind, toolCallId=f"m{number}", title=f"Call {number}", status=status)
    await _survives(stage)


# Slow


@case(
    "slow.initialize",
    "Initialization",
    "The client sends nothing before the response to initialize.",
    persona="slow",
    rules=("initialize-not-first", "request-before-initialized"),
    own=True,
)
async def slow_initialize(stage: Stage) -> None:
    count = stage.notes.get("initialize")
    if count is None:
        raise NotReachedError("the client sent no initialize")
    if count > 1:
        raise CaseFailedError("the client sent more before the response to initialize")


@case(
    "slow.new-session",
    "Session setup",
    "The client sends nothing for a session before it knows the session's id.",
    persona="slow",
    own=True,
)
async def slow_new_session(stage: Stage) -> None:
    count = stage.notes.get("session/new")
    if count is None:
        raise NotReachedError("the client sent no session/new")
    if any(
        isinstance(each, Request) and each.method == "session/prompt"
        for each in stage.messages[:count]
    ):
        raise CaseFailedError("the client sent a prompt before the response to session/new")


@case(
    "slow.patient",
    "Prompt turn",
    "The client waits for the end of a turn in which nothing is sent for a while.",
    persona="slow",
)
async def patient(stage: Stage) -> None:
    with anyio.move_on_after(stage.options.delay):
        await stage.wait_for(lambda: None, "the end of a silence")
    await _survives(stage)


@case(
    "slow.one-prompt",
    "Prompt turn",
    "The client sends no second prompt for a session while a turn runs.",
    profiles=V1,
    persona="slow",
    rules=("concurrent-prompts",),
    own=True,
)
async def one_prompt(stage: Stage) -> None:
    if stage.first_prompt is None or stage.turn_ended is None:
        raise NotReachedError("no turn ended")
    for each in stage.messages[stage.first_prompt + 1 : stage.turn_ended]:
        if (
            isinstance(each, Request)
            and each.method == "session/prompt"
            and get(each.params, "sessionId") == stage.session
        ):
            raise CaseFailedError("a second prompt came while the first turn ran")


@case(
    "slow.late-updates",
    "Prompt turn, Cancellation",
    "After session/cancel the client still accepts updates of tool calls, until the turn ends.",
    persona="slow",
    own=True,
)
async def late_updates(stage: Stage) -> None:
    begin = stage.notes.get(LATE_UPDATES)
    if begin is None:
        raise NotReachedError("the user cancelled no turn")
    if LATE_UPDATES_READ not in stage.notes:
        raise CaseFailedError("the client read nothing after session/cancel")
    _expect_no_reply(stage, begin, "an update after session/cancel")


# Out of order


@case(
    "order.update-first",
    "Session setup",
    "An update may come before the response that names its session.",
    persona="out-of-order",
    own=True,
)
async def update_first(stage: Stage) -> None:
    if not stage.sessions:
        raise NotReachedError("the client created no session")
    if stage.first_prompt is None:
        raise CaseFailedError("the client sent no prompt for the session")


@case(
    "order.update-before-call",
    "Tool calls, Updating",
    "An update of a tool call that was not announced does no harm.",
    profiles=V1,
    persona="out-of-order",
)
async def update_before_call(stage: Stage) -> None:
    await stage.update("tool_call_update", toolCallId="early", status="in_progress")
    await stage.update("tool_call", toolCallId="early", title="Late", status="in_progress")
    await stage.update("tool_call_update", toolCallId="early", status="completed")
    await _survives(stage)


@case(
    "order.permission-before-call",
    "Tool calls, Requesting permission",
    "A permission may be requested for a tool call that was not announced.",
    persona="out-of-order",
)
async def permission_before_call(stage: Stage) -> None:
    reply = await stage.ask(ALLOW, REJECT, call="never-announced")
    _check_outcome(reply, "allow", "reject")


@case(
    "order.two-permissions",
    "Tool calls, Requesting permission",
    "Two permissions that are requested at the same time each get an outcome.",
    persona="out-of-order",
)
async def two_permissions(stage: Stage) -> None:
    at = len(stage.messages)
    ids = [
        await stage.start(
            "session/request_permission",
            stage.permission((f"yes-{call}", "allow_once"), call=call),
        )
        for call in ("one", "two")
    ]
    for id_, call in zip(ids, ("one", "two"), strict=True):
        reply = await stage.response(id_, at, "a response to each permission request")
        _check_outcome(reply, f"yes-{call}")


@case(
    "order.status-back",
    "Tool calls, Status",
    "A tool call whose status goes back does no harm.",
    persona="out-of-order",
)
async def status_back(stage: Stage) -> None:
    kind = "tool_call" if stage.version == 1 else "tool_call_update"
    await stage.update(kind, toolCallId="back", title="Back", status="completed")
    await stage.update("tool_call_update", toolCallId="back", status="pending")
    await _survives(stage)


@case(
    "order.part-before-call",
    "Tool calls, Content chunks",
    "A part of a tool call that was not announced does no harm, nor output of such a terminal.",
    profiles=V2,
    persona="out-of-order",
)
async def part_before_call(stage: Stage) -> None:
    part: Json = {"type": "content", "content": _TEXT}
    await stage.update("tool_call_content_chunk", toolCallId="early", content=part)
    await stage.update("terminal_output_chunk", terminalId="early", data="b2sK")
    await stage.update("tool_call_update", toolCallId="early", title="Late", status="completed")
    await _survives(stage)


# Hostile


def _harmless(id_: str, sentence: str, *lines: bytes, section: str = "Transports, stdio") -> None:
    """Register a case about bytes after which the client goes on."""

    @case(id_, section, sentence, persona="hostile")
    async def goes_on(stage: Stage) -> None:
        for each in lines:
            await stage.send(each)
        await _survives(stage)


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


@case(
    "hostile.parse-error",
    "Overview, JSON-RPC (JSON-RPC 2.0, section 5.1)",
    "A line that is no JSON gets the error -32700 with the id null.",
    persona="hostile",
)
async def parse_error(stage: Stage) -> None:
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
    "An array of messages is not carried out.",
    persona="hostile",
    rules=("batch-not-refused", "batch-response"),
)
async def array(stage: Stage) -> None:
    at = len(stage.messages)
    inner: Json = {"jsonrpc": "2.0", "id": "inner", "method": "_conform/inner", "params": {}}
    await stage.send(encode([inner]))
    await stage.settle()
    for each in stage.messages[at:]:
        if isinstance(each, SuccessResponse | ErrorResponse) and each.id == "inner":
            raise CaseFailedError("a request in an array was carried out")


@case(
    "hostile.jsonrpc-1",
    "Overview, JSON-RPC (JSON-RPC 2.0, section 4)",
    'A request whose jsonrpc is not "2.0" gets no result.',
    persona="hostile",
)
async def jsonrpc_1(stage: Stage) -> None:
    at = len(stage.messages)
    options = () if stage.version == 1 else (ALLOW, REJECT)
    line = encode_request("old", "session/request_permission", stage.permission(*options))
    await stage.send(line.replace(b'"2.0"', b'"1.0"'))
    await stage.settle()
    for each in stage.messages[at:]:
        if isinstance(each, SuccessResponse) and each.id == "old":
            raise CaseFailedError("the request got a result")


@case(
    "hostile.no-options",
    "Tool calls, Permission options",
    "A permission request without options selects nothing.",
    persona="hostile",
)
async def no_options(stage: Stage) -> None:
    reply = await stage.request("session/request_permission", stage.permission())
    if isinstance(reply, SuccessResponse) and _outcome(reply).get("outcome") != "cancelled":
        raise CaseFailedError("an option was selected, and none was offered")


@case(
    "hostile.unknown-update",
    "Schema, SessionUpdate",
    "An update of an unknown kind does not end the session.",
    persona="hostile",
)
async def unknown_update(stage: Stage) -> None:
    await stage.update("confetti", amount=9)
    await _survives(stage)


@case(
    "hostile.broken-update",
    "Schema, SessionUpdate",
    "An update without its fields does not end the session.",
    persona="hostile",
)
async def broken_update(stage: Stage) -> None:
    await stage.update("agent_message_chunk")
    await stage.update("tool_call_update", toolCallId=17)
    await stage.notify("session/update", {"sessionId": stage.session})
    await _survives(stage)


@case(
    "hostile.unknown-session",
    "Session setup, Session id",
    "An update for a session that the client does not have does no harm.",
    persona="hostile",
)
async def unknown_session(stage: Stage) -> None:
    await stage.say("Who is there?", "no-such-session-0000")
    await _survives(stage)


@case(
    "hostile.custom-values",
    "Extensibility, Custom values",
    "Statuses, kinds, types and states of extensions do not end the session.",
    profiles=V2,
    persona="hostile",
)
async def custom_values(stage: Stage) -> None:
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
    await _survives(stage)


@case(
    "hostile.control-characters",
    "Prompt turn, Updates",
    "Control characters in texts do not end the session.",
    persona="hostile",
)
async def control_characters(stage: Stage) -> None:
    await stage.say("\x1b[2J\x1b]0;title\x07\x00\u202e\u2028\x9b31m")
    title = "\x1b[31mrm -rf /\r\x1b[0m"
    kind = "tool_call" if stage.version == 1 else "tool_call_update"
    await stage.update(kind, toolCallId="ctl", title=title, status="completed")
    await _survives(stage)


# Dying, login, future


@case(
    "dying.leaves",
    "Transports, stdio",
    "A client whose agent has ended its output closes the connection.",
    persona="dying",
)
async def leaves(stage: Stage) -> None:
    await stage.say("I do not feel so w")
    await stage.close_output()
    await stage.wait_for(lambda: True if stage.has_ended else None, "the end of its output")


@case(
    "login.known-method",
    "Authentication",
    "A client that logs in uses a method that was offered, and creates the session after it.",
    persona="login",
    rules=("unknown-auth-method", "unknown-login-method", "terminal-method-as-login"),
    own=True,
)
async def login_known(stage: Stage) -> None:
    if stage.login_method not in stage.notes:
        raise NotReachedError("the client did not log in")
    if not stage.sessions:
        raise CaseFailedError("the client created no session after the login")


@case(
    "future.leaves",
    "Initialization, Version negotiation",
    "A client that cannot speak the version of the agent goes on with nothing.",
    persona="future",
    rules=("version-mismatch-ignored",),
    own=True,
)
async def future(stage: Stage) -> None:
    if not stage.messages:
        raise NotReachedError("the client sent no initialize")
    for each in stage.messages[1:]:
        if isinstance(each, Request | Notification):
            raise CaseFailedError(f"the client sent {each.method} in version 77")
