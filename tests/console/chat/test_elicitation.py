"""Forms and pages that an agent asks the user for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from acp_console.chat.elicitation import (
    Elicitation,
    ElicitationAnswer,
    FormRequest,
    PageRequest,
)
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PermissionPrompt
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json, Notification, Request


class User:
    """Gives one answer to all that is asked, and remembers it."""

    def __init__(self, answer: ElicitationAnswer | None = None) -> None:
        self.answer = answer or ElicitationAnswer("decline")
        self.asked: list[Elicitation] = []
        self.done: list[str] = []

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        self.asked.append(request)
        return self.answer

    def complete(self, elicitation_id: str) -> None:
        self.done.append(elicitation_id)

    async def decide(self, request: PermissionPrompt) -> str | None:
        raise NotImplementedError


async def ask(user: User, version: int = 1, **params: Any) -> Json:
    host = ClientHandlers(user, elicitor=user)
    host.version = version
    asked = {"sessionId": "s1", "message": "Please", **params}
    return await host.handle_request(Request(7, "elicitation/create", asked, b""))


async def form(properties: Mapping[str, Json], *required: str, **more: Json) -> FormRequest:
    user = User()
    schema: Json = {"type": "object", "properties": dict(properties), "required": [*required]}
    await ask(user, mode="form", requestedSchema={**schema, **more})
    [found] = user.asked
    assert isinstance(found, FormRequest)
    return found


async def page(url: str, user: User) -> Json:
    return await ask(user, mode="url", url=url, elicitationId="e1")


EVERY_FIELD: Mapping[str, Json] = {
    "name": {"type": "string", "title": "Name", "minLength": 2, "default": "Ada"},
    "size": {"type": "number", "minimum": 0.5},
    "count": {"type": "integer", "maximum": 9, "default": 10},
    "sure": {"type": "boolean", "default": False},
    "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
    "plain": {"type": "string", "enum": ["x", "y"]},
    "days": {"type": "array", "items": {"anyOf": [{"const": "m", "title": "Monday"}]}},
    "nights": {"type": "array", "items": {"type": "string", "enum": ["Mo", "Tu"]}, "minItems": 1},
    "shade": {"type": "_colour"},
}


@pytest.mark.parametrize("version", [1, 2])
async def test_a_form_has_a_field_of_each_type_that_can_be_filled_in(version: int) -> None:
    content: dict[str, Json] = {"name": "Eve", "count": 3, "days": ["m"]}
    user = User(ElicitationAnswer("accept", content))
    schema: Json = {"type": "object", "properties": dict(EVERY_FIELD), "required": ["name"]}
    result = await ask(user, version, mode="form", requestedSchema=schema)
    assert result == {"action": "accept", "content": content}
    [asked] = user.asked
    assert isinstance(asked, FormRequest)
    assert (asked.session_id, asked.message) == ("s1", "Please")
    shown = {each.name: (each.kind, each.is_required, each.default) for each in asked.fields}
    assert shown == {
        "name": ("string", True, "Ada"),
        "size": ("number", False, None),
        # A default that does not fit is none.
        "count": ("integer", False, None),
        "sure": ("boolean", False, False),
        "colour": ("choice", False, None),
        "plain": ("choice", False, None),
        "days": ("choices", False, None),
        "nights": ("choices", False, None),
    }
    choices = {each.name: [(one.value, one.title) for one in each.choices] for each in asked.fields}
    assert choices["colour"] == [("r", "Red")]
    assert choices["plain"] == [("x", "x"), ("y", "y")]
    assert choices["days"] == [("m", "Monday")]
    assert choices["nights"] == [("Mo", "Mo"), ("Tu", "Tu")]


@pytest.mark.parametrize(
    ("name", "text", "value", "error"),
    [
        ("name", "Eve", "Eve", None),
        ("name", "E", "E", "is less than 2 characters"),
        ("size", "1.5", 1.5, None),
        ("size", "nan", "nan", "is not a number"),
        ("size", "41", 41, None),
        ("size", "0", 0, "is less than 0.5"),
        ("count", "3", 3, None),
        ("count", "3.5", "3.5", "is not a whole number"),
        ("sure", "Yes", True, None),
        ("sure", "perhaps", "perhaps", "is not yes or no"),
        ("colour", "red", "r", None),
        ("colour", "blue", "blue", "does not offer 'blue'"),
    ],
)
async def test_a_typed_text_is_read_and_held_against_its_field(
    name: str, text: str, value: Json, error: str | None
) -> None:
    [found] = [each for each in (await form(EVERY_FIELD)).fields if each.name == name]
    assert (found.value(text), found.error(value)) == (value, error)
    assert type(found.value(text)) is type(value)


async def test_what_is_missing_or_does_not_fit_is_said_field_by_field() -> None:
    asked = await form(EVERY_FIELD, "name", "sure")
    assert asked.errors({"name": "E", "nights": []}) == {
        "name": "is less than 2 characters",
        "sure": "is missing",
        "nights": "is less than 1 choices",
    }
    assert asked.errors({"name": "Eve", "sure": True}) == {}


async def test_a_pattern_counts_unless_it_takes_for_ever() -> None:
    fields: Mapping[str, Json] = {
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "slow": {"type": "string", "pattern": "^(a|aa)+$"},
        "broken": {"type": "string", "pattern": "("},
    }
    asked = await form(fields)
    values: dict[str, Json] = {"code": "abc", "slow": "a" * 90 + "b", "broken": "x"}
    assert asked.errors(values) == {"code": "does not fit the pattern ^[A-Z]{3}$"}


async def test_a_form_that_cannot_be_completed_is_refused() -> None:
    with pytest.raises(RequestFailedError, match="shade is of a type") as refusal:
        await form(EVERY_FIELD, "shade")
    assert refusal.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    ("address", "url", "host"),
    [
        ("https://example.com/a?b=c", "https://example.com/a?b=c", "example.com"),
        ("https://Example.com:8443/", "https://Example.com:8443/", "example.com:8443"),
        ("https://[::1]/", "https://[::1]/", "[::1]"),
        ("https://ex%61mple.com/", "https://ex%61mple.com/", "example.com"),
        ("https://ex\u0430mple.com/", "https://xn--exmple-4nf.com/", "xn--exmple-4nf.com"),
    ],
)
async def test_a_page_is_shown_with_the_host_that_it_leads_to(
    address: str, url: str, host: str
) -> None:
    user = User(ElicitationAnswer("accept"))
    assert await page(address, user) == {"action": "accept"}
    [asked] = user.asked
    assert isinstance(asked, PageRequest)
    assert (asked.url, asked.host) == (url, host)


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:///nowhere",
        "https://example.com@evil.example/",
        "https://example.com%40evil.example/",
        "https://evil.example\\.example.com/",
        "https://evil.example%2f.example.com/",
        "https://exam\tple.com/",
        "https://example.com/ and more",
    ],
)
async def test_no_other_address_reaches_the_user(address: str) -> None:
    user = User(ElicitationAnswer("accept"))
    with pytest.raises(RequestFailedError):
        await page(address, user)
    assert user.asked == []


async def test_a_form_of_a_login_belongs_to_no_session() -> None:
    user = User()
    params: Json = {"requestId": 3, "message": "Who?", "mode": "form", "requestedSchema": {}}
    host = ClientHandlers(user, elicitor=user)
    await host.handle_request(Request(7, "elicitation/create", params, b""))
    assert [each.session_id for each in user.asked] == [None]


async def test_a_cancelled_turn_asks_nothing_until_the_next_one() -> None:
    user = User(ElicitationAnswer("accept", {}))
    host = ClientHandlers(user, elicitor=user)
    params: Json = {"sessionId": "s1", "message": "?", "mode": "form", "requestedSchema": {}}
    request = Request(7, "elicitation/create", params, b"")
    host.cancel_turn("s1")
    assert await host.handle_request(request) == {"action": "cancel"}
    assert user.asked == []
    host.begin_turn("s1")
    assert await host.handle_request(request) == {"action": "accept", "content": {}}


async def test_the_end_of_a_page_is_passed_on() -> None:
    user = User()
    host = ClientHandlers(user, elicitor=user)
    told = Notification("elicitation/complete", {"elicitationId": "e1"}, b"")
    await host.handle_notification(told)
    assert user.done == ["e1"]


async def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(RequestFailedError) as refusal:
        await ask(User(), mode="_voice")
    assert refusal.value.code == INVALID_PARAMS


SERVED: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "elicitation": ("elicitation/create", {"message": "?", "mode": "form", "requestedSchema": {}}),
    "readTextFile": ("fs/read_text_file", {"path": "missing"}),
    "writeTextFile": ("fs/write_text_file", {"path": "missing", "content": ""}),
    "terminal": ("terminal/output", {"terminalId": "t1"}),
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("elicits", [False, True])
@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("reads", [False, True])
async def test_what_is_claimed_is_served_and_nothing_else(
    reads: bool, writes: bool, runs: bool, elicits: bool, version: int
) -> None:
    user = User()
    elicitor = user if elicits else None
    async with ClientHandlers(
        user, reads=reads, writes=writes, runs=runs, elicitor=elicitor
    ) as host:
        host.version = version
        claims: Any = host.capabilities if version == 1 else host.capabilities_v2
        flat = {**claims, **claims.get("fs", {})}
        for name, (method, params) in SERVED.items():
            claimed = flat.get(name) not in (None, False)
            try:
                await host.handle_request(Request(1, method, {"sessionId": "s1", **params}, b""))
            except RequestFailedError as refusal:
                served = refusal.code != METHOD_NOT_FOUND
            else:
                served = True
            assert served == claimed, name
