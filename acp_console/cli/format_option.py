"""`--format` and its short form `--json`, and JSON as every command prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from acp_console.cli.errors import UsageError
from acp_console.wording.values import OUTPUT_VERSION, ascii_json
from acp_protocol.jsonrpc import Json

Command = TypeVar("Command", bound=Callable[..., object])


def format_option(formats: Sequence[str], about: str) -> Callable[[Command], Command]:
    """Add `--format` to a command, and `--json` for `--format json`; the parameter is `format_`.

    The first of `formats` is the default.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def run(*args: Any, format_: str, as_json: bool, **options: Any) -> object:
            if as_json:
                source = click.get_current_context().get_parameter_source("format_")
                if source is ParameterSource.COMMANDLINE and format_ != "json":
                    raise UsageError(f"--json contradicts --format {format_}", "give one of them")
                format_ = "json"
            return command(*args, format_=format_, **options)

        as_json = click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
        format_ = click.option(
            "--format",
            "format_",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help=about,
        )
        return cast("Command", format_(as_json(run)))

    return add


def print_json(value: Mapping[str, Json]) -> None:
    """Print an object on one line, with the version of the output."""
    click.echo(ascii_json({"v": OUTPUT_VERSION, **value}))
