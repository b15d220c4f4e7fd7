"""The agents that can be chosen by name: the demo, those of the user, and known ones.

The known ones come with the package, as facts about programs of others: what starts them, what
installs them, how one signs in. Choosing one runs nothing that the user has not agreed to.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acp_console.agents.choices import AgentChoices, ChoiceStore
from acp_console.agents.spec import DEMO_AGENT, AgentSpec, UnknownAgentError, shell_line
from acp_console.config import AgentTable, Config, Variables, load_config
from acp_console.state_file import StateFile
from acp_protocol.host.did_you_mean import did_you_mean, nearest
from acp_protocol.host.state import state_directory
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.remote import RemoteAddressError, RemoteAgent, shown_url
from acp_protocol.user_files.references import expand_variables
from acp_protocol.user_files.sentences import error_sentence
from acp_protocol.user_files.toml_source import InvalidFileError

MAX_LISTED: Final = 12
"""Names in the message about an unknown one."""

AgentState: TypeAlias = Literal["ready", "wrapper", "missing"]
"""ready: its program is there; wrapper: npx or uvx would download it; missing: install it first."""


class _Facts(BaseModel):
    """Facts written by others; what is not known here does not matter."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Package(_Facts):
    """A package that `npx` or `uvx` runs."""

    package: str = Field(min_length=1)
    args: list[str] | None = None
    env: Variables = {}

    @property
    def name(self) -> str:
        """The package without its version."""
        name = self.package.partition("==")[0]
        at = name.rfind("@")
        return name[:at] if at > 0 else name


class Binary(_Facts):
    """A program for one platform."""

    cmd: str = Field(min_length=1)
    args: list[str] = []
    env: Variables = {}


class Distribution(_Facts):
    """The ways to get an agent."""

    npx: Package | None = None
    uvx: Package | None = None
    binary: dict[str, Binary] = {}


class KnownAgent(_Facts):
    """An agent as the public registry describes it, and what is known besides."""

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=64)
    name: str = Field(min_length=1)
    version: str = ""
    repository: str = ""
    website: str = ""
    distribution: Distribution = Distribution()
    command: list[str] = []
    """What starts it where it is installed; not in the registry."""
    env: Variables = {}
    """Variables for it, however it is started; not in the registry."""
    sign_in: str = ""
    tried: str = ""
    """The version that was tried with this console; empty if none was."""
    note: str = ""
    registry_id: str = ""
    """Its id in the registry, where that is another one."""

    def installed_command(self) -> list[str]:
        """Return the command of the installed program; empty if it is not known."""
        binary = self.distribution.binary.get(platform_name())
        if self.command or binary is None:
            return self.command
        return [PurePath(binary.cmd).name, *binary.args]

    def package_names(self) -> set[str]:
        packages = (self.distribution.npx, self.distribution.uvx)
        return {each.name for each in packages if each is not None}


class Snapshot(_Facts):
    """The known agents at some time."""

    version: str
    agents: list[KnownAgent]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An agent that can be chosen by name, and what is known about it on this machine."""

    name: str
    title: str
    source: Literal["demo", "config", "catalogue"]
    state: AgentState
    command: tuple[str, ...]
    """What starts it; through `npx` or `uvx` if its program is not there."""
    program: str | None = None
    """Where its program was found, or that of the wrapper."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that belong to the command."""
    install: str = ""
    """The command that installs it, or where to get it."""
    facts: KnownAgent | None = None
    is_confirmed: bool = True
    """Whether the user agreed to run the command, or wrote it."""
    is_remote: bool = False
    """Whether it is at a URL, which then stands in the place of its command."""

    @property
    def consent_text(self) -> tuple[str, ...]:
        """The command with its variables: what the user agrees to."""
        return (*(f"{name}={value}" for name, value in self.env.items()), *self.command)

    @property
    def command_line(self) -> str:
        """The command with its variables, as for a shell."""
        return shell_line(self.command, self.env)

    @property
    def status(self) -> str:
        """What state it is in, in two or three words."""
        match self.state:
            case "ready" if self.is_remote:
                return "at a URL"
            case "ready":
                return "built in" if self.source == "demo" else "found"
            case "wrapper":
                return f"via {self.command[0]}"
            case "missing":
                return "not installed" if self.facts is not None else "not found"


class Catalogue:
    """All agents that can be chosen by name, the ready ones first.

    Raises:
        InvalidFileError: the configuration changes an agent that is not known.
    """

    def __init__(
        self,
        config: Config,
        snapshot: Snapshot,
        choices: ChoiceStore,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.snapshot = snapshot
        self.choices = choices
        self._environment = environment
        known = {each.id: each for each in snapshot.agents}
        entries = [self._demo()]
        for name, table in config.agents.items():
            if table.command is not None or table.url is not None:
                entries.append(self._own(name, table))
            elif name not in known and name != DEMO_AGENT.name:
                near = nearest(name, known)
                hint = f"; did you mean {near}?" if near else ", and no agent of that name is known"
                raise InvalidFileError(
                    f"{config.at('agents', name)}: command or url is missing{hint}"
                )
        own = {each.name for each in entries}
        entries += (
            self._known(each)
            for each in known.values()
            if each.id not in own and any(True for _ in _ways(each))
        )
        order = {"ready": 0, "wrapper": 1, "missing": 2}
        self.entries = tuple(
            sorted(entries, key=lambda each: (each.source != "demo", order[each.state]))
        )

    def find(self, name: str) -> CatalogueEntry:
        """Return the agent of that name.

        Raises:
            UnknownAgentError: there is none; the message names those that are meant or ready.
        """
        for entry in self.entries:
            if entry.name == name:
                return entry
        every = [entry.name for entry in self.entries]
        ready = [entry.name for entry in self.entries if entry.state == "ready"][:MAX_LISTED]
        listed = f"ready are {', '.join(ready)}, and acp-console agents lists {len(every)}"
        raise UnknownAgentError(f"unknown agent {name!r}", hint=did_you_mean(name, every, listed))

    def spec(self, entry: CatalogueEntry, *, is_remembered: bool = True) -> AgentSpec:
        """Return how to start an agent, with what the configuration sets for it.

        Its dialect is the one that is known of it. `is_remembered` also adds the mode and the
        options that the user last chose. What the configuration sets comes before both.

        Raises:
            InvalidFileError: the configuration refers to a variable that is not set.
        """
        table = self.config.agents.get(entry.name, AgentTable())
        known = self.choices.get(entry.name)
        chosen = known if is_remembered else AgentChoices()
        spec = AgentSpec(
            name=entry.name,
            title=entry.title,
            command=entry.command,
            description=DEMO_AGENT.description if entry.source == "demo" else entry.command_line,
            max_protocol_version=table.protocol or 1,
            dialect=table.dialect or known.dialect,
            is_dialect_remembered=table.dialect is None and known.dialect is not None,
            env={
                **entry.env,
                **expand_variables(
                    table.env,
                    self._environment,
                    lambda name: self.config.at("agents", entry.name, "env", name),
                ),
            },
            cwd=None if table.cwd is None else self.config.absolute(table.cwd),
            mode=table.mode or chosen.mode,
            options=chosen.options
            | {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in table.options.items()
            },
            is_named=True,
            mcp_servers=self.config.wire_servers(entry.name, self._environment),
            sign_in="" if entry.facts is None else entry.facts.sign_in,
            remote=self._remote(entry.name, table),
        )
        return spec.with_protocol(None)

    def _remote(self, name: str, table: AgentTable) -> RemoteAgent | None:
        """Return where an agent is, with the values of variables; None if it is started here.

        Raises:
            InvalidFileError: the configuration refers to a variable that is not set.
        """
        if table.url is None:
            return None

        def at(*keys: str) -> str:
            return self.config.at("agents", name, *keys)

        token = None
        if table.token_env is not None:
            token = self._environment.get(table.token_env)
            if not token:
                raise InvalidFileError(
                    f"{at('token_env')}: the variable {table.token_env} is not set"
                )
        headers = expand_variables(
            table.headers, self._environment, lambda each: at("headers", each)
        )
        try:
            return RemoteAgent(table.url, headers, token)
        except RemoteAddressError as problem:
            raise InvalidFileError(f"{at('headers')}: {problem.summary}") from None

    def servers(self) -> Sequence[Mapping[str, Json]]:
        """Return all MCP servers of the configuration.

        Raises:
            InvalidFileError: the configuration refers to a variable that is not set.
        """
        return self.config.wire_servers(None, self._environment)

    def confirm(self, entry: CatalogueEntry) -> None:
        """Remember that the user agreed to run the command of an agent.

        Raises:
            FileWriteError: it cannot be remembered.
        """
        self.choices.confirm(entry.name, entry.consent_text)

    def _demo(self) -> CatalogueEntry:
        return CatalogueEntry(
            DEMO_AGENT.name, DEMO_AGENT.title, "demo", "ready", DEMO_AGENT.command, sys.executable
        )

    def _own(self, name: str, table: AgentTable) -> CatalogueEntry:
        title = table.title or name
        if table.url is not None:
            url = (shown_url(table.url),)
            return CatalogueEntry(name, title, "config", "ready", url, is_remote=True)
        command = list(table.command or ())
        if "/" in command[0]:
            command[0] = str(self.config.absolute(command[0]))
        path = {**self._environment, **table.env}.get("PATH")
        program = shutil.which(command[0], path=path)
        state: AgentState = "missing" if program is None else "ready"
        return CatalogueEntry(name, title, "config", state, tuple(command), program)

    def _known(self, facts: KnownAgent) -> CatalogueEntry:
        ways = list(_ways(facts))
        found = next((way for way in ways if self._which(way.command[0])), None)
        way = found or ways[0]
        table = self.config.agents.get(facts.id, AgentTable())
        is_wrapped = bool(way.install)
        install = next((each.install for each in ways if each.install), "")
        entry = CatalogueEntry(
            name=facts.id,
            title=table.title or facts.name,
            source="catalogue",
            state="missing" if found is None else "wrapper" if is_wrapped else "ready",
            command=way.command,
            program=self._which(way.command[0]),
            env=way.env,
            install=install or facts.repository or facts.website,
            facts=facts,
        )
        is_confirmed = self.choices.is_confirmed(facts.id, entry.consent_text)
        return replace(entry, is_confirmed=is_confirmed)

    def _which(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment.get("PATH"))


def known_servers(spec: AgentSpec) -> list[Mapping[str, Json]]:
    """Return the MCP servers of an agent, then the others of the configuration.

    Raises:
        InvalidFileError: the configuration is invalid.
    """
    names = {each["name"] for each in spec.mcp_servers}
    others = open_catalogue().servers()
    return [*spec.mcp_servers, *(each for each in others if each["name"] not in names)]


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to start an agent."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    install: str = ""
    """What installs it, so that the wrapper in `command` is not needed."""


def _ways(facts: KnownAgent) -> Iterator[_Way]:
    """Yield how an agent can be started: its program, then the wrappers that download it."""
    command = facts.installed_command()
    if command:
        binary = facts.distribution.binary.get(platform_name())
        yield _Way(tuple(command), {**facts.env, **({} if binary is None else binary.env)})
    npx, uvx = facts.distribution.npx, facts.distribution.uvx
    if npx is not None:
        args = command[1:] if npx.args is None else npx.args
        # A package may have several programs; without a name, npx runs the one of its own name.
        words = ["npx", "-y", npx.package]
        if command and command[0] != npx.name.rpartition("/")[2]:
            words = ["npx", "-y", f"--package={npx.package}", "--", command[0]]
        yield _Way((*words, *args), {**facts.env, **npx.env}, f"npm install -g {npx.name}")
    if uvx is not None:
        args = command[1:] if uvx.args is None else uvx.args
        words = ["uvx", uvx.package]
        if command and command[0] != uvx.name:
            words = ["uvx", "--from", uvx.package, command[0]]
        yield _Way((*words, *args), {**facts.env, **uvx.env}, f"uv tool install {uvx.name}")


def platform_name(system: str = sys.platform, machine: str | None = None) -> str:
    """Return a machine, by default this one, as the registry names it: `linux-x86_64`."""
    machine = (platform.machine() if machine is None else machine).lower()
    known = {"arm64": "aarch64", "amd64": "x86_64", "win32": "windows"}
    return f"{known.get(system, system)}-{known.get(machine, machine)}"


def parse_snapshot(name: str, text: str | bytes) -> Snapshot:
    """Return the snapshot that `text` is, in our form or that of the public registry.

    Raises:
        InvalidFileError: it is neither.
    """
    try:
        return Snapshot.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise InvalidFileError(
            f"{name}: no catalogue of agents: {path + ': ' if path else ''}{error_sentence(first)}"
        ) from None


@cache
def bundled_snapshot() -> Snapshot:
    """Return the snapshot that comes with the package."""
    text = files("acp_console.agents").joinpath("catalogue.json").read_bytes()
    return parse_snapshot("catalogue.json", text)


def merged_snapshot(old: Snapshot, new: Snapshot) -> Snapshot:
    """Return `new` with what only `old` knows: programs, sign-in, what was tried, other agents.

    An agent of `new` is one of `old` if the id or a package is the same. If `new` has only archives
    for it, which we do not unpack, its package in `old` stays.
    """
    agents: list[KnownAgent] = []
    rest = {each.id: each for each in old.agents}
    for theirs in new.agents:
        ours = next((each for each in rest.values() if _is_same(each, theirs)), None)
        if ours is None:
            agents.append(theirs)
            continue
        del rest[ours.id]
        given = {name: getattr(theirs, name) for name in theirs.model_fields_set}
        kept: dict[str, object] = {"id": ours.id, "registry_id": ours.registry_id or theirs.id}
        if not theirs.package_names():
            packages = {"npx": ours.distribution.npx, "uvx": ours.distribution.uvx}
            kept["distribution"] = theirs.distribution.model_copy(update=packages)
        agents.append(ours.model_copy(update=given | kept))
    return Snapshot(version=new.version, agents=[*agents, *rest.values()])


def _is_same(ours: KnownAgent, theirs: KnownAgent) -> bool:
    ids = {ours.id, ours.registry_id} - {""}
    return theirs.id in ids or bool(ours.package_names() & theirs.package_names())


def snapshot_file() -> StateFile[Snapshot]:
    """Return the file of the snapshot that replaces the bundled one."""
    path = state_directory() / "catalogue.json"
    return StateFile(
        path,
        lambda content: parse_snapshot(str(path), content),
        lambda snapshot: snapshot.model_dump_json(exclude_defaults=True),
        bundled_snapshot,
    )


def load_snapshot() -> Snapshot:
    """Return the newest snapshot: the bundled one, or the one that the user took.

    Raises:
        InvalidFileError: the user's cannot be read.
    """
    try:
        return snapshot_file().load()
    except InvalidFileError as error:
        raise InvalidFileError(
            f"{error}; acp-console agents update --reset goes back to the bundled catalogue"
        ) from None


def open_catalogue() -> Catalogue:
    """Return the agents of this user.

    Raises:
        InvalidFileError: the configuration is invalid; the message lists all that is, with lines.
    """
    return Catalogue(load_config(), load_snapshot(), ChoiceStore())
