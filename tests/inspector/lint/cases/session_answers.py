"""Talks about what answers about sessions promise."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

MODEL = {
    "configId": "model",
    "name": "Model",
    "type": "select",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
}
FAST = {"configId": "fast", "name": "Fast", "type": "boolean", "currentValue": False}


def resume(talk: Talk, **members: Any) -> Call:
    """Ask for a session of before."""
    talk.initialize()
    return talk.ask("session/resume", {"sessionId": "s1", "cwd": CWD} | members)


def history(talk: Talk) -> None:
    """Tell of the session's one message."""
    content = [{"type": "text", "text": "Earlier"}]
    talk.update("agent_message", messageId="m1", content=content)


@breaks("resume-without-state", 2)
def a_session_is_resumed_without_a_state(talk: Talk) -> None:
    talk.answer(resume(talk), configOptions=[])


@breaks("resume-without-state", 2)
def a_session_is_idle_before_its_history(talk: Talk) -> None:
    call = resume(talk, replayFrom={"type": "start"})
    talk.state("idle")
    history(talk)
    talk.answer(call, configOptions=[])


@keeps("resume-without-state", 2)
def a_session_is_idle_after_its_history(talk: Talk) -> None:
    call = resume(talk, replayFrom={"type": "start"})
    history(talk)
    talk.state("idle")
    talk.update("available_commands_update", availableCommands=[])
    talk.answer(call, configOptions=[])


def close(talk: Talk) -> None:
    """Open a session and close it."""
    talk.open()
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("message-after-close", 2)
def a_closed_session_tells_its_title(talk: Talk) -> None:
    close(talk)
    talk.update("session_info_update", title="Hello")


@breaks("message-after-close", 2)
def a_closed_session_asks_for_permission(talk: Talk) -> None:
    close(talk)
    talk.permission()


@keeps("message-after-close", 2)
def a_closed_session_is_resumed(talk: Talk) -> None:
    close(talk)
    call = talk.ask("session/resume", sessionId="s1", cwd=CWD)
    talk.state("idle")
    talk.answer(call, configOptions=[])
    talk.update("session_info_update", title="Hello")


@breaks("missing-session-close-fails", 2)
def a_missing_session_cannot_be_closed(talk: Talk) -> None:
    close(talk)
    call = talk.ask("session/close", sessionId="s1")
    talk.refuse(call, -32002, "Resource not found", {"sessionId": "s1"})


@keeps("missing-session-close-fails", 2)
def a_closed_session_is_closed(talk: Talk) -> None:
    close(talk)


@breaks("null-session-lists", 2)
def options_are_null(talk: Talk) -> None:
    talk.initialize()
    talk.new_session(configOptions=None)


@breaks("null-session-lists", 2)
def commands_are_null_when_resumed(talk: Talk) -> None:
    call = resume(talk)
    talk.state("idle")
    talk.answer(call, configOptions=[], availableCommands=None)


@keeps("null-session-lists", 2)
def options_are_empty(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/new", cwd=CWD), sessionId="s1", configOptions=[])


def setting(talk: Talk, id_: str, type_: str, value: Any) -> Call:
    """Set an option of a new session."""
    talk.initialize()
    talk.new_session(configOptions=[MODEL, FAST])
    return talk.ask(
        "session/set_config_option", sessionId="s1", configId=id_, type=type_, value=value
    )


@breaks("invalid-option-accepted", 2)
def an_option_that_is_not_there_is_set(talk: Talk) -> None:
    talk.answer(setting(talk, "mood", "id", "good"), configOptions=[MODEL, FAST])


@breaks("invalid-option-accepted", 2)
def a_value_that_is_not_there_fails_otherwise(talk: Talk) -> None:
    talk.refuse(setting(talk, "model", "id", "c"), -32603)


@breaks("invalid-option-accepted", 2)
def a_boolean_is_set_by_a_word(talk: Talk) -> None:
    talk.answer(setting(talk, "fast", "id", "true"), configOptions=[MODEL, FAST])


@breaks("invalid-option-accepted", 2)
def a_setting_is_refused_and_made(talk: Talk) -> None:
    talk.refuse(setting(talk, "model", "boolean", "b"), -32602)
    options = [MODEL | {"currentValue": "b"}, FAST]
    talk.update("config_option_update", configOptions=options)


@keeps("invalid-option-accepted", 2, despite=("unknown-option-value",))
def a_value_that_is_not_there_is_refused(talk: Talk) -> None:
    talk.refuse(setting(talk, "model", "id", "c"), -32602)
    options = [MODEL | {"currentValue": "b"}, FAST]
    talk.update("config_option_update", configOptions=options)


def served(talk: Talk, *servers: Any) -> Call:
    """Ask for a session with MCP servers, of an agent that starts processes only."""
    talk.initialize(None, {"session": {"mcp": {"stdio": {}}}})
    return talk.ask("session/new", cwd=CWD, mcpServers=list(servers))


def server(name: str = "a", *variables: str) -> dict[str, Any]:
    """Return an MCP server."""
    env = [{"name": each, "value": "1"} for each in variables]
    return {"type": "stdio", "name": name, "command": "/bin/a", "args": [], "env": env}


HTTP: dict[str, Any] = {
    "type": "http",
    "name": "web",
    "url": "https://example.org/mcp",
    "headers": [],
}


@breaks("unsupported-transport-accepted", 2)
def a_server_over_http_is_passed_over(talk: Talk) -> None:
    talk.answer(served(talk, server(), HTTP), sessionId="s1")


@breaks("unsupported-transport-accepted", 2)
def a_server_over_something_to_come_is_passed_over(talk: Talk) -> None:
    talk.answer(served(talk, {"type": "quic", "name": "q"}), sessionId="s1")


@keeps("unsupported-transport-accepted", 2, despite=("undeclared-mcp-transport",))
def a_server_over_http_is_refused(talk: Talk) -> None:
    talk.refuse(served(talk, HTTP), -32602)


@breaks("duplicate-env-name", 2)
def two_servers_have_one_name(talk: Talk) -> None:
    talk.answer(served(talk, server(), server()), sessionId="s1")


@breaks("duplicate-env-name", 2)
def a_variable_is_set_twice(talk: Talk) -> None:
    talk.answer(served(talk, server("a", "X", "Y", "X")), sessionId="s1")


@keeps("duplicate-env-name", 2)
def two_servers_set_one_variable(talk: Talk) -> None:
    talk.answer(served(talk, server("a", "X"), server("b", "X", "x")), sessionId="s1")


@breaks("malformed-list-accepted")
def arguments_of_a_server_are_one_string(talk: Talk) -> None:
    talk.initialize()
    wrong: dict[str, Any] = {"name": "a", "command": "/bin/a", "args": "-v", "env": []}
    talk.answer(talk.ask("session/new", cwd=CWD, mcpServers=[wrong]), sessionId="s1")


@breaks("malformed-list-accepted")
def variables_of_a_terminal_are_an_object(talk: Talk) -> None:
    talk.open()
    call = talk.ask("terminal/create", side="agent", sessionId="s1", command="make", env={"A": "1"})
    talk.answer(call, terminalId="x1")


@breaks("malformed-list-accepted", 2)
def a_directory_is_a_number(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/new", cwd=CWD, additionalDirectories=["/home", 7])
    talk.answer(call, sessionId="s1")


@keeps("malformed-list-accepted")
def arguments_of_a_terminal_are_null(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    call = talk.ask("terminal/create", side="agent", sessionId="s1", command="make", args=None)
    talk.answer(call, terminalId="x1")
    release = talk.ask("terminal/release", side="agent", sessionId="s1", terminalId="x1")
    talk.answer(release)
    talk.finish(prompt)


@keeps("malformed-list-accepted", 2)
def servers_are_null(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/new", cwd=CWD, mcpServers=None), sessionId="s1")


@breaks("unsupported-transport-accepted", 2)
def a_server_is_refused_with_another_code(talk: Talk) -> None:
    talk.initialize(None, {"session": {"mcp": {"stdio": {}}}})
    server: dict[str, Any] = {
        "type": "http",
        "name": "h",
        "url": "https://example.com",
        "headers": [],
    }
    talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[server]), -32603)


@breaks("malformed-list-accepted")
def a_wrong_list_is_refused_with_another_code(talk: Talk) -> None:
    talk.initialize()
    server: dict[str, Any] = {"name": "h", "command": "/bin/x", "args": [], "env": {"A": "b"}}
    talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[server]), -32603)
