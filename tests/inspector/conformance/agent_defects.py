"""One defect for each case for agents: what is wrong, and the cases that must notice."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from tests.inspector.conformance.scripted_agent import Defect, Edit, Message

V1, UNSTABLE, V2, BATCHES = "v1", "v1-unstable", "v2", "v2-batch"
DROP = object()


def change(tag: str, *changes: tuple[str, Any]) -> Edit:
    """Set values at paths of the messages with a tag; DROP removes them."""

    def edit(found: str, message: Message) -> Message:
        if fnmatchcase(found, tag):
            for path, value in changes:
                _set(message, path.split("."), value)
        return message

    return edit


def _set(message: Any, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        if isinstance(message, list):
            if int(name) >= len(message):
                return
            message = message[int(name)]
        elif isinstance(message, dict) and name in message:
            message = message[name]
        else:
            return
    last: Any = int(path[-1]) if isinstance(message, list) else path[-1]
    if isinstance(message, list) and last >= len(message):
        return
    if value is DROP:
        message.pop(last, None) if isinstance(message, dict) else message.pop(last)
    elif isinstance(message, dict | list):
        message[last] = value


def written(tag: str, write: Callable[[Message], Any]) -> Edit:
    """Replace the messages with a tag by bytes, other messages, or several of both."""
    return lambda found, message: write(message) if fnmatchcase(found, tag) else message


def line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | message).encode()


def instead(tag: str, *, code: int | None = None, result: Any = None) -> Edit:
    """Respond otherwise."""

    def write(message: Message) -> Message:
        if code is None:
            return {"id": message["id"], "result": result}
        return {"id": message["id"], "error": {"code": code, "message": "No"}}

    return written(tag, write)


def flag(name: str, *cases: str, versions: tuple[str, ...] = (V1,)) -> Defect:
    """Return a defect of the agent's behaviour."""
    return Defect(" ".join(cases), flags=frozenset({name}), versions=versions)


def sent(edit: Edit, *cases: str, versions: tuple[str, ...] = (V1,)) -> Defect:
    """Return a defect of what the agent writes."""
    return Defect(" ".join(cases), edit, versions=versions)


def alone(defect: Defect) -> Defect:
    """Mark a defect that lets a wait run out, or spreads: only its own cases are played."""
    return replace(defect, is_alone=True)


def update(kind: str, *changes: tuple[str, Any]) -> Edit:
    """Change what updates of a kind hold."""
    return change(f"update {kind}", *((f"params.update.{path}", value) for path, value in changes))


def for_id(id_: Any, write: Callable[[Message], Any]) -> Edit:
    """Change the responses to requests with this id."""
    return lambda _, message: (
        write(message) if message.get("id") == id_ and type(message["id"]) is type(id_) else message
    )


def _done(message: Message) -> Message:
    """Return a stop reason that does not exist."""
    if message["result"]["stopReason"] == "end_turn":
        message["result"]["stopReason"] = "done"
    return message


def _compact(message: Message) -> list[Message]:
    """Send an update that the client has not claimed to understand."""
    inner = {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}
    params = {"sessionId": message["params"]["sessionId"], "update": inner}
    return [message, {"method": "session/update", "params": params}]


REFUSAL: Message = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "No"}}
NOTE: Message = {"jsonrpc": "2.0", "method": "_conform/note", "params": {}}


def in_array(id_: Any, write: Callable[[list[Message]], Any]) -> Edit:
    """Change the array with the response to a request with this id."""

    def edit(tag: str, message: Any) -> Any:
        is_meant = tag == "array" and any(each.get("id") == id_ for each in message)
        return write(message) if is_meant else message

    return edit


def without_refusals(array: list[Message]) -> list[Message]:
    return [each for each in array if each["id"] is not None]


def one_refusal(tag: str, array: Any) -> Any:
    """Keep one of several refusals, where an array has nothing else."""
    is_meant = tag == "array" and not without_refusals(array)
    return array[:1] if is_meant else array


BATCH_EDITS: dict[str, tuple[Edit, str]] = {
    "array lacks a response": (in_array("batch-2", lambda array: array[:1]), "batch.requests"),
    "array is answered in lines": (
        in_array("batch-3", lambda array: [line(each) for each in array]),
        "batch.one-array",
    ),
    "note of an array is answered": (
        in_array("batch-5", lambda array: [*array, REFUSAL]),
        "batch.notification",
    ),
    "broken array gets an array": (
        written("error parse array", lambda message: b"[" + line(message) + b"]"),
        "batch.not-json",
    ),
    "empty array gets an array": (
        written("error empty", lambda message: b"[" + line(message) + b"]"),
        "batch.empty",
    ),
    "invalid entry is passed over": (
        in_array("batch-7", without_refusals),
        "batch.invalid-entries",
    ),
    "invalid entries get one error": (one_refusal, "batch.only-invalid batch.invalid-entries"),
    "response among notifications": (
        in_array("batch-1", lambda array: [*array, NOTE]),
        "batch.one-kind",
    ),
}
"""Defects with arrays, of both sides, and the cases that notice."""
SEEN_BESIDE: dict[str, str] = {"response among notifications": "batch.requests"}
"""Those that show in what is sent in another case."""

DEFECTS: dict[str, Defect] = {
    **{
        name: Defect(
            cases,
            edit,
            versions=(BATCHES,),
            is_alone=name not in SEEN_BESIDE,
            shown_by=SEEN_BESIDE.get(name, ""),
        )
        for name, (edit, cases) in BATCH_EDITS.items()
    },
    "notifications get an array": Defect(
        "batch.only-notifications batch.filled",
        flags=frozenset({"answers-nothing"}),
        versions=(BATCHES,),
        is_alone=True,
    ),
    # initialize
    "version is text": sent(
        change("result initialize", ("result.protocolVersion", "1")),
        "initialize.malformed-capability",
        "initialize.newer-version",
        "initialize.only-version",
        "initialize.responds",
        "initialize.same-version",
        "initialize.unknown-capability",
    ),
    "version above": sent(
        change("result initialize", ("result.protocolVersion", 7)),
        "initialize.newer-version",
        "initialize.same-version",
    ),
    "echoes any version": flag("echoes-version", "initialize.newer-version"),
    "version zero": flag("version-zero", "initialize.version-zero", versions=(V2,)),
    "any protocol": flag("any-protocol", "initialize.version-as-text"),
    "no protocol needed": flag("needs-no-protocol", "initialize.no-version"),
    "needs capabilities": flag("needs-capabilities", "initialize.only-version"),
    "needs no info": flag("info", "initialize.no-info", versions=(V2,)),
    "no meta": flag("no-meta", "initialize.unknown-capability"),
    "strict capabilities": flag("strict-capabilities", "initialize.malformed-capability"),
    "early sessions": flag("early", "initialize.no-session-before"),
    "once only": flag("once", "initialize.repeated", versions=(V2,)),
    # authentication
    "login fails": alone(flag("login-fails", "authentication.login")),
    "any login": flag("any-login", "authentication.unknown-method"),
    "login unchecked": flag("unchecked authenticate", "authentication.no-method-id"),
    "logout fails": sent(instead("result logout", code=-32603), "authentication.logout"),
    # JSON-RPC
    "parse error code": sent(
        change("error parse", ("error.code", -32603)), "jsonrpc.parse-error", "envelope.null-id"
    ),
    "dies of garbage": flag("dies-of-garbage", "jsonrpc.survives-garbage"),
    "dies of blanks": flag("dies-of-blanks", "jsonrpc.survives-blank-line"),
    "invalid request code": sent(
        change("error invalid", ("error.code", -32603)), "jsonrpc.no-request", "envelope.null-id"
    ),
    "reads arrays": flag("reads-arrays", "jsonrpc.no-batch"),
    "any version": flag("any-version", "jsonrpc.wrong-version"),
    "unknown method": sent(
        change("error session/levitate", ("error.code", -32603)), "jsonrpc.unknown-method"
    ),
    "unknown extension": sent(
        change("error _example.org/levitate", ("error.code", -32603)), "jsonrpc.unknown-extension"
    ),
    "answers unknown": flag("answers-unknown", "envelope.null-id", "jsonrpc.unknown-notification"),
    "answers notifications": flag(
        "answers-notifications", "envelope.null-id", "jsonrpc.request-as-notification"
    ),
    "text id": alone(
        sent(
            for_id("00000000-0000-4000-8000-00000000c0de", lambda m: m | {"id": "x"}),
            "envelope.response-id",
            "jsonrpc.text-id",
        )
    ),
    "digits id": alone(
        sent(
            for_id("4711", lambda m: m | {"id": 4711}), "envelope.response-id", "jsonrpc.digits-id"
        )
    ),
    "zero id": alone(sent(for_id(0, lambda m: None), "jsonrpc.zero-id")),
    "negative id": alone(sent(for_id(-3, lambda m: m | {"id": 3}), "jsonrpc.negative-id")),
    "large id": alone(
        sent(
            for_id(9007199254740991, lambda m: m | {"id": 9007199254740992}),
            "envelope.response-id",
            "jsonrpc.large-id",
        )
    ),
    "empty id": alone(
        sent(for_id("", lambda m: m | {"id": None}), "envelope.null-id", "jsonrpc.empty-id")
    ),
    "null id": flag("null-id", "jsonrpc.null-id", versions=(V2,)),
    "many requests": alone(
        sent(
            written("error _conform/many", lambda m: None if m["id"] % 7 == 0 else m),
            "jsonrpc.many-requests",
        )
    ),
    "answers responses": flag("answers-responses", "jsonrpc.stray-response"),
    "params by position": flag("positions", "jsonrpc.params-array"),
    "params missing": flag("no-params", "jsonrpc.params-missing"),
    "escaped text": alone(
        sent(
            for_id("grüß", lambda m: m | {"id": "gruss"}),
            "envelope.response-id",
            "jsonrpc.escaped-text",
        )
    ),
    "any order": alone(sent(for_id("order", lambda m: None), "jsonrpc.members-in-any-order")),
    "long message": alone(flag("short", "jsonrpc.long-message")),
    "carriage return": alone(flag("no-returns", "jsonrpc.carriage-return")),
    "stays": alone(flag("stays", "jsonrpc.ends-with-stdin")),
    "session meta": flag("no-session-meta", "extensibility.meta"),
    "answers cancel request": flag(
        "answers-cancel-request", "cancel-request.unknown", "envelope.null-id"
    ),
    # sessions
    "no session id": sent(
        change("result session/new", ("result.sessionId", DROP)),
        "extensibility.meta",
        "mcp.http-connects",
        "mcp.stdio-connects",
        "methods.schema",
        "session.known",
        "session.new",
        "session.new-roots",
    ),
    "one id": alone(flag("one-id", "cancel.only-its-session", "session.new-unique")),
    "no cwd": flag("no-cwd", "session.new-no-cwd"),
    "any cwd": flag("any-cwd", "session.new-relative-cwd"),
    "bad servers": flag("any-servers", "session.new-bad-servers"),
    "any transport": flag("any-server", "session.new-unknown-transport", versions=(V2,)),
    "any root": flag("any-root", "session.new-relative-root"),
    "no roots": flag("no-roots", "session.new-roots"),
    "any session": flag("any-session", "close.ends", "session.known", "session.unknown-prompt"),
    "unknown session code": sent(
        change("error session/prompt", ("error.data", {"sessionId": "x"})),
        "session.unknown-prompt-code",
        versions=(V2,),
    ),
    "answers cancel": flag("answers-cancel", "envelope.null-id", "session.unknown-cancel"),
    "load silent": flag("load-silent", "load.replays"),
    "load silent after restart": Defect(
        "load.replays", flags=frozenset({"load-silent", "no-close"})
    ),
    "load twice": flag("load-twice", "load.nothing-after"),
    "load closed": flag("load-closed", "load.goes-on"),
    "loads any": flag("loads-any", "load.unknown"),
    "load unchecked": flag("any-load", "load.no-session-id"),
    "resume replays": flag("resume-replays", "resume.no-replay"),
    "resume closed": flag("resume-closed", "resume.goes-on"),
    "resumes any": flag("resumes-any", "resume.unknown"),
    "no state": flag("no-state", "resume.state", versions=(V2,)),
    "any cursor": flag("any-cursor", "resume.bad-cursor", versions=(V2,)),
    "list is null": sent(change("result session/list", ("result.sessions", None)), "list.is-list"),
    "lists none": flag("lists-none", "list.holds-session"),
    "all places": flag("all-places", "list.by-directory"),
    "pages repeat": flag("repeats", "list.pages-end"),
    "any page": flag("any-page", "list.bad-cursor"),
    "close fails": sent(
        instead("result session/close", code=-32603), "close.cancels", "close.succeeds"
    ),
    "reopens": flag("reopens", "close.ends"),
    "close keeps": flag("cancel-close-ends", "close.cancels"),
    "close talks": flag("close-talks", "close.silent", versions=(V2,)),
    "delete nothing": flag("delete-nothing", "delete.forgets"),
    "delete strict": flag("delete-strict", "delete.twice"),
    # modes and options
    "current mode": sent(
        change("result session/new", ("result.modes.currentModeId", "x")), "modes.current"
    ),
    "mode fails": flag("mode-fails", "modes.set"),
    "any mode": flag("any-mode", "modes.unknown"),
    "keeps value": flag("keeps-value", "options.set"),
    "any option": flag("any-option", "options.set", "options.unknown"),
    "any value": flag("any-value", "options.bad-value"),
    # servers
    "ignores stdio": alone(flag("ignores-stdio", "mcp.stdio-connects")),
    "ignores http": alone(flag("ignores-http", "mcp.http-connects")),
    "lists nothing": alone(flag("lists-nothing", "mcp.http-lists", "mcp.stdio-lists")),
    "calls nothing": flag("calls-nothing", "mcp.http-calls", "mcp.stdio-calls"),
    "no http": flag("no-http", "mcp.http-offered"),
    # unstable
    "fork same": flag("fork-same", "fork.new-id", "session.new-unique", versions=(UNSTABLE,)),
    "no title": sent(
        change("result session/set_title", ("result.title", DROP)),
        "title.stored",
        versions=(UNSTABLE,),
    ),
    "status any": flag("status-any", "status.unknown", versions=(UNSTABLE,)),
    "keeps archived": flag("keeps-archived", "archive.hides", versions=(UNSTABLE,)),
    "archive any": flag("archive-any", "archive.unknown", versions=(UNSTABLE,)),
    "status login": flag("status-login", "auth-status.no-login-needed", versions=(UNSTABLE,)),
    "providers null": sent(
        change("result providers/list", ("result.providers", None)),
        "providers.list",
        "methods.schema",
        versions=(UNSTABLE,),
    ),
    "any provider": flag("any-provider", "providers.unknown", versions=(UNSTABLE,)),
    "disables all": flag("disables-all", "providers.required", versions=(UNSTABLE,)),
    # prompts
    "stop reason": sent(written("result session/prompt", _done), "prompt.ends"),
    "always cancelled": flag(
        "says-cancelled",
        "cancel.after-end",
        "cancel.goes-on",
        "cancel.idle",
        "cancel.then-prompt",
        "prompt.not-cancelled",
    ),
    "one turn": alone(flag("one-turn", "prompt.again")),
    "one at a time": flag(
        "one-at-a-time",
        "prompt.two-sessions",
    ),
    "late": flag("late", "prompt.silent-afterwards"),
    "no links": flag("refuses resource_link", "prompt.resource-link"),
    "no annotations": flag("refuses-annotations", "prompt.annotations"),
    "ascii": flag("ascii", "prompt.unicode"),
    "no image": flag("refuses image", "prompt.image"),
    "no audio": flag("refuses audio", "prompt.audio"),
    "no embedded text": flag("refuses-embedded-text", "prompt.embedded-text"),
    "no embedded blob": flag("refuses-embedded-blob", "prompt.embedded-blob"),
    "prompt missing": flag("accepts-missing", "prompt.missing"),
    "prompt text": flag("accepts-string", "prompt.no-list"),
    "block no type": flag("accepts-no-type", "prompt.block-no-type"),
    "block no text": flag("accepts-no-text", "prompt.block-no-text"),
    "any block": flag("any-block", "prompt.block-unknown"),
    "link no uri": flag("accepts-no-uri", "prompt.link-no-uri"),
    "no session": flag("accepts-no-session", "prompt.no-session-id"),
    "refused for good": flag("refused-for-good", "prompt.after-refusal"),
    "image all the same": flag("any-audio", "prompt.image-not-offered", versions=(V2,)),
    "message id": sent(
        change("result session/prompt", ("result.messageId", DROP)),
        "prompt.message-id",
        versions=(V2,),
    ),
    "not running": sent(
        written(
            "update state_update",
            lambda m: None if m["params"]["update"]["state"] == "running" else m,
        ),
        "prompt.running-first",
        versions=(V2,),
    ),
    # cancel
    "new session ends turns": alone(flag("new-ends-turns", "session.new-during-turn")),
    "cancel ends": flag(
        "cancel-ends",
        "cancel.ends-turn",
        "cancel.permission",
        "cancel.same-write",
        "close.cancels",
    ),
    "cancel fails": flag(
        "cancel-fails",
        "cancel-request.prompt",
        "cancel.ends-turn",
        "cancel.permission",
        "cancel.same-write",
        "close.cancels",
    ),
    "cancel dead": flag("cancel-dead", "cancel.goes-on"),
    "cancel twice": flag("cancel-answers-twice", "cancel.twice", "envelope.one-response"),
    "cancels next": flag("cancels-next", "cancel.idle", "cancel.after-end"),
    "cancels queued": flag("cancels-queued", "cancel.then-prompt"),
    "loses cancel": alone(flag("loses-cancel", "cancel.same-write")),
    "cancels all": flag("cancels-all", "cancel.only-its-session"),
    "cancel late": flag("cancel-late", "cancel.silent-afterwards"),
    "request fails": flag("request-fails", "cancel-request.prompt"),
    # Lint finds it too if the agent must have received the cancellation, which depends on times.
    "permission ends": alone(flag("cancel-permission-ends", "cancel.permission")),
    # tools
    "unfinished": flag("unfinished", "tool-call.finished"),
    "command unfinished": flag("command-unfinished", "tool-call.command-finished"),
    "yes is nothing": flag("yes-is-nothing", "permission.allowed"),
    "no is yes": flag("no-is-yes", "permission.rejected"),
    "error is yes": flag("error-is-yes", "permission.dialog-failed"),
    "same options": sent(
        change("request session/request_permission", ("params.options.2.optionId", "yes")),
        "permission.options",
    ),
    "ungated": flag("ungated", "files.not-offered"),
    "ungated write": flag("ungated-write", "files.write-not-offered"),
    "ungated terminal": flag("ungated-terminal", "terminal.not-offered"),
    "ungated form": flag("ungated-form", "elicitation.not-offered"),
    "hangs on files": alone(flag("hangs-on-files", "files.refused")),
    "leaks": flag("leaks", "terminal.released"),
    "hangs on decline": alone(flag("hangs-on-decline", "elicitation.declined")),
    "hangs on cancel": alone(flag("hangs-on-cancel", "elicitation.cancelled")),
    "plan entries": sent(update("plan", ("entries.0.status", DROP)), "plan.sent"),
    "cancels any call": flag("cancels-any", "entity-cancel.unknown-call", versions=(V2,)),
    "ends any terminal": flag(
        "ends-any", "entity-cancel.unknown-call", "entity-cancel.unknown-terminal", versions=(V2,)
    ),
    # frames
    "two on a line": sent(
        written("update plan", lambda m: line(m) + line(m)), "frames.one-json-text"
    ),
    "latin-1": sent(
        written("update plan", lambda m: line(m).replace(b"Look", b"L\xfcck")), "frames.utf8"
    ),
    "headers": sent(
        written("update plan", lambda m: [b"Content-Length: 99\r", b"\r", m]), "frames.no-headers"
    ),
    "logs": sent(written("update plan", lambda m: [b"INFO planning", m]), "frames.no-logs"),
    "arrays": sent(written("update plan", lambda m: b"[" + line(m) + b"]"), "frames.objects"),
    "jsonrpc 1": sent(
        written("update plan", lambda m: line({**m, "jsonrpc": "1.0"})), "envelope.jsonrpc"
    ),
    "two kinds": sent(written("update plan", lambda m: m | {"result": {}}), "envelope.one-kind"),
    "method empty": sent(written("update plan", lambda m: m | {"method": ""}), "envelope.method"),
    "id fraction": sent(
        written("request terminal/output", lambda m: [m | {"id": 1.5}, m]), "envelope.id"
    ),
    "params list": sent(
        written("update plan", lambda m: [m, m | {"params": [1]}]),
        "envelope.params",
        "updates.variant",
    ),
    "id again": sent(written("request terminal/output", lambda m: [m, m]), "envelope.id-unique"),
    "response id": Defect(
        "envelope.response-id",
        written("error _conform/many", lambda m: [m, m | {"id": "nobody"}]),
        shown_by="jsonrpc.many-requests",
    ),
    "responds twice": Defect(
        "envelope.one-response",
        written("error _conform/many", lambda m: [m, m]),
        shown_by="jsonrpc.many-requests",
    ),
    "null id result": Defect(
        "envelope.null-id",
        written("error _conform/many", lambda m: [m, {"id": None, "result": {}}]),
        shown_by="jsonrpc.many-requests",
    ),
    "error text": alone(
        sent(
            change("error session/levitate", ("error.message", DROP)),
            "envelope.error",
            "jsonrpc.unknown-method",
        )
    ),
    "unknown call": sent(
        written("update plan", lambda m: [m, {"method": "session/plan", "params": {}}]),
        "methods.known",
    ),
    "direction": sent(
        written(
            "update plan",
            lambda m: [m, {"method": "session/cancel", "params": {"sessionId": "s1"}}],
        ),
        "methods.direction",
    ),
    "update with id": sent(
        written("update plan", lambda m: m | {"id": 99}), "methods.notifications"
    ),
    "request without id": sent(
        written(
            "request terminal/output", lambda m: [{"method": m["method"], "params": m["params"]}, m]
        ),
        "methods.requests",
    ),
    "no cancel": sent(
        instead("result logout", code=-32601), "authentication.logout", "methods.baseline"
    ),
    "usage text": sent(
        change("request terminal/create", ("params.outputByteLimit", "1000")), "methods.schema"
    ),
    # initialize, observed
    "too early": sent(
        written("result initialize", lambda m: [{"id": 1, "method": "_x/hello", "params": {}}, m]),
        "initialize.first",
    ),
    "other members": sent(
        change("result session/prompt", ("result.messageId", "m")), "initialize.members"
    ),
    "no agent info": sent(
        change("result initialize", ("result.info", DROP)), "initialize.agent-info", versions=(V2,)
    ),
    "marker true": sent(
        change("result initialize", ("result.capabilities.session.delete", True)),
        "initialize.markers",
        versions=(V2,),
    ),
    "boolean object": sent(
        change("result initialize", ("result.agentCapabilities.mcpCapabilities.http", {})),
        "initialize.booleans",
    ),
    "auth ids": sent(
        change("result initialize", ("result.authMethods.1.id", "key")), "initialize.auth-ids"
    ),
    "auth fields": sent(
        change("result initialize", ("result.authMethods.1.name", DROP)), "initialize.auth-fields"
    ),
    "auth terminal": flag("login-anyway", "initialize.auth-terminal"),
    "unknown session": sent(change("update plan", ("params.sessionId", "nobody")), "session.known"),
    "options null": sent(
        change("result session/new", ("result.availableCommands", None)),
        "session.lists",
        versions=(V2,),
    ),
    # updates
    "kind": sent(
        written(
            "update plan",
            lambda m: {
                "method": "session/update",
                "params": {
                    "sessionId": m["params"]["sessionId"],
                    "update": {"kind": "plan", "entries": []},
                },
            },
        ),
        "updates.variant",
    ),
    "v2 update": sent(update("plan", ("sessionUpdate", "plot")), "updates.known"),
    "chunk without content": sent(
        update("agent_message_chunk", ("content", DROP)), "updates.schema"
    ),
    "no message id": sent(
        update("agent_message_chunk", ("messageId", DROP)), "updates.message-id", versions=(V2,)
    ),
    "text missing": sent(update("agent_message_chunk", ("content.text", DROP)), "content.fields"),
    "unknown content": sent(
        update("agent_message_chunk", ("content.type", "html")), "content.known"
    ),
    "call without title": sent(update("tool_call", ("title", DROP)), "tool-call.title"),
    "call twice": sent(written("update tool_call", lambda m: [m, m]), "tool-call.once"),
    "status": sent(update("tool_call", ("status", "waiting")), "tool-call.status"),
    "reopened": sent(
        written(
            "update tool_call_update",
            lambda m: (
                [m, _status(m, "in_progress"), m] if m["params"]["update"].get("rawOutput") else m
            ),
        ),
        "tool-call.final",
    ),
    "call kind": sent(update("tool_call", ("kind", "magic")), "tool-call.kind"),
    "bare content": sent(
        update("tool_call_update", ("content.0", {"type": "text", "text": "x"})),
        "tool-call.content",
    ),
    "diff text": sent(
        written("update tool_call_update", lambda m: _diff(m, newText=None)), "tool-call.diff"
    ),
    "diff path": sent(
        written("update tool_call_update", lambda m: _diff(m, path="notes.txt")),
        "tool-call.diff-path",
    ),
    "location": sent(update("tool_call", ("locations.0.path", "notes.txt")), "tool-call.location"),
    "terminal content": sent(
        update("tool_call_update", ("content.0.terminalId", "nowhere")), "tool-call.terminal"
    ),
    "patch": sent(
        written("update tool_call_update", lambda m: _patch(m)), "tool-call.patch", versions=(V2,)
    ),
    "no tool call": sent(
        change("request session/request_permission", ("params.toolCall", DROP)),
        "permission.allowed",
        "permission.tool-call",
    ),
    "relative file": sent(
        change("request fs/read_text_file", ("params.path", "notes.txt")), "files.absolute"
    ),
    "line 0": sent(change("request fs/read_text_file", ("params.line", 0)), "files.line"),
    "env object": sent(
        change("request terminal/create", ("params.env", {"A": "1"})), "terminal.create"
    ),
    "relative cwd": sent(change("request terminal/create", ("params.cwd", "here")), "terminal.cwd"),
    "unknown terminal": sent(
        change("request terminal/output", ("params.terminalId", "t0")), "terminal.known"
    ),
    "released twice": sent(
        written("request terminal/release", lambda m: [m, m | {"id": m["id"] + 1000}]),
        "terminal.not-after-release",
    ),
    "output text": sent(
        update("terminal_output_chunk", ("data", "no base64!")), "terminal.output", versions=(V2,)
    ),
    "display cwd": sent(
        update("terminal_update", ("cwd", "here")), "terminal.display-cwd", versions=(V2,)
    ),
    "mode id": sent(
        update("current_mode_update", ("modeId", "ask"), ("currentModeId", DROP)), "modes.update"
    ),
    "current value": sent(
        change("result session/new", ("result.configOptions.0.options", DROP)), "options.current"
    ),
    "boolean text": sent(
        change("result session/new", ("result.configOptions.1.currentValue", "no")),
        "options.boolean",
    ),
    "no value": sent(
        change("result session/new", ("result.configOptions.0.currentValue", DROP)), "options.value"
    ),
    "option ids": sent(
        change("result session/new", ("result.configOptions.1.id", "model")), "options.unique"
    ),
    "config id": sent(
        change(
            "result session/new",
            ("result.configOptions.1.configId", "verbose"),
            ("result.configOptions.1.id", DROP),
        ),
        "options.names",
    ),
    "mixed": sent(
        change(
            "result session/new",
            (
                "result.configOptions.0.options.1",
                {"group": "g", "name": "G", "options": [{"value": "large", "name": "large"}]},
            ),
        ),
        "options.groups",
    ),
    "boolean anyway": flag("boolean", "options.boolean-offered"),
    "no description": sent(
        update("available_commands_update", ("availableCommands.0.description", DROP)),
        "commands.fields",
    ),
    "no hint": sent(
        update("available_commands_update", ("availableCommands.0.input", {})), "commands.input"
    ),
    "usage": sent(update("usage_update", ("used", -1)), "usage.counts"),
    "cost": sent(update("usage_update", ("cost.currency", DROP)), "usage.cost"),
    "form message": sent(
        change("request elicitation/create", ("params.message", DROP)), "elicitation.fields"
    ),
    "form scope": sent(
        change("request elicitation/create", ("params.sessionId", DROP)), "elicitation.scope"
    ),
    "form schema": sent(
        change(
            "request elicitation/create",
            ("params.requestedSchema.properties.which", {"type": "object", "properties": {}}),
        ),
        "elicitation.schema",
    ),
    "page": sent(
        change("request elicitation/create", ("params.url", "https://ada:secret@example.org/")),
        "elicitation.url",
    ),
    "another rule": sent(written("update plan", _compact), "traffic.other-rules"),
}
"""By a short name."""


def _status(message: Message, status: str) -> Message:
    update = message["params"]["update"] | {"status": status}
    return message | {"params": message["params"] | {"update": update}}


def _diff(message: Message, **changes: Any) -> Message:
    for each in message["params"]["update"].get("content") or []:
        if each["type"] == "diff":
            for name, value in changes.items():
                if value is None:
                    del each[name]
                else:
                    each[name] = value
    return message


def _patch(message: Message) -> Message:
    for each in message["params"]["update"].get("content") or []:
        if each["type"] == "diff":
            each["patch"]["text"] = each["patch"]["text"].replace("--git /", "--git a/")
    return message
