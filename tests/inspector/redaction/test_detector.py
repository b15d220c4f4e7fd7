"""Secrets in texts, in JSON, and in JSON inside of strings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.redaction.detector import SecretDetector, is_worth_redacting
from acp_inspector.redaction.patterns import RULES
from acp_inspector.redaction.placeholders import PlaceholderMap, redact_text

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"


def values(text: str, *rules: str, environment: dict[str, str] | None = None) -> list[str]:
    detector = SecretDetector(rules or RULES, environment or {})
    return [hit.value for hit in detector.find(text)]


@pytest.mark.parametrize(
    "message",
    [
        {"apiKey": "abc"},
        {"headers": {"Authorization": "abc"}},
        {"headers": {"authorization": "Bearer abc"}},
        {"env": [{"name": "SOME_TOKEN", "value": "abc"}]},
        {"headers": [{"value": "abc", "name": "X-Api-Key"}]},
        {"headers": [["Authorization", "Bearer abc"], ["Accept", "text"]]},
        {"env": [{"variable": "SOME_TOKEN", "value": "abc"}]},
        {"cookies": ["abc"]},
        {"args": ["--api-key", "abc"]},
        {"passwords": {"one": "abc123"}},
    ],
)
def test_a_value_is_found_by_the_name_beside_it(message: Any) -> None:
    assert values(json.dumps(message), "key") == ["abc123" if "passwords" in message else "abc"]


@pytest.mark.parametrize(
    "message",
    [
        {"maxTokens": "abc", "env": ["API_KEY", "HOME"], "name": "TOKEN", "path": "/x"},
        {"vars": [{"name": "OPENAI_API_KEY", "label": "Key"}]},
        {"password": {"type": "string"}, "token": "string", "secret": "${SECRET}"},
        {"password": True, "token": None, "secret": ""},
        {"token": {"type": "text", "value": "word"}, "words": ["token", "password", "cookies"]},
        {"args": ["--token", "--verbose"]},
    ],
)
def test_what_only_names_secrets_is_left_alone(message: Any) -> None:
    assert values(json.dumps(message)) == []


@given(st.integers(0, 3), st.booleans(), st.booleans())
def test_json_in_strings_is_read_at_any_depth(depth: int, ascii_: bool, is_key: bool) -> None:
    text = json.dumps({KEY: 1} if is_key else {"é": f"is {KEY} so"}, ensure_ascii=ascii_)
    for _ in range(depth):
        text = json.dumps({"a": [text, 1]}, ensure_ascii=ascii_)
    detector, placeholders = SecretDetector(RULES, {}), PlaceholderMap()
    cut, hits = redact_text(text, detector, placeholders)
    assert [hit.value for hit in hits] == [KEY]
    inner = cut
    for _ in range(depth):
        inner = json.loads(inner)["a"][0]
    assert json.loads(inner) == ({"«secret:1»": 1} if is_key else {"é": "is «secret:1» so"})


@pytest.mark.parametrize("escape", ["\\u{:04x}", "\\u{:04X}"])
def test_a_secret_that_is_spelled_in_escapes_is_found(escape: str) -> None:
    spelled = "".join(escape.format(ord(char)) for char in KEY)
    text = f'{{"a":"x {spelled} y\\/"}}'
    cut, hits = redact_text(text, SecretDetector(RULES, {}), PlaceholderMap())
    assert [hit.value for hit in hits] == [KEY]
    assert cut == '{"a":"x «secret:1» y\\/"}'


def test_a_secret_with_an_escaped_slash_is_found() -> None:
    cut, _ = redact_text(
        '{"secretKey":"wJalr\\/K7MDENG\\/x"}', SecretDetector(RULES, {}), PlaceholderMap()
    )
    assert cut == '{"secretKey":"«secret:1»"}'


def test_a_line_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    assert values('{"n":1,"msg":{"headers":{"X-Api-Key":"s3cr3t\\u00', "key") == ["s3cr3tu00"]
    assert values(f'{{"a":"{{\\"b\\":\\"{KEY}') == [KEY]


def test_the_values_of_variables_are_found() -> None:
    environment = {"MY_TOKEN": "plain-but-9-secret", "HOME": "/home/me-9", "KEY_FILE": "/a/b-9"}
    text = json.dumps({"a": "it is plain-but-9-secret in /home/me-9 or /a/b-9"})
    assert values(text, environment=environment) == ["plain-but-9-secret"]
    assert values(text, "key", environment=environment) == []


def test_a_value_inside_of_what_is_called_a_secret_is_found() -> None:
    assert values('{"token":{"value":"abc-12345"},"x":{"value":"abc-12346"}}') == ["abc-12345"]


def test_the_values_of_variables_are_found_in_addresses_too() -> None:
    found = values("https://h/?q=a%2Fb%2Bc%3D%3D9", environment={"MY_TOKEN": "a/b+c==9"})
    assert found == ["a%2Fb%2Bc%3D%3D9"]


def test_a_short_known_value_must_be_a_separate_word() -> None:
    detector = SecretDetector(("key",), {})
    detector.add_known([("abc-12", frozenset({"key"}))])
    assert [hit.start for hit in detector.find("xabc-12 abc-12 abc-123")] == [8]


@pytest.mark.parametrize("value", ["hunter2", "pass word 1", "a" * 20, "abcDEFghiJKL"])
def test_an_unusual_value_is_searched_for_everywhere(value: str) -> None:
    assert is_worth_redacting(value)


@pytest.mark.parametrize("value", ["", "abc", "include", "Authorization", "a-1", "<secret>"])
def test_an_ordinary_word_is_not_searched_for_everywhere(value: str) -> None:
    assert not is_worth_redacting(value)


def test_ids_and_data_are_not_too_random() -> None:
    word = "q7Rf2LxP9vKt4ZmB8wNs3HdJ6yGc5TaE"
    quiet = dict.fromkeys(("sessionId", "toolCallId", "data", "digest", "id", "cursor"), word)
    assert values(json.dumps(quiet)) == []
    assert values(json.dumps({"text": word})) == [word]


@given(st.text(alphabet=st.sampled_from('{}[]",:\\u0041«»secrt:1 =-_AKIA?&/@'), max_size=60))
def test_whatever_it_is_given_it_does_not_raise_and_comes_to_rest(text: str) -> None:
    detector = SecretDetector(RULES, {})
    cut, _ = redact_text(text, detector, PlaceholderMap())
    assert redact_text(cut, detector, PlaceholderMap(first=100)) == (cut, [])
