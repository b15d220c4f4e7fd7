"""Secrets in running text that a name announces: `API_KEY=…`, `"password": "…"`, `--token …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_inspector.redaction.names import is_secret_name

_QUOTE: Final = r"""\\*["'`]"""
_ASSIGNMENT: Final = re.compile(
    rf"""(?P<name>(?<![\w.-])[A-Za-z_$-][\w.$-]{{0,79}}+)(?:{_QUOTE})?\]?
    (?:\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}|(?P<option>(?<=[a-z-])\ ))
    (?:(?:{_QUOTE})?(?P<scheme>(?i:bearer|basic|token))\s)?
    (?:(?P<quote>{_QUOTE})(?P<quoted>[^"'`\s\\]{{4,}})(?={_QUOTE})
      |(?P<bare>[A-Za-z0-9_~!@%^*+./-]{{6,}}+=*))""",
    re.VERBOSE,
)
_COOKIE: Final = re.compile(
    r"(?i:\b(?:set-)?cookie)\s{0,4}:\s{0,4}([^\s;=\"'`\\]{1,80}+=[^\r\n\"'`\\]{4,4096}+)"
)
_NETRC: Final = re.compile(r"\blogin\s{1,8}\S{1,80}+\s{1,8}password\s{1,8}(\S{4,200}+)")
_WHOLE: Final = ((_COOKIE, ("ookie", "OOKIE")), (_NETRC, ("password",)))
"""Lines of others' making, with what stands in every text that has one."""
_FIRST_WORD: Final = re.compile(r"\b(?:access|api|auth|client|private|secret) \Z", re.IGNORECASE)
_LONGEST_WORD: Final = len("private ")
_PREFIXED: Final = re.compile(r"--?[A-Za-z]")
_NO_VALUES: Final = re.compile(
    r"""\$\{?[A-Za-z_]\w*(?::-)?\}?|\$\{\{.*|\$\(.*|<.*>|<|\{.*|\[.*|%\w+%|[*•.xX_-]{3,}|
    (?:process\.env|os\.environ|import\.meta|env|ENV|secrets)[.\[(].*|
    (?i:your[-_ ].*|.*[-_ ]here|changeme|.?redacted.?|true|false|null|none|nil|string|required|
    optional|include|omit|undefined|bearer|basic|oauth2?|same-origin|number|boolean|object|str|int|
    bytes|any|self|this|secret|token|password|api[-_]?key)""",
    re.VERBOSE,
)
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGIT: Final = re.compile(r"[0-9]")
_REFERENCE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LONG: Final = 16
_LEAST_BARE: Final = 8


def assignment_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in `text` a value stands behind a name that promises a secret.

    Code that only names where a secret comes from (`token = request.token`, `$TOKEN`) has none.
    """
    for pattern, hints in _WHOLE:
        if any(hint in text for hint in hints):
            for found in pattern.finditer(text):
                if _is_value(found[1], is_bare=True):
                    yield found.span(1)
    at = 0
    while found := _ASSIGNMENT.search(text, at):
        name = found["name"]
        group = "quoted" if found["quoted"] is not None else "bare"
        if found["option"] and not _PREFIXED.match(name):
            # `a token abcdefg1` is prose.
            at = found.end("name")
            continue
        is_value = _is_announced(found) or _is_value(found[group], is_bare=group == "bare")
        if is_value and _is_secret(name, text, found.start()):
            yield found.span(group)
            at = found.end(group)
        else:
            # The value may itself be the name of the next assignment.
            at = found.end("name")


def _is_announced(found: re.Match[str]) -> bool:
    """Tell whether what stands there is a value whatever it looks like, be it an everyday word.

    So it is in a header that names its scheme, and behind a variable of the environment.
    """
    value = found["bare"]
    if value is None or says_nothing(value):
        return False
    is_header = found["scheme"] is not None and found["name"].lower().endswith("authorization")
    is_variable = found["name"].isupper() and found.string[found.end("name")] == "="
    return is_header or (is_variable and not _is_reference(value))


def _is_secret(name: str, text: str, at: int) -> bool:
    """Tell whether the name at that place promises a secret, alone or with the word before it."""
    if is_secret_name(name.lstrip("-")):
        return True
    if name.lower() not in {"key", "secret", "token"}:
        return False
    before = _FIRST_WORD.search(text[max(at - _LONGEST_WORD - 1, 0) : at])
    return before is not None and is_secret_name(before[0] + name)


def says_nothing(value: str) -> bool:
    """Tell whether `value` stands where a secret would, and is none: a variable, a type, stars."""
    return _NO_VALUES.fullmatch(value) is not None


def _is_value(value: str, *, is_bare: bool) -> bool:
    if says_nothing(value):
        return False
    has_both = _LETTER.search(value) is not None and _DIGIT.search(value) is not None
    if is_bare:
        return len(value) >= _LEAST_BARE and has_both and not _is_reference(value)
    return has_both or len(value) >= _LONG or not value.isalnum()


def _is_reference(value: str) -> bool:
    """Tell whether it names where a secret comes from: a member, a call, a file."""
    return _REFERENCE.fullmatch(value) is not None or "(" in value or "/" in value[:2]
