r"""The text of `git diff -p`, as far as it says which files it is about.

    patch = read_patch("diff --git /a /a\nnew file mode 100644\n…")
    patch.files[0].operation, patch.files[0].path

Lines of a hunk are counted by its header, so that a removed `-- a` is not taken for a file's name.

Source: git-diff(1), "Generating patch text with -p"; core.quotePath.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Operation: TypeAlias = Literal["add", "delete", "modify", "move", "copy"]

NOWHERE: Final = "/dev/null"
"""What stands for the side on which there is no file."""
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{2}|.)", re.DOTALL)
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
"""How lines with a path begin, what they mean, and whether it is the path before."""


@dataclass(slots=True)
class PatchedFile:
    """What a patch says of one file."""

    header: str
    """What follows `diff --git`."""
    operation: Operation = "modify"
    old: str | None = None
    """Its path before, unquoted; None if the patch does not say."""
    new: str | None = None
    names: list[str] = field(default_factory=list[str])
    """Every path in its headers but that of `diff --git`, unquoted."""

    @property
    def path(self) -> str | None:
        """Its path after the operation; for a deleted file the one it had."""
        path = self.old if self.operation == "delete" else self.new
        return path or _same(self.header)


@dataclass(slots=True)
class Patch:
    """What a patch is about."""

    preamble: str = ""
    """What stands before the first file, where nothing should."""
    files: list[PatchedFile] = field(default_factory=list[PatchedFile])


def read_patch(text: str) -> Patch:
    """Return what a patch is about; what it does not know it passes over."""
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
    r"""Return a path as it is where Git put it into quotes: `"a\303\244"`."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name

    pieces: list[bytes] = []
    end = 1
    for match in _ESCAPE.finditer(name, 1, len(name) - 1):
        code = match[1]
        pieces.append(name[end : match.start()].encode("utf-8", "replace"))
        # What is escaped are bytes of UTF-8, what stands beside is text.
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
