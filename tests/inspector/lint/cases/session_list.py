"""Talks about lists of sessions."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

ONE: dict[str, Any] = {"sessionId": "s1", "cwd": CWD}


def _listed(talk: Talk, *sessions: Any, **asked: Any) -> None:
    talk.answer(talk.ask("session/list", asked), sessions=list(sessions))


@breaks("deleted-session-listed")
def a_deleted_session_is_listed(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    _listed(talk, ONE)


@breaks("deleted-session-listed", 2)
def a_deleted_session_is_listed_in_version_2(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    _listed(talk, ONE)


@keeps("deleted-session-listed")
def a_list_was_asked_for_before_the_session_was_deleted(talk: Talk) -> None:
    talk.open()
    list_ = talk.ask("session/list")
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    talk.answer(list_, sessions=[ONE])


@keeps("deleted-session-listed", 2)
def another_session_is_listed(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    _listed(talk, ONE | {"sessionId": "s2"})


@breaks("sessions-not-list")
def no_sessions_are_null(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=None)


@breaks("sessions-not-list", 2)
def the_sessions_are_missing(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"))


@keeps("sessions-not-list")
def no_sessions_are_an_empty_array(talk: Talk) -> None:
    talk.initialize()
    _listed(talk)


@breaks("incomplete-listed-session")
def a_listed_session_has_no_directory(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, {"sessionId": "s1"})


@breaks("incomplete-listed-session", 2)
def a_listed_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, {"sessionId": "s1", "cwd": "~/work"})


@keeps("incomplete-listed-session")
def a_listed_session_has_id_and_directory(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE)


@breaks("session-of-other-directory")
def a_directory_below_is_listed(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"cwd": f"{CWD}/below"}, cwd=CWD)


@breaks("session-of-other-directory", 2)
def all_directories_are_listed(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE, {"sessionId": "s2", "cwd": "/srv/other"}, cwd=CWD)


@keeps("session-of-other-directory")
def the_directory_is_listed_with_its_link_resolved(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"cwd": f"/private{CWD}/"}, cwd=CWD)


@breaks("updated-at-not-iso")
def a_date_is_written_out(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"updatedAt": "Sat Nov 21 2026"})


@breaks("updated-at-not-iso")
def a_date_is_a_number_of_seconds(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", updatedAt="1795248000")


@keeps("updated-at-not-iso")
def a_date_has_fractions(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"updatedAt": "2026-11-21T08:00:00.123456Z"})


@breaks("updated-at-not-rfc3339", 2)
def a_date_has_no_zone(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"updatedAt": "2026-11-21T08:00:00"})


@breaks("updated-at-not-rfc3339", 2)
def a_day_is_none(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"updatedAt": "2026-02-30T08:00:00Z"})


@keeps("updated-at-not-rfc3339", 2)
def a_date_has_an_offset(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", updatedAt="2026-11-21T08:00:00.5+01:00")


@breaks("undeclared-listed-directories")
def further_directories_are_listed_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"list": {}}})
    _listed(talk, ONE | {"additionalDirectories": ["/srv"]})


@breaks("undeclared-listed-directories", 2)
def a_listed_further_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"additionalDirectories": ["srv"]})


@keeps("undeclared-listed-directories")
def further_directories_are_listed_where_they_are_claimed(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"additionalDirectories": ["/srv"]})


@keeps("undeclared-listed-directories", 2)
def further_directories_are_listed_where_version_2_claims_them(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE | {"additionalDirectories": ["/srv"]})


@breaks("foreign-session-info-field")
def an_update_moves_a_session(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", title="A", cwd="/srv")


@breaks("foreign-session-info-field", 2)
def an_update_repeats_the_id(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", sessionId="s1", title="A")


@keeps("foreign-session-info-field")
def an_update_clears_the_title(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", title=None)


@breaks("unknown-list-filter")
def sessions_are_searched_for(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, search="lint")


@breaks("unknown-list-filter", 2)
def a_number_of_sessions_is_asked_for(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, limit=5)


@keeps("unknown-list-filter")
def sessions_of_a_directory_are_asked_for(talk: Talk) -> None:
    talk.initialize()
    _listed(talk, ONE, cwd=CWD, _meta={"search": "lint"})
