"""The option that chooses the theme of the screens."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError
from acp_protocol.host.did_you_mean import did_you_mean


def theme_option(command: Decorated) -> Decorated:
    """Give a command the option `--theme`; before the command's name, it counts too."""
    return click.option(
        "--theme",
        callback=_known,
        shell_complete=_complete,
        metavar="NAME",
        help="Theme: acp-dark, acp-light, acp-colorblind, … (default: the last one chosen).",
    )(command)


def _known(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    del parameter
    if name is None:
        return None if context.parent is None else context.parent.params.get("theme")
    from acp_console.tui.themes import THEME_NAMES

    if name not in THEME_NAMES:
        hint = did_you_mean(name, THEME_NAMES, f"choose from {', '.join(THEME_NAMES)}")
        raise UsageError(f"--theme: there is no theme {name!r}", hint)
    return name


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    del context, parameter
    from acp_console.tui.themes import THEME_NAMES

    return [CompletionItem(name) for name in THEME_NAMES if name.startswith(incomplete)]
