"""Talks about open documents, as they were before 2026-11."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.cases.nes import HERE, THERE, URI, opened
from tests.inspector.lint.talk import Talk, breaks, keeps


def tell(talk: Talk, what: str, /, **members: Any) -> None:
    """Tell of a document."""
    params = {"sessionId": "n1", "uri": URI} | members
    talk.send("client", {"method": f"document/did{what}", "params": params})


def open_document(talk: Talk, sync: str = "full") -> None:
    """Open a document."""
    events = {"didOpen": {}, "didChange": {"syncKind": sync}, "didClose": {}}
    opened(talk, {"events": {"document": events}})
    tell(talk, "Open", languageId="python", version=1, text="")


def change(talk: Talk, version: int = 2, /, **members: Any) -> None:
    """Change the document."""
    tell(talk, "Change", version=version, contentChanges=[{"text": "a"} | members])


@breaks("ACP-L390", unstable=True)
def saving_was_not_asked_for(talk: Talk) -> None:
    open_document(talk)
    tell(talk, "Save")


@keeps("ACP-L390", unstable=True)
def closing_was_asked_for(talk: Talk) -> None:
    open_document(talk)
    tell(talk, "Close")


@breaks("ACP-L394", unstable=True)
def a_range_is_sent_where_all_is_wanted(talk: Talk) -> None:
    open_document(talk)
    change(talk, range={"start": HERE, "end": THERE})


@breaks("ACP-L394", unstable=True)
def all_is_sent_where_ranges_are_wanted(talk: Talk) -> None:
    open_document(talk, "incremental")
    change(talk)


@keeps("ACP-L394", unstable=True)
def a_range_is_sent_where_ranges_are_wanted(talk: Talk) -> None:
    open_document(talk, "incremental")
    change(talk, range={"start": HERE, "end": THERE})


@breaks("ACP-L395", unstable=True)
def a_version_goes_back(talk: Talk) -> None:
    open_document(talk)
    change(talk, 2)
    change(talk, 2)


@breaks("ACP-L395", unstable=True)
def a_closed_document_changes(talk: Talk) -> None:
    open_document(talk)
    tell(talk, "Close")
    change(talk)


@keeps("ACP-L395", unstable=True)
def versions_go_up(talk: Talk) -> None:
    open_document(talk)
    change(talk, 2)
    change(talk, 7)
    tell(talk, "Close")
