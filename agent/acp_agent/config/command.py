"""`acp-agent config` and `acp-agent agent-json`: they look at a configuration, and serve nobody."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.layers import Layers, read_layers, strangers
from acp_agent.config.place import NAMES, PlaceError, config_directory, config_file
from acp_agent.config.sample import sample, write_sample
from acp_agent.config.showing import as_json, as_toml
from acp_agent.flags import add_place_options, add_setting_options, given
from acp_agent.models.choice import check
from acp_agent.models.services import SettingsError
from acp_agent.registry import agent_json

DONE: Final = 0
FOUND: Final = 1
"""The file that was to be checked cannot be used."""
UNUSABLE: Final = 2
_STDOUT: Final = Path("-")


def run_command(arguments: Sequence[str]) -> int:
    """Do what the arguments say; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (ConfigurationError, PlaceError, SettingsError) as problem:
        _say(str(problem))
        return UNUSABLE
    except BrokenPipeError:
        # Whoever has read enough is not to be told of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _show(options: argparse.Namespace) -> int:
    layers = _layers(options)
    _write(as_json(layers) + "\n" if options.format == "json" else as_toml(layers))
    return DONE


def _init(options: argparse.Namespace) -> int:
    if options.file == _STDOUT:
        _write(sample())
        return DONE
    path: Path = options.file or config_directory(os.environ) / NAMES[0]
    write_sample(path, is_forced=options.force)
    _write(f"{path}\n")
    return DONE


def _check(options: argparse.Namespace) -> int:
    path: Path = options.file
    if not path.exists():
        raise ConfigurationError(f"{path}: there is no such file")
    try:
        layers = read_layers(path, {}, {})
        configuration = layers.configuration()
        for choice in (configuration.model, *configuration.others):
            check(choice)
    except ConfigurationError as problem:
        _write(f"{problem}\n")
        return FOUND
    except SettingsError as problem:
        _write(f"{path}: {problem}\n")
        return FOUND
    # Nothing else of the environment counts here: whether a file is right is no matter of it.
    for note in (*layers.notes, *strangers(os.environ)):
        _say(note)
    _write(f"{path}: can be used\n")
    return DONE


def _agent_json(options: argparse.Namespace) -> int:
    told = agent_json(_layers(options).configuration())
    _write(json.dumps(told, indent=2, ensure_ascii=True) + "\n")
    return DONE


def _layers(options: argparse.Namespace) -> Layers:
    flags = given(options)
    if options.no_config:
        return read_layers(None, {}, flags)
    layers = read_layers(config_file(options.config, os.environ), os.environ, flags)
    for note in layers.notes:
        _say(note)
    return layers


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="acp-agent")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "print the agent as registries know it"
    known = commands.add_parser("agent-json", help=about, description=about.capitalize() + ".")
    add_place_options(known)
    add_setting_options(known)
    known.set_defaults(run=_agent_json)
    about = "look at the configuration, check one, or begin one"
    config = commands.add_parser("config", help=about, description=about.capitalize() + ".")
    _add_config_commands(config)
    return parser


def _add_config_commands(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "print what is set, and who has set it; takes the flags of the agent, too"
    show = commands.add_parser("show", help=about, description=about.capitalize() + ".")
    show.add_argument(
        "--format", choices=("toml", "json"), default="toml", help="(default: %(default)s)"
    )
    add_place_options(show)
    add_setting_options(show)
    show.set_defaults(run=_show)
    about = "write a file with every key and what it does, for you alone (0600)"
    init = commands.add_parser("init", help=about, description=about.capitalize() + ".")
    init.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="- for stdout (default: the one that is read if none is named)",
    )
    init.add_argument("--force", action="store_true", help="write over a file that is there")
    init.set_defaults(run=_init)
    about = "look whether a file is right; exit code 1 if it is not"
    check_ = commands.add_parser("check", help=about, description=about.capitalize() + ".")
    check_.add_argument("file", type=Path, metavar="FILE")
    check_.set_defaults(run=_check)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"acp-agent: {line}\n")
