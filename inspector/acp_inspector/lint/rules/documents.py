"""What a client tells of the documents that are open in its editor, for suggestions.

Source: ACP, `document/*` (unstable, before 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, is_one_of, members, quoted
from acp_inspector.lint.registry import check, learns, tells
from acp_inspector.lint.rules.nes import DOCUMENTS
from acp_inspector.lint.state import Point

OPENED: Final = 10_000


@dataclass(slots=True)
class _Document:
    opened: Point
    version: int | None = None
    closed: Point | None = None


@dataclass(slots=True)
class _Documents:
    """Documents by session and URI."""

    of: dict[tuple[str, str], _Document] = field(default_factory=dict[tuple[str, str], _Document])


def _key(moment: Moment) -> tuple[str, str] | None:
    uri = moment.params.get("uri")
    if moment.session_id is None or not isinstance(uri, str):
        return None
    return moment.session_id, uri


def _known(moment: Moment) -> _Document | None:
    key = _key(moment)
    return None if key is None else moment.state.of(_Documents).of.get(key)


@learns(tells(*DOCUMENTS))
def _keep_document(moment: Moment) -> None:
    key, documents = _key(moment), moment.state.of(_Documents)
    if key is None:
        return
    if moment.method == "document/didOpen" and len(documents.of) < OPENED:
        documents.of[key] = _Document(moment.point)
    document = documents.of.get(key)
    if document is None:
        return
    version = moment.params.get("version")
    if type(version) is int:
        document.version = version
    if moment.method == "document/didClose":
        document.closed = moment.point


@check("ACP-L390", tells(*DOCUMENTS), fix="Tell what the agent asked for.")
def events_are_asked_for(moment: Moment) -> Found:
    """Tell of events that the agent did not ask for."""
    name = (moment.method or "").partition("/")[2]
    if isinstance(moment.state.claim("agent", f"nes.events.document.{name}"), dict):
        return FINE
    return moment.problem(
        f"the agent did not ask for {name}", moment.state.initialize, path="method"
    )


@check("ACP-L394", tells("document/didChange"), fix="Send what the agent's syncKind asks for.")
def changes_are_of_the_right_kind(moment: Moment) -> Found:
    """Tell of ranges where whole texts are asked for, and the other way round."""
    kind = moment.state.claim("agent", "nes.events.document.didChange.syncKind")
    if not is_one_of(kind, {"full", "incremental"}):
        return None
    for n, change in enumerate(map(members, entries(moment.params.get("contentChanges")))):
        has_range = change.get("range") is not None
        if has_range != (kind == "incremental"):
            what = "has a range" if has_range else "has no range"
            return moment.problem(
                f"the change {what}; the agent asked for {kind}",
                moment.state.initialize,
                path=f"params.contentChanges.{n}.range",
            )
    return FINE


@check("ACP-L395", tells(*DOCUMENTS), fix="Open first, count versions up, and close last.")
def documents_live_in_order(moment: Moment) -> Found:
    """Tell of documents that change before they are open or after they are closed."""
    if _key(moment) is None or moment.method == "document/didOpen":
        return None if _key(moment) is None else FINE
    document = _known(moment)
    if document is None:
        return moment.problem(
            f"{quoted(moment.params.get('uri'))} was not opened", path="params.uri"
        )
    if document.closed is not None:
        return moment.problem("the document was closed", document.closed, path="params.uri")
    version = moment.params.get("version")
    if moment.method != "document/didChange" or type(version) is not int:
        return FINE
    if document.version is not None and version <= document.version:
        return moment.problem(
            f"the version goes from {document.version} to {version}",
            document.opened,
            path="params.version",
        )
    return FINE
