"""`acp-console help`: the pages of the documentation, which are installed with the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

import acp_console
from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import UsageError
from acp_console.cli.group import COMMANDS, console
from acp_console.cli.printing import console as output
from acp_console.cli.printing import print_parts
from acp_protocol.host.did_you_mean import did_you_mean

INDEX: Final = "index"
"""The page that lists the others."""
_PACKAGE: Final = Path(acp_console.__file__).parent
_FOLDERS: Final = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""Where the pages are: in an installed package, and in a clone."""
_ROW: Final = re.compile(r"^\|.*?\[([^\]]+)\]\(([\w/-]+)\.md\)", re.MULTILINE)
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGE_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./)?([\w/-]+)\.md(?:#[\w-]+)?\)")
_OTHER_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\([^)]+\)")
_PICTURE: Final = re.compile(r"!\[([^\]]*)\]\([^)]+\)")


def folder() -> Path:
    """Return the folder of the pages."""
    return next((each for each in _FOLDERS if (each / f"{INDEX}.md").is_file()), _FOLDERS[0])


def topics() -> dict[str, str]:
    """Return the names of the pages with their titles, in the order of the index."""
    return {name: title for title, name in _ROW.findall(_read(INDEX))}


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    del context, parameter
    return [each for each in {**topics(), **COMMANDS} if each.startswith(incomplete)]


@click.command(name="help", cls=CliCommand, topic="index")
@click.argument("topic", required=False, shell_complete=_complete)
@click.pass_context
def command(context: click.Context, *, topic: str | None) -> int:
    """Read a page of the documentation, or list the pages.

    TOPIC is a page, or a command, whose --help is printed. It needs no network.

    \b
    acp-console help
    acp-console help tutorial
    acp-console help show
    """  # noqa: D301 - the mark by which click keeps lines apart
    if topic is None:
        _list_topics()
        return exit_codes.DONE
    name = topic.removeprefix("docs/").removesuffix(".md")
    if name == INDEX or name in topics():
        _show(_read(name))
        return exit_codes.DONE
    if name in COMMANDS:
        return _show_help(context, name)
    hint = did_you_mean(name, {**topics(), **COMMANDS}, "acp-console help lists the topics")
    raise UsageError(f"there is no topic {topic!r}", hint)


def _show_help(context: click.Context, name: str) -> int:
    if name == "proxy":
        # It reads its options without click.
        from acp_console.cli.proxy import run_command

        return run_command(["--help"])
    found = console.get_command(context, name)
    assert found is not None
    with found.make_context(name, [], parent=context.parent, resilient_parsing=True) as inner:
        click.echo(found.get_help(inner))
    return exit_codes.DONE


def _list_topics() -> None:
    index, titles = _read(INDEX), topics()
    width = max(map(len, titles))
    for section in _SECTION.split(index)[1:]:
        rows = _ROW.findall(section)
        if not rows:
            print_parts((f"{section}:", "bold"))
        for title, name in rows:
            print_parts("  ", (f"{name:<{width}}", "cyan"), f"  {title}")
        if rows:
            click.echo()
    click.echo("acp-console help TOPIC shows a page, acp-console COMMAND --help explains a command")


def _read(name: str) -> str:
    try:
        return (folder() / f"{name}.md").read_text(encoding="utf-8")
    except OSError:
        hint = "install acp-console again; the same pages are in its repository, in docs"
        raise UsageError("the documentation is not installed with this program", hint) from None


def _show(page: str) -> None:
    """Print a page: drawn and through the pager on a terminal, as it is to anything else."""
    where = output()
    if not where.is_terminal:
        click.echo(page, nl=False)
        return
    from rich.markdown import Markdown

    from acp_console.cli.markdown_stream import CODE_THEME, MAX_WIDTH

    text = _PAGE_LINK.sub(_reference, page)
    text = _PICTURE.sub(r"*[picture: \1]*", _OTHER_LINK.sub(r"\1", text))
    with where.capture() as drawn:
        markdown = Markdown(text, code_theme=CODE_THEME, hyperlinks=False)
        where.print(markdown, width=min(where.width, MAX_WIDTH))
    click.echo_via_pager(drawn.get(), color=not where.no_color)


def _reference(link: re.Match[str]) -> str:
    return f"{link[1]} (`{link[2]}`)" if link[2] in topics() else link[1]
