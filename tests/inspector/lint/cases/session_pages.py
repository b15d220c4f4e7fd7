"""Talks about leafing through the list of sessions."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


def _page(talk: Talk, *ids: str, after: str | None = None, next_: str | None, **asked: Any) -> None:
    if after is not None:
        asked["cursor"] = after
    sessions = [{"sessionId": id_, "cwd": CWD} for id_ in ids]
    result: dict[str, Any] = {"sessions": sessions}
    if next_ is not None:
        result["nextCursor"] = next_
    talk.answer(talk.ask("session/list", asked), result)


@breaks("unknown-list-cursor")
def a_cursor_is_made_up(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="c1")
    talk.ask("session/list", cursor="c2")


@breaks("unknown-list-cursor", 2)
def a_cursor_is_used_for_another_directory(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="c1")
    talk.ask("session/list", cursor="c1", cwd=CWD)


@keeps("unknown-list-cursor")
def a_cursor_is_given_back(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="c1")
    _page(talk, "s2", after="c1", next_=None)


@keeps("unknown-list-cursor", 2)
def an_empty_cursor_is_given_back(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="", cwd=CWD)
    _page(talk, "s2", after="", next_=None, cwd=CWD)


@breaks("page-after-last")
def a_page_after_the_last_is_asked_for(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_=None)
    talk.ask("session/list", cursor="")


@breaks("page-after-last", 2)
def a_number_is_counted_on_after_the_last_page(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="1")
    _page(talk, "s2", after="1", next_=None)
    talk.ask("session/list", cursor="2")


@keeps("page-after-last")
def one_leafs_back_from_the_last_page(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="1")
    _page(talk, "s2", after="1", next_="2")
    _page(talk, "s3", after="2", next_=None)
    _page(talk, "s2", after="1", next_="2")


@breaks("repeated-page")
def a_page_leads_to_itself(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="1")
    _page(talk, "s2", after="1", next_="1")


@breaks("repeated-page", 2)
def a_page_repeats_a_session(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="1")
    _page(talk, "s2", after="1", next_="2")
    _page(talk, "s1", after="2", next_=None)


@keeps("repeated-page")
def a_list_begins_anew(talk: Talk) -> None:
    talk.initialize()
    _page(talk, "s1", next_="1")
    _page(talk, "s1", next_="1")
    _page(talk, "s2", after="1", next_=None)
