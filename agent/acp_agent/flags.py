"""The flags of `acp-agent`: what is given there stands above all that is configured elsewhere.

What sets a key of the configuration is named after it, and left out where it is not given.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from acp_agent.config.values import COUNT, DURATION_OR_NEVER, LISTEN, NAMESPACE, PATH, PAUSE
from acp_agent.models.choice import add_options
from acp_agent.models.services import SERVICES
from acp_agent.server import SURFACES
from acp_agent.surface import SESSION_LIMIT
from acp_agent.surface_auth import AuthMode
from acp_protocol.dialects.names import SPOKEN
from acp_protocol.version import SCHEMA_ID, VERSION


def new_parser() -> argparse.ArgumentParser:
    """Return the parser for serving."""
    parser = argparse.ArgumentParser(
        prog="acp-agent",
        description="An ACP agent on stdio; its embedded demo model needs no network and no key.",
        epilog="acp-agent config show|init|check and acp-agent agent-json do something else: "
        "see their --help, and docs/configuration.md.",
    )
    version = f"acp-agent {VERSION} (ACP schema {SCHEMA_ID})"
    parser.add_argument("--version", action="version", version=version)
    add_place_options(parser)
    parser.add_argument(
        "--pace",
        type=PAUSE,
        default=0.0,
        metavar="SECONDS",
        help="wait between two pieces of streamed text, to look at how they arrive",
    )
    add_setting_options(parser)
    _add_login_options(parser)
    _add_script_options(parser)
    return parser


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which configuration is read."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration to read, TOML or YAML (default: $ACP_AGENT_CONFIG, else "
        "acp-console/acp-agent.toml in your configuration directory)",
    )
    group.add_argument(
        "--no-config",
        action="store_true",
        help="read no configuration, neither from a file nor from ACP_AGENT_… variables",
    )


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that set what a configuration could set."""
    add_options(parser)
    _add_protocol_options(parser)
    _add_session_options(parser)
    _add_auth_option(parser)
    parser.add_argument(
        "--namespace",
        dest="agent.namespace",
        type=NAMESPACE,
        default=argparse.SUPPRESS,
        metavar="NAME",
        help="put NAME: before the names of commands, where a client has several agents",
    )
    parser.add_argument(
        "--admin",
        dest="admin.listen",
        type=LISTEN,
        default=argparse.SUPPRESS,
        metavar="HOST:PORT",
        help="let the agent be looked at over HTTP, on this machine and with a token: HOST:PORT, "
        "port 0 for any, or unix:FILE (default: off)",
    )
    parser.add_argument(
        "--audit",
        dest="permissions.audit",
        type=PATH,
        default=argparse.SUPPRESS,
        metavar="FILE",
        help="write each decision about a tool call to the end of this file (default: nowhere)",
    )


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values that were given, by their keys in the configuration."""
    members: Mapping[str, Any] = vars(options)
    return {name: value for name, value in members.items() if "." in name}


def _add_script_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("testing clients")
    group.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="play this scenario, its faults included, in place of being an agent; hello, tour, "
        "editor, cancel, sessions, faults and chaos come along. Of the other options only "
        "--protocol and --dialect count then",
    )
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="what chance in the scenario is taken from, in place of the seed that it names",
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="only look whether the scenario is right; exit code 1 if it is not",
    )


def _add_login_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("logging in")
    group.add_argument(
        "--login",
        choices=[service.prefix for service in SERVICES.values() if service.needs_key],
        help="ask for the key of a service on this terminal, keep it, and end",
    )


def _add_auth_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--auth",
        dest="auth.mode",
        choices=get_args(AuthMode),
        default=argparse.SUPPRESS,
        help="besides the keys that models need: stub offers a login that takes everybody, "
        "required wants it before sessions (default: keys)",
    )


def _add_protocol_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("protocol", argument_default=argparse.SUPPRESS)
    group.add_argument(
        "--protocol",
        dest="protocol.version",
        type=int,
        choices=sorted(SURFACES),
        help="newest protocol version to speak; 2 is a draft (default: 1)",
    )
    group.add_argument(
        "--dialect",
        dest="protocol.dialect",
        choices=SPOKEN,
        help="how the client speaks, if not by the published protocol (default: recognised)",
    )
    group.add_argument(
        "--unstable",
        dest="protocol.unstable",
        action="store_true",
        default=argparse.SUPPRESS,
        help="offer what is not stable in the protocol yet: fork, archive, status and titles of "
        "sessions, setting where models are reached, auth/status, MCP servers of the client",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sessions", argument_default=argparse.SUPPRESS)
    group.add_argument(
        "--sessions",
        dest="sessions.storage",
        type=PATH,
        metavar="DIR",
        help="keep sessions in this directory; without it they are gone with the process",
    )
    group.add_argument(
        "--max-concurrent",
        dest="sessions.max_concurrent",
        type=COUNT,
        metavar="N",
        help=f"sessions that may be awake at once (default: {SESSION_LIMIT}); others sleep",
    )
    group.add_argument(
        "--idle-timeout",
        dest="sessions.idle_timeout",
        type=DURATION_OR_NEVER,
        metavar="TIME",
        help="let a session sleep in which nothing has happened for so long, as in 90s, 30m, 1h "
        "(default), or never",
    )
