"""Talks about whether one is logged in."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def _open(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"status": {}}})


def _status(talk: Talk, state: Any = "authenticated", **members: Any) -> None:
    talk.answer(talk.ask("auth/status"), {"state": state} | members)


def _tell(talk: Talk, state: Any = "authenticated", **members: Any) -> None:
    talk.tell("auth/status_update", side="agent", state=state, **members)


@breaks("undeclared-auth-status", unstable=True)
def a_status_is_asked_for_unclaimed(talk: Talk) -> None:
    talk.initialize()
    _status(talk)


@breaks("undeclared-auth-status", 2, unstable=True)
def a_status_is_asked_for_though_it_is_null(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"status": None}})
    _status(talk)


@keeps("undeclared-auth-status", unstable=True)
def a_status_is_asked_for_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    _status(talk)


@keeps("undeclared-auth-status", 2, unstable=True)
def a_status_is_asked_for_where_version_2_claims_it(talk: Talk) -> None:
    _open(talk)
    _status(talk)


@breaks("auth-status-fails", unstable=True)
def a_status_needs_a_login(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("auth/status"), -32000)


@breaks("auth-status-fails", 2, unstable=True)
def a_status_needs_a_login_in_version_2(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("auth/status"), -32000)


@keeps("auth-status-fails", unstable=True)
def a_status_is_that_there_is_no_login(talk: Talk) -> None:
    _open(talk)
    _status(talk, "unauthenticated")


@keeps("auth-status-fails", 2, unstable=True)
def a_status_cannot_be_told(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("auth/status"), -32603)


@breaks("undeclared-auth-update", unstable=True)
def a_status_is_told_unclaimed(talk: Talk) -> None:
    talk.initialize()
    _tell(talk)


@breaks("undeclared-auth-update", 2, unstable=True)
def a_status_is_told_too_early(talk: Talk) -> None:
    initialize = talk.ask(
        "initialize",
        protocolVersion=2,
        info={"name": "tester", "version": "1"},
        capabilities={},
    )
    _tell(talk)
    talk.answer(
        initialize,
        protocolVersion=2,
        info={"name": "tester", "version": "1"},
        capabilities={"auth": {"status": {}}},
    )


@keeps("undeclared-auth-update", unstable=True)
def a_status_is_told_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    _tell(talk)


@keeps("undeclared-auth-update", 2, unstable=True)
def a_status_is_told_where_version_2_claims_it(talk: Talk) -> None:
    _open(talk)
    _tell(talk)


@breaks("repeated-auth-status", unstable=True)
def a_status_is_told_twice(talk: Talk) -> None:
    _open(talk)
    _tell(talk)
    _tell(talk, accounts=[])


@breaks("repeated-auth-status", 2, unstable=True)
def a_status_is_told_that_was_asked_for(talk: Talk) -> None:
    _open(talk)
    _status(talk)
    _tell(talk)


@keeps("repeated-auth-status", unstable=True)
def a_status_has_another_account(talk: Talk) -> None:
    _open(talk)
    _tell(talk)
    _tell(talk, accounts=[{"label": "Ada"}])


@keeps("repeated-auth-status", 2, unstable=True)
def a_status_changes(talk: Talk) -> None:
    _open(talk)
    _status(talk, "unknown")
    _tell(talk)


@breaks("malformed-auth-status", unstable=True)
def an_account_has_no_label(talk: Talk) -> None:
    _open(talk)
    _status(talk, accounts=[{"label": "Ada"}, {"email": "ada@a.example"}])


@breaks("malformed-auth-status", 2, unstable=True)
def a_state_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _open(talk)
    _tell(talk, "expired")


@breaks("malformed-auth-status", unstable=True)
def a_status_has_no_state(talk: Talk) -> None:
    _open(talk)
    talk.tell("auth/status_update", side="agent", accounts=[])


@keeps("malformed-auth-status", unstable=True)
def an_account_has_a_label(talk: Talk) -> None:
    _open(talk)
    _status(talk, accounts=[{"label": "Ada", "active": True}])


@keeps("malformed-auth-status", 2, unstable=True)
def a_state_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _open(talk)
    _tell(talk, "_expired")
