"""What playing a recording would hand to the agent, so that its user can refuse it.

A recording may come from anybody: its MCP servers are commands that an agent starts, and its
directories are places in which an agent works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acp_inspector.journal import Frame
from acp_inspector.replay.directories import unplaced_directories
from acp_protocol.json_values import get, get_list, get_text
from acp_protocol.jsonrpc import Json, Request, SuccessResponse, read_message


@dataclass(frozen=True, slots=True)
class Handover:
    """What the client of a recording has given to its agent."""

    servers: tuple[str, ...]
    """Commands and addresses of MCP servers."""
    foreign_directories: tuple[str, ...]
    """Directories that no other ones stand for."""
    modes: tuple[str, ...]
    """Modes and values of options that were set."""
    allowed: int
    """Permission requests that were allowed."""
    prompts: int

    @property
    def needs_trust(self) -> bool:
        """Whether an agent would start or touch something that the recording names."""
        return bool(self.servers or self.foreign_directories)

    def describe(self) -> list[str]:
        """Return a line for each thing."""
        lines = [f"MCP server: {server}" for server in self.servers]
        lines += [f"directory: {directory}" for directory in self.foreign_directories]
        lines += [f"mode or option: {mode}" for mode in self.modes]
        counts = (("prompts", self.prompts), ("permissions that allow", self.allowed))
        return lines + [f"{what}: {count}" for what, count in counts if count]


def handover(frames: Sequence[Frame]) -> Handover:
    """Return what the client hands over."""
    servers: dict[str, None] = {}
    modes: dict[str, None] = {}
    allowed = prompts = 0
    for frame in frames:
        if frame.side != "client":
            continue
        match read_message(frame.data):
            case Request(method="session/prompt"):
                prompts += 1
            case Request(method="session/set_mode", params=params):
                modes[str(get(params, "modeId"))] = None
            case Request(method="session/set_config_option", params=params):
                modes[f"{get(params, 'configId')} = {get(params, 'value')}"] = None
            case Request(method=method, params=params) if method.startswith("session/"):
                servers |= dict.fromkeys(map(_server, get_list(params, "mcpServers")))
            case SuccessResponse(result={"outcome": {"optionId": str(option)}}):
                allowed += not option.startswith("reject")
            case _:
                pass
    foreign = tuple(unplaced_directories(frames))
    return Handover(tuple(servers), foreign, tuple(modes), allowed, prompts)


def _server(server: Json) -> str:
    command = get_text(server, "command")
    if command is None:
        return get_text(server, "url") or get_text(server, "name") or "unknown"
    return " ".join([command, *map(str, get_list(server, "args"))])
