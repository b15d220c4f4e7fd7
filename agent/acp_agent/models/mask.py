"""A key made unreadable in what is kept, however it is spelled there.

In JSON a sign has several spellings, and JSON may stand within JSON, as the arguments of a tool
call do; in addresses it may be percent-encoded. A model says a key in pieces, one to each message
of a stream. In place of every spelling stand as many stars as the key has signs: what was masked is
the same wherever it was said.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from acp_agent.models.parts import entries, members
from acp_protocol.json_text import Json, parse

MASK: Final = "*"
DEEPEST: Final = 16
"""Backslashes that one may have become: by four times JSON within JSON."""
_BACKSLASH: Final = r"(?:\\(?:u005[cC])?|%(?:25)*5[cC])"
"""As it stands in text, or in JSON within JSON within text, or in an address."""
_LITERAL: Final = re.compile(r'"((?:[^"\\]|\\.)*\\?)(?:"(\s*:)?|\Z)', re.DOTALL)
"""A text of JSON, maybe cut off, and whether it is the name of a member."""
_ESCAPED: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_SIGN: Final = re.compile(rf"{_ESCAPED.pattern}|.", re.DOTALL)
_LINE: Final = re.compile(r"(data:)?([^\n]+)")


def masked(asked: Json, secret: str | None) -> Json:
    """Return `asked` with `secret` made unreadable in all its texts and names."""
    if not secret:
        return asked
    return _masked(asked, _spellings(secret), MASK * len(secret))


def without(chunks: Sequence[bytes], secret: str | None) -> Sequence[bytes]:
    """Return the chunks of a body with `secret` made unreadable, wherever it is cut.

    Each chunk stays a chunk; one that held an escaped spelling is shorter afterwards.
    """
    if not secret:
        return chunks
    whole = b"".join(chunks)
    hidden, gone = _hidden(whole, secret.encode(errors="surrogatepass"))
    if bytes(hidden) == whole:
        return chunks
    cut: list[bytes] = []
    at = 0
    for chunk in chunks:
        places = range(at, at + len(chunk))
        cut.append(bytes(hidden[place] for place in places if place not in gone))
        at += len(chunk)
    return cut


def _masked(asked: Json, pattern: re.Pattern[str], stars: str) -> Json:
    if isinstance(asked, str):
        return pattern.sub(stars, asked)
    if isinstance(asked, list):
        return [_masked(each, pattern, stars) for each in entries(asked)]
    if isinstance(asked, dict):
        pairs = members(asked).items()
        return {pattern.sub(stars, name): _masked(each, pattern, stars) for name, each in pairs}
    return asked


def _spellings(secret: str) -> re.Pattern[str]:
    """Return what finds `secret` as it is, in JSON of any depth, and in addresses."""
    once = json.dumps(secret)[1:-1]
    plain = (secret, once, json.dumps(once)[1:-1])
    signs = re.findall(r"(\\*)([^\\]?)", secret)
    general = "".join(_spelling(len(before), sign) for before, sign in signs)
    return re.compile("|".join([*map(re.escape, plain), general]))


def _spelling(backslashes: int, sign: str) -> str:
    """Return what finds a sign behind so many backslashes, or these alone at the end."""
    # Those that stand there are not given back, and have an end: so this stays fast.
    most = DEEPEST * max(1, backslashes)
    before = f"{_BACKSLASH}{{{backslashes},{most}}}+" if backslashes else ""
    if not sign:
        return before
    plain = re.escape(sign)
    escaped = f"u{_digits(f'{ord(sign):04x}')}"
    raw = sign.encode(errors="surrogatepass")
    coded = "".join(f"%(?:25)*{_digits(f'{byte:02x}')}" for byte in raw)
    if before:
        return f"{before}(?:{plain}|{escaped}|{coded})"
    optional = f"{_BACKSLASH}{{0,{most}}}+" if sign in '"/' else ""
    return f"(?:{optional}{plain}|{_BACKSLASH}{{1,{most}}}+{escaped}|{coded})"


def _digits(told: str) -> str:
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in told)


def _hidden(raw: bytes, secret: bytes) -> tuple[bytearray, set[int]]:
    """Return `raw` with masks in it, and the places of those bytes that are to be left out."""
    hidden, gone = bytearray(raw), set[int]()
    # One sign for each byte: what is found is where it stands.
    body, pattern = raw.decode("latin-1"), _spellings(secret.decode("latin-1"))

    def hide(signs: Sequence[tuple[int, int]]) -> None:
        for number, (start, end) in enumerate(signs):
            is_star = number < len(secret)
            if is_star:
                hidden[start] = ord(MASK)
            gone.update(range(start + is_star, end))

    documents = [(0, len(body))] if _is_json(body) else []
    lines = [] if documents else list(_LINE.finditer(body))
    messages = documents or [line.span(2) for line in lines if line.group(1)]
    for places in _texts(body, messages):
        told = "".join(_meaning(body[start:end]) for start, end in places)
        signs: list[tuple[int, int]] = []
        for found in pattern.finditer(told):
            # They take much room, and most texts hold no key.
            signs = signs or [
                sign.span() for place in places for sign in _SIGN.finditer(body, *place)
            ]
            hide(signs[found.start() : found.end()])
    for line in lines:
        # What is no JSON means what stands there.
        if not (line.group(1) and _is_json(line.group(2))):
            told = hidden[line.start() : line.end()].decode("latin-1")
            for found in pattern.finditer(told, 0):
                first, last = line.start() + found.start(), line.start() + found.end()
                hide([(place, place + 1) for place in range(first, last)])
    return hidden, gone


def _texts(body: str, messages: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the texts in messages of JSON, as the places of their pieces.

    What messages hold by the same name is one text: it may come in pieces.
    """
    joined: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for start, end in messages:
        name = ""
        for literal in _LITERAL.finditer(body, start, end):
            if literal.group(2):
                name = literal.group(1)
                yield [literal.span(1)]
            else:
                joined[name].append(literal.span(1))
    yield from joined.values()


def _meaning(told: str) -> str:
    """Return what a text of JSON means: one sign for each of its signs."""
    return _ESCAPED.sub(_meant, told)


def _meant(escaped: re.Match[str]) -> str:
    with suppress(ValueError):
        return json.loads(f'"{escaped.group()}"')
    # None that JSON knows.
    return escaped.group()[-1]


def _is_json(told: str) -> bool:
    with suppress(ValueError):
        parse(told.encode("latin-1"))
        return True
    return False
