"""Talks about how sessions end."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


def _close(talk: Talk) -> None:
    talk.answer(talk.ask("session/close", sessionId="s1"))


def _load(talk: Talk) -> None:
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


def _resume(talk: Talk) -> None:
    resume = talk.ask("session/resume", sessionId="s1", cwd=CWD)
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("closed-session-used")
def a_closed_session_is_prompted(talk: Talk) -> None:
    talk.open()
    _close(talk)
    talk.prompt()


@breaks("closed-session-used", 2)
def a_closed_session_is_configured(talk: Talk) -> None:
    talk.open()
    _close(talk)
    talk.ask("session/set_config_option", sessionId="s1", configId="a", type="id", value="b")


@keeps("closed-session-used")
def a_closed_session_is_loaded_first(talk: Talk) -> None:
    talk.open()
    _close(talk)
    _load(talk)
    talk.turn()


@keeps("closed-session-used", 2)
def a_closed_session_is_resumed_first(talk: Talk) -> None:
    talk.open()
    _close(talk)
    _resume(talk)
    talk.turn()


@breaks("update-after-close")
def an_update_comes_after_the_close(talk: Talk) -> None:
    talk.open()
    _close(talk)
    talk.update("session_info_update", title="A")


@keeps("update-after-close")
def an_update_comes_while_the_session_is_closed(talk: Talk) -> None:
    talk.open()
    close = talk.ask("session/close", sessionId="s1")
    talk.update("session_info_update", title="A")
    talk.answer(close)


@breaks("close-without-cancelled")
def a_prompt_outlives_its_session(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    _close(talk)
    talk.finish(prompt)


@breaks("close-without-cancelled")
def a_prompt_of_a_closed_session_fails(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    close = talk.ask("session/close", sessionId="s1")
    talk.wait(3)
    talk.refuse(prompt, -32603)
    talk.answer(close)


@keeps("close-without-cancelled")
def a_prompt_is_cancelled_by_the_close(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    close = talk.ask("session/close", sessionId="s1")
    talk.finish(prompt, "cancelled")
    talk.answer(close)


@keeps("close-without-cancelled")
def a_prompt_ends_as_the_close_is_under_way(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    close = talk.ask("session/close", sessionId="s1")
    talk.finish(prompt)
    talk.answer(close)


@breaks("close-without-idle", 2)
def a_session_is_closed_while_it_runs(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    _close(talk)


@breaks("close-without-idle", 2)
def work_ends_otherwise_long_after_the_close(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    close = talk.ask("session/close", sessionId="s1")
    talk.wait(3)
    talk.state("idle", stopReason="end_turn")
    talk.answer(close)


@keeps("close-without-idle", 2)
def work_ends_as_the_close_is_under_way(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    close = talk.ask("session/close", sessionId="s1")
    talk.state("idle", stopReason="end_turn")
    talk.answer(close)


@keeps("close-without-idle", 2)
def a_session_is_idle_before_it_is_closed(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    close = talk.ask("session/close", sessionId="s1")
    talk.state("idle", stopReason="cancelled")
    talk.answer(close)


@breaks("repeated-delete-fails")
def an_unknown_session_cannot_be_deleted(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(talk.ask("session/delete", sessionId="s9"), -32002)


@breaks("repeated-delete-fails", 2)
def a_session_cannot_be_deleted_again(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    talk.refuse(talk.ask("session/delete", sessionId="s1"), -32603)


@keeps("repeated-delete-fails")
def a_session_is_deleted_twice(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/delete", sessionId="s1"))
    talk.answer(talk.ask("session/delete", sessionId="s1"))


@keeps("repeated-delete-fails", 2)
def a_session_that_is_there_cannot_be_deleted(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/delete", sessionId="s1"), -32603)


@breaks("close-without-cancelled")
def the_prompt_of_a_closed_session_is_forgotten(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    talk.answer(talk.ask("session/close", sessionId="s1"))
    talk.wait(5)
    talk.answer(talk.ask("session/list"), sessions=[])


@keeps("close-without-cancelled")
def the_prompt_of_a_closed_session_is_answered_late(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.answer(talk.ask("session/close", sessionId="s1"))
    talk.wait(1)
    talk.finish(prompt, "cancelled")
