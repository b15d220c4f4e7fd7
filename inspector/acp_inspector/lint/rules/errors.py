"""Error responses: their codes and messages.

Source: JSON-RPC 2.0, "Error object"; ACP, "Overview", and the published schemas.
"""

from __future__ import annotations

import re
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, fix
from acp_inspector.lint.rules.envelope import LastNotifications
from acp_inspector.lint.state import opposite
from acp_protocol.jsonrpc import (
    AUTH_REQUIRED,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
    Json,
)
from acp_protocol.schema.vocabulary import ERROR_CODES, UNREADABLE

rule = LintSubject("envelope", page="overview.mdx")

CODES: Final = range(-(2**31), 2**31)
RESERVED: Final = range(-32768, -31999)
"""Codes that only JSON-RPC and ACP give a meaning."""
OTHER_REASONS: Final = frozenset({AUTH_REQUIRED, RESOURCE_NOT_FOUND, REQUEST_CANCELLED})
"""Codes of failures that precede a check of params: no login, no session, cancelled."""
SENTENCE: Final = 240
"""Longest short sentence, in characters."""
_NOT_FOUND_MISUSED: Final = re.compile(
    r"not\W*(yet\W*)?initiali[sz]ed|permission|denied|forbidden|unauthori[sz]ed", re.IGNORECASE
)
_NAME: Final = re.compile(r"\S*[/\\]\S*|\S+\.\w+|[\"'`“][^\"'`”]*[\"'`”]")
"""A file name or a quoted text, whatever words it contains."""
_MISSING: Final = re.compile(r"not found|no such|(does not|doesn.t) exist|missing", re.IGNORECASE)
_ABOUT_LOGIN: Final = re.compile(
    r"auth(?!ors?\b)|\blog.?(in|ged)|sign.?in|credential|api.?key|account|subscription"
    r"|(access|bearer|refresh|session|id|github|user|personal|api|security)\W*token"
    r"|(invalid|expired|missing|revoked|no|bad|unknown|your|a|the)\W+token\b(?!\W+(limit|count))"
    r"|\btokens?\W+((is|has|was|are|have)\W+)?(been\W+)?(expired|invalid|missing|revoked|required)",
    re.IGNORECASE,
)
_TRACE: Final = re.compile(
    r"Traceback \(most recent|\n\s*at .+:\d+|^\s*at .+\(.+:\d+", re.MULTILINE
)


@rule.error(29, "json-rpc", "responder", on.response(), case={"agent": "envelope.null-id"})
@fix("Answer with the id of the request.")
def null_response_id(context: Context) -> CheckResult:
    """`id: null` responses carry only -32700 or -32600 errors (unless the request id really was
    null).
    """
    if context.id is not None or "id" not in context.value:
        return None
    if context.request is not None or (context.kind == "failure" and context.code in UNREADABLE):
        return OK
    if context.state.of(LastNotifications).get(opposite(context.side)) is not None:
        # It answers a notification, which has no id: `answered-notification`.
        return None
    what = "a result" if context.kind == "result" else f"the error {context.code}"
    return context.problem(f"{what} has the id null", path="id")


@rule.error(30, "schema", "responder", on.error(), case="envelope.error")
@fix("Write an integer code and a string message.")
def malformed_error(context: Context) -> CheckResult:
    """`error` has an integer `code` (int32) and a string `message`."""
    error: Json = context.value.get("error")
    if not isinstance(error, dict):
        return context.problem(f"the error is not an object: {quoted(error)}", path="error")
    if context.code is None or context.code not in CODES:
        return context.problem(
            f"the error's code is {quoted(context.error.get('code'))}", path="error.code"
        )
    if not isinstance(context.error.get("message"), str):
        return context.problem("the error has no message", path="error.message")
    return OK


@rule.info(31, "should", "responder", on.error(), source="schema")
@fix("Say it in one short sentence; put details into data.")
def long_error_message(context: Context) -> CheckResult:
    """`error.message` is one short sentence (no newline, no stack trace; details go to `data`)."""
    message = context.error.get("message")
    if not isinstance(message, str):
        return None
    if _TRACE.search(message):
        return context.problem("the error's message holds a stack trace", path="error.message")
    if "\n" in message.strip() or len(message) > SENTENCE:
        return context.problem("the error's message is not a short sentence", path="error.message")
    return OK


@rule.warning(32, "schema", "responder", on.error(), since="2026-11")
@fix("Use the codes that JSON-RPC and ACP assign, or your own range.")
def foreign_error_code(context: Context) -> CheckResult:
    """Codes in -32768..-32000 are ones ACP or JSON-RPC assigns: -32700, -32600..-32603, -32000,
    -32002, and -32022 in v2. Others (-32001, -32003, -32004 …) point to a dialect.
    """
    code = context.code
    if code is None or code not in RESERVED:
        return None
    if code in ERROR_CODES[2 if context.version == 2 else 1]:
        return OK
    return context.problem(
        f"the error code {code} is reserved and means nothing; perhaps a dialect is spoken",
        path="error.code",
    )


@rule.warning(33, "schema", "responder", on.error(), since="2026-11")
@fix("Use -32002 for files and sessions that do not exist only.")
def misused_not_found(context: Context) -> CheckResult:
    """-32002 is used for "resource not found" (file or session) only, not for "not initialized" or
    "permission denied".
    """
    if context.code != RESOURCE_NOT_FOUND:
        return None
    message = str(context.error.get("message"))
    params = context.request.params if context.request is not None else {}
    is_misused = _NOT_FOUND_MISUSED.search(_NAME.sub("", message)) and not _MISSING.search(message)
    if is_misused or not params.keys() & {"sessionId", "path", "uri"}:
        return context.problem(
            f"-32002 (resource not found) says {quoted(message)}",
            context.request,
            path="error.code",
        )
    return OK


@rule.warning(34, "schema", "responder", on.error())
@fix("Use -32000 where the user has to log in, only.")
def misused_auth_required(context: Context) -> CheckResult:
    """-32000 is used for authentication required only."""
    if context.code != AUTH_REQUIRED:
        return None
    message = str(context.error.get("message"))
    if context.side == "client" or not _ABOUT_LOGIN.search(message):
        return context.problem(
            f"-32000 (authentication required) says {quoted(message)}",
            context.request,
            path="error.code",
        )
    return OK
