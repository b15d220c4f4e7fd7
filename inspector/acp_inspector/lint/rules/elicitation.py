"""Elicitation: an agent asks the user for something, by a form or on a page.

Source: ACP, "Elicitation".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from acp_inspector.lint.moment import FINE, Found, Moment, entries, is_one_of, members, quoted
from acp_inspector.lint.registry import (
    EVERY_MESSAGE,
    answers,
    asks,
    check,
    learns,
    results,
    tells,
)
from acp_inspector.lint.state import Ask, Point
from acp_inspector.redaction.finder import Finder
from acp_inspector.redaction.rules import RULES
from acp_inspector.redaction.shapes import SHAPES
from acp_protocol.jsonrpc import Json, id_key, is_request_id

CREATE: Final = "elicitation/create"
ACTIONS: Final = frozenset({"accept", "decline", "cancel"})
VAGUE: Final = frozenset({"entropy", "environment"})
"""Rules for secrets that find too much to accuse anyone by."""
_TOKENS: Final = frozenset(shape.name for shape in SHAPES)
"""Rules for secrets that are known by how they are made up."""
LATER: Final = 200
"""Entries after a page was completed whose messages are searched for what came from there."""
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

    open: dict[str, Ask | Point] = field(default_factory=dict[str, Ask | Point])
    """Those that were not completed, declined or cancelled."""
    done: dict[str, Point] = field(default_factory=dict[str, Point])
    until: int = 0
    """Number of the last frame that is looked at after a page was completed."""
    completion: Point | None = None
    finder: Finder = field(default_factory=lambda: Finder(sorted(set(RULES) - VAGUE), {}))


def _mode(moment: Moment) -> str | None:
    mode = moment.params.get("mode")
    return mode if isinstance(mode, str) else None


def _claims(moment: Moment, mode: str) -> bool:
    return moment.state.claims("client", f"elicitation.{mode}")


@learns(asks(CREATE))
def _keep_page(moment: Moment) -> None:
    id_ = moment.params.get("elicitationId")
    pages = moment.state.of(_Pages)
    if _mode(moment) == "url" and isinstance(id_, str) and len(pages.open) < ELICITATIONS:
        pages.open[id_] = (moment.key and moment.state.newest) or moment.point


@learns(answers(CREATE))
def _forget_page(moment: Moment) -> None:
    # Accepted pages stay open until they are completed.
    if moment.kind == "failure" or moment.result_object.get("action") != "accept":
        id_ = moment.ask.params.get("elicitationId") if moment.ask is not None else None
        if isinstance(id_, str):
            moment.state.of(_Pages).open.pop(id_, None)


@learns(tells("elicitation/complete"))
def _complete_page(moment: Moment) -> None:
    pages, id_ = moment.state.of(_Pages), moment.params.get("elicitationId")
    if isinstance(id_, str):
        pages.open.pop(id_, None)
        if len(pages.done) < ELICITATIONS:
            pages.done[id_] = moment.point
    pages.until, pages.completion = moment.n + LATER, moment.point


@check("ACP-L328", asks(CREATE), fix="Ask by a form only where the client can show one.")
def forms_are_for_who_can_show_them(moment: Moment) -> Found:
    """Tell of a form for a client that did not claim forms."""
    return _is_claimed(moment, "form")


@check("ACP-L329", asks(CREATE), fix="Ask by a page only where the client can open one.")
def pages_are_for_who_can_open_them(moment: Moment) -> Found:
    """Tell of a page for a client that did not claim pages."""
    return _is_claimed(moment, "url")


def _is_claimed(moment: Moment, mode: str) -> Found:
    if _mode(moment) != mode:
        return None
    if _claims(moment, mode):
        return FINE
    return moment.problem(
        f"the client did not claim elicitation.{mode}", moment.state.initialize, path="params.mode"
    )


@check("ACP-L330", asks(CREATE), fix="Say how you ask, and what for.")
def mode_and_message_are_there(moment: Moment) -> Found:
    """Tell of a question without mode or message."""
    for name in ("mode", "message"):
        if not isinstance(moment.params.get(name), str):
            return moment.problem(f"{name} is missing", path=f"params.{name}")
    return FINE


@check("ACP-L331", asks(CREATE), fix="Name the session, or the request, that it is about.")
def a_scope_is_named(moment: Moment) -> Found:
    """Tell of a question that belongs to nothing, or to two things."""
    has_session = moment.params.get("sessionId") is not None
    has_request = "requestId" in moment.params
    if not has_session and not has_request:
        return moment.problem("neither sessionId nor requestId is there")
    if has_session and has_request:
        return moment.problem(
            "sessionId and requestId are both there",
            severity="warning" if moment.version == 1 else None,
        )
    return FINE


@check("ACP-L332", asks(CREATE), fix="Name a request that is open, a session that is known.")
def the_scope_exists(moment: Moment) -> Found:
    """Tell of a question about what nobody knows."""
    params = moment.params
    id_: Json = params.get("requestId")
    if "requestId" in params and is_request_id(id_):
        if ("client", *id_key(id_)) in moment.state.asks:
            return FINE
        return moment.problem(
            f"no request {quoted(id_)} of the client is open", path="params.requestId"
        )
    if moment.session_id is None:
        return None
    if moment.session is None:
        return moment.problem(
            f"the session {quoted(moment.session_id)} is not known", path="params.sessionId"
        )
    tool = params.get("toolCallId")
    if isinstance(tool, str) and tool not in moment.session.tools:
        return moment.problem(
            f"the tool call {quoted(tool)} is not known", path="params.toolCallId"
        )
    return FINE


def _url(moment: Moment) -> SplitResult | None:
    url = moment.params.get("url")
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


@check("ACP-L333", asks(CREATE), fix="Give an id and an absolute URL.")
def pages_have_id_and_address(moment: Moment) -> Found:
    """Tell of a page without id or address."""
    if _mode(moment) != "url":
        return None
    if not isinstance(moment.params.get("elicitationId"), str):
        return moment.problem("elicitationId is missing", path="params.elicitationId")
    url = _url(moment)
    if url is None or not url.scheme or not (url.netloc or url.scheme not in {"http", "https"}):
        return moment.problem(f"the url is {quoted(moment.params.get('url'))}", path="params.url")
    return FINE


@check("ACP-L334", asks(CREATE), fix="Use https; http is for localhost.")
def pages_are_reached_safely(moment: Moment) -> Found:
    """Tell of a page that others can read along."""
    url = _url(moment)
    if _mode(moment) != "url" or url is None:
        return None
    if url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOCAL):
        return FINE
    return moment.problem(f"the url is {url.scheme}", path="params.url")


@check("ACP-L335", asks(CREATE), fix="Put an opaque id into the URL, and nothing of the user.")
def addresses_hold_no_secrets(moment: Moment) -> Found:
    """Tell of credentials, tokens and e-mail addresses in a URL."""
    url = _url(moment)
    if _mode(moment) != "url" or url is None:
        return None
    if "@" in url.netloc:
        return moment.problem("the url names a user", path="params.url")
    for name, value in (*parse_qsl(url.query), *parse_qsl(url.fragment)):
        if value and _SECRET.search(name):
            return moment.problem(f"the url carries {quoted(name)}", path="params.url")
    said = f"{url.path}?{url.query}#{url.fragment}"
    if any(hit.rule in _TOKENS for hit in moment.state.of(_Pages).finder.find(said)):
        return moment.problem("the url carries what looks like a token", path="params.url")
    if _EMAIL.search(said):
        return moment.problem("the url carries an e-mail address", path="params.url")
    return FINE


@check("ACP-L336", asks(CREATE), fix="Give each page an id of its own.")
def pages_are_told_apart(moment: Moment) -> Found:
    """Tell of an id that an open page has already."""
    id_ = moment.params.get("elicitationId")
    if _mode(moment) != "url" or not isinstance(id_, str):
        return None
    earlier = moment.state.of(_Pages).open.get(id_)
    if earlier is None:
        return FINE
    return moment.problem(
        f"another page that is open has the id {quoted(id_)}", earlier, path="params.elicitationId"
    )


@check("ACP-L342", results(CREATE), fix="Answer with accept, decline or cancel.")
def answers_say_what_was_done(moment: Moment) -> Found:
    """Tell of answers without an action, or with one that nobody knows."""
    action = moment.result_object.get("action")
    if not isinstance(action, str):
        return moment.problem("action is missing", moment.ask, path="result.action")
    if action in ACTIONS or action.startswith("_"):
        return FINE
    return moment.problem(f"the action is {quoted(action)}", moment.ask, path="result.action")


@check("ACP-L344", results(CREATE), fix="Send content with accepted forms alone.")
def content_comes_with_accepted_forms(moment: Moment) -> Found:
    """Tell of content that was declined, or that no form asked for."""
    if moment.ask is None:
        return None
    if moment.result_object.get("content") is None:
        return FINE
    action = moment.result_object.get("action")
    if is_one_of(action, {"decline", "cancel"}):
        return moment.problem(f"content comes with {action}", moment.ask, path="result.content")
    if moment.ask.params.get("mode") == "url":
        return moment.problem("content comes for a page", moment.ask, path="result.content")
    return FINE


@check("ACP-L346", answers(CREATE), fix="Answer a mode that you did not claim with -32602.")
def unclaimed_modes_are_refused(moment: Moment) -> Found:
    """Tell of a client that answers what it did not claim in another way."""
    mode = moment.ask.params.get("mode") if moment.ask is not None else None
    if not is_one_of(mode, {"form", "url"}) or _claims(moment, str(mode)):
        return None
    if moment.kind == "failure" and moment.code in {-32602, -32601, -32800}:
        return FINE
    what = "a result" if moment.kind == "result" else str(moment.code)
    return moment.problem(
        f"the mode {mode} was not claimed and is answered with {what}",
        moment.state.initialize,
        moment.ask,
    )


@check("ACP-L347", tells("elicitation/complete"), fix="Complete each open page once.")
def only_open_pages_are_completed(moment: Moment) -> Found:
    """Tell of a page that is completed twice, or that nobody opened."""
    pages, id_ = moment.state.of(_Pages), moment.params.get("elicitationId")
    if not isinstance(id_, str):
        return None
    if id_ in pages.open:
        return FINE
    if id_ in pages.done:
        return moment.problem(
            f"the page {quoted(id_)} was completed before",
            pages.done[id_],
            path="params.elicitationId",
        )
    return moment.problem(f"no page {quoted(id_)} is open", path="params.elicitationId")


@check("ACP-L348", EVERY_MESSAGE, fix="Keep what the user entered there on the agent's side.")
def what_was_entered_stays_there(moment: Moment) -> Found:
    """Tell of what looks like a token, once a page was completed."""
    pages = moment.state.of(_Pages)
    if moment.n > pages.until or moment.side != "agent":
        return None
    for name, text in _strings(moment.value):
        hits = pages.finder.find(text, name)
        if hits:
            return moment.problem(
                f"{name or 'the message'} holds what looks like a secret ({hits[0].rule})",
                pages.completion,
            )
    return FINE


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """Yield every text of a message with the name of the member that it belongs to."""
    todo: list[tuple[str, Json]] = [("", value)]
    while todo:
        name, each = todo.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, dict):
            todo += members(each).items()
        elif isinstance(each, list):
            todo += [(name, inner) for inner in entries(each)]
