"""The ways to log in that an agent offers."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from acp_console.agents.spec import AgentSpec, AuthMethodError, shell_line
from acp_protocol.dialects.base import Dialect
from acp_protocol.json_values import as_list, get, get_list, get_string, get_text
from acp_protocol.jsonrpc import Json

_RUNNER: Final = re.compile(
    "(?:a|ba|c|da|fi|k|tc|z|)sh|busybox|cmd|powershell|pwsh|py|pypy|pythonw?|node|nodejs|bun|deno"
    "|dotnet|java|lua|perl|php|ruby|bunx|npm|npx|pnpm|yarn|pipx|uv|uvx|docker|flatpak|nix|podman"
    "|snap|ssh|wsl|doas|env|nice|nohup|setsid|stdbuf|sudo|timeout|xargs"
)
"""Names, without a version, of programs that run others."""

LoginKind: TypeAlias = Literal["agent", "terminal", "variables"]
"""agent: it logs in by itself; terminal: a program does; variables: the user sets some."""


@dataclass(frozen=True, slots=True)
class LoginMethod:
    """A way to log in that an agent offers; its texts are untrusted."""

    id: str
    name: str
    description: str
    kind: LoginKind
    command: tuple[str, ...] = ()
    """The program to run in a terminal."""
    env: Mapping[str, str] | None = None
    """Variables for that program; may hold secrets."""
    is_own_program: bool = False
    """Whether the program is that of the agent: no other one is run because an agent says so."""
    variables: tuple[str, ...] = ()
    """The variables to set."""
    link: str = ""
    """Where to get what the variables need."""


def login_methods(methods: Sequence[Json], spec: AgentSpec) -> list[LoginMethod]:
    """Return the logins that an agent offers; one without an id is left out."""
    found: list[LoginMethod] = []
    for method in methods:
        id_ = get_text(method, "id") or get_text(method, "methodId")
        if id_ is None:
            continue
        name, about = get_text(method, "name") or id_, get_string(method, "description")
        kind, meta = get_text(method, "type"), get(get(method, "_meta"), "terminal-auth")
        if kind == "terminal":
            words = (*spec.absolute_command(), *map(str, get_list(method, "args")))
            env = _variables(get(method, "env"))
            # What a server names is not run here.
            is_own = spec.remote is None
            found.append(LoginMethod(id_, name, about, "terminal", words, env, is_own))
        elif kind == "env_var":
            texts = [get_text(each, "name") for each in get_list(method, "vars")]
            names = [text for text in (*texts, get_text(method, "varName")) if text]
            link = get_string(method, "link")
            variables = tuple(names)
            found.append(LoginMethod(id_, name, about, "variables", variables=variables, link=link))
        elif program := get_text(meta, "command"):
            words = (program, *map(str, get_list(meta, "args")))
            is_own = spec.remote is None and _is_own_program(words, spec.absolute_command())
            env = _variables(get(meta, "env"))
            found.append(LoginMethod(id_, name, about, "terminal", words, env, is_own))
        else:
            found.append(LoginMethod(id_, name, about, "agent"))
    return found


def login_line(method: LoginMethod) -> str:
    """Return the command of a login in a terminal, as for a shell; untrusted."""
    return shell_line(method.command, method.env or {})


def describe_login(method: LoginMethod) -> str:
    """Return the id of a login with its name, description and command; untrusted."""
    about = [method.name, method.description]
    if method.kind == "terminal":
        about.append(f"run: {login_line(method)}")
    known = "; ".join(dict.fromkeys(text for text in about if text and text != method.id))
    return f"{method.id} ({known})" if known else method.id


def login_meta(dialect: Dialect | None, secret: str) -> dict[str, Json]:
    """Return the `_meta` with which a dialect sends a token or data of the user in a login.

    Raises:
        AuthMethodError: there is no place for it.
    """
    fields = {} if dialect is None else dialect.login_fields(secret)
    if dialect is None or not fields:
        raise AuthMethodError(
            f"{'ACP' if dialect is None else dialect.name} has no place for a token or data in a "
            "login",
            hint="leave out =VALUE; many agents take a key from a variable",
        )
    return {dialect.name: fields}


def login_hint(spec: AgentSpec, methods: Sequence[LoginMethod]) -> str:
    """Return how to log in to an agent, by the logins that it offers; untrusted."""
    direct = [each.id for each in methods if each.kind == "agent"]
    variables = dict.fromkeys(name for each in methods for name in each.variables)
    ways: list[str] = []
    if direct or any(each.kind == "terminal" for each in methods):
        name = f" {spec.name} does it" if spec.is_named else " does it, with the command after --"
        ways.append(f"acp-console agents login{name}")
    if direct:
        ways.append(f"exec --auth {' or '.join(direct)}")
    if variables:
        ways.append(f"set {' or '.join(variables)}")
    if spec.sign_in:
        ways.append(f"known for {spec.title}: {spec.sign_in}")
    return "; or ".join(ways) or "log in with the agent's own program, or set its key"


def _variables(raw: Json) -> dict[str, str]:
    """Return variables: a table in version 1, a list of names and values in version 2."""
    if isinstance(raw, dict):
        return {name: str(value) for name, value in cast("dict[str, Json]", raw).items()}
    pairs = ((get_text(each, "name"), get_text(each, "value")) for each in as_list(raw))
    return {name: value for name, value in pairs if name and value is not None}


def _is_own_program(words: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether a command starts the program that `own` starts.

    What runs other programs has to run the same one: all but the last options have to be equal.
    """
    found, program = _where(words[0]), _where(own[0])
    if found is None or found != program:
        return False
    names = [Path(each).name.rstrip("0123456789.") for each in (own[0], found)]
    if not any(map(_RUNNER.fullmatch, names)):
        return True
    start = list(own[1:])
    while start and start[-1].startswith("-"):
        start.pop()
    return bool(start) and [*words[1 : len(start) + 1]] == start


def _where(program: str) -> str | None:
    found = shutil.which(program)
    return None if found is None else os.path.realpath(found)
