"""The grants that a user's "always" makes.

A grant allows or rejects, for one session, calls of a kind that touch one thing, as in
`edit src/**` or `execute git status`.

Source: Continuum Router, "Permissions"; ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_protocol.call_rules.subjects import DISPLAY_WIDTH, Subject
from acp_protocol.host.sanitize import single_line
from acp_protocol.schema.words import ToolKind

_TREE: Final = "**"
_PLURALS: Final[dict[ToolKind, str]] = {
    "read": "reads",
    "edit": "edits",
    "delete": "deletions",
    "move": "moves",
    "search": "searches",
    "execute": "commands",
    "think": "thoughts",
    "fetch": "fetches",
    "switch_mode": "changes of the mode",
    "other": "other calls",
}
_READ_ONLY_PROGRAMS: Final = frozenset(
    {("basename",), ("cat",), ("cmp",), ("cut",), ("df",), ("diff",), ("dirname",)}
    | {("du",), ("echo",), ("grep",), ("head",), ("ls",), ("pwd",), ("readlink",), ("realpath",)}
    | {("rg",), ("stat",), ("tail",), ("true",), ("wc",), ("which",)}
    | {("git", each) for each in ("blame", "diff", "log", "ls-files", "show", "status")}
)
"""Programs that run nothing that their arguments name, and change nothing.

"Always" holds for them with any arguments. Only programs known to be safe are listed; builders and
test runners all take a program or a project from their arguments (`go test -exec`, `cargo
--config`, `npm --script-shell`).
"""
_UNSAFE_ARGUMENTS: Final = {"git": ("--o",), "rg": ("--pre", "--hostname-bin")}
"""How arguments begin that make a plain program write a file or run another one.

Git takes `--output` in any command that shows differences, shortened as well.
"""


@dataclass(frozen=True, slots=True)
class Grant:
    """Calls of one kind that touch one thing."""

    kind: ToolKind
    subject: Subject
    is_prefix: bool = False
    """Whether whatever begins with the words of `subject` is meant, too."""

    def covers(self, kind: ToolKind, subject: Subject) -> bool:
        """Return whether a call of `kind` that touches `subject` is meant."""
        if kind != self.kind or subject.area != self.subject.area:
            return False
        # What a command does depends on where: on the program there, on git's configuration.
        if subject.directory != self.subject.directory:
            return False
        words, known = subject.words, self.subject.words
        if not self.is_prefix:
            return words == known
        # Below the session's directory lies nothing that has to be named absolutely.
        is_outside = (
            subject.area == "path" and bool(words) and words[0] == "/" and known[:1] != ("/",)
        )
        return words[: len(known)] == known and not is_outside and not _has_unsafe_argument(subject)

    def __str__(self) -> str:
        """Spell the grant out, so that a user who agrees knows to what."""
        shown = str(self.subject)
        if self.is_prefix and self.subject.area == "path":
            shown = f"{shown}/{_TREE}" if self.subject.words else _TREE
        shown += f" (in {_place(self.subject)})" if self.subject.directory else ""
        return f"{self.kind} {shown}".strip()

    def describe(self) -> str:
        """Return what is meant, in words for users who do not know patterns."""
        calls, shown = _PLURALS[self.kind], str(self.subject)
        match self.subject.area:
            case "command":
                where = f" in {_place(self.subject)}" if self.subject.directory else ""
                meant = f"`{shown}` with any arguments" if self.is_prefix else f"exactly `{shown}`"
                return meant + where
            case "name" if not self.subject.words:
                return calls
            case "name":
                return f"{calls} from {shown}" if self.kind == "fetch" else f"the tool {shown}"
            case "path" if not self.is_prefix:
                return f"{calls} {'in' if self.kind == 'search' else 'of'} {shown}"
            case "path" if self.subject.words:
                return f"{calls} under {shown.rstrip('/')}/"
            case _:
                return f"all {calls} in this directory"


def grants_for(kind: ToolKind, subject: Subject) -> list[Grant]:
    """Return what "always" may mean for a call of `kind` that touches `subject`, narrow first."""
    if subject.area == "command":
        return [_for_command(kind, subject)]
    if subject.area == "name":
        return [Grant(kind, subject)]
    everything = Grant(kind, Subject("path", ()), is_prefix=True)
    if not subject.words:
        return [everything]
    *folder, _ = subject.words
    if folder in ([], ["/"]):
        narrow = Grant(kind, subject)
    else:
        narrow = Grant(kind, Subject("path", tuple(folder)), is_prefix=True)
    is_outside = subject.words[0] == "/"
    return [narrow] if is_outside else [narrow, everything]


def _for_command(kind: ToolKind, subject: Subject) -> Grant:
    for known in (subject.words[:1], subject.words[:2]):
        # A program named by its path is another one than that of the system.
        if known in _READ_ONLY_PROGRAMS and not _has_unsafe_argument(subject):
            return Grant(kind, Subject("command", known, subject.directory), is_prefix=True)
    return Grant(kind, subject)


def _place(subject: Subject) -> str:
    """Return the directory of a command, with nothing in it that a screen obeys."""
    return single_line(subject.directory, DISPLAY_WIDTH)


def _has_unsafe_argument(subject: Subject) -> bool:
    """Whether an argument of a command makes it more than the plain program that it names."""
    if subject.area != "command" or not subject.words:
        return False
    program, *arguments = subject.words
    return any(each.startswith(_UNSAFE_ARGUMENTS.get(program, ())) for each in arguments)
