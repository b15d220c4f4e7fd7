"""The file that `config init` writes: every key with what it does, none of them set."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.keys import KEYS, Key
from acp_agent.config.showing import toml, written
from acp_protocol.errors import describe_os_error
from acp_protocol.jsonrpc import Json

MODE: Final = 0o600
_LEFT_OUT: Final = frozenset(
    {"enabled", "transport.stdio.enabled", "mcp.servers", "permissions.rules"}
)
"""Keys that are there for files of the Continuum Router, and those with tables of their own."""
EXAMPLES: Final[Mapping[str, Json]] = {
    "agent.namespace": "coder",
    "model.service": "ollama",
    "model.base_url": "http://127.0.0.1:11434/v1",
    "model.api_key_env": "MY_API_KEY",
    "model.thinking": "medium",
    "model.max_tokens": 16384,
    "model.window": 200000,
    "model.prices": "3/15",
    "model.images": True,
    "model.system_prompt": "Answer in the language of the question.",
    "model.cassette": "traffic.tape",
    "protocol.dialect": "continuum",
    "permissions.audit": "decisions.ndjson",
    "limits.tokens": 1000000,
    "limits.seconds": "30m",
    "admin.listen": "127.0.0.1:8127",
}
"""What stands behind a key that has no value by itself."""
_HEAD: Final = """\
# What acp-agent is started with. Take the # away from what you want to set.
# The environment (ACP_AGENT_...) and flags stand above this file.
# Keys of services stand in no file: api_key_env names the variable that holds one.
# acp-agent config check FILE looks whether it is right; docs/configuration.md tells more.
"""
_SERVERS: Final = """
# MCP servers that every session has; see docs/mcp.md.
#[mcp.servers.files]
#command = "/usr/local/bin/files-server"
#args = ["--read-only"]
#env = { FILES_TOKEN = "${FILES_TOKEN}" }
"""
_OTHERS: Final = """
# Further models, which a session can choose; each takes the keys of [model].
#[[model.others]]
#name = "openai:gpt-5"
"""
_RULES: Final = """
# What is decided about tool calls by kind, path, command, or name of a host or server__tool.
# The first rule that fits decides: allow, ask or deny. See docs/agent.md.
#[[permissions.rules]]
#kind = "edit"
#path = "docs/**"
#decision = "allow"

#[[permissions.rules]]
#command = "git push *"
#decision = "deny"
"""
_BEHIND: Final[Mapping[str, str]] = {"model": _OTHERS, "permissions": _RULES}
"""Tables of their own that belong to a room."""


def sample() -> str:
    """Return the text of the file."""
    text = _HEAD
    room = ""
    for key in KEYS:
        if key.path in _LEFT_OUT:
            continue
        table, _, name = key.path.rpartition(".")
        if table != room:
            text += _BEHIND.get(room, "") + f"\n[{table}]\n"
            room = table
        text += f"# {key.about}{_range(key)}\n#{name} = {toml(example(key))}\n"
    return text + _SERVERS


def example(key: Key) -> Json:
    """Return what could stand behind a key: its default, if it has one."""
    default = written(key.path, key.default)
    return EXAMPLES[key.path] if default is None else default


def write_sample(path: Path, *, is_forced: bool) -> None:
    """Write the file for its owner alone; over one that is there only where that `is_forced`.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file that is half written is never seen under the name.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(sample())
            draft.chmod(MODE)
            _put(draft, path, is_forced=is_forced)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as problem:
        reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        raise ConfigurationError(f"{path} cannot be written: {reason}") from None


def _put(draft: Path, path: Path, *, is_forced: bool) -> None:
    if is_forced:
        draft.replace(path)
        return
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise ConfigurationError(f"{path} exists; --force writes over it") from None


def _range(key: Key) -> str:
    return f" ({key.kind.must})" if key.kind.must.startswith("one of") else ""
