"""Talks about forms, and what comes back."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.cases.elicitation import form, running
from tests.inspector.lint.talk import Talk, breaks, keeps


def of(required: list[str] | None = None, /, **fields: Any) -> dict[str, Any]:
    """Return a form with these fields."""
    wanted = {} if required is None else {"required": required}
    return {"type": "object", "properties": fields} | wanted


def asked(talk: Talk, schema: Any) -> None:
    """Ask by a form, which is declined."""
    running(talk)
    talk.answer(form(talk, schema), action="decline")


def filled(talk: Talk, schema: Any, **content: Any) -> None:
    """Ask by a form, which is filled in."""
    running(talk)
    talk.answer(form(talk, schema), action="accept", content=content)


TEXT = {"type": "string"}
CHOICE = {"type": "string", "enum": ["a", "b"]}


@breaks("invalid-form-schema")
def a_field_is_an_object(talk: Talk) -> None:
    asked(talk, of(address={"type": "object", "properties": {}}))


@breaks("invalid-form-schema", 2)
def a_form_has_no_type(talk: Talk) -> None:
    asked(talk, {"properties": {"name": TEXT}})


@breaks("invalid-form-schema")
def a_form_is_a_list(talk: Talk) -> None:
    asked(talk, of() | {"type": "array"})


@keeps("invalid-form-schema")
def version_1_may_leave_the_type_away(talk: Talk) -> None:
    asked(talk, {"properties": {"name": TEXT, "tags": {"type": "array", "items": CHOICE}}})


@breaks("unsupported-schema-keyword")
def a_form_has_a_condition(talk: Talk) -> None:
    asked(talk, of(name=TEXT) | {"if": {}})


@breaks("unsupported-schema-keyword", 2)
def a_field_has_names_for_values(talk: Talk) -> None:
    asked(talk, of(size=TEXT | {"enum": ["s"], "enumNames": ["Small"]}))


@keeps("unsupported-schema-keyword")
def a_field_has_titled_values(talk: Talk) -> None:
    asked(talk, of(size=TEXT | {"oneOf": [{"const": "s", "title": "Small"}]}))


@breaks("inconsistent-form-schema")
def a_required_field_does_not_exist(talk: Talk) -> None:
    asked(talk, of(["size"], name=TEXT))


@breaks("inconsistent-form-schema")
def the_least_is_above_the_most(talk: Talk) -> None:
    asked(talk, of(n={"type": "integer", "minimum": 2, "maximum": 1}))


@breaks("inconsistent-form-schema", 2)
def a_default_is_not_offered(talk: Talk) -> None:
    asked(talk, of(size=TEXT | {"enum": ["s"], "default": "m"}))


@breaks("inconsistent-form-schema")
def a_pattern_is_none(talk: Talk) -> None:
    asked(talk, of(name=TEXT | {"pattern": "("}))


@keeps("inconsistent-form-schema")
def least_and_most_are_the_same(talk: Talk) -> None:
    n = {"type": "integer", "minimum": 1, "maximum": 1, "default": 1}
    asked(talk, of(["n"], n=n, name=TEXT | {"pattern": "^a+$"}))


@breaks("form-asks-secret")
def a_form_asks_for_a_password(talk: Talk) -> None:
    asked(talk, of(password=TEXT))


@breaks("form-asks-secret", 2)
def a_title_asks_for_a_key(talk: Talk) -> None:
    asked(talk, of(value=TEXT | {"title": "Your API key"}))


@keeps("form-asks-secret")
def a_number_of_tokens_is_no_secret(talk: Talk) -> None:
    asked(talk, of(maxTokens={"type": "integer"}, author=TEXT))


@breaks("url-in-form")
def a_description_holds_a_link(talk: Talk) -> None:
    asked(talk, of(name=TEXT | {"description": "See https://example.com/help"}))


@keeps("url-in-form")
def a_description_names_a_host(talk: Talk) -> None:
    asked(talk, of(name=TEXT | {"description": "Your name on example.com"}))


@breaks("invalid-form-answer")
def a_required_field_is_not_filled_in(talk: Talk) -> None:
    filled(talk, of(["name"], name=TEXT))


@breaks("invalid-form-answer")
def a_value_is_none_of_the_offered(talk: Talk) -> None:
    filled(talk, of(size=TEXT | {"enum": ["s", "m"]}), size="l")


@breaks("invalid-form-answer", 2)
def a_number_is_too_large(talk: Talk) -> None:
    filled(talk, of(n={"type": "integer", "maximum": 3}), n=4)


@breaks("invalid-form-answer")
def a_list_has_too_many_values(talk: Talk) -> None:
    filled(talk, of(tags={"type": "array", "items": TEXT, "maxItems": 1}), tags=["a", "b"])


@keeps("invalid-form-answer")
def all_values_are_just_allowed(talk: Talk) -> None:
    items = {"anyOf": [{"const": "a", "title": "A"}]}
    fields = {
        "name": TEXT | {"minLength": 0, "maxLength": 3},
        "n": {"type": "integer", "maximum": 3},
        "x": {"type": "number", "minimum": 0},
        "on": {"type": "boolean"},
        "tags": {"type": "array", "items": items, "minItems": 1},
    }
    filled(talk, of(["name"], **fields), name="Ada", n=3.0, x=0, on=False, tags=["a"])


@breaks("nested-form-value")
def content_is_nested(talk: Talk) -> None:
    filled(talk, of(name=TEXT), name={"first": "Ada"})


@keeps("nested-form-value")
def content_is_a_list_of_texts(talk: Talk) -> None:
    filled(talk, of(tags={"type": "array", "items": CHOICE}), tags=["a", "b"])


@keeps("inconsistent-form-schema")
def patterns_are_as_ecmascript_spells_them(talk: Talk) -> None:
    patterns = (r"^(?<year>\d{4})$", r"^\p{L}+$", r"(?<!a*)\u{62}[^]", "(" * 100 + ")" * 100)
    asked(talk, of(**{f"f{n}": TEXT | {"pattern": each} for n, each in enumerate(patterns)}))


@breaks("inconsistent-form-schema")
def a_pattern_has_a_class_upside_down(talk: Talk) -> None:
    asked(talk, of(name=TEXT | {"pattern": "^[z-a]$"}))


@keeps("inconsistent-form-schema")
def nobody_can_tell_of_an_endless_pattern(talk: Talk) -> None:
    asked(talk, of(name=TEXT | {"pattern": "(" * 5000}))


@breaks("form-asks-secret")
def a_name_asks_for_a_token(talk: Talk) -> None:
    asked(talk, of(github_token=TEXT))


@breaks("form-asks-secret")
def a_title_asks_for_tokens(talk: Talk) -> None:
    asked(talk, of(value=TEXT | {"title": "GitHub tokens"}))


@breaks("form-asks-secret", 2)
def the_message_asks_for_a_password(talk: Talk) -> None:
    running(talk)
    talk.answer(form(talk, of(value=TEXT), message="Please enter your password"), action="decline")


@keeps("form-asks-secret")
def words_about_secrets_ask_for_none(talk: Talk) -> None:
    names = ("Token limit", "Which password manager do you use?", "Secret-free branch name")
    fields = {f"f{n}": TEXT | {"title": title} for n, title in enumerate(names)}
    fields |= {"vault": TEXT | {"title": "Password", "enum": ["shared", "own"]}}
    asked(talk, of(**fields, maxTokens=TEXT, passwordManager=TEXT))
