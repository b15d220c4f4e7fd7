"""Tools that turn to the user: a question by a form, and a page to be opened.

They are there where the client can show them. No secret is asked for: a form is kept in histories
and logs of the client, the agent and the model.

Source: ACP, Elicitation, "Security".
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    fenced,
    shorten,
)
from acp_agent.world.elicitation import ElicitationResult, UserElicitation
from acp_agent.world.workspace import Workspace
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.net import is_loopback

MAX_FIELDS: Final = 20
"""Fields of one form."""
TITLE_WIDTH: Final = 80
REASON_WIDTH: Final = 400
"""Characters of what does not fit a form."""
_SECRET: Final = re.compile(
    r"pass(word|phrase|code)|secret|api[ _-]?key|private[ _-]?key|(access|auth|bearer)[ _-]?token"
    r"|credential|card[ _-]?number|\bcvv\b|\bpin\b",
    re.IGNORECASE,
)
_IDENTIFYING: Final = re.compile(
    r"token|pass(word|wd|phrase|code)|secret|credential|jwt|\bauth(orization)?$|\bpwd$|\bcode$"
    r"|(\b|_|api|access|private|session)key$|\bsig(nature)?$|session[ _.-]?id$",
    re.IGNORECASE,
)
"""Names of what an address carries that only one user has."""
_EMAIL: Final = re.compile(r"[^/?#&=\s@]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,}")
_NO: Final = {
    "decline": "the user declined to answer",
    "cancel": "the user dismissed the form",
}


class FormField(Arguments):
    name: Text = Field(description="What the field is called.")
    kind: Literal["text", "number", "yes_no", "choice", "choices"]
    options: list[Text] | None = Field(
        None, description="For choice (one of them) and choices (several)."
    )
    is_required: bool = True


class AskArguments(Arguments):
    message: Text = Field(description="What you want to know, and what for.")
    fields: list[FormField] | None = Field(None, max_length=MAX_FIELDS)


class OpenArguments(Arguments):
    url: Text = Field(description="The address; https.")
    reason: Text = Field(description="What the user is to do there.")


def ask_user_tool(user: UserElicitation) -> Tool:
    """Return the tool that asks the user something by a form."""

    @tool(
        "ask_user",
        "think",
        "Ask the user a question that only they can answer, by a form. Without fields there is one "
        "for text. Never ask for passwords, keys or other secrets.",
        AskArguments,
    )
    async def ask_user(wanted: AskArguments, _: Workspace) -> PreparedCall:
        text = wanted.message.strip()
        properties, required = _form(
            wanted.fields or [FormField(name="answer", kind="text", options=None)]
        )
        schema = {"type": "object", "properties": properties, "required": required}
        check_form(text, *properties)

        async def run(_: ReportContent) -> Outcome:
            return _outcome(await user.form(text, schema))

        title = single_line(f"Ask: {text}", TITLE_WIDTH)
        return PreparedCall(title, "think", run, is_elicitation=True)

    return ask_user


def open_page_tool(user: UserElicitation) -> Tool:
    """Return the tool that shows the user a page."""

    @tool(
        "open_page",
        "think",
        "Ask the user to open a page in the browser, as to log in somewhere. You do not see it.",
        OpenArguments,
    )
    async def open_page(wanted: OpenArguments, _: Workspace) -> PreparedCall:
        check_url(wanted.url)

        async def run(_: ReportContent) -> Outcome:
            reply = await user.page(wanted.reason.strip(), wanted.url)
            if reply.action == "accept":
                return Outcome("the user agreed to open the page", raw={"action": "accept"})
            return _outcome(reply)

        title = single_line(f"Open {wanted.url}", TITLE_WIDTH)
        return PreparedCall(title, "think", run, is_elicitation=True)

    return open_page


def _outcome(reply: ElicitationResult) -> Outcome:
    if reply.action == "accept":
        text = shorten(json.dumps(reply.content, ensure_ascii=False))
        return Outcome(text, fenced(text), {"action": "accept", "content": dict(reply.content)})
    if reply.action == "failed":
        raise ToolFailedError(f"the client could not ask: {single_line(reply.reason, 200)}")
    if reply.action == "unfit":
        reason = single_line(reply.reason, REASON_WIDTH)
        raise ToolFailedError(f"the client's answer does not fit the form: {reason}")
    return Outcome(_NO[reply.action], fenced(_NO[reply.action]), {"action": reply.action}, True)


def _form(fields: Sequence[FormField]) -> tuple[dict[str, Json], list[str]]:
    """Return the properties of a form's JSON schema, and the names of those that are required."""
    properties: dict[str, Json] = {}
    for position, field in enumerate(fields, start=1):
        if not field.name.strip() or field.name in properties:
            raise ToolFailedError(f"field {position} has no name, or one that is there already")
        properties[field.name] = {**_property(field), "title": field.name}
    return properties, [field.name for field in fields if field.is_required]


def _property(field: FormField) -> dict[str, Json]:
    match field.kind:
        case "text":
            return {"type": "string"}
        case "number":
            return {"type": "number"}
        case "yes_no":
            return {"type": "boolean"}
        case "choice" | "choices":
            options = field.options or []
            if not all(options) or len(set(options)) != len(options) or not options:
                raise ToolFailedError(
                    f"the field {field.name} has no options, or one of them twice"
                )
            one = {"type": "string", "enum": options}
            return one if field.kind == "choice" else {"type": "array", "items": one}


def check_form(*texts: str) -> None:
    """Refuse what does not belong into a form.

    Raises:
        ToolFailedError: one of `texts` asks for a secret, or sends the user elsewhere.
    """
    for text in texts:
        if _SECRET.search(text):
            raise ToolFailedError("secrets are not asked for by a form")
        if re.search(r"https?://", text, re.IGNORECASE):
            raise ToolFailedError("a form cannot open a page; use open_page, if it is available")


def check_url(url: str) -> None:
    """Refuse an unsafe address.

    Raises:
        ToolFailedError: it is none, not safe, or identifies the user.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise ToolFailedError("the argument url is not an address") from None
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host or ""))
    if not is_safe or not host or not url.isprintable() or " " in url:
        raise ToolFailedError("the argument url is not an https address")
    if "@" in parts.netloc or _EMAIL.search(unquote(url)):
        raise ToolFailedError("the address holds who the user is; use one that does not")
    for name, value in (*parse_qsl(parts.query), *parse_qsl(parts.fragment)):
        if value and _IDENTIFYING.search(name):
            raise ToolFailedError(
                f"the address holds a secret, by the name of {single_line(name, TITLE_WIDTH)}: "
                "use one without it"
            )
