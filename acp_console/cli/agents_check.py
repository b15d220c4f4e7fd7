"""`acp-console agents check`: which agents work on this machine, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from acp_console.agents.catalogue import CatalogueEntry, open_catalogue
from acp_console.cli import exit_codes
from acp_console.cli.agent_option import complete_agent, jobs_option
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import say
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.param_types import DURATION
from acp_console.cli.printing import BAD, FAINT, GOOD, Styles, print_table
from acp_console.cli.progress import counting
from acp_console.cli.run_async import run_until_signal
from acp_console.wording.tables import Layout
from acp_console.wording.values import cell_text, plural
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.json_values import get_string

if TYPE_CHECKING:
    from acp_console.chat.agent_check import AgentCheck

TABLE: Final = Layout(
    columns=(
        "name",
        "found",
        "starts",
        "version",
        "login",
        "sessions",
        "modes",
        "models",
        "commands",
        "MCP",
        "time",
    ),
    words=("name", "found", "starts", "version", "login", "sessions", "MCP"),
    flexible="sessions",
    spare=("MCP", "commands", "version"),
)

STYLES: Final[Styles] = {
    "name": lambda name: "bold",
    "found": lambda status: "" if status == "ready" else FAINT,
    "starts": lambda starts: {"yes": GOOD, "no": BAD}.get(starts, ""),
}


@click.command(name="check", cls=CliCommand, is_check=True, shows_progress=True)
@click.argument("names", nargs=-1, metavar="[NAME]…", shell_complete=complete_agent)
@click.option(
    "--yes",
    "is_confirmed",
    is_flag=True,
    help="Also start, this once, agents of the catalogue whose command you have not confirmed.",
)
@jobs_option
@click.option(
    "--timeout",
    type=DURATION,
    metavar="DURATION",
    help="Time limit for the start of an agent, and for its session. Default: as long as the agent "
    "is known to need, and 30 seconds.",
)
@format_option(("text", "json"), "json: one object per line.")
def command(
    *, names: tuple[str, ...], is_confirmed: bool, jobs: int, timeout: float | None, format_: str
) -> int:
    """Start agents and show what each offers.

    Without NAME that is every agent that acp-console knows. Those that are installed are started,
    in a temporary directory, and open a session; no prompt is sent. Nothing is downloaded: what is
    not installed is listed as such. Exits with 1 if one of them does not start or, for another
    reason than a login that is missing, opens no session; also if one that you named is missing.

    \b
    acp-console agents check
    acp-console agents check claude gemini
    acp-console agents check --json | jq -r 'select(.starts) | .name'
    """  # noqa: D301 - the mark by which click keeps lines apart
    catalogue = open_catalogue()
    entries = [catalogue.find(name) for name in dict.fromkeys(names)] or list(catalogue.entries)
    start_unconfirmed = is_confirmed or _confirmed(entries)

    async def run() -> int:
        from acp_console.chat.agent_check import check_agents
        from acp_console.chat.probe import SESSION_TIMEOUT_S

        found = await check_agents(
            catalogue,
            entries,
            on_checked=counting(len(entries), "agents"),
            start_unconfirmed=start_unconfirmed,
            jobs=jobs,
            start_timeout=timeout,
            session_timeout=SESSION_TIMEOUT_S if timeout is None else timeout,
        )
        if format_ == "json":
            for each in found:
                print_json(_facts(each))
        else:
            _print(found, is_named=bool(names))
        is_wrong = any(each.has_failed or (names and not each.is_tried) for each in found)
        return exit_codes.FOUND if is_wrong else exit_codes.DONE

    return run_until_signal(run)


def _confirmed(entries: Sequence[CatalogueEntry]) -> bool:
    """Ask whether commands that the user has not confirmed may run; without a terminal, no."""
    new = [each for each in entries if each.state == "ready" and not each.is_confirmed]
    if not new or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{plural(len(new), 'command')} of the catalogue that you have not confirmed yet:")
    for entry in new:
        click.echo(f"  {escape_controls(entry.command_line)}", err=True)
    reply: str = click.prompt("Run them now? [y/N]", default="", show_default=False, err=True)
    return reply.strip().lower() in {"y", "yes"}


def _facts(check: AgentCheck) -> dict[str, Any]:
    from acp_console.chat.agent_check import MODE, MODEL

    entry, claims = check.entry, check.claims
    facts: dict[str, Any] = {
        "name": entry.name,
        "title": entry.title,
        "state": entry.state,
        "command": () if entry.is_remote else entry.command,
        "url": entry.command[0] if entry.is_remote else None,
        "started": check.is_tried,
        "starts": claims is not None,
        "reason": check.reason,
    }
    if claims is None:
        return facts
    return facts | {
        "agentInfo": claims.info,
        "protocol": claims.protocol,
        "login": check.login,
        "authMethods": claims.auth_methods,
        "sessions": claims.sessions,
        "modes": check.values(MODE),
        "models": check.values(MODEL),
        "commands": claims.commands,
        "mcp": claims.servers,
        "seconds": round(claims.start_seconds, 3),
    }


def _print(found: Sequence[AgentCheck], *, is_named: bool) -> None:
    """Print the table, and below it why something is missing in it."""
    rows = [_row(each) for each in found]
    print_table(TABLE, rows, STYLES)
    for each in found:
        if each.reason and (is_named or each.entry.state == "ready"):
            click.echo(f"{cell_text(each.entry.name)}: {single_line(each.reason, 300)}")
    absent = sum(each.entry.state != "ready" for each in found)
    if absent and not is_named:
        say(f"{absent} not installed; acp-console agents shows what installs them")


def _row(check: AgentCheck) -> list[str]:
    from acp_console.chat.agent_check import MODE, MODEL

    claims = check.claims
    starts = "" if not check.is_tried else "no" if claims is None else "yes"
    row = [cell_text(check.entry.name), check.entry.status, starts]
    if claims is None:
        return row + [""] * (len(TABLE.columns) - len(row))
    return [
        *row,
        cell_text(get_string(dict(claims.info), "version")),
        check.login,
        " ".join(claims.sessions),
        *(_count(each) for each in (check.values(MODE), check.values(MODEL), claims.commands)),
        cell_text(" ".join(claims.servers)),
        f"{claims.start_seconds:.1f} s",
    ]


def _count(values: Sequence[object]) -> str:
    return str(len(values)) if values else "–"
