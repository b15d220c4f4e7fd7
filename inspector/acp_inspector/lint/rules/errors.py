"""What error answers say, and with which codes.

Source: JSON-RPC 2.0, "Error object"; ACP, "Overview", and the published schemas.
"""

from __future__ import annotations

import re
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, quoted
from acp_inspector.lint.registry import (
    answers,
    check,
    failures,
)
from acp_protocol.jsonrpc import Json

CODES: Final = range(-(2**31), 2**31)
RESERVED: Final = range(-32768, -31999)
"""Codes that only JSON-RPC and ACP give a meaning."""
ASSIGNED: Final = frozenset({-32700, -32600, -32601, -32602, -32603, -32000, -32002})
ASSIGNED_V2: Final = ASSIGNED | {-32022}
UNREADABLE: Final = frozenset({-32700, -32600})
"""Codes that say the question could not be read, and hence not whose answer this is."""
INVALID_PARAMS: Final = -32602
OTHER_REASONS: Final = frozenset({-32000, -32002, -32800})
"""Codes of failures that come before params are looked into: no login, no session, cancelled."""
SENTENCE: Final = 240
"""Characters of an error message beyond which it is no short sentence."""
_NOT_FOUND_MISUSED: Final = re.compile(
    r"not\W*(yet\W*)?initiali[sz]ed|permission|denied|forbidden|unauthori[sz]ed", re.IGNORECASE
)
_NAME: Final = re.compile(r"\S*[/\\]\S*|\S+\.\w+|[\"'`“][^\"'`”]*[\"'`”]")
"""What names a file or is quoted, whatever words it is made up of."""
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


@check("ACP-L029", answers(), fix="Answer with the id of the request.")
def answers_without_id_say_why(moment: Moment) -> Found:
    """Tell of answers that nobody can tell the question of."""
    if moment.id is not None or "id" not in moment.value:
        return None
    if moment.ask is not None or (moment.kind == "failure" and moment.code in UNREADABLE):
        return FINE
    what = "a result" if moment.kind == "result" else f"the error {moment.code}"
    return moment.problem(f"{what} has the id null", path="id")


@check("ACP-L030", failures(), fix="Write an integer code and a string message.")
def errors_have_code_and_message(moment: Moment) -> Found:
    """Tell of errors that are none."""
    error: Json = moment.value.get("error")
    if not isinstance(error, dict):
        return moment.problem(f"the error is no object: {quoted(error)}", path="error")
    if moment.code is None or moment.code not in CODES:
        return moment.problem(
            f"the error's code is {quoted(moment.error.get('code'))}", path="error.code"
        )
    if not isinstance(moment.error.get("message"), str):
        return moment.problem("the error has no message", path="error.message")
    return FINE


@check("ACP-L031", failures(), fix="Say it in one short sentence; put details into data.")
def error_messages_are_short(moment: Moment) -> Found:
    """Tell of messages that are logs."""
    message = moment.error.get("message")
    if not isinstance(message, str):
        return None
    if _TRACE.search(message):
        return moment.problem("the error's message holds a stack trace", path="error.message")
    if "\n" in message.strip() or len(message) > SENTENCE:
        return moment.problem("the error's message is no short sentence", path="error.message")
    return FINE


@check("ACP-L032", failures(), fix="Use the codes that JSON-RPC and ACP assign, or your own range.")
def reserved_codes_are_assigned_ones(moment: Moment) -> Found:
    """Tell of codes in the reserved range that nobody gave a meaning."""
    code = moment.code
    if code is None or code not in RESERVED:
        return None
    if code in (ASSIGNED_V2 if moment.version == 2 else ASSIGNED):
        return FINE
    return moment.problem(
        f"the error code {code} is reserved and means nothing; perhaps a dialect is spoken",
        path="error.code",
    )


@check("ACP-L033", failures(), fix="Use -32002 for files and sessions that do not exist only.")
def not_found_is_about_resources(moment: Moment) -> Found:
    """Tell of a code that is used for something else."""
    if moment.code != -32002:
        return None
    message = str(moment.error.get("message"))
    params = moment.ask.params if moment.ask is not None else {}
    is_misused = _NOT_FOUND_MISUSED.search(_NAME.sub("", message)) and not _MISSING.search(message)
    if is_misused or not params.keys() & {"sessionId", "path", "uri"}:
        return moment.problem(
            f"-32002 (resource not found) says {quoted(message)}", moment.ask, path="error.code"
        )
    return FINE


@check("ACP-L034", failures(), fix="Use -32000 where the user has to log in, only.")
def auth_required_is_about_login(moment: Moment) -> Found:
    """Tell of a code that is used for something else."""
    if moment.code != -32000:
        return None
    message = str(moment.error.get("message"))
    if moment.side == "client" or not _ABOUT_LOGIN.search(message):
        return moment.problem(
            f"-32000 (authentication required) says {quoted(message)}",
            moment.ask,
            path="error.code",
        )
    return FINE
