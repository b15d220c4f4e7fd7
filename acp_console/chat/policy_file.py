"""A file of rules that decide permission requests, in the shape of the agent's own rules.

A request touches its command and each path that it names. The first rule that fits such a thing
decides about it. One denial denies the request; it is allowed if everything is; otherwise the file
leaves it open.

An agent can write into a request what it likes. So a rule that allows never reaches further than it
says: not outside the session's directory, unless its path is absolute, and not to a command with
more than one program in it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from acp_console.chat.permissions import PermissionPrompt
from acp_console.chat.touched import commands_of
from acp_protocol.call_rules.rules import PolicyRule, command_problem, is_like, path_problem
from acp_protocol.call_rules.subjects import Subject, command_subject, directory_label, path_subject
from acp_protocol.client_duties import Verdict
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from acp_protocol.user_files.sentences import error_sentence
from acp_protocol.user_files.toml_source import InvalidFileError, parse_toml, read_text, spelled

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_OPERATORS: Final = frozenset("();<>|&\n")
_EXPANDED: Final = re.compile(r"[$`\\{}~]")
"""Characters by which a shell makes other words of what is written."""
_STDERR: Final = re.compile(r"(?<=\s)2>(?:&1|\s?/dev/null)(?!\S)")
"""Redirections that agents add to most commands; they write no file."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NESTED: Final = re.compile(r"[`#]|\$\(|<<")
"""In a script: what may hide a command from one who reads its quotes word by word."""
_PIECES: Final = re.compile(r"[;&|<>()`\n]+")
_RUNNERS: Final = frozenset(
    {"!", "{", "builtin", "command", "do", "doas", "elif", "else", "env", "eval", "exec", "find",
     "if", "ionice", "nice", "nohup", "setsid", "ssh", "stdbuf", "su", "sudo", "then", "time",
     "timeout", "until", "watch", "while", "xargs"}
)  # fmt: skip
"""Programs and words of a shell that run a program named by the words after them."""
_MAX_DEPTH: Final = 5
"""Commands within commands that are looked at."""
_MAX_NESTED: Final = 100
"""Words of a command behind which another one is looked for."""
_WHOLE_TREES: Final = frozenset({"move", "delete"})
"""Kinds of calls that may take a directory with all that is in it."""


def _without_problem(problem: str | None, pattern: str) -> str:
    if problem is not None:
        raise ValueError(problem)
    return pattern


def _check_text(text: str) -> str:
    return _without_problem(None if text.strip() else "must be a non-empty string", text)


_Text: TypeAlias = Annotated[str, AfterValidator(_check_text)]
_Path: TypeAlias = Annotated[
    _Text, AfterValidator(lambda each: _without_problem(path_problem(each), each))
]
_Command: TypeAlias = Annotated[
    _Text, AfterValidator(lambda each: _without_problem(command_problem(each), each))
]


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ToolKind | None = None
    path: _Path | None = None
    command: _Command | None = None
    name: _Text | None = None
    title: _Text | None = None
    decision: Literal["allow", "deny"]

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.path is not None and self.command is not None:
            raise ValueError("a rule has either path or command")
        if not (self.kind or self.path or self.command or self.name):
            if self.title is None:
                raise ValueError("matches nothing: it needs kind, path, command, name or title")
            if self.decision == "allow":
                raise ValueError("a title alone allows nothing, because the agent chooses it")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: list[_Rule]


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """The rules of a file, and the place of each, as in `policy.toml:7`."""

    rules: Sequence[tuple[_Rule, str]]

    @property
    def allows_something(self) -> bool:
        """Whether a request may be allowed by it."""
        return any(rule.decision == "allow" for rule, _ in self.rules)

    def decide(self, ask: PermissionPrompt) -> tuple[Verdict, str] | None:
        """Return the decision and the place of the rule; None if the file leaves it open."""
        call = _Call(ask)
        found = [self._deciding(call, thing) for thing in call.things]
        denied = next((each for each in found if each is not None and each[0] == "reject"), None)
        return denied or (found[0] if None not in found else None)

    def _deciding(self, call: _Call, thing: Subject | None) -> tuple[Verdict, str] | None:
        for rule, place in self.rules:
            if call.fits(rule, thing):
                return "allow" if rule.decision == "allow" else "reject", place
        return None


class _Call:
    """A permission request, taken apart."""

    def __init__(self, ask: PermissionPrompt) -> None:
        self._ask = ask
        cwd = ask.cwd or Path("/")
        raw = ask.tool_call.get("rawInput")
        place = get_text(raw, "cwd")
        names = [*ask.paths, *([] if place is None else [place])]
        paths = [path_subject(cwd, str(ask.absolute(name))) for name in names]
        self._directory = "" if place is None else directory_label(cwd, cwd / place)
        self._cwd_parts = cwd.resolve().parts
        self._commands, self._is_plain = _commands(ask.tool_call)
        self._effects = ("execute",) * ask.has_command + ("edit",) * ask.has_diff
        """Kinds that it is denied as, whatever kind of call it is said to be."""
        self.things: list[Subject | None] = [*paths]
        """Its paths, and None for its command or where it names nothing."""
        if ask.has_command or not paths:
            self.things.insert(0, None)

    def fits(self, rule: _Rule, thing: Subject | None) -> bool:
        """Return whether the rule decides about a thing of this call."""
        ask, is_allowing = self._ask, rule.decision == "allow"
        if rule.kind not in (None, ask.kind, *(() if is_allowing else self._effects)):
            return False
        # One denied name suffices; of several names each has to be allowed.
        fits_names = all if is_allowing else any
        if (pattern := rule.name) is not None and not fits_names(
            is_like(name, pattern) for name in ask.tool_names or ("",)
        ):
            return False
        if rule.title is not None and not is_like(ask.title, rule.title):
            return False
        if rule.command is not None and not self._fits_command(rule.command, is_allowing):
            return False
        if rule.path is not None and (thing is None or not self._fits_path(rule, thing)):
            return False
        if not is_allowing:
            return True
        if thing is None:
            # A command may do anything, whatever kind of call it is said to be.
            return not ask.has_command or bool(rule.command or rule.name) or rule.kind == "execute"
        is_outside = thing.words[:1] == ("/",)
        return not is_outside or (rule.path or "").startswith("/")

    def _fits_command(self, pattern: str, is_allowing: bool) -> bool:
        if is_allowing and not self._is_plain:
            return False
        rule = PolicyRule("allow" if is_allowing else "deny", None, "command", pattern)
        commands = self._commands
        if not is_allowing:
            commands = [inner for words in commands for inner in _nested_commands(words)]
        return any(
            rule.fits("execute", command_subject(words, self._directory), self._cwd_parts)
            for words in commands
        )

    def _fits_path(self, rule: _Rule, path: Subject) -> bool:
        decision = "allow" if rule.decision == "allow" else "deny"
        compared = PolicyRule(decision, None, "path", rule.path or "")
        if compared.fits("other", path, self._cwd_parts):
            return True
        return self._ask.kind in _WHOLE_TREES and compared.may_fit_below(
            "other", path, self._cwd_parts
        )


def _commands(tool_call: Mapping[str, Json]) -> tuple[list[list[str]], bool]:
    """Return the words of each command of a call, and whether it is just one program.

    A text is for a shell, and so is the script of `bash -c`.
    """
    found: list[list[str]] = []
    commands = commands_of(tool_call)
    is_plain = len(commands) == 1
    for command in commands:
        if isinstance(command, str):
            words, is_one = _shell_commands(command)
        else:
            words, is_one = _program_commands(command)
        found += words
        is_plain = is_plain and is_one
    return found, is_plain


def _program_commands(words: list[str], depth: int = 0) -> tuple[list[list[str]], bool]:
    """Return the words of a program, and those of the script that it runs, if it is a shell."""
    if not words:
        return [], False
    name = PurePath(words[0]).name
    flag = next((at for at, each in enumerate(words) if _SCRIPT_FLAG.fullmatch(each)), None)
    if name in _SHELLS and flag is not None:
        scripts = [each for each in words[flag + 1 :] if not each.startswith("-")]
        # The rest are arguments of the script.
        found, is_plain = _shell_commands(scripts[0] if scripts else "", depth + 1)
        return [*found, words], is_plain and (flag, len(words)) == (1, 3)
    return [words], True


def _nested_commands(words: list[str], depth: int = 0) -> list[list[str]]:
    """Return the words of a program, and those of what it may run."""
    found = [words]
    if PurePath(words[0]).name in _RUNNERS and depth < _MAX_DEPTH:
        for at, word in enumerate(words[1:_MAX_NESTED], 1):
            scripts = _shell_commands(word)[0] if " " in word else []
            found += [each for inner in scripts for each in _nested_commands(inner, depth + 1)]
            found += _program_commands(words[at:])[0]
    return found


def _shell_commands(script: str, depth: int = 0) -> tuple[list[list[str]], bool]:
    """Return the words of each command in a script, and whether it is one without expansions."""
    if depth > _MAX_DEPTH:
        return [], False
    tokens, is_whole = _tokens(script)
    commands: list[list[str]] = [[]]
    is_file = False
    for token in tokens:
        if token and set(token) <= _OPERATORS:
            is_file = (
                token[-1] in "<>&"
                and not _OPERATORS.isdisjoint(token)
                and ("<" in token or ">" in token)
            )
            if not is_file:
                commands.append([])
            elif commands[-1] and commands[-1][-1].isdecimal():
                # The number of a descriptor.
                commands[-1].pop()
        elif is_file:
            is_file = False
        elif commands[-1] or not _ASSIGNMENT.match(token):
            commands[-1].append(token)
    is_plain = (
        is_whole and len(commands) == 1 and not _EXPANDED.search(script) and tokens == commands[0]
    )
    if not is_whole or _NESTED.search(script):
        # What is in quotes, or between them, may run as well.
        commands += [piece.split() for piece in _PIECES.split(script)]
    found: list[list[str]] = []
    for words in filter(None, commands):
        inner, is_one = _program_commands(words, depth + 1)
        found += inner
        is_plain = is_plain and is_one
    return found, is_plain


def _tokens(script: str) -> tuple[list[str], bool]:
    """Return the words and operators of a script; without quotes if these have no end."""
    script = _STDERR.sub("", script)
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer), True
    except ValueError:
        return script.split(), False


def load_policy(path: Path) -> PolicyFile:
    """Return the rules of a TOML file.

    Raises:
        InvalidFileError: it cannot be read or is invalid; the message names the line.
    """
    source = parse_toml(path, read_text(path))
    try:
        rules = _File.model_validate(source.tree).rules
    except ValidationError as error:
        # A misspelled key comes before the one that is missing instead.
        first = min(
            error.errors(include_url=False),
            key=lambda each: (each["type"] == "missing", source.line(each["loc"])),
        )
        where = f"{source.at(first['loc'])}: "
        where += f"{spelled(first['loc'])}: " if first["loc"] else ""
        raise InvalidFileError(where + _sentence(first)) from None
    return PolicyFile([(rule, source.at(("rules", at))) for at, rule in enumerate(rules)])


def _sentence(error: ErrorDetails) -> str:
    """Return what is wrong with a value."""
    known = _File.model_fields if len(error["loc"]) == 1 else _Rule.model_fields
    match error["type"]:
        case "literal_error" if error["input"] == "ask":
            return "must be allow or deny: exec cannot ask a person"
        case "list_type" | "model_type":
            return "must be a list of tables, as in [[rules]]"
        case _:
            return error_sentence(error, known)
