"""The grammar of filter expressions, and the messages for syntax errors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from acp_inspector.filter.errors import FilterError

if TYPE_CHECKING:
    from lark import Token, Tree

MAX_EXPRESSION: Final = 10_000
"""Longest expression, in characters."""

STRING: Final = r'"(?:[^"\\]|\\[\s\S])*"|' + r"'(?:[^'\\]|\\[\s\S])*'"
REGEX: Final = r"/(?:[^/\\]|\\[\s\S])+/i?(?=[\s),]|$)"
"""Must be followed by a space, `)`, `,` or the end: `/opt/lab` is a word."""
PATH: Final = r'\$(?=[.\[])(?:\["(?:[^"\\]|\\[\s\S])*"\]|[^\s()=!<>~,"' + r"'])*"
COMPARE: Final = r"==|!=|<=|>=|<|>|~"
WORD: Final = r"""[^\s()=!<>~,"'][^\s()=!<>~,"]*"""
_END: Final = r'(?=[\s()=!<>~,"]|$)'
KEYWORDS: Final = ("and", "or", "not", "in", "contains", "exists")
MAX_QUOTED: Final = 40
"""Longest token that an error message quotes, in characters."""


def _terminal(pattern: str, flags: str = "") -> str:
    return "/" + pattern.replace("/", r"\/") + "/" + flags


GRAMMAR: Final = rf"""
start: disjunction?
disjunction: conjunction (_OR conjunction)*
conjunction: _term (_AND _term)*
_term: negated | condition
negated: NOT _term
condition: "(" disjunction ")"
    | STRING -> text
    | REGEX -> pattern
    | WORD+ -> words
    | PATH -> path
    | subject COMPARE literal -> compare
    | subject NOT? CONTAINS literal -> contains
    | subject NOT? IN (choices | literal) -> within
    | subject NOT? EXISTS -> exists
?subject: WORD | PATH
choices: "(" literal ("," literal)* ","? ")"
?literal: WORD | STRING | REGEX

STRING.5: {_terminal(STRING)}
REGEX.5: {_terminal(REGEX)}
PATH.5: {_terminal(PATH)}
_AND.4: {_terminal("and" + _END, "i")}
_OR.4: {_terminal("or" + _END, "i")}
NOT.4: {_terminal("not" + _END, "i")}
IN.4: {_terminal("in" + _END, "i")}
CONTAINS.4: {_terminal("contains" + _END, "i")}
EXISTS.4: {_terminal("exists" + _END, "i")}
COMPARE.3: {_terminal(COMPARE)}
WORD.2: {_terminal(WORD)}
%ignore /\s+/
"""


def parse(text: str) -> Tree[Token]:
    """Return the parse tree of an expression.

    Raises:
        FilterError: the expression has a syntax error.
    """
    if len(text) > MAX_EXPRESSION:
        sentence = f"an expression has at most {MAX_EXPRESSION} characters"
        raise FilterError(text, MAX_EXPRESSION, sentence)
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return parser().parse(text)
    except UnexpectedCharacters as problem:
        position: int = problem.pos_in_stream
        raise _invalid_character(text, position) from None
    except UnexpectedToken as problem:
        token: Token = problem.token
        raise _unexpected_token(text, token, set(problem.expected)) from None


@cache
def parser() -> Any:
    """Return the `Lark` parser, built for the first expression; its types are incomplete."""
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", lexer="basic")


def _invalid_character(text: str, position: int) -> FilterError:
    char = text[position]
    if char in "\"'":
        return FilterError(text, position, "this text has no closing quote")
    if char == "=":
        return FilterError(text, position, "`=` is not an operator", "did you mean `==`?")
    return FilterError(text, position, "`!` is not an operator", "did you mean `not` or `!=`?")


def _unexpected_token(text: str, token: Token, expected: set[str]) -> FilterError:
    position, length = token.start_pos or 0, len(token)
    if token.type == "$END":
        return FilterError(text, len(text.rstrip()), _missing(expected))
    ends = {"$END", "_AND", "_OR", "RPAR"}
    if "LPAR" in expected or not expected & ends:
        return FilterError(text, position, *_missing_before(token, expected), length=length)
    return FilterError(text, position, *_not_connected(token), length=length)


def _not_connected(token: Token) -> tuple[str, str]:
    """Return the message and suggestion for a token after a complete condition."""
    shown = f"`{token}`" if len(token) <= MAX_QUOTED else "this"
    match token.type:
        case "RPAR":
            return "there is no `(` that this `)` closes", ""
        case "COMPARE" | "CONTAINS" | "IN" | "EXISTS":
            return f"{shown} has no field before it", "put text with such signs in quotes"
        case "COMMA":
            return "a comma is only allowed in a list after `in`", "write `and` or `or`"
        case _:
            sentence = f"{shown} is not connected to what is before it"
            return sentence, "write `and` or `or` between, or put text with blanks in quotes"


def _missing_before(token: Token, expected: set[str]) -> tuple[str, str]:
    """Return the message and suggestion for a token in place of a missing one."""
    is_keyword = token.lower() in KEYWORDS
    suggestion = f'to look for the word, write "{token}"' if is_keyword else ""
    return f"{_missing(expected)} before this", suggestion


def _missing(expected: set[str]) -> str:
    if expected == {"RPAR"}:
        return "a closing `)` is missing"
    if {"NOT", "LPAR"} <= expected:
        return "a condition is missing"
    if "COMMA" in expected:
        return "a comma or a closing `)` is missing"
    return "an operator is missing" if "EXISTS" in expected else "a value is missing"
