"""Talks about what clients say of their terminals."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.cases.terminals import again, create, release, use
from tests.inspector.lint.talk import Talk, breaks, keeps

DONE = {"exitCode": 0, "signal": None}


def running(talk: Talk, **members: Any) -> None:
    """Have a terminal run."""
    talk.answer(create(talk, **members), terminalId="x1")


def tell(talk: Talk, output: str = "", *, truncated: bool = False, **members: Any) -> None:
    """Tell a terminal's output."""
    talk.answer(use(talk, "output"), {"output": output, "truncated": truncated} | members)


@breaks("duplicate-terminal-id")
def a_second_terminal_has_the_same_id(talk: Talk) -> None:
    running(talk)
    talk.answer(again(talk), terminalId="x1")


@keeps("duplicate-terminal-id", despite=("concurrent-prompts",))
def a_second_terminal_has_the_id_of_a_released_one(talk: Talk) -> None:
    running(talk)
    release(talk)
    talk.answer(again(talk), terminalId="x1")
    release(talk)


@breaks("incomplete-terminal-output")
def output_does_not_say_whether_it_was_cut(talk: Talk) -> None:
    running(talk)
    talk.answer(use(talk, "output"), output="")


@breaks("incomplete-terminal-output")
def output_is_an_array_of_lines(talk: Talk) -> None:
    running(talk)
    talk.answer(use(talk, "output"), output=["a"], truncated=False)


@keeps("incomplete-terminal-output")
def output_is_empty(talk: Talk) -> None:
    running(talk)
    tell(talk)
    release(talk)


@breaks("output-over-limit")
def output_exceeds_its_limit_in_bytes(talk: Talk) -> None:
    running(talk, outputByteLimit=4)
    tell(talk, "äöü", truncated=True)


@breaks("output-over-limit")
def output_is_cut_at_its_end(talk: Talk) -> None:
    running(talk, outputByteLimit=50)
    words = " ".join(map(str, range(20)))
    tell(talk, words)
    tell(talk, (words + " and so on")[:50], truncated=True)


@keeps("output-over-limit")
def output_is_cut_at_its_front(talk: Talk) -> None:
    running(talk, outputByteLimit=50)
    words = " ".join(map(str, range(20)))
    tell(talk, words)
    tell(talk, (words + " and so on")[-50:], truncated=True)
    tell(talk, "no" * 25, truncated=True)
    release(talk)


@keeps("output-over-limit")
def output_fills_its_limit(talk: Talk) -> None:
    running(talk, outputByteLimit=4)
    tell(talk, "öü", truncated=True)
    release(talk)


@breaks("truncated-without-need")
def output_is_cut_without_a_limit(talk: Talk) -> None:
    running(talk, outputByteLimit=None)
    tell(talk, "a", truncated=True)


@keeps("truncated-without-need")
def output_is_cut_to_nothing(talk: Talk) -> None:
    running(talk, outputByteLimit=0)
    tell(talk, truncated=True)
    release(talk)


@breaks("exit-status-changes")
def an_exit_vanishes(talk: Talk) -> None:
    running(talk)
    tell(talk, exitStatus=DONE)
    tell(talk)


@breaks("exit-status-changes")
def an_exit_changes(talk: Talk) -> None:
    running(talk)
    talk.answer(use(talk, "wait_for_exit"), DONE)
    tell(talk, exitStatus={"exitCode": None, "signal": "SIGKILL"})


@keeps("exit-status-changes")
def an_exit_is_told_twice(talk: Talk) -> None:
    running(talk)
    early = use(talk, "output")
    talk.answer(use(talk, "wait_for_exit"), DONE)
    talk.answer(early, output="", truncated=False)
    tell(talk, exitStatus={"exitCode": 0})
    release(talk)


@breaks("invalid-exit-code")
def an_exit_code_is_negative(talk: Talk) -> None:
    running(talk)
    talk.answer(use(talk, "wait_for_exit"), exitCode=-1)


@breaks("invalid-exit-code")
def an_exit_code_is_a_word(talk: Talk) -> None:
    running(talk)
    tell(talk, exitStatus={"exitCode": "0"})


@keeps("invalid-exit-code")
def an_exit_code_is_null(talk: Talk) -> None:
    running(talk)
    talk.answer(use(talk, "wait_for_exit"), exitCode=None, signal="SIGTERM")
    release(talk)


@breaks("slow-terminal-create")
def a_terminal_is_there_when_its_command_is_over(talk: Talk) -> None:
    call = create(talk, command="sleep", args=["5"])
    talk.wait(5)
    talk.answer(call, terminalId="x1")
    talk.answer(use(talk, "wait_for_exit"), DONE)


@keeps("slow-terminal-create")
def a_terminal_is_there_before_its_command_is_over(talk: Talk) -> None:
    running(talk, command="sleep", args=["5"])
    call = use(talk, "wait_for_exit")
    talk.wait(5)
    talk.answer(call, DONE)
    release(talk)


@breaks("output-shrinks")
def output_shrinks(talk: Talk) -> None:
    running(talk)
    tell(talk, "one two")
    tell(talk, "two")


@keeps("output-shrinks")
def output_stays(talk: Talk) -> None:
    running(talk, outputByteLimit=5)
    tell(talk, "one")
    tell(talk, "one")
    tell(talk, "two", truncated=True)
    release(talk)


@breaks("truncated-without-need")
def output_is_cut_far_below_the_limit(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    call = talk.ask(
        "terminal/create", side="agent", sessionId="s1", command="ls", outputByteLimit=500_000
    )
    talk.answer(call, terminalId="x1")
    call = talk.ask("terminal/output", side="agent", sessionId="s1", terminalId="x1")
    talk.answer(call, output="ok", truncated=True)
