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


@breaks("unknown-auth-method")
def a_login_was_not_offered(talk: Talk) -> None:
    _offer(talk, KEY[1])
    _login(talk, "oauth")


@breaks("unknown-auth-method")
def nothing_was_offered(talk: Talk) -> None:
    talk.initialize()
    _login(talk)


@keeps("unknown-auth-method")
def a_login_was_offered(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))


@breaks("unknown-login-method", 2)
def a_login_of_version_2_was_not_offered(talk: Talk) -> None:
    _offer(talk, KEY[2])
    _login(talk, "API key")


@keeps("unknown-login-method", 2)
def a_login_of_version_2_was_offered(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_login(talk))


@breaks("terminal-method-as-login")
def the_agent_is_to_log_in_by_a_terminal(talk: Talk) -> None:
    _offer(talk, KEY[1], TERMINAL[1])
    _login(talk, "tty")


@breaks("terminal-method-as-login", 2)
def the_agent_is_to_log_in_by_a_terminal_in_version_2(talk: Talk) -> None:
    _offer(talk, TERMINAL[2])
    _login(talk, "tty")


@keeps("terminal-method-as-login")
def the_agent_is_to_log_in_beside_a_terminal(talk: Talk) -> None:
    _offer(talk, KEY[1], TERMINAL[1])
    talk.answer(_login(talk))


@keeps("terminal-method-as-login", 2)
def the_agent_is_to_log_in_beside_a_terminal_in_version_2(talk: Talk) -> None:
    _offer(talk, KEY[2], TERMINAL[2])
    talk.answer(_login(talk))


@breaks("undeclared-logout")
def one_logs_out_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"logout": None}})
    _logout(talk)


@keeps("undeclared-logout")
def one_logs_out_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({}, {"auth": {"logout": {}}})
    talk.answer(_logout(talk))


@breaks("login-without-methods", 2)
def one_logs_out_where_there_is_no_login(talk: Talk) -> None:
    talk.initialize()
    _logout(talk)


@keeps("login-without-methods", 2)
def one_logs_out_where_there_is_a_login(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_logout(talk))


@breaks("login-not-implemented", 2)
def an_offered_login_is_not_found(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.refuse(_login(talk), -32601)


@keeps("login-not-implemented", 2)
def an_offered_login_fails(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.refuse(_login(talk), -32000)


@breaks("auth-required-after-login")
def a_login_is_forgotten(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))
    talk.refuse(_new(talk), -32000)


@breaks("auth-required-after-login", 2)
def a_login_is_forgotten_in_version_2(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_login(talk))
    talk.refuse(_new(talk), -32000)


@keeps("auth-required-after-login")
def a_login_lasts_until_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_login(talk))
    talk.new_session()
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32000)


@breaks("unusual-error-after-logout")
def a_session_breaks_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32603)


@breaks("unusual-error-after-logout", 2)
def a_list_breaks_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[2])
    talk.answer(_logout(talk))
    talk.refuse(talk.ask("session/list"), -32603)


@keeps("unusual-error-after-logout")
def a_session_needs_a_login_after_the_logout(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(_logout(talk))
    talk.refuse(_new(talk), -32000)


@breaks("repeated-unauthenticated-request")
def a_refused_request_comes_again(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.refuse(_new(talk), -32000)
    talk.refuse(_new(talk), -32000)


@breaks("repeated-unauthenticated-request", 2)
def a_refused_request_comes_again_and_again(talk: Talk) -> None:
    _offer(talk, KEY[2])
    for _ in range(3):
        talk.refuse(_new(talk), -32000)


@keeps("repeated-unauthenticated-request")
def a_refused_request_comes_again_after_the_login(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.refuse(_new(talk), -32000)
    talk.answer(_login(talk))
    talk.new_session()


@breaks("credentials-in-params")
def a_token_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[1])
    _login(talk, token="t")


@breaks("credentials-in-params", 2)
def a_key_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[2])
    _login(talk, apiKey="k")


@keeps("credentials-in-params")
def a_trace_is_sent(talk: Talk) -> None:
    _offer(talk, KEY[1])
    talk.answer(
        _login(
            talk, _meta={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        )
    )
