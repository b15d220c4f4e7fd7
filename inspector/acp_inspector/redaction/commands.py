"""Passwords that a command takes in a short option, which says so to nobody else: `mysql -p…`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp_inspector.redaction.assignments import says_nothing

LONGEST: Final = 2000
"""Characters of a command line that are looked at."""


@dataclass(frozen=True, slots=True)
class _Command:
    """A command, and the options behind which its password stands."""

    name: re.Pattern[str]
    attached: tuple[str, ...] = ()
    """Options with the password in the same word."""
    separate: tuple[str, ...] = ()
    """Options with the password in the next word."""
    deed: str = ""
    """The subcommand whose options these are."""
    behind: str = ""
    """What ends the name of the user before the password."""
    own: str = ""
    """Options with a value, of a command behind whose options another command stands."""


def _named(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{names})(?:\.exe)?")


_COMMANDS: Final = (
    _Command(_named("mysql[a-z_]*|mariadb(?:-[a-z]+)*"), attached=("-p",)),
    _Command(_named("7z[ar]?"), attached=("-p",)),
    _Command(_named("sshpass"), attached=("-p",), separate=("-p",), own="-p -P -f -d"),
    _Command(_named("redis-cli"), separate=("-a",)),
    _Command(_named("mongo(?:sh|dump|restore|export|import)?"), separate=("-p",)),
    _Command(_named("sqlcmd|bcp"), attached=("-P",), separate=("-P",)),
    _Command(_named("zip|unzip"), separate=("-P",)),
    _Command(_named("ldap[a-z]+"), attached=("-w",), separate=("-w",)),
    _Command(_named("docker|podman|helm|az"), separate=("-p",), deed="login"),
    _Command(
        _named("curl"),
        attached=("-u", "--user=", "-U", "--proxy-user="),
        separate=("-u", "--user", "-U", "--proxy-user"),
        behind=":",
    ),
)
"""Source: their manuals."""
_BEGINNINGS: Final = (
    *("mysql", "mariadb", "7z", "sshpass", "redis-cli", "mongo", "sqlcmd", "bcp", "zip", "unzip"),
    *("ldap", "docker", "podman", "helm", "az", "curl"),
)
_NAME: Final = re.compile(rf"(?<![\w.-])(?:{'|'.join(_BEGINNINGS)})[a-z_.-]*+(?=\s)")
_WORD: Final = re.compile(r"""(?:'[^'\n]*+'|"[^"\n]*+"|\\.|[^\s'"\\;|&<>()`])++|[;|&\n()`]""")
_ENDS: Final = frozenset(";|&\n()`")


class CommandLine:
    """Reads the words of a command line, one after the other."""

    __slots__ = ("_command", "_does", "_previous")

    def __init__(self) -> None:
        self._command: _Command | None = None
        self._does = True
        self._previous = ""

    def secret_in(self, word: str) -> int | None:
        """Return where in the next word a secret begins, which goes on to its end."""
        previous, self._previous = self._previous, word
        if found := _command(word):
            # Also behind `sudo` and the like.
            self._command, self._does = found, not found.deed
            return None
        if self._command is None:
            return None
        if not self._does:
            self._does = word == self._command.deed
            return None
        command = self._command
        start = self._start(command, previous, word)
        if command.own and not word.startswith("-") and previous not in command.own.split():
            self._command = None
        return start if start is not None and start < len(word) else None

    def _start(self, command: _Command, previous: str, word: str) -> int | None:
        start = None
        if previous in command.separate and not word.startswith("-"):
            start = 0
        else:
            for option in command.attached:
                if word.startswith(option):
                    start = len(option)
                    break
        if start is None or not command.behind:
            return start
        end = word.find(command.behind, start)
        return None if end < 0 else end + 1


def command_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in `text` a command line has a password."""
    if not any(hint in text for hint in _BEGINNINGS):
        return
    at = 0
    while found := _NAME.search(text, at):
        line = CommandLine()
        at = found.end()
        for word in _WORD.finditer(text, found.start(), found.start() + LONGEST):
            at = max(at, word.end())
            if word[0] in _ENDS:
                break
            begin, end = _unquoted(text, *word.span())
            if (start := line.secret_in(text[begin:end])) is not None:
                start, end = _unquoted(text, begin + start, end)
                if start < end and not says_nothing(text[start:end]):
                    yield start, end


def _command(word: str) -> _Command | None:
    name = word.rpartition("/")[2]
    return next((each for each in _COMMANDS if each.name.fullmatch(name)), None)


def _unquoted(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place without quotes around it, of which the first may stand before it."""
    quote = text[end - 1]
    if quote not in "'\"":
        return start, end
    found = text.count(quote, start, end)
    if found == 2 and text[start] == quote:
        return start + 1, end - 1
    return (start, end - 1) if found == 1 else (start, end)
