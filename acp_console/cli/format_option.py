"""`--format` and its short form `--json`, and JSON as every command prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

import click

from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError
from acp_console.wording.values import OUTPUT_VERSION, ascii_json
from acp_protocol.jsonrpc import Json


def format_option(
    formats: Sequence[str], about: str, *, is_optional: bool = False
) -> Callable[[Decorated], Decorated]:
    """Add `--format` to a command, and `--json` for `--format json`; the parameter is `format_`.

    The first of `formats` is the default; with `is_optional` the parameter is None by default.
    """

    def add(command: Decorated) -> Decorated:
        @wraps(command)
        def run(*args: Any, format_: str | None, as_json: bool, **options: Any) -> object:
            if as_json and format_ not in {None, "json"}:
                raise UsageError(f"--json contradicts --format {format_}", "give one of them")
            chosen = "json" if as_json else format_
            default = None if is_optional else formats[0]
            return command(*args, format_=chosen or default, **options)

        as_json = click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
        format_ = click.option(
            "--format",
            "format_",
            type=click.Choice(formats),
            help=f"{about}  [default: {formats[0]}]",
        )
        return cast("Decorated", format_(as_json(run)))

    return add


def print_json(value: Mapping[str, Json]) -> None:
    """Print an object on one line, with the version of the output."""
    click.echo(ascii_json({"v": OUTPUT_VERSION, **value}))
