"""Elicitation: an agent asks the user for input, by a form or on a web page.

Source: ACP, "Elicitation".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
from acp_inspector.lint.context import OK, CheckResult, Context, is_one_of, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_inspector.redaction.detector import SecretDetector
from acp_inspector.redaction.patterns import RULES, SECRET_PATTERNS
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Json,
    id_key,
    is_request_id,
)

rule = LintSubject("elicitation", page="elicitation.mdx")

CREATE: Final = "elicitation/create"
VAGUE: Final = frozenset({"entropy", "environment"})
"""Patterns for secrets with too many false positives to report."""
_TOKENS: Final = frozenset(shape.name for shape in SECRET_PATTERNS)
"""Patterns for secrets with a recognizable format."""
ENTRIES_AFTER_PAGE: Final = 200
"""Entries after the completion of a page that are searched for its data."""
ELICITATIONS: Final = 10_000

_SECRET: Final = re.compile(
    r"token|password|passwd|secret|api.?key|credential|session.?key|auth\b", re.IGNORECASE
)
_EMAIL: Final = re.compile(
    r"[^/?#&=\s@]{1,64}(?:@|%40)(?!v?[0-9]+\.[0-9])(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,}(?![\w.-])"
)
"""An address; a package and its version, such as `pkg@1.2.3`, is none."""
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(slots=True)
class _Pages:
    """Elicitations by URL."""

    open: dict[str, SentRequest | Point] = field(default_factory=dict[str, SentRequest | Point])
    """Pages that were not completed, declined or cancelled."""
    done: dict[str, Point] = field(default_factory=dict[str, Point])
    until: int = 0
    """Number of the last frame to search after a page was completed."""
    completion: Point | None = None
    finder: SecretDetector = field(
        default_factory=lambda: SecretDetector(sorted(set(RULES) - VAGUE), {})
    )


def _mode(context: Context) -> str | None:
    mode = context.params.get("mode")
    return mode if isinstance(mode, str) else None


def _claims(context: Context, mode: str) -> bool:
    return context.state.claims("client", f"elicitation.{mode}")


@track(on.request(CREATE))
def _keep_page(context: Context) -> None:
    id_ = context.params.get("elicitationId")
    pages = context.state.of(_Pages)
    if _mode(context) == "url" and isinstance(id_, str) and len(pages.open) < ELICITATIONS:
        pages.open[id_] = (context.key and context.state.newest) or context.point


@track(on.response(CREATE))
def _forget_page(context: Context) -> None:
    # Accepted pages stay open until they are completed.
    if context.kind == "failure" or context.result_object.get("action") != "accept":
        id_ = context.request.params.get("elicitationId") if context.request is not None else None
        if isinstance(id_, str):
            context.state.of(_Pages).open.pop(id_, None)


@track(on.notification("elicitation/complete"))
def _complete_page(context: Context) -> None:
    pages, id_ = context.state.of(_Pages), context.params.get("elicitationId")
    if isinstance(id_, str):
        pages.open.pop(id_, None)
        if len(pages.done) < ELICITATIONS:
            pages.done[id_] = context.point
    pages.until, pages.completion = context.seq + ENTRIES_AFTER_PAGE, context.point


@rule.error(328, "must", "agent", on.request(CREATE))
@fix("Ask by a form only where the client can show one.")
@checked_by(claimed, v1="elicitation.form", by="client", at="mode", value="form")
def undeclared_form() -> None:
    """`mode:"form"` only with a non-null `elicitation.form` capability."""


@rule.error(329, "must", "agent", on.request(CREATE))
@fix("Ask by a page only where the client can open one.")
@checked_by(claimed, v1="elicitation.url", by="client", at="mode", value="url")
def undeclared_url() -> None:
    """`mode:"url"` only with a non-null `elicitation.url` capability (`{}` as a whole advertises
    nothing).
    """


@rule.error(331, "schema", "agent", on.request(CREATE), case="elicitation.scope")
@details(source="elicitation.mdx", since="2026-11")
@fix("Name the session, or the request, that it is about.")
def wrong_elicitation_scope(context: Context) -> CheckResult:
    """A scope is present: `sessionId` (optionally `toolCallId`) or `requestId`. v2: exactly one,
    else invalid. v1: neither fails the schema, both is ambiguous (report as warning).
    """
    has_session = context.params.get("sessionId") is not None
    has_request = "requestId" in context.params
    if not has_session and not has_request:
        return context.problem("neither sessionId nor requestId is present")
    if has_session and has_request:
        return context.problem(
            "sessionId and requestId are both present",
            severity="warning" if context.version == 1 else None,
        )
    return OK


@rule.warning(332, "implied", "agent", on.request(CREATE), since="2026-11")
@fix("Name a request that is open, a session that is known.")
def unknown_elicitation_scope(context: Context) -> CheckResult:
    """`requestId` is an outstanding Client→Agent request; `sessionId`/`toolCallId` are known."""
    params = context.params
    id_: Json = params.get("requestId")
    if "requestId" in params and is_request_id(id_):
        if ("client", *id_key(id_)) in context.state.requests:
            return OK
        return context.problem(f"no request {quoted(id_)} of the client is open", at="requestId")
    if context.session_id is None:
        return None
    if context.session is None:
        return context.problem(
            f"the session {quoted(context.session_id)} is not known", at="sessionId"
        )
    tool = params.get("toolCallId")
    if isinstance(tool, str) and tool not in context.session.tools:
        return context.problem(f"the tool call {quoted(tool)} is not known", at="toolCallId")
    return OK


def _url(context: Context) -> SplitResult | None:
    url = context.params.get("url")
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


@rule.error(
    333, "must", "agent", on.request(CREATE), source="rfds/elicitation.mdx", case="elicitation.url"
)
@fix("Give an id and an absolute URL.")
def incomplete_url_elicitation(context: Context) -> CheckResult:
    """Url mode has `elicitationId` and a valid absolute `url`."""
    if _mode(context) != "url":
        return None
    if not isinstance(context.params.get("elicitationId"), str):
        return context.problem("elicitationId is missing", at="elicitationId")
    url = _url(context)
    if url is None or not url.scheme or not (url.netloc or url.scheme not in {"http", "https"}):
        return context.problem(f"the url is {quoted(context.params.get('url'))}", at="url")
    return OK


@rule.warning(334, "should", "agent", on.request(CREATE))
@fix("Use https; http is for localhost.")
def insecure_url(context: Context) -> CheckResult:
    """The url is https (http only for localhost)."""
    url = _url(context)
    if _mode(context) != "url" or url is None:
        return None
    if url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOCAL):
        return OK
    return context.problem(f"the url is {url.scheme}", at="url")


@rule.error(335, "must", "agent", on.request(CREATE), case="elicitation.url")
@fix("Put an opaque id into the URL, and nothing of the user.")
def secret_in_url(context: Context) -> CheckResult:
    """The url contains no credentials, tokens, e-mail addresses or userinfo."""
    url = _url(context)
    if _mode(context) != "url" or url is None:
        return None
    if "@" in url.netloc:
        return context.problem("the url names a user", at="url")
    for name, value in (*parse_qsl(url.query), *parse_qsl(url.fragment)):
        if value and _SECRET.search(name):
            return context.problem(f"the url carries {quoted(name)}", at="url")
    url_text = f"{url.path}?{url.query}#{url.fragment}"
    if any(hit.rule in _TOKENS for hit in context.state.of(_Pages).finder.find(url_text)):
        return context.problem("the url carries what looks like a token", at="url")
    if _EMAIL.search(url_text):
        return context.problem("the url carries an e-mail address", at="url")
    return OK


@rule.error(336, "must", "agent", on.request(CREATE), case="elicitation.url")
@fix("Give each page an id of its own.")
def duplicate_elicitation_id(context: Context) -> CheckResult:
    """`elicitationId` is unique among outstanding url elicitations."""
    id_ = context.params.get("elicitationId")
    if _mode(context) != "url" or not isinstance(id_, str):
        return None
    earlier = context.state.of(_Pages).open.get(id_)
    if earlier is None:
        return OK
    return context.problem(
        f"another open page has the id {quoted(id_)}", earlier, at="elicitationId"
    )


@rule.error(342, "schema", "client", on.result(CREATE), source="elicitation.mdx")
@fix("Answer with accept, decline or cancel.")
@checked_by(schema, at="action", kinds=("missing", "type", "word", "reserved"))
def unknown_elicitation_action() -> None:
    """The result has `action`; `accept`, `decline`, `cancel` or `_custom`."""


@rule.warning(344, "implied", "client", on.result(CREATE))
@fix("Send content with accepted forms alone.")
def content_without_accept(context: Context) -> CheckResult:
    """`content` is not sent with `decline` or `cancel`, nor for url mode."""
    if context.request is None:
        return None
    if context.result_object.get("content") is None:
        return OK
    action = context.result_object.get("action")
    if is_one_of(action, {"decline", "cancel"}):
        return context.problem(f"content comes with {action}", context.request, at="content")
    if context.request.params.get("mode") == "url":
        return context.problem("content comes for a page", context.request, at="content")
    return OK


@rule.error(346, "must", "client", on.response(CREATE))
@fix("Answer a mode that you did not claim with -32602.")
def undeclared_elicitation_not_refused(context: Context) -> CheckResult:
    """A mode the Client did not advertise is answered with -32602."""
    mode = context.request.params.get("mode") if context.request is not None else None
    if not is_one_of(mode, {"form", "url"}) or _claims(context, str(mode)):
        return None
    if context.kind == "failure" and context.code in {
        INVALID_PARAMS,
        METHOD_NOT_FOUND,
        REQUEST_CANCELLED,
    }:
        return OK
    what = "a result" if context.kind == "result" else str(context.code)
    return context.problem(
        f"the mode {mode} was not claimed and is answered with {what}",
        context.state.initialize,
        context.request,
    )


@rule.warning(347, "implied", "agent", on.notification("elicitation/complete"))
@fix("Complete each open page exactly once.")
def unknown_elicitation_completed(context: Context) -> CheckResult:
    """`elicitation/complete` names an outstanding url elicitation, once."""
    pages, id_ = context.state.of(_Pages), context.params.get("elicitationId")
    if not isinstance(id_, str):
        return None
    if id_ in pages.open:
        return OK
    if id_ in pages.done:
        return context.problem(
            f"the page {quoted(id_)} was completed before", pages.done[id_], at="elicitationId"
        )
    return context.problem(f"no page {quoted(id_)} is open", at="elicitationId")


@rule.error(348, "must", "agent", on.EVERY_MESSAGE)
@fix("Keep what the user entered there on the agent's side.")
def leaked_credential(context: Context) -> CheckResult:
    """No credentials obtained out of band appear in later messages (heuristic: token-like strings
    after completion).
    """
    pages = context.state.of(_Pages)
    if context.seq > pages.until or context.side != "agent":
        return None
    for name, text in _strings(context.value):
        hits = pages.finder.find(text, name)
        if hits:
            return context.problem(
                f"{name or 'the message'} holds what looks like a secret ({hits[0].rule})",
                pages.completion,
            )
    return OK


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """Yield every text of a message with the name of its field."""
    todo: list[tuple[str, Json]] = [("", value)]
    while todo:
        name, each = todo.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, dict):
            todo += as_object(each).items()
        elif isinstance(each, list):
            todo += [(name, inner) for inner in as_list(each)]


@rule.error(330, "schema", "agent", on.request("elicitation/create"), case="elicitation.fields")
@details(source="elicitation.mdx")
@fix("Say how you ask, and what for.")
@checked_by(schema, at="mode|message")
def incomplete_elicitation() -> None:
    """`mode` and `message` are present."""
