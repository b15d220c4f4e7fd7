"""Tables of a scenario whose values are checked as they are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acp_agent.scripted.parser import InvalidValueError, Page, Table, listed, nearest


def table(**members: Any) -> Table:
    return Table(Page("it.toml", {("key",): 4}), members, (), "here")


@pytest.mark.parametrize(
    ("take", "value", "sentence"),
    [
        (Table.text, 1, "has to be a text"),
        (Table.texts, [1], "has to be a text, or a list of texts"),
        (Table.texts, 1, "has to be a text, or a list of texts"),
        (Table.flag, 1, "has to be `true` or `false`"),
        (Table.whole, 0, "has to be a whole number from 1 to 2147483648"),
        (Table.whole, True, "has to be a whole number from 1 to 2147483648"),
        (Table.whole, 1.0, "has to be a whole number from 1 to 2147483648"),
        (Table.number, -1, "has to be a number from 0 to 86400"),
        (Table.number, float("nan"), "has to be a number from 0 to 86400"),
        (Table.table, 1, "has to be a table"),
        (Table.list, {}, "has to be a list"),
        (Table.json, float("inf"), "has to be a value that JSON knows: no date, no inf, no nan"),
        (Table.json, {"a": [float("nan")]}, "has to be a value that JSON knows"),
        (Table.object, "{", "has to be a table, or a text that is JSON"),
    ],
)
def test_a_wrong_value_is_told_with_key_and_line(
    take: Callable[[Table, str], object], value: Any, sentence: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        take(table(key=value), "key")
    assert str(caught.value).startswith(f"it.toml:4: here: `key` {sentence}")


@pytest.mark.parametrize("take", [Table.text, Table.whole, Table.number, Table.json])
def test_what_is_needed_is_told_to_be_missing(take: Callable[[Table, str], object]) -> None:
    with pytest.raises(InvalidValueError, match=r"it\.toml:4: here: `key` is missing"):
        take(table(), "key")


def test_all_keys_that_are_not_known_are_told() -> None:
    with pytest.raises(InvalidValueError) as caught:
        table(txet=1, text=2, zzz=3).allow("text", "thought")
    first, second = str(caught.value).splitlines()
    assert first.endswith("`txet` is not known here; did you mean `text`?")
    assert second.endswith("`zzz` is not known here; there is `text` or `thought`")


def test_a_word_that_is_not_known_has_a_nearest_one() -> None:
    with pytest.raises(InvalidValueError, match="has to be `lf` or `crlf`; did you mean `crlf`"):
        table(key="crfl").word("key", ("lf", "crlf"))


def test_a_word_that_the_protocol_does_not_know_is_remarked_and_taken() -> None:
    it = table(key="end_trun")
    assert it.known("key", ("end_turn",), "stop reason") == "end_trun"
    (remark,) = it.page.remarks
    assert "no stop reason; did you mean `end_turn`?" in remark
    assert table(key="_own").known("key", ("end_turn",), "stop reason") == "_own"


def test_a_value_may_stand_for_a_table() -> None:
    assert table(key=3).table("key", "seconds").members == {"seconds": 3}
    assert table(key=True).table("key", "seconds").members == {}
    assert table(key={"jitter": 1}).table("key", "seconds").members == {"jitter": 1}


def test_null_can_be_written_in_a_text() -> None:
    assert table(key='{"title": null}').object("key") == {"title": None}


def test_a_name_that_stands_for_a_value_is_no_json() -> None:
    assert table(key="$params").object("key") == "$params"


def test_a_place_without_a_line_has_that_of_what_is_around_it() -> None:
    page = Page("it.toml", {("a",): 2})
    assert page.at(("a", 0, "b"), "x") == "it.toml:2: x"
    assert page.at(("c",), "x") == "it.toml: x"


def test_complaints_are_told_from_top_to_end() -> None:
    page = Page("it.toml", problems=["it.toml:10: b", "it.toml:9: a\nit.toml:11: c"])
    assert page.report() == "it.toml:9: a\nit.toml:10: b\nit.toml:11: c"


def test_words_are_listed_as_in_a_sentence() -> None:
    assert listed(("a",)) == "`a`"
    assert listed(("a", "b", "c")) == "`a`, `b` or `c`"
    assert nearest("a", ()) == ""
