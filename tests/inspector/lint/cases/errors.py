"""Talks about what error answers say."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


def refused(talk: Talk, error: object, method: str = "_x") -> None:
    """Refuse a request with what stands for an error."""
    talk.open()
    call = talk.ask(method)
    talk.send("agent", {"id": call.id, "error": error})


@breaks("malformed-error")
def a_code_is_text(talk: Talk) -> None:
    refused(talk, {"code": "-32601", "message": "No."})


@breaks("malformed-error")
def a_message_is_missing(talk: Talk) -> None:
    refused(talk, {"code": -32601})


@breaks("malformed-error")
def a_code_is_too_large(talk: Talk) -> None:
    refused(talk, {"code": 2**31, "message": "No."})


@breaks("malformed-error")
def an_error_is_a_string(talk: Talk) -> None:
    refused(talk, "No.")


@keeps("malformed-error")
def an_error_has_code_and_message(talk: Talk) -> None:
    refused(talk, {"code": -(2**31), "message": ""})


@breaks("long-error-message")
def a_message_is_a_stack_trace(talk: Talk) -> None:
    refused(talk, {"code": -32603, "message": 'Traceback (most recent call last):\n  File "a.py"'})


@breaks("long-error-message")
def a_message_goes_over_lines(talk: Talk) -> None:
    refused(talk, {"code": -32603, "message": "It failed.\nAnd then it failed again."})


@keeps("long-error-message")
def a_message_is_a_sentence(talk: Talk) -> None:
    refused(talk, {"code": -32603, "message": "It failed.", "data": {"stack": "a\nb\nc"}})


@breaks("foreign-error-code")
def a_reserved_code_means_nothing(talk: Talk) -> None:
    refused(talk, {"code": -32003, "message": "Permission denied."})


@keeps("foreign-error-code")
def a_code_is_assigned(talk: Talk) -> None:
    refused(talk, {"code": -32603, "message": "It failed."})


@keeps("foreign-error-code", 2)
def version_2_has_a_code_more(talk: Talk) -> None:
    call = talk.ask(
        "initialize", protocolVersion=2, capabilities={}, info={"name": "a", "version": "1"}
    )
    talk.refuse(call, -32022, "No such version.", {"requested": 2, "supported": []})


@breaks("misused-not-found")
def not_found_means_not_initialized(talk: Talk) -> None:
    talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[]), -32002, "Not initialized")


@breaks("misused-not-found")
def not_found_means_denied(talk: Talk) -> None:
    talk.open()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path="/etc/shadow")
    talk.refuse(call, -32002, "Permission denied")


@keeps("misused-not-found")
def a_file_is_not_found(talk: Talk) -> None:
    talk.open()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"{CWD}/none")
    talk.refuse(call, -32002, "There is no such file.")


@breaks("misused-auth-required")
def a_server_error_takes_the_code_of_login(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.prompt(), -32000, "The model is overloaded.")


@keeps("misused-auth-required")
def a_login_is_asked_for(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.refuse(call, -32000, "Authentication required")


@keeps("misused-not-found")
def a_file_is_named_like_a_permission(talk: Talk) -> None:
    talk.open()
    call = talk.ask(
        "fs/read_text_file", side="agent", sessionId="s1", path=f"{CWD}/permissions.json"
    )
    talk.refuse(call, -32002, f"Resource missing: {CWD}/permissions.json")
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"{CWD}/denied")
    talk.refuse(call, -32002, "Could not be found: “denied”")


@breaks("misused-auth-required")
def a_limit_of_tokens_takes_the_code_of_login(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.prompt(), -32000, "Maximum context token count exceeded")


@keeps("misused-auth-required")
def a_token_is_no_longer_good(talk: Talk) -> None:
    talk.initialize()
    for said in ("The token has expired", "Invalid token", "GitHub token required"):
        talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[]), -32000, said)
