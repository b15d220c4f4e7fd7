"""Talks in which an agent asks the user for something."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps

FORM: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
URL = "https://example.com/connect/8c1f"


def form(talk: Talk, schema: Any = None, /, **members: Any) -> Call:
    """Ask by a form."""
    asked = {"mode": "form", "message": "Who are you?", "sessionId": "s1"}
    asked |= {"requestedSchema": FORM if schema is None else schema}
    return talk.ask("elicitation/create", asked | members, side="agent")


def page(talk: Talk, url: Any = URL, /, **members: Any) -> Call:
    """Ask by a page."""
    asked = {"mode": "url", "message": "Connect", "sessionId": "s1", "elicitationId": "e1"}
    return talk.ask("elicitation/create", asked | {"url": url} | members, side="agent")


def running(talk: Talk, client: Any = None) -> None:
    """Open a session and begin a turn."""
    talk.initialize(client)
    talk.new_session()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)


@breaks("undeclared-form")
def a_form_is_sent_to_who_has_none(talk: Talk) -> None:
    running(talk, {"elicitation": {"url": {}}})
    talk.refuse(form(talk), -32602)


@breaks("undeclared-form", 2)
def a_form_is_sent_to_who_claims_nothing(talk: Talk) -> None:
    running(talk, {"elicitation": {}})
    talk.refuse(form(talk), -32602)


@keeps("undeclared-form")
def a_form_is_sent_to_who_has_forms(talk: Talk) -> None:
    running(talk, {"elicitation": {"form": {}}})
    talk.answer(form(talk), action="decline")


@breaks("undeclared-url")
def a_page_is_sent_to_who_has_none(talk: Talk) -> None:
    running(talk, {"elicitation": {"form": {}}})
    talk.refuse(page(talk), -32602)


@keeps("undeclared-url", 2)
def a_page_is_sent_to_who_has_pages(talk: Talk) -> None:
    running(talk, {"elicitation": {"url": {}}})
    talk.answer(page(talk), action="cancel")


@breaks("incomplete-elicitation")
def a_question_has_no_mode(talk: Talk) -> None:
    running(talk)
    talk.refuse(form(talk, mode=None), -32602)


@breaks("incomplete-elicitation", 2)
def a_question_has_no_message(talk: Talk) -> None:
    running(talk)
    talk.refuse(form(talk, message=None), -32602)


@keeps("incomplete-elicitation")
def a_question_has_both(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk), action="decline")


@breaks("wrong-elicitation-scope")
def a_question_is_about_nothing(talk: Talk) -> None:
    running(talk)
    talk.refuse(form(talk, sessionId=None), -32602)


@breaks("wrong-elicitation-scope", 2)
def a_question_is_about_two_things(talk: Talk) -> None:
    running(talk)
    talk.refuse(form(talk, requestId=1), -32602)


@keeps("wrong-elicitation-scope")
def a_question_is_about_a_request(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/new", cwd="/home/ada", mcpServers=[])
    asked = {"mode": "form", "message": "Who?", "requestId": call.id, "requestedSchema": FORM}
    talk.answer(talk.ask("elicitation/create", asked, side="agent"), action="decline")
    talk.answer(call, sessionId="s1")


@breaks("unknown-elicitation-scope")
def a_question_is_about_an_answered_request(talk: Talk) -> None:
    talk.open()
    asked = {"mode": "form", "message": "Who?", "requestId": 1, "requestedSchema": FORM}
    talk.answer(talk.ask("elicitation/create", asked, side="agent"), action="decline")


@breaks("unknown-elicitation-scope", 2)
def a_question_is_about_an_unknown_tool_call(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk, toolCallId="t9"), action="decline")


@keeps("unknown-elicitation-scope", 2)
def a_question_is_about_a_tool_call(talk: Talk) -> None:
    running(talk)
    talk.tool()
    talk.answer(form(talk, toolCallId="t1"), action="decline")


@breaks("incomplete-url-elicitation")
def a_page_has_a_relative_address(talk: Talk) -> None:
    running(talk)
    talk.refuse(page(talk, "/connect"), -32602)


@breaks("incomplete-url-elicitation", 2)
def a_page_has_no_id(talk: Talk) -> None:
    running(talk)
    talk.refuse(page(talk, elicitationId=None), -32602)


@keeps("incomplete-url-elicitation")
def a_page_has_id_and_address(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="cancel")


@breaks("insecure-url")
def a_page_is_plain_http(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "http://example.com/x"), action="cancel")


@keeps("insecure-url")
def a_local_page_is_plain_http(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "http://localhost:8080/x"), action="cancel")


@breaks("secret-in-url")
def an_address_carries_a_token(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://example.com/x?access_token=abc"), action="cancel")


@breaks("secret-in-url", 2)
def an_address_carries_a_user(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://ada:pw@example.com/x"), action="cancel")


@breaks("secret-in-url")
def an_address_carries_an_email_address(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://example.com/x?login_hint=ada%40example.com"), action="cancel")


@keeps("secret-in-url")
def an_address_carries_an_opaque_id(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://example.com/x?state=8c1f"), action="cancel")


@breaks("duplicate-elicitation-id")
def two_open_pages_share_an_id(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="accept")
    talk.answer(page(talk), action="accept")


@keeps("duplicate-elicitation-id")
def a_page_that_was_declined_comes_again(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="decline")
    talk.answer(page(talk), action="accept")


@breaks("unknown-elicitation-action")
def an_answer_says_nothing(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk))


@breaks("unknown-elicitation-action", 2)
def an_answer_says_yes(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk), action="yes")


@keeps("unknown-elicitation-action")
def an_answer_is_of_its_own_kind(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk), action="_later")


@breaks("content-without-accept")
def content_comes_with_a_no(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk), action="decline", content={"name": "Ada"})


@breaks("content-without-accept", 2)
def content_comes_for_a_page(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="accept", content={})


@keeps("content-without-accept")
def content_comes_with_a_yes(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk), action="accept", content={"name": "Ada"})


@breaks("undeclared-elicitation-not-refused")
def an_unclaimed_form_is_filled_in(talk: Talk) -> None:
    running(talk, {"elicitation": {"url": {}}})
    talk.answer(form(talk), action="accept", content={"name": "Ada"})


@keeps("undeclared-elicitation-not-refused", despite=("undeclared-form",))
def an_unclaimed_form_is_refused(talk: Talk) -> None:
    running(talk, {"elicitation": {"url": {}}})
    talk.refuse(form(talk), -32602, "There are no forms here.")


@breaks("unknown-elicitation-completed")
def a_page_is_completed_twice(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="accept")
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")


@breaks("unknown-elicitation-completed", 2)
def a_declined_page_is_completed(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="decline")
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")


@keeps("unknown-elicitation-completed")
def a_page_is_completed_before_it_is_answered(talk: Talk) -> None:
    running(talk)
    call = page(talk)
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")
    talk.answer(call, action="accept")


@breaks("leaked-credential")
def a_token_comes_back(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="accept")
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")
    talk.say("Connected with ghp_0123456789abcdefghijABCDEFGHIJ012345.")


@keeps("leaked-credential")
def no_token_comes_back(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk), action="accept")
    talk.tell("elicitation/complete", side="agent", elicitationId="e1")
    talk.say("Connected as Ada.")


@keeps("secret-in-url")
def an_address_names_a_version_of_a_package(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://unpkg.com/pkg@1.2.3/consent"), action="cancel")
    talk.answer(page(talk, "https://unpkg.com/pkg@v2.0.0-beta.rc/x"), action="cancel")


@breaks("secret-in-url")
def an_address_carries_a_token_in_its_path(talk: Talk) -> None:
    running(talk)
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0"
    talk.answer(page(talk, f"https://example.com/login/{token}"), action="cancel")


@breaks("secret-in-url")
def an_address_carries_an_email_address_in_its_path(talk: Talk) -> None:
    running(talk)
    talk.answer(page(talk, "https://example.com/users/ada@example.com/x"), action="cancel")
