"""What the settings mean to the parts of the agent that keep to them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final, cast

from acp_agent.audit import Audit
from acp_agent.conduct import Conduct, TurnLimits
from acp_agent.config.configuration import Configuration, Mcp
from acp_agent.mcp.declarations import Server, configured_servers
from acp_agent.mcp.limits import Limits
from acp_agent.mcp.servers import McpSettings
from acp_agent.models.choice import chosen, expanded
from acp_agent.models.model import Model
from acp_agent.models.services import SettingsError
from acp_agent.rules import PermissionRules
from acp_agent.server import Keeping
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.store import Store
from acp_agent.tools.addresses import PrivateHosts
from acp_agent.tools.catalogue import fetch_tool
from acp_agent.tools.tool import Tool
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""Stands for what a variable of the environment holds."""
FILLED: Final = frozenset({"env", "headers"})
"""Members of a server in which variables are filled in: the ones that may be secrets."""


class _UnsetError(Exception):
    """A variable is named that is not set; the message names its place."""


def models_of(configuration: Configuration, environment: Mapping[str, str]) -> list[Model]:
    """Return the models, of which the first serves where none is chosen.

    Raises:
        SettingsError: one cannot be as it is set.
    """
    choices = expanded(configuration.model, environment)
    for other in configuration.others:
        try:
            choices += expanded(other, environment)
        except SettingsError as problem:
            # It may not have been started; the first model can do without.
            logger.warning("%s", problem)
    return [chosen(choice, environment) for choice in choices]


def keeping_of(configuration: Configuration) -> Keeping:
    """Return how sessions are kept; their store is open, and wants to be closed.

    Raises:
        StoreError: they cannot be kept there.
    """
    sessions = configuration.sessions
    if sessions.storage is not None and sessions.storage.is_file():
        raise StoreError("that is a file; sessions are kept in a directory")
    return Keeping(
        Store(sessions.storage),
        sessions.max_concurrent,
        sessions.idle_timeout,
        configuration.protocol.unstable,
    )


def conduct_of(configuration: Configuration) -> Conduct:
    """Return what turns may do and how far they go."""
    permissions, limits = configuration.permissions, configuration.limits
    return Conduct(
        PermissionRules(
            permissions.default_policy,
            frozenset(permissions.auto_allow),
            frozenset(permissions.always_ask),
            permissions.rules,
        ),
        Audit(permissions.audit) if permissions.audit is not None else None,
        TurnLimits(limits.requests, limits.tokens, limits.seconds),
        _tools_of(configuration),
        configuration.agent.instructions,
    )


def _tools_of(configuration: Configuration) -> dict[str, Tool]:
    """Return the tools that work as it is set."""
    allowed = configuration.fetch.allow_private
    return fetch_tool(PrivateHosts(allowed)) if allowed else {}


def mcp_of(mcp: Mcp, environment: Mapping[str, str]) -> McpSettings:
    """Return which MCP servers there are, with the variables that they name filled in.

    One that names a variable that is not set is left out: the others are still to be had.
    """
    limits = Limits(connections=mcp.max_connections, spawn_timeout=mcp.spawn_timeout)
    return McpSettings(_servers(mcp, environment), mcp.allowed_servers, limits)


def _servers(mcp: Mcp, environment: Mapping[str, str]) -> tuple[Server, ...]:
    tables: dict[str, Mapping[str, Json]] = {}
    for id_, members in mcp.servers.items():
        if mcp.allowed_servers and id_ not in mcp.allowed_servers:
            continue
        try:
            tables[id_] = {
                name: _filled(value, environment, name) if name in FILLED else value
                for name, value in members.items()
            }
        except _UnsetError as problem:
            logger.error("mcp.servers.%s is left out: %s", id_, problem)  # noqa: TRY400 - no bug
    return configured_servers(tables)


def _filled(value: Json, environment: Mapping[str, str], where: str) -> Json:
    """Return `value` with variables filled in wherever texts stand in it."""
    if isinstance(value, str):
        return REFERENCE.sub(lambda found: _looked_up(found[1], environment, where), value)
    if isinstance(value, list):
        values = cast("list[Json]", value)
        return [_filled(each, environment, f"{where}.{at}") for at, each in enumerate(values)]
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value).items()
        return {name: _filled(each, environment, f"{where}.{name}") for name, each in pairs}
    return value


def _looked_up(name: str, environment: Mapping[str, str], where: str) -> str:
    value = environment.get(name)
    if value is None:
        raise _UnsetError(f"{where}: the variable {name} is not set")
    return value
