"""Talks about logging in and out."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

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


def _login(talk: Talk, method: str = "key", **members: Any) -> Call:
    name = "authenticate" if talk.version == 1 else "auth/login"
    return talk.ask(name, {"methodId": method} | members)


def _logout(talk: Talk) -> Call:
    return talk.ask("logout" if talk.version == 1 else "auth/logout")


def _new(talk: Talk) -> Call:
    return talk.ask("session/new", cwd=CWD, mcpServers=[])


@breaks("ACP-L068")
def a_login_was_not_offered(talk: Talk) -> None:
    _offer(talk, KEY[1])
    _login(talk, "oauth")


@breaks("ACP-L068")
def nothing_was_offered(talk: Talk) -> None:
    talk.initialize()
    _login(talk)


@keeps("ACP-L068")
def a_login_was_offered(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))


@breaks("ACP-L069", 2)
def a_login_of_version_2_was_not_offered(talk: Talk) -> None:
    _offer(talk, KEY[2])
    _login(talk, "API key")


@keeps("ACP-L069", 2)
def a_login_of_version_2_was_offered(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_login(talk))


@breaks("ACP-L070")
def the_agent_is_to_log_in_by_a_terminal(talk: Talk) -> None:
    _offer(talk, KEY[1], TERMINAL[1])
    _login(talk, "tty")


@breaks("ACP-L070", 2)
def the_agent_is_to_log_in_by_a_terminal_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2])
    _login(talk, "tty")


@keeps("ACP-L070")
def the_agent_is_to_log_in_beside_a_terminal(talk: Talk) -> None:
    _offer(talk, KEY[1], TERMINAL[1])
    talk.answer(_login(talk))


@keeps("ACP-L070", 2)
def the_agent_is_to_log_in_beside_a_terminal_in_version_2(talk: Talk) -> None:
    _offer(talk, KEY[2], TERMINAL[2])
    talk.answer(_login(talk))


@breaks("ACP-L071")
def a_terminal_is_offered_unclaimed(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": False}}, authMethods=[TERMINAL[1]])


@keeps("ACP-L071")
def a_terminal_is_offered_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": True}}, authMethods=[TERMINAL[1]])


@breaks("ACP-L072", 2)
def a_terminal_is_offered_though_it_is_null(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": None}}, authMethods=[TERMINAL[2]])


@keeps("ACP-L072", 2)
def a_terminal_is_offered_where_version_2_claims_it(talk: Talk) -> None:
    talk.initialize({"auth": {"terminal": {}}}, authMethods=[TERMINAL[2]])


@breaks("ACP-L073")
def one_logs_out_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"logout": None}})
    _logout(talk)


@keeps("ACP-L073")
def one_logs_out_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"logout": {}}})
    talk.answer(_logout(talk))


@breaks("ACP-L074", 2)
def one_logs_out_where_there_is_no_login(talk: Talk) -> None:
    talk.initialize()
    _logout(talk)


@keeps("ACP-L074", 2)
def one_logs_out_where_there_is_a_login(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_logout(talk))


@breaks("ACP-L075", 2)
def an_offered_login_is_not_found(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.refuse(_login(talk), -32601)


@keeps("ACP-L075", 2)
def an_offered_login_fails(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.refuse(_login(talk), -32000)


@breaks("ACP-L076", 2)
def a_method_has_an_id_of_version_1(talk: Talk) -> None:
    _offer(talk, {"type": "agent", "id": "key", "name": "API key"})


@breaks("ACP-L076", 2)
def a_type_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _offer(talk, KEY[2] | {"type": "oauth"})


@keeps("ACP-L076", 2)
def a_type_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _offer(talk, KEY[2] | {"type": "_oauth"})


@breaks("ACP-L077")
def a_method_has_an_id_of_version_2(talk: Talk) -> None:
    _offer(talk, {"methodId": "key", "name": "API key"})


@breaks("ACP-L077")
def a_method_has_no_name(talk: Talk) -> None:
    _offer(talk, {"id": "key"})


@keeps("ACP-L077")
def a_method_has_id_and_name(talk: Talk) -> None:
    _offer(talk, KEY[1])


@breaks("ACP-L078")
def an_environment_is_a_list(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": [{"name": "A", "value": "1"}]})


@breaks("ACP-L078")
def a_variable_is_a_number(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": {"A": 1}})


@keeps("ACP-L078")
def an_environment_is_a_map(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"env": {"A": "1"}})


@breaks("ACP-L079", 2)
def an_environment_is_a_map_of_version_1(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": {"A": "1"}})


@breaks("ACP-L079", 2)
def a_variable_is_there_twice(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": ""}]})


@keeps("ACP-L079", 2)
def an_environment_is_a_list_of_pairs(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]})


@breaks("ACP-L080")
def a_terminal_has_a_command(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"command": "/usr/bin/agent", "args": ["login"]})


@breaks("ACP-L080", 2)
def a_terminal_has_a_command_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"command": "/usr/bin/agent"})


@keeps("ACP-L080")
def a_terminal_has_only_args(talk: Talk) -> None:
    _offer(talk, TERMINAL[1] | {"args": ["login"]})


@keeps("ACP-L080", 2)
def a_terminal_has_only_args_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2] | {"args": ["login"]})


@breaks("ACP-L081")
def a_login_is_forgotten(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))
    talk.refuse(_new(talk), -32000)


@breaks("ACP-L081", 2)
def a_login_is_forgotten_in_version_2(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_login(talk))
    talk.refuse(_new(talk), -32000)


@keeps("ACP-L081")
def a_login_lasts_until_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))
    talk.new_session()
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32000)


@breaks("ACP-L082")
def a_session_breaks_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32603)


@breaks("ACP-L082", 2)
def a_list_breaks_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_logout(talk))
    talk.refuse(talk.ask("session/list"), -32603)


@keeps("ACP-L082")
def a_session_needs_a_login_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32000)


@breaks("ACP-L083")
def a_refused_request_comes_again(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.refuse(_new(talk), -32000)
    talk.wait(3)
    talk.refuse(_new(talk), -32000)


@breaks("ACP-L083", 2)
def a_refused_request_comes_again_and_again(talk: Talk) -> None:
    _offer(talk, KEY[2])
    for _ in range(3):
        talk.refuse(_new(talk), -32000)


@keeps("ACP-L083")
def a_refused_request_comes_again_after_the_login(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.refuse(_new(talk), -32000)
    talk.answer(_login(talk))
    talk.new_session()


@breaks("ACP-L084")
def a_token_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[1])
    _login(talk, token="t")


@breaks("ACP-L084", 2)
def a_key_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[2])
    _login(talk, apiKey="k")


@keeps("ACP-L084")
def a_trace_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(
        _login(
            talk, _meta={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        )
    )
