"""Whether words ask for a secret: a password, a key, a token, the number of a card.

A label asks for what its last words name: a “GitHub token” is one, a “token limit” is none. A
sentence asks for it by a verb: “Enter your password”.

Source: ACP, "Elicitation": forms do not ask for secrets.
"""

from __future__ import annotations

import re
from typing import Final

_GUARDED: Final = (
    r"(?:pass(?:word|phrase|wd|code)s?|pwd|api ?keys?|secrets?|credentials?|cvv2?|cvc|pin code"
    r"|tokens?|(?:secret|private|access|ssh|signing|encryption) keys?"
    r"|(?:credit |debit )?card (?:number|no)s?|(?:credit|debit) cards?|(?:seed|recovery) phrase)"
)
_AMOUNT: Final = (
    r"(?:max|maximum|min|minimum|total|number|count|many|input|output|context|completion|prompt"
    r"|stop|next|page|no|without|never|not)"
)
_BORDER: Final = (
    r"(?:for|of|to|from|in|on|with|that|which|used|so|if|and|or|below|here|again|please|when|at)"
)
_LABEL: Final = re.compile(rf"(?:^|.* ){_GUARDED}$")
_AMOUNTS: Final = re.compile(rf"(?:^|.* ){_AMOUNT} (?:\w+ )?{_GUARDED}$|^tokens$")
_REQUEST: Final = re.compile(
    r"(?<!not )(?<!never )(?<!t )\b"
    r"(?:enter|provide|type|paste|give|supply|input|submit|share|tell)"
    rf"(?: (?!(?:{_AMOUNT}|name) )\w+){{0,4}}? {_GUARDED}(?=$| ?[,;.:!?(]| {_BORDER}\b)"
)
_TAIL: Final = re.compile(rf"[,;.:!?(\[–—].*| {_BORDER}\b.*", re.DOTALL)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def names_secret(label: str) -> bool:
    """Tell whether a name or a title stands for a secret, such as `githubToken`."""
    words = _words(_TAIL.sub("", _words(label)))
    return _LABEL.match(words) is not None and _AMOUNTS.match(words) is None


def asks_secret(text: str) -> bool:
    """Tell whether a sentence asks for a secret."""
    return _REQUEST.search(_words(text)) is not None


def _words(text: str) -> str:
    """Return a name or a text as words in lower case with single blanks."""
    return " ".join(re.sub(r"[_\s-]+", " ", _HUMP.sub(" ", text[:1000])).split()).casefold()
