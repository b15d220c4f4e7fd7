"""Commands and groups with help in sections, and with hints for what is mistyped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import click

from acp_console.cli.errors import UsageError, did_you_mean
from acp_protocol.host.lasting_output import lasting_output

OTHERS: Final = "Options"
"""The section of options that are in no other."""


class Command(click.Command):
    """Ends its help with the page that says more, and shows its options in sections."""

    def __init__(
        self,
        *args: Any,
        docs: str = "",
        sections: Mapping[str, Sequence[str]] | None = None,
        is_check: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.docs = docs
        """The page; that of the group if it is empty."""
        self.sections: Mapping[str, Sequence[str]] = sections or {}
        """The names of the parameters in each section."""
        self.is_check = is_check
        """Whether its exit code says what it found, also if the reader of its output has left."""

    def invoke(self, ctx: click.Context) -> Any:
        with lasting_output() if self.is_check else nullcontext():
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {each: [] for each in (*self.sections, OTHERS)}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row is not None:
                found = (each for each, names in self.sections.items() if param.name in names)
                rows[next(found, OTHERS)].append(row)
        for title, each in rows.items():
            if each:
                with formatter.section(title):
                    formatter.write_dl(each)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        docs = self.docs
        if not docs and ctx.parent is not None and isinstance(ctx.parent.command, Command):
            docs = ctx.parent.command.docs
        formatter.write_paragraph()
        formatter.write_text(f"More: docs/{docs}")


class Group(Command, click.Group):
    """Names the command that was probably meant."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, its name, and the other words."""
        name = args[0]
        if ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name):
            return super().resolve_command(ctx, args)
        hint = f"{ctx.command_path} --help lists the commands"
        raise UsageError(f"unknown command {name!r}", did_you_mean(name, self.known(ctx), hint))

    def known(self, ctx: click.Context) -> Sequence[str]:
        """Return the words that may come first."""
        return self.list_commands(ctx)
