"""Talks in which agents of version 2 show terminals."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

SHOWN = [{"type": "terminal", "terminalId": "x1"}]


def terminal(talk: Talk, **members: Any) -> None:
    """Tell of a terminal."""
    talk.update("terminal_update", **({"terminalId": "x1"} | members))


def output(talk: Talk, **members: Any) -> None:
    """Tell of more output of a terminal."""
    talk.update("terminal_output_chunk", **({"terminalId": "x1", "data": "aGk="} | members))


def begun(talk: Talk, **members: Any) -> None:
    """Have a terminal run in the course of work."""
    talk.open()
    talk.accept(talk.prompt())
    terminal(talk, **({"command": "make"} | members))


@breaks("incomplete-terminal-update", 2)
def an_update_names_no_terminal(talk: Talk) -> None:
    begun(talk, terminalId=None)


@breaks("incomplete-terminal-update", 2)
def a_chunk_has_text(talk: Talk) -> None:
    begun(talk)
    talk.update("terminal_output_chunk", terminalId="x1", text="hi")


@keeps("incomplete-terminal-update", 2)
def a_chunk_has_no_bytes(talk: Talk) -> None:
    begun(talk)
    output(talk, data="")


@breaks("invalid-output-base64", 2)
def a_chunk_is_plain_text(talk: Talk) -> None:
    begun(talk)
    output(talk, data="hi there")


@breaks("invalid-output-base64", 2)
def a_snapshot_is_cut_within_base64(talk: Talk) -> None:
    begun(talk, output={"data": "aGk"})


@keeps("invalid-output-base64", 2)
def a_chunk_is_cut_within_a_character(talk: Talk) -> None:
    begun(talk, output={"data": "w7w="})
    output(talk, data="ww==")


@breaks("relative-display-cwd", 2)
def a_terminal_runs_in_a_relative_directory(talk: Talk) -> None:
    begun(talk, cwd=".")


@keeps("relative-display-cwd", 2)
def a_terminal_runs_at_the_root(talk: Talk) -> None:
    begun(talk, cwd="/")


@breaks("terminal-output-not-object", 2)
def output_is_text(talk: Talk) -> None:
    begun(talk, output="hi")


@breaks("terminal-output-not-object", 2)
def output_holds_text(talk: Talk) -> None:
    begun(talk, output={"text": "hi"})


@keeps("terminal-output-not-object", 2)
def output_is_cleared(talk: Talk) -> None:
    begun(talk, output={"data": "aGk="})
    terminal(talk, output=None)


@breaks("output-after-exit", 2)
def output_follows_the_exit(talk: Talk) -> None:
    begun(talk)
    terminal(talk, exitStatus={})
    output(talk)


@keeps("output-after-exit", 2)
def output_follows_an_exit_that_was_cleared(talk: Talk) -> None:
    begun(talk)
    terminal(talk, exitStatus={"exitCode": 1})
    terminal(talk, exitStatus=None)
    output(talk)


@breaks("reused-terminal-id", 2)
def a_terminal_runs_another_command(talk: Talk) -> None:
    begun(talk, exitStatus={"exitCode": 0})
    terminal(talk, command="make test", exitStatus=None)


@keeps("reused-terminal-id", 2)
def a_terminal_tells_its_command_again(talk: Talk) -> None:
    begun(talk, exitStatus={"exitCode": 0})
    terminal(talk, command="make", output={"data": ""})


@breaks("unreported-terminal", 2)
def a_terminal_is_shown_and_never_told_of(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool(content=SHOWN)
    output(talk)
    talk.wait(5)
    talk.state("idle", stopReason="end_turn")


@keeps("unreported-terminal", 2)
def a_terminal_is_shown_before_it_is_told_of(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool(content=SHOWN)
    talk.wait(5)
    terminal(talk, command="make")


@breaks("terminal-without-command", 2)
def a_command_comes_later(talk: Talk) -> None:
    begun(talk, command=None)
    terminal(talk, command="make")


@keeps("terminal-without-command", 2)
def a_command_comes_before_its_directory(talk: Talk) -> None:
    begun(talk)
    terminal(talk, command="make", cwd="/srv")


@breaks("terminal-without-exit", 2)
def a_terminal_runs_after_its_tool_call(talk: Talk) -> None:
    begun(talk)
    talk.tool(content=SHOWN, status="completed")
    talk.wait(5)
    talk.state("idle", stopReason="end_turn")


@keeps("terminal-without-exit", 2)
def a_terminal_runs_in_the_background(talk: Talk) -> None:
    begun(talk)
    talk.tool(content=SHOWN, status="completed")
    behind = [{"type": "terminal", "terminalId": "x1"}]
    talk.wait(5)
    talk.state("idle", stopReason="end_turn", background=behind)


@breaks("invalid-terminal-size", 2)
def a_terminal_has_no_columns(talk: Talk) -> None:
    begun(talk, size={"cols": 0, "rows": 24})


@breaks("invalid-terminal-size", 2)
def a_terminal_has_no_rows(talk: Talk) -> None:
    begun(talk, size={"cols": 80})


@keeps("invalid-terminal-size", 2)
def a_terminal_has_one_cell(talk: Talk) -> None:
    begun(talk, size={"cols": 1, "rows": 65535})
