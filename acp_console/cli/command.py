"""Commands and groups with help in sections, and with hints for what is mistyped."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from acp_console.cli.errors import UsageError
from acp_console.cli.progress import showing_progress
from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.host.lasting_output import lasting_output

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
"""A command or function to which a decorator adds options."""
OTHERS: Final = "Options"
"""The section of options that are in no other."""


class CliCommand(click.Command):
    """Ends its help with the page that says more, and shows its options in sections."""

    def __init__(
        self,
        *args: Any,
        topic: str = "",
        sections: Mapping[str, Sequence[str]] | None = None,
        is_check: bool = False,
        hints: Mapping[str, str] | None = None,
        shows_progress: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.topic = topic
        """The topic of the page that says more; that of the group if it is empty."""
        self.sections: Mapping[str, Sequence[str]] = sections or {}
        """The names of the parameters in each section."""
        self.is_check = is_check
        """Whether its exit code says what it found, also if the reader of its output has left."""
        self.hints: Mapping[str, str] = hints or {}
        """What to do instead, for options and commands of others that one may look for here."""
        self.shows_progress = shows_progress
        """Whether a bar shows how far it is in the files that it reads, or in what it counts."""

    def invoke(self, ctx: click.Context) -> Any:
        with (
            lasting_output() if self.is_check else nullcontext(),
            showing_progress() if self.shows_progress else nullcontext(),
        ):
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
        topic = self.topic
        if not topic and ctx.parent is not None and isinstance(ctx.parent.command, CliCommand):
            topic = ctx.parent.command.topic
        formatter.write_paragraph()
        formatter.write_text(f"More: acp-console help {topic}".removesuffix(" index"))


class Group(CliCommand, click.Group):
    """Names the command that was probably meant."""

    command_class = CliCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, its name, and the other words."""
        name = args[0]
        if ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name):
            return super().resolve_command(ctx, args)
        raise UsageError(f"unknown command {name!r}", self.hint(ctx, name))

    def hint(self, ctx: click.Context, name: str) -> str:
        """Return what to do instead of a command that there is not."""
        otherwise = f"{ctx.command_path} --help lists the commands"
        return self.hints.get(name) or did_you_mean(name, self.list_commands(ctx), otherwise)


class DefaultGroup(Group):
    """Imports its commands when they are called; the first one needs no name."""

    def __init__(
        self, *args: Any, package: str, summaries: Mapping[str, str], **settings: Any
    ) -> None:
        """Create the group.

        Args:
            args: For `click.Group`.
            package: Where the modules are; each is named as its command.
            summaries: Names and help lines of the commands.
            settings: For `Command` and `click.Group`.
        """
        settings.setdefault("options_metavar", "")
        settings.setdefault("subcommand_metavar", f"[{'|'.join(summaries)}] …")
        super().__init__(*args, **settings)
        self.package = package
        self.summaries = summaries
        self.default = next(iter(summaries))

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        return self.load(cmd_name) if cmd_name in self.summaries else None

    def load(self, name: str) -> click.Command:
        return importlib.import_module(f"{self.package}.{name}").command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the default command before arguments that begin with no name."""
        is_named = bool(args) and args[0] in {*self.summaries, *ctx.help_option_names}
        is_begun = not args and ctx.resilient_parsing
        if not is_named and not is_begun:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands, and what the default command offers."""
        default = self.load(self.default)
        inner = default.make_context(self.default, [], parent=ctx, resilient_parsing=True)
        if incomplete.startswith("-"):
            return default.shell_complete(inner, incomplete)
        first = next(each for each in default.params if isinstance(each, click.Argument))
        names = super().shell_complete(ctx, incomplete)
        return [*names, *first.shell_complete(inner, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))
