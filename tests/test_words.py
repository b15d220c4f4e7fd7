"""The product speaks the words of its field: JSON-RPC, ACP, httpx, mitmproxy.

The lists hold words that once took the place of a standard one: "question" for request, "deed" for
command.
A word that is right where it is (a question of a form) counts too, hence the small allowances.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = (
    "acp_console",
    "agent/acp_agent",
    "inspector/acp_inspector",
    "protocol/acp_protocol",
)
GENERATED: Final = re.compile(r"schema/(v1|v2|methods_v1|methods_v2|words)\.py$")
WORDS: Final = """
    aside asked asker asleep answerer answerers beat beats breath chronicle clerk complaint
    complaints deed deeds errand errands farewell furniture glance hear heard hears here
    household ink lane ledger misfits mishap nobody passage patience question questions roster
    said seams sieve slumber somebody stash tale tell teller telling tellings tells tidings
    told whoever wish wishes
"""
NAMES: Final = frozenset(WORDS.split())
PROSE: Final = re.compile(
    r"\b(deeds?|errands?|whoever|in peace|nobody|wishes|tell of|told|borne"
    r"|tells? (?:that|what|whether|who|how|of)|let (?:who|what|it)|who asks?|who asked"
    r"|stands? (?:behind|above|before|for)|the question|its answer|their answers?"
    r"|question and answer|questions? (?:of|to|for) (?:the )?(?:client|agent|user))\b",
    re.IGNORECASE,
)
MAX_IN_NAMES: Final = 10
MAX_IN_PROSE: Final = 40
"""May be lowered, never raised."""


def sources() -> list[Path]:
    """Return the modules of the product that people write."""
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if not GENERATED.search(path.as_posix())]


def parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)]


def defined_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines or assigns, with their lines."""
    yield 1, path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings and comments of a module, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


@pytest.mark.parametrize("name", ["told_url", "asked", "HeardFrame", "_tellThem"])
def test_a_banned_word_is_found_in_any_spelling(name: str) -> None:
    assert NAMES.intersection(parts(name))


def test_names_are_standard_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sources()
        for line, name in defined_names(path)
        if NAMES.intersection(parts(name))
    ]
    assert len(found) <= MAX_IN_NAMES, "\n".join(found)


def test_prose_is_plain() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {match[0]}"
        for path in sources()
        for line, text in prose(path)
        for match in PROSE.finditer(text)
    ]
    assert len(found) <= MAX_IN_PROSE, "\n".join(found)
