"""Talks in which agents use terminals of their client."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps


def create(talk: Talk, **members: Any) -> Call:
    """Open a session, and ask for a terminal in its turn."""
    talk.open()
    return again(talk, **members)


def again(talk: Talk, session: str = "s1", **members: Any) -> Call:
    """Ask for a terminal in a turn."""
    talk.prompt(session=session)
    params = {"sessionId": session, "command": "make"} | members
    return talk.ask("terminal/create", params, side="agent")


def use(talk: Talk, what: str, id_: str = "x1", session: str = "s1") -> Call:
    """Use a terminal."""
    return talk.ask(f"terminal/{what}", side="agent", sessionId=session, terminalId=id_)


def release(talk: Talk, id_: str = "x1") -> None:
    """Release a terminal."""
    talk.answer(use(talk, "release", id_))


@breaks("undeclared-terminal")
def a_terminal_is_asked_of_a_client_that_has_none(talk: Talk) -> None:
    talk.initialize({"terminal": False})
    talk.new_session()
    talk.refuse(again(talk), -32601)


@breaks("undeclared-terminal")
def a_terminal_is_asked_of_a_client_that_claims_an_object(talk: Talk) -> None:
    talk.initialize({"terminal": {}})
    talk.new_session()
    talk.refuse(again(talk), -32601)


@keeps("undeclared-terminal")
def a_terminal_is_asked_of_a_client_that_has_some(talk: Talk) -> None:
    talk.initialize({"terminal": True})
    talk.new_session()
    talk.answer(again(talk), terminalId="x1")
    release(talk)


@breaks("malformed-terminal-create")
def a_terminal_has_no_command(talk: Talk) -> None:
    talk.refuse(create(talk, command=["make"]), -32602)


@breaks("malformed-terminal-create")
def a_terminal_has_a_number_for_an_argument(talk: Talk) -> None:
    talk.refuse(create(talk, args=["-j", 2]), -32602)


@breaks("malformed-terminal-create")
def a_terminal_has_variables_as_an_object(talk: Talk) -> None:
    talk.refuse(create(talk, env={"A": "1"}), -32602)


@breaks("malformed-terminal-create")
def a_terminal_has_a_variable_without_value(talk: Talk) -> None:
    talk.refuse(create(talk, env=[{"name": "A"}]), -32602)


@keeps("malformed-terminal-create")
def a_terminal_has_arguments_and_no_variables(talk: Talk) -> None:
    talk.answer(create(talk, args=["-j", "2"], env=None), terminalId="x1")
    release(talk)


@breaks("relative-terminal-cwd")
def a_command_runs_in_a_relative_directory(talk: Talk) -> None:
    talk.answer(create(talk, cwd="src"), terminalId="x1")


@keeps("relative-terminal-cwd")
def a_command_runs_in_a_directory_of_windows(talk: Talk) -> None:
    talk.answer(create(talk, cwd="C:/src"), terminalId="x1")
    release(talk)


@breaks("unknown-terminal")
def a_terminal_is_used_that_was_not_created(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.refuse(use(talk, "kill", "make"), -32602)


@keeps("unknown-terminal")
def a_terminal_is_used_that_was_created(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.answer(use(talk, "wait_for_exit"), exitCode=0)
    release(talk)


@breaks("released-terminal-used")
def a_terminal_is_released_twice(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    release(talk)
    release(talk)


@breaks("released-terminal-used")
def a_released_terminal_is_read(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    release(talk)
    talk.answer(use(talk, "output"), output="", truncated=False)


@keeps("released-terminal-used")
def a_killed_terminal_is_read(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.answer(use(talk, "kill"))
    talk.answer(use(talk, "output"), output="", truncated=False)
    release(talk)


@breaks("unreleased-terminal")
def a_session_is_closed_with_a_terminal(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("unreleased-terminal")
def a_connection_ends_with_a_terminal(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    call = talk.ask("terminal/create", side="agent", sessionId="s1", command="make")
    talk.answer(call, terminalId="x1")
    talk.finish(prompt)
    talk.wait(5)
    talk.end()


@keeps("unreleased-terminal")
def a_connection_ends_within_a_turn_with_a_terminal(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.wait(5)
    talk.end(1)


@breaks("terminal-of-other-session")
def a_terminal_is_used_by_another_session(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.new_session("s2")
    talk.prompt(session="s2")
    talk.answer(use(talk, "output", session="s2"), output="", truncated=False)


@keeps("terminal-of-other-session")
def two_sessions_use_a_terminal_each(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.new_session("s2")
    talk.answer(again(talk, "s2"), terminalId="x2")
    talk.answer(use(talk, "release", "x2", session="s2"))
    release(talk)


@breaks("killed-terminal-not-released")
def a_killed_terminal_is_kept(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    call = talk.ask("terminal/create", side="agent", sessionId="s1", command="make")
    talk.answer(call, terminalId="x1")
    talk.answer(use(talk, "kill"))
    talk.finish(prompt)
    talk.wait(5)
    talk.turn()


@keeps("killed-terminal-not-released")
def a_killed_terminal_is_released(talk: Talk) -> None:
    talk.answer(create(talk), terminalId="x1")
    talk.answer(use(talk, "kill"))
    release(talk)
    talk.wait(5)
    talk.say()


@breaks("command-line-as-command")
def a_command_is_a_command_line(talk: Talk) -> None:
    create(talk, command="npm test")


@breaks("command-line-as-command")
def a_command_is_a_path_with_an_option(talk: Talk) -> None:
    create(talk, command="/usr/bin/ls -la")


@breaks("command-line-as-command")
def a_command_is_a_pipeline(talk: Talk) -> None:
    create(talk, command="./list files | sort")


@breaks("command-line-as-command")
def a_command_line_has_more_arguments(talk: Talk) -> None:
    create(talk, command="sh -c", args=["make"])


@keeps("command-line-as-command")
def a_program_has_arguments(talk: Talk) -> None:
    create(talk, command="npm", args=["test", "--watch", "a b"])


@keeps("command-line-as-command")
def the_path_of_a_program_has_spaces(talk: Talk) -> None:
    create(talk, command="/Applications/My Tools/run all")


@keeps("command-line-as-command")
def the_path_of_a_program_for_windows_has_spaces(talk: Talk) -> None:
    create(talk, command="C:\\Program Files\\nodejs\\node.exe")
