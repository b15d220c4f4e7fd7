"""Talks about the status and the titles of sessions."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps


def _open(talk: Talk, *, session: bool = True) -> None:
    """Agree upon a version, with an agent that has status and titles."""
    claims: dict[str, Any] = {"status": {}, "title": {}}
    if talk.version == 2:
        talk.initialize({}, {"session": claims})
    else:
        claims |= {"list": {}, "resume": {}}
        talk.initialize({}, {"sessionCapabilities": claims, "loadSession": True})
    if session:
        talk.new_session()


def _status(talk: Talk, session: str = "s1", status: str = "open") -> None:
    talk.answer(talk.ask("session/status", sessionId=session), status=status)


def _set(talk: Talk, title: Any = "A", session: str = "s1") -> Call:
    return talk.ask("session/set_title", sessionId=session, title=title)


def _resume(talk: Talk) -> None:
    resume = talk.ask("session/resume", sessionId="s1", cwd=CWD)
    if talk.version == 1:
        talk.answer(resume)
    else:
        talk.state("idle")
        talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("undeclared-session-status", unstable=True)
def a_status_is_asked_for_unclaimed(talk: Talk) -> None:
    talk.open()
    _status(talk)


@breaks("undeclared-session-status", 2, unstable=True)
def a_status_is_asked_for_unclaimed_in_version_2(talk: Talk) -> None:
    talk.open()
    _status(talk)


@keeps("undeclared-session-status", unstable=True)
def a_status_is_asked_for_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    _status(talk)


@keeps("undeclared-session-status", 2, unstable=True)
def a_status_is_asked_for_where_version_2_claims_it(talk: Talk) -> None:
    _open(talk)
    _status(talk)


@breaks("status-has-effect", unstable=True)
def a_status_attaches_a_session(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    talk.update("session_info_update", title="A")


@breaks("status-has-effect", 2, unstable=True)
def a_status_tells_the_state_as_an_update(talk: Talk) -> None:
    _open(talk, session=False)
    status = talk.ask("session/status", sessionId="s1")
    talk.state("idle")
    talk.answer(status, status="open", state={"state": "idle"})


@keeps("status-has-effect", unstable=True)
def a_status_is_asked_of_an_open_session(talk: Talk) -> None:
    _open(talk)
    _status(talk)
    talk.update("session_info_update", title="A")


@keeps("status-has-effect", 2, unstable=True)
def a_session_is_resumed_after_its_status(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    _resume(talk)


@breaks("unloaded-session-prompted", unstable=True)
def an_open_session_is_prompted_as_it_is(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    talk.prompt()


@breaks("unloaded-session-prompted", 2, unstable=True)
def an_open_session_of_version_2_is_prompted_as_it_is(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    talk.prompt()


@keeps("unloaded-session-prompted", unstable=True)
def an_open_session_is_resumed_and_prompted(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    _resume(talk)
    talk.turn()


@keeps("unloaded-session-prompted", 2, unstable=True)
def an_open_session_of_version_2_is_resumed_and_prompted(talk: Talk) -> None:
    _open(talk, session=False)
    _status(talk)
    _resume(talk)
    talk.turn()


@breaks("wrong-status-error", unstable=True)
def the_status_of_nothing_is_not_named(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/status", sessionId="s9"), -32002)


@breaks("wrong-status-error", 2, unstable=True)
def the_status_of_nothing_is_a_wrong_param(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/status", sessionId="s9"), -32602)


@keeps("wrong-status-error", unstable=True)
def the_status_of_nothing_is_not_found(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/status", sessionId="s9"), -32002, data={"sessionId": "s9"})


@keeps("wrong-status-error", 2, unstable=True)
def the_status_of_something_is_saved(talk: Talk) -> None:
    _open(talk)
    _status(talk, status="saved")


@breaks("undeclared-set-title", unstable=True)
def a_title_is_set_unclaimed(talk: Talk) -> None:
    talk.open()
    _set(talk)


@breaks("undeclared-set-title", 2, unstable=True)
def a_title_is_null(talk: Talk) -> None:
    _open(talk)
    _set(talk, None)


@keeps("undeclared-set-title", unstable=True)
def a_title_is_set_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title="A")


@keeps("undeclared-set-title", 2, unstable=True)
def a_title_is_empty(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk, ""), title="")


@breaks("missing-stored-title", unstable=True)
def a_title_is_stored_without_a_word(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk))


@breaks("missing-stored-title", 2, unstable=True)
def a_title_is_stored_as_null(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title=None)


@keeps("missing-stored-title", unstable=True)
def a_title_is_stored_shorter(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk, " A "), title="A")


@keeps("missing-stored-title", 2, unstable=True)
def a_title_is_stored_as_it_is(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title="A")


@breaks("title-replaced", unstable=True)
def a_title_is_made_up_afterwards(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title="A")
    talk.update("session_info_update", title="Talk about A")


@breaks("title-replaced", 2, unstable=True)
def a_title_is_listed_otherwise(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title="A")
    session = {"sessionId": "s1", "cwd": CWD, "title": "Talk about A"}
    talk.answer(talk.ask("session/list"), sessions=[session])


@keeps("title-replaced", unstable=True)
def a_title_is_told_as_it_was_stored(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk, " A "), title="A")
    talk.update("session_info_update", title="A")


@keeps("title-replaced", 2, unstable=True)
def a_title_is_listed_as_it_was_stored(talk: Talk) -> None:
    _open(talk)
    talk.answer(_set(talk), title="A")
    sessions = [
        {"sessionId": "s1", "cwd": CWD, "title": "A"},
        {"sessionId": "s2", "cwd": CWD, "title": "B"},
    ]
    talk.answer(talk.ask("session/list"), sessions=sessions)


@breaks("wrong-title-error", unstable=True)
def a_bad_title_breaks_the_agent(talk: Talk) -> None:
    _open(talk)
    talk.refuse(_set(talk, "\n"), -32603)


@breaks("wrong-title-error", 2, unstable=True)
def a_bad_title_is_no_request(talk: Talk) -> None:
    _open(talk)
    talk.refuse(_set(talk, "\n"), -32600)


@keeps("wrong-title-error", unstable=True)
def a_bad_title_is_refused(talk: Talk) -> None:
    _open(talk)
    talk.refuse(_set(talk, "\n"), -32602)


@keeps("wrong-title-error", 2, unstable=True)
def a_title_is_for_an_unknown_session(talk: Talk) -> None:
    _open(talk)
    talk.refuse(_set(talk, session="s9"), -32002, data={"sessionId": "s9"})
