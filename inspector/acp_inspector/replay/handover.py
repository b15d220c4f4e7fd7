"""What playing a recording would hand to the agent, so that its user can refuse it.

A recording may come from anybody: its MCP servers are commands that an agent starts, and its
directories are places in which an agent works.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from acp_inspector.journal import Frame
from acp_inspector.messages import Decoder
from acp_inspector.replay.directories import (
    Members,
    all_members,
    is_json,
    lenient_messages,
    listed,
    named_directories,
    unplaced_directories,
)
from acp_protocol.json_values import get_list, get_text
from acp_protocol.jsonrpc import Request

_RISKY: Final = (b"mcpServers", b"cwd", b"additionalDirectories", b"_meta", b"baseUrl")
"""Names by which a line that is not JSON may still tell a tolerant agent what to start."""
_SETTINGS: Final[dict[Any, tuple[str, str]]] = {
    "session/set_mode": ("mode", "modeId"),
    "session/set_model": ("model", "modelId"),
    "session/set_config_option": ("configId", "value"),
    "authenticate": ("login", "methodId"),
    "auth/login": ("login", "methodId"),
}
"""What a request sets: its name, or the member that has it, and the member with the value."""
_TRACE: Final = frozenset({"traceparent", "tracestate", "baggage"})


@dataclass(slots=True)
class Handover:
    """What the client of a recording has given to its agent; each thing once, in order."""

    servers: dict[str, None] = field(default_factory=dict[str, None])
    """Commands and addresses of MCP servers."""
    foreign_directories: tuple[str, ...] = ()
    """Directories that no other ones stand for."""
    extensions: dict[str, None] = field(default_factory=dict[str, None])
    """Members of `_meta` with texts, and addresses of model services: they may mean anything."""
    unreadable: int = 0
    """Lines that are not JSON and contain a name such as `mcpServers`."""
    settings: dict[str, None] = field(default_factory=dict[str, None])
    """Modes, models and options that were set, and logins."""
    allowed: int = 0
    """Permission requests that were allowed."""
    prompts: int = 0

    @property
    def needs_trust(self) -> bool:
        """Whether an agent would start or touch something that the recording names."""
        named = self.servers or self.foreign_directories or self.extensions or self.unreadable
        return bool(named)

    def describe(self) -> list[str]:
        """Return a line for each thing."""
        lines = [f"MCP server: {server}" for server in self.servers]
        lines += [f"directory: {directory}" for directory in self.foreign_directories]
        lines += [f"extension: {extension}" for extension in self.extensions]
        counts = (("lines that are not JSON", self.unreadable), ("prompts", self.prompts))
        lines += [f"{what}: {count}" for what, count in counts if count]
        return lines + self.decisions()

    def decisions(self) -> list[str]:
        """Return a line for each thing that is decided in place of the user."""
        lines = [f"mode or option: {setting}" for setting in self.settings]
        return lines + ([f"permissions that allow: {self.allowed}"] if self.allowed else [])


def handover(frames: Sequence[Frame]) -> Handover:
    """Return what the client hands over."""
    given = Handover(foreign_directories=tuple(unplaced_directories(frames)))
    kinds: dict[Any, str] = {}
    """What the options of permission requests mean, by request and option."""
    for frame in frames:
        messages = lenient_messages(frame.data)
        if frame.side == "agent":
            for message in messages:
                kinds |= _option_kinds(message)
            continue
        if any(name in frame.data for name in _RISKY) and not is_json(frame.data):
            given.unreadable += 1
        for message in messages:
            _add_message(given, message, kinds)
    return given


def client_actions(frames: Sequence[Frame]) -> list[str]:
    """Return what the agent of a recording has a client start or touch, each thing once.

    Files that were read in the directories of the sessions are not listed.
    """
    decoder = Decoder()
    roots = [each.rstrip("/") for each in named_directories(frames) if each.strip("/")]
    found: dict[str, None] = {}
    for frame in frames:
        for message in decoder.decode(frame).messages:
            if frame.side == "agent" and isinstance(message, Request):
                path = get_text(message.params, "path") or ""
                match message.method:
                    case "terminal/create":
                        args = [str(each) for each in get_list(message.params, "args")]
                        command = [get_text(message.params, "command") or "", *args]
                        found[f"command: {' '.join(command)}"] = None
                    case "fs/write_text_file":
                        found[f"file to write: {path}"] = None
                    case "fs/read_text_file" if not any(
                        os.path.normpath(path).startswith(f"{root}/") for root in roots
                    ):
                        found[f"file to read: {path}"] = None
                    case _:
                        pass
    return list(found)


def _add_message(given: Handover, message: Members, kinds: dict[Any, str]) -> None:
    plain = dict(message.pairs)
    values = _plain(plain.get("params"))
    method = plain.get("method")
    given.prompts += method == "session/prompt"
    if method in _SETTINGS:
        name, member = _SETTINGS[method]
        given.settings[f"{values.get(name, name)} = {values.get(member)}"] = None
    for name, value in all_members(message):
        if name == "mcpServers":
            given.servers |= dict.fromkeys(_servers(value))
        elif name == "_meta":
            given.extensions |= dict.fromkeys(_texts("_meta", value))
        elif name == "baseUrl":
            given.extensions[f"baseUrl = {value}"] = None
        elif name == "outcome" and (option := _plain(value).get("optionId")) is not None:
            kind = kinds.get((str(plain.get("id")), str(option)), "allow")
            given.allowed += not kind.startswith("reject")


def _option_kinds(request: Members) -> dict[Any, str]:
    request_id = str(_plain(request).get("id"))
    found = [value for name, value in all_members(request) if name == "options"]
    options = [_plain(each) for value in found for each in listed(value)]
    return {
        (request_id, str(option.get("optionId"))): str(option.get("kind")) for option in options
    }


def _plain(value: Any) -> dict[str, Any]:
    """Return the members of an object; none of anything else."""
    return dict(value.pairs) if isinstance(value, Members) else {}


def _servers(value: Any) -> list[str]:
    """Return the servers of a list, or of an object by their names."""
    if isinstance(value, Members):
        value = [each if isinstance(each, Members) else name for name, each in value.pairs]
    return [_server(each) for each in listed(value)]


def _server(server: Any) -> str:
    plain = _plain(server)
    command = plain.get("command")
    if command is None:
        return str(plain.get("url") or plain.get("name") or server)
    env = plain.get("env")
    variables = [f"{name}={each}" for name, each in _plain(env).items()] or [
        f"{_plain(each).get('name')}={_plain(each).get('value')}" for each in listed(env or [])
    ]
    return " ".join([*variables, str(command), *map(str, listed(plain.get("args") or []))])


def _texts(path: str, value: Any) -> list[str]:
    """Return the members with a text; flags and numbers name nothing that could be started."""
    if isinstance(value, Members):
        return [
            text
            for name, each in value.pairs
            if not (path == "_meta" and name in _TRACE)
            for text in _texts(f"{path}.{name}", each)
        ]
    if isinstance(value, list):
        return [text for each in listed(value) for text in _texts(path, each)]
    return [f"{path} = {value}"] if isinstance(value, str) else []
