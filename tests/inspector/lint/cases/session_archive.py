"""Talks about the archive of sessions."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


def _open(talk: Talk, *, session: bool = True) -> None:
    """Agree upon a version, with an agent that has an archive."""
    claims: dict[str, Any] = {"archive": {}, "close": {}}
    if talk.version == 2:
        talk.initialize({}, {"session": claims})
    else:
        claims |= {"list": {}, "resume": {}}
        talk.initialize({}, {"sessionCapabilities": claims, "loadSession": True})
    if session:
        talk.new_session()


def _put(talk: Talk, how: str = "archive", session: str = "s1") -> None:
    talk.answer(talk.ask(f"session/{how}", sessionId=session))


def _list(talk: Talk, *flags: Any, next_: str | None = None, **asked: Any) -> None:
    sessions = [
        {"sessionId": f"s{index}", "cwd": CWD} | ({} if flag is None else {"archived": flag})
        for index, flag in enumerate(flags)
    ]
    result: dict[str, Any] = {"sessions": sessions}
    if next_ is not None:
        result["nextCursor"] = next_
    talk.answer(talk.ask("session/list", asked), result)


@breaks("undeclared-archive", unstable=True)
def a_session_is_archived_unclaimed(talk: Talk) -> None:
    talk.open()
    _put(talk)


@breaks("undeclared-archive", 2, unstable=True)
def a_session_is_unarchived_unclaimed(talk: Talk) -> None:
    talk.open()
    _put(talk, "unarchive")


@keeps("undeclared-archive", unstable=True)
def a_session_is_archived_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    _put(talk)


@keeps("undeclared-archive", 2, unstable=True)
def a_session_is_unarchived_where_it_is_claimed(talk: Talk) -> None:
    _open(talk)
    _put(talk, "unarchive")


@breaks("archive-without-list", unstable=True)
def there_is_an_archive_without_a_list(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"archive": {}, "list": None}})


@keeps("archive-without-list", unstable=True)
def there_is_an_archive_with_a_list(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"archive": {}, "list": {}}})


@breaks("missing-archived-flag", unstable=True)
def a_listed_session_has_no_flag(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, None)


@breaks("missing-archived-flag", 2, unstable=True)
def a_listed_session_has_a_word_for_a_flag(talk: Talk) -> None:
    _open(talk)
    _list(talk, "no")


@keeps("missing-archived-flag", unstable=True)
def all_listed_sessions_have_a_flag(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, False)


@keeps("missing-archived-flag", 2, unstable=True)
def all_listed_sessions_have_a_flag_in_version_2(talk: Talk) -> None:
    _open(talk)
    _list(talk, True, False, archived="include")


@breaks("invalid-archived-filter", unstable=True)
def a_filter_is_used_unclaimed(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/list", archived="only")


@breaks("invalid-archived-filter", 2, unstable=True)
def a_filter_changes_between_pages(talk: Talk) -> None:
    _open(talk)
    _list(talk, True, next_="c1", archived="include")
    talk.ask("session/list", cursor="c1")


@keeps("invalid-archived-filter", unstable=True)
def a_filter_is_kept_between_pages(talk: Talk) -> None:
    _open(talk)
    _list(talk, True, next_="c1", archived="only")
    _list(talk, archived="only", cursor="c1")


@keeps("invalid-archived-filter", 2, unstable=True)
def a_filter_is_said_that_goes_without_saying(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, next_="c1")
    _list(talk, archived="exclude", cursor="c1")


@breaks("archived-filter-ignored", unstable=True)
def an_archived_session_is_listed_with_the_others(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, True)


@breaks("archived-filter-ignored", 2, unstable=True)
def another_session_is_listed_with_the_archived(talk: Talk) -> None:
    _open(talk)
    _list(talk, True, False, archived="only")


@keeps("archived-filter-ignored", unstable=True)
def only_archived_sessions_are_listed(talk: Talk) -> None:
    _open(talk)
    _list(talk, True, True, archived="only")


@keeps("archived-filter-ignored", 2, unstable=True)
def no_archived_sessions_are_listed(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, archived=None)


@breaks("archive-leaves-work", unstable=True)
def a_prompt_outlives_the_archiving(talk: Talk) -> None:
    _open(talk)
    prompt = talk.prompt()
    _put(talk)
    talk.finish(prompt)


@breaks("archive-leaves-work", 2, unstable=True)
def a_session_is_archived_while_it_runs(talk: Talk) -> None:
    _open(talk)
    talk.accept(talk.prompt())
    _put(talk)


@keeps("archive-leaves-work", unstable=True)
def a_prompt_is_cancelled_by_the_archiving(talk: Talk) -> None:
    _open(talk)
    prompt = talk.prompt()
    archive = talk.ask("session/archive", sessionId="s1")
    talk.finish(prompt, "cancelled")
    talk.answer(archive)


@keeps("archive-leaves-work", 2, unstable=True)
def a_session_is_idle_before_it_is_archived(talk: Talk) -> None:
    _open(talk)
    talk.accept(talk.prompt())
    archive = talk.ask("session/archive", sessionId="s1")
    talk.state("idle", stopReason="cancelled")
    talk.answer(archive)


@breaks("repeated-archive-fails", unstable=True)
def a_session_cannot_be_archived_again(talk: Talk) -> None:
    _open(talk)
    _put(talk)
    talk.refuse(talk.ask("session/archive", sessionId="s1"), -32602)


@breaks("repeated-archive-fails", 2, unstable=True)
def an_unknown_session_is_a_wrong_param(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/unarchive", sessionId="s9"), -32602)


@keeps("repeated-archive-fails", unstable=True)
def a_session_is_archived_again(talk: Talk) -> None:
    _open(talk)
    _put(talk)
    _put(talk)


@keeps("repeated-archive-fails", 2, unstable=True)
def an_unknown_session_is_not_found(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/archive", sessionId="s9"), -32002, data={"sessionId": "s9"})


@breaks("unknown-filter-accepted", unstable=True)
def an_unknown_filter_goes_well(talk: Talk) -> None:
    _open(talk)
    _list(talk, False, archived="all")


@breaks("unknown-filter-accepted", 2, unstable=True)
def a_flag_for_a_filter_goes_well(talk: Talk) -> None:
    _open(talk)
    _list(talk, archived=True)


@keeps("unknown-filter-accepted", unstable=True)
def an_unknown_filter_is_refused(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/list", archived="all"), -32602)


@keeps("unknown-filter-accepted", 2, unstable=True)
def an_unknown_filter_is_refused_in_version_2(talk: Talk) -> None:
    _open(talk)
    talk.refuse(talk.ask("session/list", archived="all"), -32602)


@breaks("unarchive-loads", unstable=True)
def an_unarchived_session_is_loaded(talk: Talk) -> None:
    _open(talk, session=False)
    _list(talk, True, archived="only")
    _put(talk, "unarchive", "s0")
    talk.update("session_info_update", "s0", title="A")


@breaks("unarchive-loads", 2, unstable=True)
def an_unarchived_session_tells_its_state(talk: Talk) -> None:
    _open(talk, session=False)
    _list(talk, True, archived="only")
    _put(talk, "unarchive", "s0")
    talk.state("idle", "s0")


@keeps("unarchive-loads", unstable=True)
def an_unarchived_session_is_open_all_the_time(talk: Talk) -> None:
    _open(talk)
    _put(talk, "unarchive")
    talk.update("session_info_update", title="A")


@keeps("unarchive-loads", 2, unstable=True)
def an_unarchived_session_is_resumed(talk: Talk) -> None:
    _open(talk, session=False)
    _list(talk, True, archived="only")
    _put(talk, "unarchive", "s0")
    resume = talk.ask("session/resume", sessionId="s0", cwd=CWD)
    talk.state("idle", "s0")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("archived-session-loaded", unstable=True)
def a_session_is_loaded_from_the_archive(talk: Talk) -> None:
    _open(talk, session=False)
    _list(talk, True, archived="only")
    talk.ask("session/load", sessionId="s0", cwd=CWD, mcpServers=[])


@breaks("archived-session-loaded", 2, unstable=True)
def a_session_is_resumed_from_the_archive(talk: Talk) -> None:
    _open(talk)
    _put(talk)
    talk.ask("session/resume", sessionId="s1", cwd=CWD)


@keeps("archived-session-loaded", unstable=True)
def a_session_is_unarchived_before_it_is_loaded(talk: Talk) -> None:
    _open(talk, session=False)
    _list(talk, True, archived="only")
    _put(talk, "unarchive", "s0")
    talk.answer(talk.ask("session/load", sessionId="s0", cwd=CWD, mcpServers=[]))
