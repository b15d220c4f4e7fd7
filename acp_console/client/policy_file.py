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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from acp_agent.config.rules import command_problem, path_problem
from acp_agent.config.source import InvalidFileError, did_you_mean, parse_toml, read_text, spelled
from acp_agent.permissions.policy import PolicyRule, is_like
from acp_agent.tools.subject import Subject, command_subject, directory_label, path_subject
from acp_console.client.permissions import PermissionPrompt, Verdict, command_of
from acp_protocol.json_values import get, get_list, get_text
from acp_protocol.schema.words import ToolKind

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_OPERATORS: Final = frozenset("();<>|&\n")
_EXPANDED: Final = re.compile(r"[$`\\{}~]")
"""Characters by which a shell makes other words of what is written."""
_STDERR: Final = re.compile(r"(?<=\s)2>(?:&1|\s?/dev/null)(?!\S)")
"""Redirections that agents add to most commands; they write no file."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
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
        paths = [path_subject(cwd, str(cwd / name)) for name in names]
        self._directory = "" if place is None else directory_label(cwd, cwd / place)
        self._cwd_parts = cwd.resolve().parts
        self._commands, self._is_plain = _commands(raw)
        has_command = command_of(ask.tool_call) is not None
        self._effects = ("execute",) * has_command + ("edit",) * ask.has_diff
        """Kinds that it is denied as, whatever kind of call it is said to be."""
        self.things: list[Subject | None] = [*paths]
        """Its paths, and None for its command or where it names nothing."""
        if has_command or not paths:
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
            has_command = command_of(ask.tool_call) is not None
            return not has_command or bool(rule.command or rule.name) or rule.kind == "execute"
        is_outside = thing.words[:1] == ("/",)
        return not is_outside or (rule.path or "").startswith("/")

    def _fits_command(self, pattern: str, is_allowing: bool) -> bool:
        if is_allowing and not self._is_plain:
            return False
        rule = PolicyRule("allow" if is_allowing else "deny", None, "command", pattern)
        return any(
            rule.fits("execute", command_subject(words, self._directory), self._cwd_parts)
            for words in self._commands
        )

    def _fits_path(self, rule: _Rule, path: Subject) -> bool:
        decision = "allow" if rule.decision == "allow" else "deny"
        compared = PolicyRule(decision, None, "path", rule.path or "")
        if compared.fits("other", path, self._cwd_parts):
            return True
        return self._ask.kind in _WHOLE_TREES and compared.may_fit_below(
            "other", path, self._cwd_parts
        )


def _commands(raw: Any) -> tuple[list[list[str]], bool]:
    """Return the words of each command in `rawInput`, and whether it is just one program.

    A text is for a shell, and so is the script of `bash -c`.
    """
    key = "cmd" if get(raw, "command") is None else "command"
    command, arguments = get_text(raw, key), get_list(raw, "args")
    if command is not None and not arguments:
        return _shell_commands(command)
    program = get_list(raw, key) if command is None else [command]
    words = [str(each) for each in (*program, *arguments)]
    if not program:
        return [], False
    if len(words) == 3 and PurePath(words[0]).name in _SHELLS and _SCRIPT_FLAG.fullmatch(words[1]):
        found, is_plain = _shell_commands(words[2])
        return [*found, words], is_plain
    return [words], True


def _shell_commands(script: str) -> tuple[list[list[str]], bool]:
    """Return the words of each command in a script, and whether it is one without expansions."""
    script = _STDERR.sub("", script)
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return [script.split()], False
    commands: list[list[str]] = [[]]
    for token in tokens:
        if token and set(token) <= _OPERATORS:
            commands.append([])
        elif commands[-1] or not _ASSIGNMENT.match(token):
            commands[-1].append(token)
    is_plain = len(commands) == 1 and not _EXPANDED.search(script) and tokens == commands[0]
    return [words for words in commands if words], is_plain


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
    place, context = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            known = _File.model_fields if len(place) == 1 else _Rule.model_fields
            near = did_you_mean(str(place[-1]), known)
            return "unknown key" + (f"; did you mean {near}?" if near else "")
        case "value_error":
            return str(context["error"])
        case "literal_error":
            if error["input"] == "ask":
                return "must be allow or deny: exec has nobody to ask"
            return f"must be one of {context['expected']}".replace("'", "").replace(" or ", ", ")
        case "missing":
            return "is missing"
        case "string_type":
            return "must be a string"
        case "list_type" | "model_type":
            return "must be a list of tables, as in [[rules]]"
        case _:
            return error["msg"]
