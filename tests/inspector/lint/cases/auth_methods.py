"""Talks about the ways to log in."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

KEY: dict[int, dict[str, Any]] = {
    1: {"id": "key", "name": "API key"},
    2: {"type": "agent", "methodId": "key", "name": "API key"},
}
TERMINAL: dict[int, dict[str, Any]] = {
    1: {"type": "terminal", "id": "tty", "name": "In a terminal"},
    2: {"type": "terminal", "methodId": "tty", "name": "In a terminal"},
}


def _offer(talk: Talk, *methods: Any) -> None:
    talk.initialize(authMethods=list(methods))


@breaks("unsupported-terminal-auth")
def a_terminal_is_offered_unclaimed(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": False}}, authMethods=[TERMINAL[1]])


@keeps("unsupported-terminal-auth")
def a_terminal_is_offered_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": True}}, authMethods=[TERMINAL[1]])


@breaks("unsupported-terminal-login", 2)
def a_terminal_is_offered_though_it_is_null(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": None}}, authMethods=[TERMINAL[2]])


@keeps("unsupported-terminal-login", 2)
def a_terminal_is_offered_where_version_2_claims_it(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": {}}}, authMethods=[TERMINAL[2]])


@breaks("incomplete-login-method", 2)
def a_method_has_an_id_of_version_1(talk: Talk) -> None:
    _offer(talk, {"type": "agent", "id": "key", "name": "API key"})


@breaks("incomplete-login-method", 2)
def a_type_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _offer(talk, KEY[2] | {"type": "oauth"})


@keeps("incomplete-login-method", 2)
def a_type_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _offer(talk, KEY[2] | {"type": "_oauth"})


@breaks("incomplete-auth-method")
def a_method_has_an_id_of_version_2(talk: Talk) -> None:
    _offer(talk, {"methodId": "key", "name": "API key"})


@breaks("incomplete-auth-method")
def a_method_has_no_name(talk: Talk) -> None:
    _offer(talk, {"id": "key"})


@keeps("incomplete-auth-method")
def a_method_has_id_and_name(talk: Talk) -> None:
    _offer(talk, KEY[1])


@breaks("terminal-env-not-object")
def an_environment_is_a_list(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": [{"name": "A", "value": "1"}]})


@breaks("terminal-env-not-object")
def a_variable_is_a_number(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": {"A": 1}})


@keeps("terminal-env-not-object")
def an_environment_is_a_map(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": {"A": "1"}})


@breaks("terminal-env-not-list", 2)
def an_environment_is_a_map_of_version_1(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": {"A": "1"}})


@breaks("terminal-env-not-list", 2)
def a_variable_is_there_twice(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": ""}]})


@keeps("terminal-env-not-list", 2)
def an_environment_is_a_list_of_pairs(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]})


@breaks("auth-method-with-command")
def a_terminal_has_a_command(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"command": "/usr/bin/agent", "args": ["login"]})


@breaks("auth-method-with-command", 2)
def a_terminal_has_a_command_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"command": "/usr/bin/agent"})


@keeps("auth-method-with-command")
def a_terminal_has_only_args(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"args": ["login"]})


@keeps("auth-method-with-command", 2)
def a_terminal_has_only_args_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"args": ["login"]})


@breaks("unsupported-terminal-auth")
def a_terminal_is_claimed_by_an_object(talk: Talk) -> None:
    method = {"id": "t", "name": "Log in", "type": "terminal"}
    talk.initialize({"auth": {"terminal": {}}}, None, authMethods=[method])


@breaks("unsupported-terminal-login", 2)
def a_terminal_is_claimed_by_true(talk: Talk) -> None:
    method = {"methodId": "t", "name": "Log in", "type": "terminal"}
    talk.initialize({"auth": {"terminal": True}}, None, authMethods=[method])
