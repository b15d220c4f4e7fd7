"""Checks of texts: paths, regular expressions, patches and names of secrets.

Paths belong to other machines, so only their text is checked. Source: ACP, "Overview": all paths in
the protocol are absolute.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\[^\\/]+[\\/]|//[^/]")


def is_absolute(path: object) -> bool:
    r"""Return whether a path is absolute in POSIX or Windows: `/a`, `C:\a`, `\\host\a`."""
    return isinstance(path, str) and (path.startswith("/") or _WINDOWS.match(path) is not None)


def normalized(path: str) -> str:
    """Return a path in normalized form, for comparison."""
    if _WINDOWS.match(path):
        path = path.replace("\\", "/").casefold()
    return posixpath.normpath(path) if path else path


def may_be_same(one: str, another: str) -> bool:
    """Return whether two absolute paths may name the same directory.

    They may if one is the end of the other (`/tmp/a` is `/private/tmp/a` if `/tmp` is a link), or
    if only the case differs. Other links cannot be recognised from the text.
    """
    first, second = normalized(one).casefold(), normalized(another).casefold()
    return first == second or first.endswith(second) or second.endswith(first)


def is_inside(path: str, directory: str) -> bool:
    """Return whether a path lies somewhere below a directory."""
    top = normalized(directory)
    return normalized(path).startswith(top if top.endswith("/") else top + "/")


MAX_PATTERN_CHARS: Final = 2000
"""Longest pattern to check, in characters."""
MAX_GROUP_DEPTH: Final = 50
"""Most nested groups in a pattern; deeper ones are only checked for balanced brackets."""

_CLASS: Final = re.compile(r"\[\^?((?:[^\\\]]|\\.)*)(\]|\Z)", re.DOTALL)
_RANGE: Final = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")
_ESCAPE: Final = re.compile(
    r"\\(?:[pPk]\{[^}]*\}|k<[^>]*>|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)",
    re.DOTALL,
)
_GROUP: Final = re.compile(r"\((?:\?(?:<[=!]|P?<[^>=!][^>]*>|[:=!>]|[a-zA-Z-]+:?|#[^)]*))?")
_TIMES: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
_LITERAL: Final = re.compile(r"[^()|*+?\x00]")


def is_pattern(text: str) -> bool:
    """Return whether a text is a regular expression; a too long or deep one counts as valid.

    Invalid are unbalanced classes and groups, and quantifiers without an operand or after another
    one.
    """
    if len(text) > MAX_PATTERN_CHARS:
        return True
    bare = _CLASS.sub(_class, _ESCAPE.sub(_escape, text))
    if "\0" in bare or bare.endswith("\\"):
        return False
    bare = _TIMES.sub(_times, bare)
    bare = _GROUP.sub("(", bare)
    return "\0" not in bare and _compiles(bare)


def _escape(found: re.Match[str]) -> str:
    # Escaped brackets do not count; escapes are also valid within a class.
    return "~" if found[0][1] not in "bB" else ""


def _class(found: re.Match[str]) -> str:
    is_upside_down = any(low > high for low, high in _RANGE.findall(found[1]))
    return "\0" if is_upside_down or not found[2] else "x"


def _times(found: re.Match[str]) -> str:
    is_upside_down = found[3] and int(found[3][:9]) < int(found[1][:9])
    return "\0" if is_upside_down else "*"


def _compiles(bare: str) -> bool:
    words = _LITERAL.sub("x", bare)
    depth = deepest = 0
    for sign in words:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    if deepest > MAX_GROUP_DEPTH:
        return depth == 0
    try:
        re.compile(words)
    except re.error:
        return False
    return True


Operation: TypeAlias = Literal["add", "delete", "modify", "move", "copy"]

NOWHERE: Final = "/dev/null"
"""The path for the side without a file."""
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PATCH_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_START: Final = "diff --git "
_NAMES: Final[tuple[tuple[str, Operation | None, bool], ...]] = (
    ("rename from ", "move", True),
    ("rename to ", "move", False),
    ("copy from ", "copy", True),
    ("copy to ", "copy", False),
    ("--- ", None, True),
    ("+++ ", None, False),
)
"""The beginning of each line with a path, its meaning, and whether it is the old path."""


@dataclass(slots=True)
class PatchedFile:
    """One file of a patch."""

    header: str
    """What follows `diff --git`."""
    operation: Operation = "modify"
    old: str | None = None
    """The old path, unquoted; None if the patch does not name it."""
    new: str | None = None
    names: list[str] = field(default_factory=list[str])
    """Every path in its headers but that of `diff --git`, unquoted."""

    @property
    def path(self) -> str | None:
        """Its path after the operation; for a deleted file, the path before."""
        path = self.old if self.operation == "delete" else self.new
        return path or _same(self.header)


@dataclass(slots=True)
class Patch:
    """A parsed patch."""

    preamble: str = ""
    """Text before the first file, where there should be none."""
    files: list[PatchedFile] = field(default_factory=list[PatchedFile])


def read_patch(text: str) -> Patch:
    """Parse a patch; unknown lines are skipped."""
    patch = Patch()
    to_remove = to_add = 0
    for line in text.split("\n"):
        if to_remove > 0 or to_add > 0:
            to_remove -= line[:1] in {"-", " ", ""}
            to_add -= line[:1] in {"+", " ", ""}
        elif line.startswith(_START):
            patch.files.append(PatchedFile(line[len(_START) :].rstrip("\r")))
        elif not patch.files:
            patch.preamble = patch.preamble or line.strip()
        elif hunk := _HUNK.match(line):
            to_remove, to_add = (1 if each is None else int(each) for each in hunk.groups())
        else:
            _read_header(patch.files[-1], line.rstrip("\r"))
    return patch


def _read_header(file: PatchedFile, line: str) -> None:
    if line.startswith("new file mode"):
        file.operation = "add"
    elif line.startswith("deleted file mode"):
        file.operation = "delete"
    for begin, operation, is_old in _NAMES:
        if not line.startswith(begin):
            continue
        name = unquoted(line[len(begin) :].partition("\t")[0])
        file.names.append(name)
        if operation is not None:
            file.operation = operation
        elif name == NOWHERE:
            file.operation = "add" if is_old else "delete"
            return
        if is_old:
            file.old = name
        else:
            file.new = name


def unquoted(name: str) -> str:
    r"""Return a path without Git's quotes and escapes: `"a\303\244"`."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name

    pieces: list[bytes] = []
    end = 1
    for match in _PATCH_ESCAPE.finditer(name, 1, len(name) - 1):
        code = match[1]
        pieces.append(name[end : match.start()].encode("utf-8", "replace"))
        # Escapes are bytes of UTF-8; everything else is text.
        octal = len(code) == 3
        plain = _LETTERS.get(code, code)
        pieces.append(bytes([int(code, 8)]) if octal else plain.encode("utf-8", "replace"))
        end = match.end()
    pieces.append(name[end:-1].encode("utf-8", "replace"))
    return b"".join(pieces).decode("utf-8", "replace")


def _same(header: str) -> str | None:
    """Return the path of a header that names one file twice."""
    half = len(header) // 2
    if header[:half] != header[half + 1 :]:
        return None
    return unquoted(header[:half])


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
    """Return whether a name or a title names a secret, such as `githubToken`."""
    words = _words(_TAIL.sub("", _words(label)))
    return _LABEL.match(words) is not None and _AMOUNTS.match(words) is None


def asks_secret(text: str) -> bool:
    """Return whether a sentence asks for a secret."""
    return _REQUEST.search(_words(text)) is not None


def _words(text: str) -> str:
    """Return a name or a text as words in lower case with single blanks."""
    return " ".join(re.sub(r"[_\s-]+", " ", _HUMP.sub(" ", text[:1000])).split()).casefold()
