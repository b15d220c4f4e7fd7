"""Talks about the history of sessions that are loaded or resumed."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

TEXT = {"type": "text", "text": "Hello"}


def _load(talk: Talk) -> Call:
    return talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])


def _resume(talk: Talk, **members: Any) -> Call:
    return talk.ask("session/resume", {"sessionId": "s1", "cwd": CWD} | members)


def _resumed(talk: Talk, resume: Call) -> None:
    if talk.version == 1:
        talk.answer(resume)
        return
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])


def _user(talk: Talk) -> None:
    if talk.version == 1:
        talk.update("user_message_chunk", content=TEXT)
    else:
        talk.update("user_message", messageId="m-user", content=[TEXT])


def _close(talk: Talk) -> None:
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("resume-replays-history")
def a_resume_tells_history(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    _user(talk)
    talk.say()
    talk.answer(resume)


@breaks("resume-replays-history")
def a_resume_tells_of_tool_calls(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    talk.tool(status="completed")
    talk.answer(resume)


@keeps("resume-replays-history")
def a_resume_tells_of_commands(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    talk.update("available_commands_update", availableCommands=[])
    talk.answer(resume)


@breaks("unrequested-replay", 2)
def a_resume_tells_history_unasked(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk, replayFrom=None)
    talk.say()
    _resumed(talk, resume)


@keeps("unrequested-replay", 2)
def a_resume_tells_of_a_list_in_the_background(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    talk.tool(status="in_progress")
    talk.state("idle", background=[{"type": "tool_call", "toolCallId": "t1"}])
    talk.answer(resume, configOptions=[], availableCommands=[])


@keeps("unrequested-replay", 2)
def a_resume_comes_in_the_midst_of_work(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    talk.state("running")
    talk.say()
    talk.answer(resume, configOptions=[], availableCommands=[])


@keeps("resume-replays-history")
def a_prompt_that_came_behind_the_resume_is_answered_before_it(talk: Talk) -> None:
    talk.open()
    _close(talk)
    resume = _resume(talk)
    prompt = talk.prompt()
    talk.say()
    talk.answer(resume)
    talk.finish(prompt)


@keeps("unrequested-replay", 2)
def a_prompt_that_came_with_the_resume_is_echoed_before_its_answer(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    resume = _resume(talk)
    talk.answer(prompt, messageId="m-user")
    _user(talk)
    talk.state("running")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("unrequested-replay", 2)
def a_resume_tells_history_beside_the_echo_of_a_prompt(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    resume = _resume(talk)
    talk.answer(prompt, messageId="m-user")
    talk.update("user_message", messageId="m-before", content=[TEXT])
    _user(talk)
    talk.state("running")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("missing-replay")
def a_load_tells_nothing(talk: Talk) -> None:
    talk.open()
    talk.turn()
    _close(talk)
    talk.answer(_load(talk))


@breaks("missing-replay", 2)
def a_replay_tells_nothing(talk: Talk) -> None:
    talk.open()
    talk.turn()
    _close(talk)
    _resumed(talk, _resume(talk, replayFrom={"type": "start"}))


@keeps("missing-replay")
def a_load_tells_history(talk: Talk) -> None:
    talk.open()
    talk.turn()
    _close(talk)
    load = _load(talk)
    _user(talk)
    talk.say()
    talk.answer(load)


@keeps("missing-replay")
def there_was_only_a_greeting(talk: Talk) -> None:
    talk.open()
    talk.say("Welcome!")
    prompt = talk.prompt("/help")
    talk.say("There is no help.")
    talk.finish(prompt)
    _close(talk)
    talk.answer(_load(talk))


@keeps("missing-replay", 2)
def there_is_no_history_to_tell(talk: Talk) -> None:
    talk.open()
    _close(talk)
    _resumed(talk, _resume(talk, replayFrom={"type": "start"}))


@keeps("missing-replay")
def a_resume_is_answered_while_a_load_waits(talk: Talk) -> None:
    talk.open()
    talk.turn()
    _close(talk)
    resume = _resume(talk)
    load = _load(talk)
    talk.answer(resume)
    _user(talk)
    talk.say()
    talk.answer(load)


@breaks("missing-replay")
def a_load_tells_nothing_while_a_resume_waits(talk: Talk) -> None:
    talk.open()
    talk.turn()
    _close(talk)
    load, resume = _load(talk), _resume(talk)
    talk.answer(load)
    talk.answer(resume)


@keeps("resume-replays-history")
def a_load_tells_history_while_a_resume_waits(talk: Talk) -> None:
    talk.initialize()
    load, resume = _load(talk), _resume(talk)
    _user(talk)
    talk.say()
    talk.answer(load)
    talk.answer(resume)


@keeps("unrequested-replay", 2)
def a_replay_tells_history_while_another_resume_waits(talk: Talk) -> None:
    talk.initialize()
    replay, resume = _resume(talk, replayFrom={"type": "start"}), _resume(talk)
    _user(talk)
    talk.say()
    _resumed(talk, replay)
    _resumed(talk, resume)


@breaks("late-replay")
def history_comes_after_the_load(talk: Talk) -> None:
    talk.initialize()
    talk.answer(_load(talk))
    _user(talk)


@breaks("late-replay", 2)
def history_comes_after_the_resume(talk: Talk) -> None:
    talk.initialize()
    _resumed(talk, _resume(talk, replayFrom={"type": "start"}))
    _user(talk)


@breaks("late-replay")
def history_comes_after_the_load_and_the_next_prompt(talk: Talk) -> None:
    talk.initialize()
    talk.answer(_load(talk))
    talk.prompt("And now?")
    _user(talk)


@keeps("late-replay")
def a_prompt_is_echoed_after_the_load(talk: Talk) -> None:
    talk.initialize()
    talk.answer(_load(talk))
    talk.answer(talk.prompt("Hello, you"), stopReason="end_turn")
    talk.prompt("Hello, you")
    _user(talk)


@keeps("late-replay")
def history_comes_before_the_load_is_answered(talk: Talk) -> None:
    talk.initialize()
    load = _load(talk)
    _user(talk)
    talk.answer(load)


@keeps("late-replay")
def history_is_told_again_by_a_second_load(talk: Talk) -> None:
    talk.initialize()
    talk.answer(_load(talk))
    load = _load(talk)
    _user(talk)
    talk.answer(load)


@keeps("late-replay", 2)
def a_prompt_that_came_with_the_resume_is_echoed_after_it(talk: Talk) -> None:
    talk.initialize()
    resume = _resume(talk)
    prompt = talk.prompt()
    _resumed(talk, resume)
    talk.answer(prompt, messageId="m-user")
    _user(talk)


@keeps("late-replay", 2)
def a_prompt_that_came_before_the_resume_is_echoed_after_it(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    resume = _resume(talk)
    _resumed(talk, resume)
    talk.answer(prompt, messageId="m-user")
    _user(talk)


@keeps("late-replay", 2)
def a_prompt_is_echoed_after_the_resume(talk: Talk) -> None:
    talk.initialize()
    _resumed(talk, _resume(talk))
    talk.turn()


@breaks("replay-cursor-not-refused", 2)
def an_unknown_place_is_taken_for_the_start(talk: Talk) -> None:
    talk.initialize()
    _resumed(talk, _resume(talk, replayFrom={"type": "message", "messageId": "m1"}))


@breaks("replay-cursor-not-refused", 2)
def a_place_that_is_a_word_is_passed_over(talk: Talk) -> None:
    talk.initialize()
    _resumed(talk, _resume(talk, replayFrom="start"))


@keeps("replay-cursor-not-refused", 2)
def an_unknown_place_is_refused(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(_resume(talk, replayFrom={"type": "message"}), -32602)


@breaks("replay-cursor-not-object", 2)
def a_place_is_a_word(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(_resume(talk, replayFrom="start"), -32602)


@breaks("replay-cursor-not-object", 2)
def a_place_has_no_type(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(_resume(talk, replayFrom={"from": "start"}), -32602)


@keeps("replay-cursor-not-object", 2)
def a_place_is_the_start(talk: Talk) -> None:
    talk.initialize()
    _resumed(talk, _resume(talk, replayFrom={"type": "start"}))
