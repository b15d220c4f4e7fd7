"""Tools that turn to the user: a question by a form, and a page to be opened.

They are there where the client can show them. No secret is asked for: a form is kept in histories
and logs of the client, the agent and the model.

Source: ACP, Elicitation, "Security".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from acp_agent.elicitation import Reply
from acp_agent.models.model import ToolOffer
from acp_agent.tools.tool import (
    Call,
    Kind,
    Outcome,
    Report,
    ToolFailedError,
    argument,
    fenced,
    parameters,
    shortened,
    text_parameter,
)
from acp_agent.workspace import Workspace
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

FIELDS: Final = 20
"""Fields of one form."""
TITLE_WIDTH: Final = 80
REASON_WIDTH: Final = 400
"""Characters of what does not fit a form."""
_KINDS: Final = ("text", "number", "yes_no", "choice", "choices")
_SECRET: Final = re.compile(
    r"pass(word|phrase|code)|secret|api[ _-]?key|private[ _-]?key|(access|auth|bearer)[ _-]?token"
    r"|credential|card[ _-]?number|\bcvv\b|\bpin\b",
    re.IGNORECASE,
)
_TELLING: Final = re.compile(
    r"token|pass(word|wd|phrase|code)|secret|credential|jwt|\bauth(orization)?$|\bpwd$|\bcode$"
    r"|(\b|_|api|access|private|session)key$|\bsig(nature)?$|session[ _.-]?id$",
    re.IGNORECASE,
)
"""Names of what an address carries that only one user has."""
_EMAIL: Final = re.compile(r"[^/?#&=\s@]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[A-Za-z]{2,}")
_NEAR: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NO: Final = {
    "decline": "the user declined to answer",
    "cancel": "the user turned away from the question",
}


class Form(Protocol):
    """Whoever shows a form."""

    async def form(self, message: str, schema: Mapping[str, Json]) -> Reply:
        """Ask by a form."""
        ...


class Page(Protocol):
    """Whoever opens a page."""

    async def page(self, message: str, url: str) -> Reply:
        """Open a page."""
        ...


class AskTool:
    """Asks the user something."""

    offer = ToolOffer(
        "ask_user",
        "Ask the user a question that only they can answer, by a form. Without fields there is one "
        "for text. Never ask for passwords, keys or other secrets.",
        parameters(
            {"question": text_parameter("What you want to know, and what for.")},
            {
                "fields": {
                    "type": "array",
                    "maxItems": FIELDS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": text_parameter("What the field is called."),
                            "kind": {"type": "string", "enum": list(_KINDS)},
                            "options": {
                                "type": "array",
                                "items": {"type": "string"},
                                "description": "For choice (one of them) and choices (several).",
                            },
                            "is_required": {"type": "boolean"},
                        },
                        "required": ["name", "kind"],
                        "additionalProperties": False,
                    },
                }
            },
        ),
    )
    kind: Kind = "think"

    def __init__(self, user: Form) -> None:
        self._user = user

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Read what is to be asked."""
        del workspace
        question = argument(arguments, "question").strip()
        fields: Json = arguments.get("fields") or [{"name": "answer", "kind": "text"}]
        if not isinstance(fields, list) or len(cast("list[Json]", fields)) > FIELDS:
            raise ToolFailedError(f"the argument fields is no list of at most {FIELDS} fields")
        schema = _schema(cast("list[Json]", fields))
        check_form(question, *cast("Mapping[str, Json]", schema["properties"]))

        async def run(report: Report) -> Outcome:
            del report
            return _outcome(await self._user.form(question, schema))

        title = one_line(f"Ask: {question}", TITLE_WIDTH)
        return Call(title, self.kind, run, is_question=True)


class OpenTool:
    """Shows the user a page."""

    offer = ToolOffer(
        "open_page",
        "Ask the user to open a page in the browser, as to log in somewhere. You do not see it.",
        parameters(
            {
                "url": text_parameter("The address; https."),
                "reason": text_parameter("What the user is to do there."),
            }
        ),
    )
    kind: Kind = "think"

    def __init__(self, user: Page) -> None:
        self._user = user

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Look at the address."""
        del workspace
        url, reason = argument(arguments, "url"), argument(arguments, "reason").strip()
        check_url(url)

        async def run(report: Report) -> Outcome:
            del report
            reply = await self._user.page(reason, url)
            if reply.action == "accept":
                return Outcome("the user agreed to open the page", raw={"action": "accept"})
            return _outcome(reply)

        return Call(one_line(f"Open {url}", TITLE_WIDTH), self.kind, run, is_question=True)


def _outcome(reply: Reply) -> Outcome:
    if reply.action == "accept":
        told = shortened(json.dumps(reply.content, ensure_ascii=False))
        return Outcome(told, fenced(told), {"action": "accept", "content": dict(reply.content)})
    if reply.action == "failed":
        raise ToolFailedError(f"the client could not ask: {one_line(reply.reason, 200)}")
    if reply.action == "unfit":
        reason = one_line(reply.reason, REASON_WIDTH)
        raise ToolFailedError(f"the client's answer does not fit the form: {reason}")
    return Outcome(_NO[reply.action], fenced(_NO[reply.action]), {"action": reply.action}, True)


def _schema(fields: Sequence[Json]) -> dict[str, Json]:
    """Return the restricted JSON schema of a form with these fields."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    for place, field in enumerate(fields):
        members: Mapping[str, Json] = (
            cast("Mapping[str, Json]", field) if isinstance(field, dict) else {}
        )
        name = members.get("name")
        if not isinstance(name, str) or not name.strip() or name in properties:
            raise ToolFailedError(
                f"the field {place + 1} has no name, or one that is there already"
            )
        properties[name] = _property(members, name)
        if members.get("is_required", True) is not False:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _property(members: Mapping[str, Json], name: str) -> dict[str, Json]:
    match members.get("kind"):
        case "text":
            return {"type": "string", "title": name}
        case "number":
            return {"type": "number", "title": name}
        case "yes_no":
            return {"type": "boolean", "title": name}
        case "choice":
            return {"type": "string", "title": name, "enum": _options(members, name)}
        case "choices":
            items = {"type": "string", "enum": _options(members, name)}
            return {"type": "array", "title": name, "items": items}
        case _:
            raise ToolFailedError(f"the field {name} is none of {', '.join(_KINDS)}")


def _options(members: Mapping[str, Json], name: str) -> list[str]:
    options: Json = members.get("options")
    listed: list[Json] = cast("list[Json]", options) if isinstance(options, list) else []
    texts = [each for each in listed if isinstance(each, str) and each]
    if not texts or len(texts) != len(listed) or len(set(texts)) != len(texts):
        raise ToolFailedError(f"the field {name} has no options, or one of them twice")
    return texts


def check_form(*texts: str) -> None:
    """Refuse what does not belong into a form.

    Raises:
        ToolFailedError: one of `texts` asks for a secret, or sends the user elsewhere.
    """
    for text in texts:
        if _SECRET.search(text):
            raise ToolFailedError("secrets are not asked for by a form")
        if re.search(r"https?://", text, re.IGNORECASE):
            raise ToolFailedError(
                "a form sends nobody to a page; open_page does, where it is there"
            )


def check_url(url: str) -> None:
    """Refuse an address that nobody should open.

    Raises:
        ToolFailedError: it is none, not safe, or tells who the user is.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise ToolFailedError("the argument url is no address") from None
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and host in _NEAR)
    if not is_safe or not host or not url.isprintable() or " " in url:
        raise ToolFailedError("the argument url is no https address")
    if "@" in parts.netloc or _EMAIL.search(unquote(url)):
        raise ToolFailedError("the address holds who the user is; use one that does not")
    for name, value in (*parse_qsl(parts.query), *parse_qsl(parts.fragment)):
        if value and _TELLING.search(name):
            raise ToolFailedError(
                f"the address holds a secret, by the name of {one_line(name, TITLE_WIDTH)}: "
                "use one without it"
            )
