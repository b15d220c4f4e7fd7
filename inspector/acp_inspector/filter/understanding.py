"""From the tree of an expression to what it says: fields, types, values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from acp_inspector.filter.errors import FilterError, nearest
from acp_inspector.filter.expressions import (
    All,
    Compare,
    Comparison,
    Exists,
    Expression,
    Match,
    Pattern,
    Range,
    Subject,
    Text,
    Value,
    Within,
    conjunction,
    disjunction,
    negation,
)
from acp_inspector.filter.fields import FIELDS, OPERATORS, Operator
from acp_inspector.filter.grammar import parse
from acp_inspector.filter.literals import (
    Form,
    Written,
    read_choice,
    read_pattern,
    read_value,
    unquoted,
)
from acp_inspector.filter.paths import PathError, read_path

if TYPE_CHECKING:
    from lark import Token, Tree

    _Node: TypeAlias = Tree[Token]

DEPTH_LIMIT: Final = 50
"""Parentheses and `not` within one another, at most."""
_SIGNS: Final = {"&&": "and", "&": "and", "||": "or", "|": "or"}


def understand(text: str) -> Expression:
    """Return what an expression says; one without words lets everything pass.

    Raises:
        FilterError: it cannot be understood.
    """
    tree = parse(text)
    if not tree.children:
        return All(())
    return _Understanding(text).condition(_trees(tree)[0], 0)


class _Understanding:
    """Reads the nodes of one tree."""

    def __init__(self, text: str) -> None:
        self._text = text

    def condition(self, node: _Node, depth: int) -> Expression:
        match str(node.data):
            case "disjunction":
                return disjunction([self.condition(each, depth) for each in _trees(node)])
            case "conjunction":
                return conjunction([self.condition(each, depth) for each in _trees(node)])
            case "condition":
                return self.condition(_trees(node)[0], self._deeper(depth))
            case "negated":
                return negation(self.condition(_trees(node)[0], self._deeper(depth)))
            case "compare":
                return self._compare(node)
            case "contains" | "within" | "exists" as name:
                positive = self._word_operator(name, node)
                is_denied = any(token.type == "NOT" for token in _tokens(node))
                return negation(positive) if is_denied else positive
            case name:
                return self._alone(name, _tokens(node))

    def _deeper(self, depth: int) -> int:
        if depth >= DEPTH_LIMIT:
            sentence = f"conditions stand at most {DEPTH_LIMIT} deep within one another"
            raise FilterError(self._text, 0, sentence)
        return depth + 1

    def _alone(self, name: str, tokens: list[Token]) -> Expression:
        first = tokens[0]
        match name:
            case "text":
                return Text(unquoted(first))
            case "pattern":
                return Pattern(read_pattern(self._written(first)).pattern)
            case "path":
                self._subject(first)
                raise self._error(first, "a path needs an operator", f"write `{first} exists`")
            case _:
                return self._words(tokens)

    def _words(self, tokens: list[Token]) -> Expression:
        """Read words without quotes: a flag, or text as it stands there."""
        first, last = tokens[0], tokens[-1]
        begin, end = first.start_pos or 0, last.end_pos or 0
        text = self._text[begin:end]
        for token in tokens:
            if token in _SIGNS:
                raise self._error(token, f"`{token}` is no word", f"write `{_SIGNS[token]}`")
        field = FIELDS.get(first)
        if field is None:
            return Text(text)
        if len(tokens) == 1 and field.stands_alone:
            return Exists(field.name)
        suggestion = f'to look for the text, write "{text}"'
        if field.stands_alone:
            sentence = f"`{first}` is not joined to the words behind it"
            raise self._error(first, sentence, suggestion)
        sentence = f"`{first}` needs an operator ({' '.join(field.operators)})"
        raise self._error(first, sentence, suggestion)

    def _compare(self, node: _Node) -> Expression:
        subject_node, literal_node = _trees(node)
        sign = next(iter(_tokens(node)))
        subject = self._operand(subject_node, sign, cast("Operator", str(sign)))
        written = self._written(_tokens(literal_node)[0])
        if sign == "~":
            return Match(subject, read_pattern(written))
        value = read_value(written, subject)
        operator = cast("Comparison", str(sign))
        if operator in {"<", "<=", ">", ">="} and not isinstance(subject, str):
            _check_order(written, value)
        return _of_entry(Compare(subject, operator, value))

    def _word_operator(self, name: str, node: _Node) -> Expression:
        subject_node, *rest = _trees(node)
        token = next(token for token in _tokens(node) if token.type != "NOT")
        subject = self._operand(subject_node, token, cast("Operator", token.lower()))
        if name == "exists":
            return Exists(subject)
        if name == "contains":
            written = self._written(_tokens(rest[0])[0])
            if written.form == "REGEX":
                raise written.error("a pattern stands only behind `~`", "write ~ for contains")
            is_path = not isinstance(subject, str)
            return Compare(subject, name, read_value(written, subject) if is_path else written.text)
        if rest[0].data == "literal":
            written = self._written(_tokens(rest[0])[0])
            choice = read_choice(written, subject)
            if not isinstance(choice, Range):
                suggestion = f"write `in ({written.written})`"
                raise written.error("`in` takes a list or a range", suggestion)
            return Within(subject, (choice,))
        choices = [self._written(_tokens(each)[0]) for each in _trees(rest[0])]
        return _of_entry(Within(subject, tuple(read_choice(each, subject) for each in choices)))

    def _operand(self, node: _Node, token: Token, operator: Operator) -> Subject:
        """Return the subject, if the operator fits it."""
        word = _tokens(node)[0]
        subject = self._subject(word)
        type_ = FIELDS[subject].type if isinstance(subject, str) else "json"
        if operator in OPERATORS[type_]:
            return subject
        if type_ == "flag":
            sentence = f"`{subject}` takes no value"
            raise self._error(token, sentence, f"write `{subject}` or `not {subject}`")
        sentence = f"`{operator}` does not fit {subject}, which takes {' '.join(OPERATORS[type_])}"
        raise self._error(token, sentence)

    def _subject(self, token: Token) -> Subject:
        if token.type == "PATH":
            try:
                return read_path(token)
            except PathError as problem:
                at = (token.start_pos or 0) + problem.position
                raise FilterError(self._text, at, str(problem)) from None
        if token in FIELDS:
            return str(token)
        guess = nearest(token, FIELDS)
        shown = f"`{token}`" if len(token) <= 40 else "this name"
        raise self._error(token, f"there is no field {shown}", guess or _all_fields())

    def _written(self, token: Token) -> Written:
        form = cast("Form", token.type)
        return Written(self._text, token.start_pos or 0, str(token), form)

    def _error(self, token: Token, sentence: str, suggestion: str = "") -> FilterError:
        at, length = token.start_pos or 0, len(token)
        return FilterError(self._text, at, sentence, suggestion, length=length)


def _check_order(written: Written, value: Value) -> None:
    """Refuse what only looks as if it could be more or less than what stands in a message."""
    if isinstance(value, bool) or value is None:
        raise written.error(f"{written.written} is neither more nor less than anything")
    if isinstance(value, str) and written.form == "WORD":
        sentence = "what stands in a message is compared with a number without a unit"
        raise written.error(sentence, "put text in quotes")


def _of_entry(condition: Compare | Within) -> Expression:
    """Return the same, asked of the entry where it can be: that needs no look at messages."""
    match condition:
        case Compare("kind", "==", "stderr" | "event" as word):
            return Exists(word)
        case Compare("kind", "!=", "stderr" | "event" as word):
            return negation(Exists(word))
        case Within("kind", choices) if {"stderr", "event"}.issuperset(choices):
            return disjunction([Exists(str(word)) for word in choices])
        case _:
            return condition


def _all_fields() -> str:
    return f"there are: {' '.join(FIELDS)}"


def _trees(node: _Node) -> list[_Node]:
    from lark import Tree

    return [child for child in node.children if isinstance(child, Tree)]


def _tokens(node: _Node) -> list[Token]:
    from lark import Token

    return [child for child in node.children if isinstance(child, Token)]
