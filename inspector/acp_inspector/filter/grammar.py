"""How expressions are written: a grammar, and the sentences for what does not fit it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from acp_inspector.filter.errors import FilterError

if TYPE_CHECKING:
    from lark import Token, Tree

TEXT_LIMIT: Final = 10_000
"""Characters of an expression, at most."""

STRING: Final = r'"(?:[^"\\]|\\[\s\S])*"|' + r"'(?:[^'\\]|\\[\s\S])*'"
REGEX: Final = r"/(?:[^/\\]|\\[\s\S])+/i?(?=[\s),]|$)"
"""Only what ends behind its flag: `/opt/lab` is a word."""
PATH: Final = r'\$(?=[.\[])(?:\["(?:[^"\\]|\\[\s\S])*"\]|[^\s()=!<>~,"' + r"'])*"
COMPARE: Final = r"==|!=|<=|>=|<|>|~"
WORD: Final = r"""[^\s()=!<>~,"'][^\s()=!<>~,"]*"""
_END: Final = r'(?=[\s()=!<>~,"]|$)'
KEYWORDS: Final = ("and", "or", "not", "in", "contains", "exists")
SHOWN: Final = 40
"""Characters of a piece that an error repeats, at most."""


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
subject: WORD | PATH
choices: "(" literal ("," literal)* ","? ")"
literal: WORD | STRING | REGEX

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
    """Return the tree of an expression, by the rules of `GRAMMAR`.

    Raises:
        FilterError: it does not follow them.
    """
    if len(text) > TEXT_LIMIT:
        sentence = f"an expression has at most {TEXT_LIMIT} characters"
        raise FilterError(text, TEXT_LIMIT, sentence)
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return _parser()(text)
    except UnexpectedCharacters as problem:
        position: int = problem.pos_in_stream
        raise _stray(text, position) from None
    except UnexpectedToken as problem:
        token: Token = problem.token
        raise _misplaced(text, token, set(problem.expected)) from None


@cache
def _parser() -> Callable[[str], Tree[Token]]:
    """Return the parser; it is made when the first expression is compiled."""
    from lark import Lark

    parser: Any = Lark(GRAMMAR, parser="lalr", lexer="basic")
    return parser.parse


def _stray(text: str, position: int) -> FilterError:
    """Say what is wrong with a character that begins nothing."""
    sign = text[position]
    if sign in "\"'":
        return FilterError(text, position, "this text has no closing quote")
    if sign == "=":
        return FilterError(text, position, "`=` is no operator", "did you mean `==`?")
    return FilterError(text, position, "`!` is no operator", "did you mean `not` or `!=`?")


def _misplaced(text: str, token: Token, expected: set[str]) -> FilterError:
    """Say what is wrong with a piece that stands where it cannot."""
    position, length = token.start_pos or 0, len(token)
    if token.type == "$END":
        return FilterError(text, len(text.rstrip()), _missing(expected))
    ends = {"$END", "_AND", "_OR", "RPAR"}
    if "LPAR" in expected or not expected & ends:
        return FilterError(text, position, *_not_wanted(token, expected), length=length)
    return FilterError(text, position, *_not_joined(token), length=length)


def _not_joined(token: Token) -> tuple[str, str]:
    """Return what to say of a piece behind a complete condition."""
    shown = f"`{token}`" if len(token) <= SHOWN else "this"
    match token.type:
        case "RPAR":
            return "there is no `(` that this `)` closes", ""
        case "COMPARE" | "CONTAINS" | "IN" | "EXISTS":
            return f"{shown} has no field before it", "put text with such signs in quotes"
        case "COMMA":
            return "a comma stands only in a list behind `in`", "write `and` or `or`"
        case _:
            sentence = f"{shown} is not joined to what stands before it"
            return sentence, "write `and` or `or` between, or put text with blanks in quotes"


def _not_wanted(token: Token, expected: set[str]) -> tuple[str, str]:
    """Return what to say of a piece that stands where another is missing."""
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
