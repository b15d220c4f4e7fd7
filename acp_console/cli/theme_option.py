"""The option that chooses the theme of the screens."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


def theme_option(command: Command) -> Command:
    """Give a command the option `--theme`; before the command's name, it counts too."""
    return click.option(
        "--theme",
        callback=_known,
        shell_complete=_complete,
        metavar="NAME",
        help="Theme: acp-dark, acp-light, acp-colorblind, … (default: the last one chosen).",
    )(command)


def _known(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    if name is None:
        return None if context.parent is None else context.parent.params.get("theme")
    from acp_console.tui.themes import THEME_NAMES

    if name not in THEME_NAMES:
        close = get_close_matches(name, THEME_NAMES, 1)
        text = f"did you mean {close[0]}?" if close else f"choose from {', '.join(THEME_NAMES)}"
        raise click.BadParameter(f"there is no theme {name!r}; {text}", context, parameter)
    return name


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    del context, parameter
    from acp_console.tui.themes import THEME_NAMES

    return [CompletionItem(name) for name in THEME_NAMES if name.startswith(incomplete)]
