"""What every session of a connection works with, made of the settings."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_agent.mcp.declarations import Limits, configured_servers
from acp_agent.mcp.servers import McpSettings
from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import create_model, expand_settings
from acp_agent.models.types import Model
from acp_agent.net import PrivateHosts
from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.keys import McpServerSettings, Settings
from acp_agent.settings.providers import SettingsError
from acp_agent.store.database import SessionStore
from acp_agent.store.errors import StoreError
from acp_agent.tools.call import Tool
from acp_agent.tools.registry import fetch_tool
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.references import expand_variables
from acp_protocol.user_files.toml_source import InvalidFileError

logger = logging.getLogger(__name__)


def random_id() -> str:
    """Return an id that cannot be guessed: a UUID of version 4, as some clients expect.

    Source: RFC 9562, "UUID Version 4".
    """
    # Imported here because the import is a large part of the agent's start.
    from uuid import UUID

    return str(UUID(bytes=os.urandom(16), version=4))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The settings of the agent, and what is built from them."""

    settings: Settings = field(default_factory=Settings)
    models: Sequence[Model] = field(default_factory=lambda: (DemoModel(),))
    """The models that a session can choose from; the first is the default."""
    store: SessionStore = field(default_factory=SessionStore)
    mcp: McpSettings = field(default_factory=McpSettings)
    permissions: PermissionPolicy = field(default_factory=PermissionPolicy)
    audit: AuditLog | None = None
    """Where each decision about a tool call is recorded."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """Tools that replace those of the same names."""
    new_id: Callable[[], str] = random_id
    """Returns the id of a new session."""
    stream_delay_s: float = 0.0
    """Seconds between two pieces of a streamed reply."""


def build_models(settings: Settings, environment: Mapping[str, str]) -> list[Model]:
    """Return the models; the first one is the default.

    Raises:
        SettingsError: the settings of a model are invalid.
    """
    choices = expand_settings(settings.model, environment)
    for other in settings.others:
        try:
            choices += expand_settings(other, environment)
        except SettingsError as error:
            # Its provider may not be running; the first model works without it.
            logger.warning("%s", error)
    return [create_model(choice, environment) for choice in choices]


def build_services(
    settings: Settings, environment: Mapping[str, str], *, stream_delay_s: float = 0.0
) -> AgentServices:
    """Return what the sessions of the agent work with; the caller closes the store.

    Raises:
        SettingsError: the settings of a model are invalid.
        StoreError: the store cannot be opened.
    """
    permissions, private = settings.permissions, settings.fetch.allow_private
    storage = settings.sessions.storage
    if isinstance(storage, Path) and storage.is_file():
        raise StoreError("it is a file; sessions are kept in a directory")
    store = SessionStore(storage)
    return AgentServices(
        settings=settings,
        models=build_models(settings, environment),
        store=store,
        mcp=build_mcp(settings.mcp, environment),
        permissions=PermissionPolicy(
            permissions.default_policy,
            frozenset(permissions.auto_allow),
            frozenset(permissions.always_ask),
            tuple(rule.rule() for rule in permissions.rules),
        ),
        audit=AuditLog(permissions.audit) if permissions.audit is not None else None,
        tools=fetch_tool(PrivateHosts(private)) if private else {},
        stream_delay_s=stream_delay_s,
    )


def build_mcp(mcp: McpServerSettings, environment: Mapping[str, str]) -> McpSettings:
    """Return the MCP servers, with the variables that they refer to.

    A server that refers to a variable that is not set is left out.
    """
    tables: dict[str, Mapping[str, Json]] = {}
    for id_, server in mcp.servers.items():
        if mcp.allowed_servers and id_ not in mcp.allowed_servers:
            continue
        try:
            # Variables may hold secrets, which belong nowhere else.
            tables[id_] = server.model_dump(exclude_unset=True) | {
                "env": expand_variables(server.env, environment, "env.{}".format),
                "headers": expand_variables(server.headers, environment, "headers.{}".format),
            }
        except InvalidFileError as error:
            logger.error("mcp.servers.%s is left out: %s", id_, error)  # noqa: TRY400 - no bug
    servers = configured_servers(tables)
    limits = Limits(connections=mcp.max_connections, spawn_timeout=mcp.spawn_timeout)
    return McpSettings(servers, mcp.allowed_servers, limits)
