"""What is wrong with an expression: the sentence, the place, the carets, the suggestion."""

from __future__ import annotations

import contextlib

import pytest

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.errors import MAX_POINTER, FilterError
from acp_protocol.errors import AcpError


def mistake(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    return caught.value


CARETS = """
metod == x
^^^^^ there is no field `metod`; did you mean `method`?

size > 4kb and sesion == s1
               ^^^^^^ there is no field `sesion`; did you mean `session`?

latency > "x"
          ^^^ latency is a time such as 500ms, 2s or 1m, not "x"

latency > 4kb
          ^^^ latency is a time such as 500ms, 2s or 1m, not 4kb

size in 1kb..2s
        ^^^^^^^ 2s is not a size such as 100, 64kb or 1mb

code == x
        ^ code is a number, not x

kind == requst
        ^^^^^^ kind is never "requst", but request, notification, result, error, batch, malformed, stderr or event; did you mean `request`?

kind == edit
        ^^^^ kind is never "edit", but request, notification, result, error, batch, malformed, stderr or event; did you mean `tool.kind == edit`?

from == "editor"
        ^^^^^^^^ from is never "editor", but client or agent

status in (failed, don)
                   ^^^ status is never "don", but pending, in_progress, paused, completed, failed or cancelled; to use it anyway, put it in quotes

finding >= fatal
           ^^^^^ finding is never "fatal", but info, warning or error

method
^^^^^^ `method` needs an operator (== != ~ contains in exists); to look for the text, write "method"

method session/update
^^^^^^ `method` needs an operator (== != ~ contains in exists); to look for the text, write "method session/update"

error timeout
^^^^^ `error` is not connected to the words after it; to look for the text, write "error timeout"

held == true
     ^^ `held` takes no value; write `held` or `not held`

size ~ x
     ^ `~` does not fit size, which takes == != < <= > >= in exists

id < 3
   ^ `<` does not fit id, which takes == != ~ contains in exists

method in fs/
          ^^^ `in` takes a list or a range; write `in (fs/)`

method in 1..2
          ^^^^ method has no order, so it takes no ranges; list its values

t in 20s..10s
     ^^^^^^^^ the range ends before it begins

method == /x/
          ^^^ a pattern is only allowed after `~`; write ~, or put it in quotes

method contains /x/
                ^^^ a pattern is only allowed after `~`; write ~ for contains

text ~ /(/
       ^^^ the pattern cannot be used: missing ) at position 1

n == 1e999
     ^^^^^ the number is too large

$.x
^^^ a path needs an operator; write `$.x exists`

a or $.x[y] == 3
        ^ a path continues with `.name`, `..name`, `[0]`, `[*]` or `["name"]`

$.x > 5s
      ^^ a value in a message is compared with a number without a unit; put text in quotes

$.x in a..b
       ^^^^ `in` takes a list or a range; write `in (a..b)`

$.x > true
      ^^^^ true cannot be compared by order

a && b
  ^^ `&&` is not a word; write `and`

method = x
       ^ `=` is not an operator; did you mean `==`?

!error
^ `!` is not an operator; did you mean `not` or `!=`?

say "hello
    ^ this text has no closing quote

say "hello"
    ^^^^^^^ `"hello"` is not connected to what is before it; write `and` or `or` between, or put text with blanks in quotes

connection refused == 3
                   ^^ `==` has no field before it; put text with such signs in quotes

one, two
   ^ a comma is only allowed in a list after `in`; write `and` or `or`

one and and two
        ^^^ a condition is missing before this; to look for the word, write "and"

and
^^^ a condition is missing before this; to look for the word, write "and"

(error or held
              ^ a closing `)` is missing

error)
     ^ there is no `(` that this `)` closes

error and
         ^ a condition is missing

n in (1, 2
          ^ a comma or a closing `)` is missing

n in ()
      ^ a value is missing before this

latency >
         ^ a value is missing

latency not
           ^ an operator is missing

説明 == 3
^^^^ there is no field `説明`; there are: n t from kind method id session update status tool tool.kind terminal error malformed code latency gap size text turn finding rule held edited marked pending stderr event schema
"""  # noqa: E501 - as they are printed
MISTAKES = [case.split("\n") for case in CARETS.strip().split("\n\n")]


@pytest.mark.parametrize(("text", "below"), MISTAKES)
def test_an_error_points_at_its_position(text: str, below: str) -> None:
    problem = mistake(text)
    carets = below[: below.rindex("^", 0, below.index("^") + below.count("^")) + 1]
    assert problem.pointer == f"{text}\n{carets}"
    assert str(problem) == below[len(carets) + 1 :]


def test_it_is_an_error_of_ours() -> None:
    assert isinstance(mistake("a ="), AcpError)


def test_a_picture_is_one_line_that_no_terminal_obeys() -> None:
    problem = mistake('"\x1b[2J\n\t" == 3')
    assert "\x1b" not in str(mistake("\x1b[2J == 3"))
    assert problem.pointer == '"␛[2J⏎ " == 3\n         ^^'


def test_of_a_long_expression_the_surroundings_are_shown() -> None:
    text = "error and " * 400 + "metod == x"
    problem = mistake(text)
    shown, carets = problem.pointer.split("\n")
    assert len(shown) <= MAX_POINTER
    assert shown[carets.index("^") :].startswith("metod")


@pytest.mark.parametrize("text", ["x" * 10_001, "not " * 60 + "x", "(" * 60 + "x" + ")" * 60])
def test_what_is_too_long_or_too_deep_is_refused(text: str) -> None:
    assert "at most" in mistake(text).reason


@pytest.mark.parametrize("text", ["(" * 9000, ")" * 9000, '"' * 9999, "/" * 9999, "$." * 4999])
def test_endless_beginnings_are_refused_or_text(text: str) -> None:
    with contextlib.suppress(FilterError):
        compile_filter(text)
