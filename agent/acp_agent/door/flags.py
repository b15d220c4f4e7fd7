"""The flags of `acp-agent`; those of settings are made of the table of keys.

A flag overrides what the configuration sets; the key is the option's `dest`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from acp_agent.continuum.config import read_config
from acp_agent.settings.keys import setting_keys
from acp_agent.settings.load import LoadedSettings, load_settings
from acp_agent.settings.model import full_name
from acp_agent.settings.providers import PROVIDERS
from acp_agent.settings.types import parse_seconds
from acp_protocol.host.arguments import ArgumentParser, VersionAction
from acp_protocol.host.sanitize import error_text
from acp_protocol.user_files.paths import config_file
from acp_protocol.version import SCHEMA_ID, VERSION

HTTP: Final = "http"
"""The section whose flags only `acp-agent serve` has."""
ADMIN: Final = "admin"
"""The section whose flags only the agent on stdio has."""

LISTS: Final = frozenset({"http.allow_host", "http.allow_origin"})
"""Keys whose flag may be given several times."""


class _Extend(argparse.Action):
    """Adds the values of each use of a flag to those before it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest, ()), *values))


class _RefuseCassette(argparse.Action):
    """Refuses an option that people know from other tools, and names the way here."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        text = "--cassette: the agent records no model traffic itself"
        hint = "acp-console model record --cassette FILE -- acp-agent …, and model replay after it"
        parser.exit(2, error_text(text, hint))


class _RefuseHttp(argparse.Action):
    """Refuses the option of `serve`, and names the way there."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        text = "--http: without serve, the agent is on stdio"
        parser.exit(2, error_text(text, "acp-agent serve --http 127.0.0.1:8765"))


def new_parser() -> argparse.ArgumentParser:
    """Return the parser for serving on stdio."""
    parser = ArgumentParser(
        prog="acp-agent",
        description="An ACP agent on stdio; its built-in demo model needs no network and no key.",
        epilog="Other commands: acp-agent serve, acp-agent config show|init|check and acp-agent "
        "agent-json; see their --help.",
        topics=("configuration",),
        examples=(
            'acp-console exec "read README.md" -- acp-agent  # as an editor starts it',
            "acp-console exec hello -- acp-agent --script hello",
            "acp-agent --script faults --check",
        ),
    )
    version = f"acp-agent {VERSION} (ACP schema {SCHEMA_ID})"
    parser.add_argument("--version", action=VersionAction, version=version)
    add_config_options(parser)
    add_pace_option(parser)
    add_setting_options(parser, without={HTTP})
    parser.add_argument("--cassette", action=_RefuseCassette, help=argparse.SUPPRESS)
    parser.add_argument("--http", action=_RefuseHttp, help=argparse.SUPPRESS)
    group = parser.add_argument_group("login")
    group.add_argument(
        "--login",
        choices=[service.prefix for service in PROVIDERS.values() if service.needs_key],
        help="read a provider's key from this terminal, store it, and exit",
    )
    group = parser.add_argument_group("testing clients")
    group.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="run this script and its faults instead of an agent: a Python file, or one of hello, "
        "tour, editor, cancel, sessions, faults, chaos. Of the other options, only --protocol "
        "and --dialect apply",
    )
    group.add_argument(
        "--seed", type=int, metavar="N", help="random seed (overrides the one in the script)"
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="only read the script; exit code 1 if it cannot be used",
    )
    group.add_argument(
        "--debug", action="store_true", help="print the whole traceback if the script raises"
    )
    return parser


def new_serve_parser() -> argparse.ArgumentParser:
    """Return the parser for serving over HTTP and WebSocket."""
    parser = ArgumentParser(
        prog="acp-agent serve",
        description="The agent over HTTP and WebSocket, at the path /acp: each client that connects"
        " gets an agent of its own; all have the same sessions. Requests need the token: "
        "`Authorization: Bearer TOKEN`, or, for pages, the WebSocket subprotocols `acp` and "
        "`acp.bearer.TOKEN`. /healthz needs none; /metrics has counts in the OpenMetrics format. "
        "SIGTERM ends the server after the turns that run.",
        epilog="An address that other machines reach needs --tls-cert and --tls-key, or --plain.",
        topics=("configuration",),
        examples=("acp-agent serve --http 127.0.0.1:8765",),
    )
    add_config_options(parser)
    add_pace_option(parser)
    add_setting_options(parser, without={ADMIN})
    return parser


def add_pace_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pace",
        type=parse_seconds,
        default=0.0,
        metavar="SECONDS",
        help="pause between pieces of streamed text, to watch them arrive",
    )


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the configuration."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration to read, TOML or YAML (default: $ACP_AGENT_CONFIG, or "
        "acp-console/acp-agent.toml in your configuration directory)",
    )
    group.add_argument(
        "--no-config",
        action="store_true",
        help="read no configuration, neither from a file nor from ACP_AGENT_… variables",
    )


def add_setting_options(
    parser: argparse.ArgumentParser, only: Collection[str] = (), *, without: Collection[str] = ()
) -> None:
    """Add the flags of settings; those not given have no attribute.

    `only` names keys that are added, `without` sections that are not.
    """
    groups: dict[str, Any] = {
        "model": parser.add_argument_group(
            "model", "Keys and URLs come from the environment, see acp-console help models."
        ),
        "protocol": parser.add_argument_group("protocol"),
        "sessions": parser.add_argument_group("sessions"),
    }
    if HTTP not in without and not only:
        groups[HTTP] = parser.add_argument_group("HTTP")
    for key in setting_keys().values():
        if key.flag is None or (only and key.path not in only) or key.section in without:
            continue
        argument: dict[str, Any]
        if key.written.choices:
            argument = {"choices": key.written.choices}
        elif key.metavar is None:
            # A flag can only turn on what is off by default.
            is_off = key.default is False
            argument = {"action": "store_true" if is_off else argparse.BooleanOptionalAction}
        else:
            type_ = full_name if key.path == "model.name" else key
            argument = {"type": type_, "metavar": key.metavar}
            if key.path in LISTS:
                argument["action"] = _Extend
        default = key.dump(key.default)
        suffix = "" if default in (None, False, []) else f" (default: {default})"
        group = groups.get(key.section, parser)
        group.add_argument(
            key.flag,
            dest=key.path,
            default=argparse.SUPPRESS,
            help=key.about + suffix,
            **argument,
        )


def load_options(options: argparse.Namespace) -> LoadedSettings:
    """Return the settings of the configuration that the options name, and of the options.

    Raises:
        ConfigPathError: the file cannot be determined.
        InvalidFileError: something is invalid.
    """
    flags = {name: value for name, value in vars(options).items() if "." in name}
    if options.no_config:
        return load_settings(None, {}, flags)
    path = config_file(options.config, os.environ)
    config = read_config(path) if path is not None else None
    return load_settings(config, os.environ, flags)
