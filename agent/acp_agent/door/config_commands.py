"""The commands `acp-agent config` and `acp-agent agent-json`, which serve no client."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from acp_agent.continuum.agent_card import agent_json
from acp_agent.continuum.config import read_config
from acp_agent.door.flags import add_config_options, add_setting_options, load_options
from acp_agent.models.factory import check_settings
from acp_agent.services import build_mcp
from acp_agent.settings.load import LoadedSettings, load_settings, unknown_variables
from acp_agent.settings.providers import SettingsError
from acp_agent.settings.show import as_json, as_toml, template
from acp_protocol.errors import describe_os_error
from acp_protocol.host.arguments import ArgumentParser
from acp_protocol.host.lasting_output import lasting_output, open_closed_streams
from acp_protocol.host.sanitize import error_text, labelled
from acp_protocol.user_files.paths import (
    CONFIG_NAMES,
    ConfigPathError,
    config_directory,
    config_file,
)
from acp_protocol.user_files.toml_source import InvalidFileError

OK: Final = 0
INVALID: Final = 1
"""The file to check is invalid."""
UNUSABLE: Final = 2


def run_command(arguments: Sequence[str]) -> int:
    """Run the command in `arguments`; return the exit code."""
    open_closed_streams()
    options = _parser().parse_args(arguments)
    try:
        with lasting_output():
            return options.run(options)
    except (InvalidFileError, ConfigPathError, SettingsError) as error:
        sys.stderr.write(error_text(str(error)))
        return UNUSABLE


def _show(options: argparse.Namespace) -> int:
    loaded = _loaded(options)
    _print(as_json(loaded) + "\n" if options.format == "json" else as_toml(loaded))
    return OK


def _default_path() -> Path:
    return config_directory(os.environ) / CONFIG_NAMES[0]


def _init(options: argparse.Namespace) -> int:
    if options.file == Path("-"):
        _print(template())
        return OK
    path: Path = options.file or _default_path()
    write_template(path, overwrite=options.force)
    _print(f"{path}\n")
    return OK


def _check(options: argparse.Namespace) -> int:
    path: Path = options.file or config_file(None, os.environ) or _default_path()
    if not path.exists():
        raise InvalidFileError(f"{path}: there is no such file")
    try:
        loaded = load_settings(read_config(path), {}, {})
        settings = loaded.settings()
        for model in (settings.model, *settings.others):
            check_settings(model)
    except (InvalidFileError, SettingsError) as error:
        _print(f"{error}\n" if isinstance(error, InvalidFileError) else f"{path}: {error}\n")
        return INVALID
    # Nothing else in the environment can make a file valid or invalid.
    for note in (*loaded.notes, *unknown_variables(os.environ)):
        sys.stderr.write(labelled("warning", note))
    _print(f"{path}: valid\n")
    return OK


def _agent_json(options: argparse.Namespace) -> int:
    settings = _loaded(options).settings()
    card = agent_json(settings, build_mcp(settings.mcp, os.environ))
    _print(json.dumps(card, indent=2) + "\n")
    return OK


def write_template(path: Path, *, overwrite: bool) -> None:
    """Write the template for its owner alone.

    Raises:
        InvalidFileError: it cannot be written, or the file exists and `overwrite` is false.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file appears under its name only when it is complete; mkstemp makes it 0600.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(template())
            if overwrite:
                draft.replace(path)
            else:
                try:
                    path.hardlink_to(draft)
                except FileExistsError:
                    raise InvalidFileError(f"{path} exists; --force overwrites it") from None
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
        raise InvalidFileError(f"{path} cannot be written: {reason}") from None


def _loaded(options: argparse.Namespace) -> LoadedSettings:
    loaded = load_options(options)
    for note in loaded.notes:
        sys.stderr.write(labelled("warning", note))
    return loaded


def _parser() -> argparse.ArgumentParser:
    def add_command(
        commands: Any, name: str, about: str, *examples: str, run: Callable[..., int] | None = None
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            examples=examples,
            topics=("configuration",),
        )
        command.set_defaults(run=run)
        return command

    parser = ArgumentParser(prog="acp-agent")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    card = add_command(
        commands,
        "agent-json",
        "print the agent's entry for registries",
        "acp-agent agent-json",
        run=_agent_json,
    )
    config = add_command(
        commands,
        "config",
        "show, create or check a configuration",
        "acp-agent config init acp-agent.toml",
        "acp-agent config check acp-agent.toml",
        "acp-agent config show --config acp-agent.toml",
    )
    commands = config.add_subparsers(title="commands", required=True, metavar="COMMAND")
    about = "print all settings and where they are set; takes the flags of the agent, too"
    show = add_command(commands, "show", about, "acp-agent config show --model demo", run=_show)
    show.add_argument(
        "--format",
        choices=("toml", "json"),
        default="toml",
        help="format of the output (default: %(default)s)",
    )
    add_config_options(card)
    add_setting_options(card, only=("model.name", "model.images"))
    add_config_options(show)
    add_setting_options(show)
    about = "write a file with every key and what it does, readable for you alone (0600)"
    init = add_command(commands, "init", about, "acp-agent config init acp-agent.toml", run=_init)
    init.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help='"-" for stdout (default: the file that is read if none is named)',
    )
    init.add_argument("--force", action="store_true", help="overwrite the file if it exists")
    about = "report every mistake in a file; exit code 1 if there is one"
    check = add_command(
        commands, "check", about, "acp-agent config check acp-agent.toml", run=_check
    )
    check.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="(default: the file that is read if none is named)",
    )
    return parser


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
