"""`acp-console sessions`: what was said in chats of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import record_option
from acp_console.cli.command import Decorated, Group
from acp_console.cli.errors import UsageError, say
from acp_console.cli.format_option import ascii_json, format_option, print_json
from acp_console.cli.printing import print_table
from acp_console.home import age
from acp_console.kept.session_store import (
    RecordedDecision,
    RecordedSessions,
    RunningSessionError,
    StoredSession,
    UnknownSessionError,
    Usage,
    agent_of,
    export_recording,
    read_conversations,
    read_decisions,
)
from acp_console.wording.tables import Layout
from acp_console.wording.transcript import transcript_lines
from acp_console.wording.transcript_html import html_page
from acp_console.wording.transcript_markdown import document_lines
from acp_console.wording.values import OUTPUT_VERSION, below_home, cell_text, plural
from acp_inspector.recording.format import RecordingError
from acp_inspector.session.conversation import Conversation
from acp_inspector.views.to_json import session_to_json
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["recording", "markdown", "html", "json"]

WIDTH: Final = 160
SUFFIXES: Final[dict[str, Format]] = {
    ".md": "markdown",
    ".html": "html",
    ".json": "json",
    ".ndjson": "recording",
}
LIST: Final = Layout(
    columns=("id", "used", "state", "agent", "directory", "turns", "context", "session"),
    words=("id", "used", "state", "agent", "directory", "session"),
    flexible="session",
    spare=("context", "turns", "directory", "agent"),
)


def _selection(command: Decorated) -> Decorated:
    """Add the options that select sessions by agent and directory."""
    agent = click.option(
        "--agent", metavar="NAME", help="Only sessions of this agent, by its name or its title."
    )
    directory = click.option(
        "--cwd",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Only sessions in this directory.",
    )
    return agent(directory(command))


@click.group(
    name="sessions",
    cls=Group,
    topic="sessions",
    invoke_without_command=True,
    hints={
        **dict.fromkeys(("remove", "delete"), "acp-console sessions rm ID removes a session"),
        **dict.fromkeys(("save", "write"), "acp-console sessions export ID -o FILE writes it"),
        **dict.fromkeys(("open", "load", "continue"), "acp-console sessions resume ID"),
    },
)
@click.pass_context
def command(context: click.Context) -> int | None:
    """List, read, resume, export and remove the sessions that chats have kept.

    An ID may be abbreviated; that of the agent works too.

    \b
    acp-console sessions ls --cwd .
    acp-console sessions show
    acp-console sessions resume
    acp-console sessions export 3f2a91c0 -o talk.md
    """  # noqa: D301 - the mark by which click keeps lines apart
    if context.invoked_subcommand is not None:
        return None
    return _list(RecordedSessions().sessions())


@command.command(name="ls")
@_selection
@click.option("--all", "with_empty", is_flag=True, help="Also those in which nothing was said.")
@format_option(("text", "json"), "json: one object per line.")
def list_command(*, agent: str | None, cwd: Path | None, with_empty: bool, format_: str) -> int:
    """List the sessions, the last used first.

    \b
    acp-console sessions ls --agent gemini
    acp-console sessions ls --json | jq -r .title
    """  # noqa: D301 - the mark by which click keeps lines apart
    sessions = _select(agent, cwd, with_empty=with_empty)
    if format_ == "json":
        for each in sessions:
            print_json(_facts(each))
        return exit_codes.DONE
    return _list(sessions)


@command.command(name="show")
@click.argument("id_", metavar="[ID]", required=False)
@format_option(("text", "json"), "json: one object with the whole conversation.")
def show_command(*, id_: str | None, format_: str) -> int:
    """Print the conversation of a session.

    Without ID, it is the last one of this directory.

    \b
    acp-console sessions show
    acp-console sessions show --json 3f2a91c0
    """  # noqa: D301 - the mark by which click keeps lines apart
    session = _find(id_)
    if format_ == "json":
        click.echo(_json(session), nl=False)
        return exit_codes.DONE
    click.echo(single_line(f"{session.id}  {_about(session)}", WIDTH))
    for part in session.parts:
        click.echo(f"recorded in {escape_controls(str(part.recording))}")
    for talk in read_conversations(session):
        for line in transcript_lines(talk.at(talk.cursor.n)):
            click.echo(line)
    for decision in read_decisions(session):
        click.echo(single_line(f"you decided: {_decided(decision)}", WIDTH))
    return exit_codes.DONE


@command.command(name="resume")
@click.argument("id_", metavar="[ID]", required=False)
@record_option
def resume_command(*, id_: str | None, record: Path | None) -> int:
    """Go on with a session in the console.

    Without ID, it is the last one of this directory. Where the agent cannot resume it, a new
    session begins, below the old conversation.

    \b
    acp-console sessions resume
    acp-console sessions resume 3f2a91c0
    """  # noqa: D301 - the mark by which click keeps lines apart
    session = _find(id_)
    if session.state == "running":
        raise RunningSessionError(f"session {session.id} is open in a console already")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "resume needs a terminal", "without one, use acp-console exec --session ID"
        )
    # Imported late: they take time, and the other commands need neither.
    from acp_console.agents.catalogue import open_catalogue
    from acp_console.tui.app import run_console

    agent = agent_of(session, open_catalogue())
    return run_console(agent=agent, start="chat", cwd=session.cwd, record=record, continued=session)


@command.command(name="export")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("-o", "--output", "out", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--to",
    type=click.Choice(get_args(Format)),
    help="Format; by default that of the name: .md, .html, .json or .ndjson (a recording).",
)
@click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
def export_command(*, id_: str | None, out: Path | None, to: Format | None, overwrite: bool) -> int:
    """Write a session to a file.

    Without ID, it is the last one of this directory. A recording holds the frames of all its runs,
    for inspect, lint and replay. Markdown, HTML and JSON go to stdout without -o. An HTML page runs
    nothing and fetches nothing. Nothing is redacted: see acp-console redact.

    \b
    acp-console sessions export -o session.acp.ndjson
    acp-console sessions export --to markdown 3f2a91c0 >talk.md
    """  # noqa: D301 - the mark by which click keeps lines apart
    session = _find(id_)
    if out is None:
        if to == "recording":
            raise UsageError("a recording cannot go to stdout", "name a file with -o FILE")
        click.echo(_TEXTS[to or "markdown"](session), nl=False)
        return exit_codes.DONE
    if os.path.lexists(out) and not overwrite:
        raise UsageError(f"{out} exists already", "choose another name, or use --overwrite")
    chosen = to or SUFFIXES.get(out.suffix)
    if chosen is None:
        raise UsageError(
            f"{out} does not say which format to export",
            "use a name that ends with .ndjson, .md, .html or .json, or --to FORMAT",
        )
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        if chosen == "recording":
            export_recording(session, fresh)
        else:
            text = _TEXTS[chosen](session)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        fresh.replace(out)
    except OSError as problem:
        raise RecordingError(f"cannot write {out}: {describe_os_error(problem)}") from None
    finally:
        with suppress(OSError):
            fresh.unlink()
    return exit_codes.DONE


@command.command(name="rm")
@click.argument("ids", nargs=-1, metavar="[ID...]")
@_selection
@click.option("--all", "are_all", is_flag=True, help="All sessions, or all that are selected.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def remove_command(
    *, ids: tuple[str, ...], agent: str | None, cwd: Path | None, are_all: bool, yes: bool
) -> int:
    """Remove sessions from this machine.

    The agent may still have them.

    \b
    acp-console sessions rm 3f2a91c0
    acp-console sessions rm --all --cwd . --yes
    """  # noqa: D301 - the mark by which click keeps lines apart
    if bool(ids) == are_all:
        raise UsageError("missing the sessions to remove", "name them by ID, or use --all")
    store = RecordedSessions()
    if are_all:
        found = [each for each in _select(agent, cwd, with_empty=True) if each.state != "running"]
    else:
        found = [store.find(each) for each in dict.fromkeys(ids)]
    if not found:
        say("there is nothing to remove")
        return exit_codes.DONE
    if not yes and not _is_confirmed(found):
        say("nothing was removed")
        return exit_codes.DONE
    for session in found:
        try:
            store.remove(session)
        except OSError as problem:
            raise RecordingError(
                f"cannot remove {session.recording}: {describe_os_error(problem)}"
            ) from None
    say(f"removed {plural(len(found), 'session')}")
    return exit_codes.DONE


def _is_confirmed(sessions: Sequence[StoredSession]) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("rm needs a terminal to ask you", "without one, use --yes")
    for session in sessions:
        click.echo(single_line(f"{session.id}  {_about(session)}", WIDTH), err=True)
    return click.confirm(f"Remove {plural(len(sessions), 'session')}?", err=True)


def _select(agent: str | None, cwd: Path | None, *, with_empty: bool) -> Sequence[StoredSession]:
    place = None if cwd is None else cwd.resolve()
    return RecordedSessions().sessions(agent=agent, cwd=place, with_empty=with_empty)


def _find(id_: str | None) -> StoredSession:
    store = RecordedSessions()
    if id_ is not None:
        return store.find(id_)
    if not (found := store.sessions(cwd=Path.cwd())):
        raise UnknownSessionError(
            "no session is kept of this directory", hint="acp-console sessions ls shows all"
        )
    return found[0]


def _list(sessions: Sequence[StoredSession]) -> int:
    if not sessions:
        say("no session is kept")
        return exit_codes.DONE
    rows = [
        (
            each.id,
            age(each.last_used),
            each.state,
            cell_text(each.agent.title),
            cell_text(below_home(each.cwd)),
            str(each.prompts),
            _context(each.usage),
            cell_text(each.title or ("(draft)" if each.draft else "nothing was said")),
        )
        for each in sessions
    ]
    print_table(LIST, rows)
    return exit_codes.DONE


def _context(usage: Usage) -> str:
    """Return how full the context is, and the cost."""
    parts: list[str] = []
    if usage.used is not None and usage.size:
        parts.append(f"{usage.used * 100 // usage.size} %")
    if usage.cost is not None:
        parts.append(single_line(f"{usage.cost:.2f} {usage.currency}".rstrip(), 20))
    return "  ".join(parts)


def _about(session: StoredSession) -> str:
    parts = [session.agent.title, str(session.cwd), _time(session.started), session.state]
    parts += filter(None, [_context(session.usage), session.title])
    return "  ".join(parts)


def _time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"


def _decided(decision: RecordedDecision) -> str:
    kind = f" ({decision.kind})" if decision.kind else ""
    return f"{decision.title}: {decision.option or 'an option'}{kind}"


def _document(session: StoredSession) -> Iterator[str]:
    """Yield the whole session as lines of Markdown."""
    facts = [
        f"{session.agent.title}, session {session.session_id}",
        str(session.cwd),
        f"{_time(session.started)} to {_time(session.last_used)}",
        _context(session.usage),
    ]
    return document_lines(
        read_conversations(session),
        title=session.title or session.id,
        facts=filter(None, facts),
        agent=session.agent.title,
    )


def _markdown(session: StoredSession) -> str:
    return "".join(f"{line}\n" for line in _document(session))


def _html(session: StoredSession) -> str:
    return "".join(f"{line}\n" for line in html_page(_document(session)))


def _json(session: StoredSession) -> str:
    def conversation(talk: Conversation) -> Json:
        return session_to_json(talk.at(talk.cursor.n))

    decisions: list[Json] = [
        {"n": each.seq, "title": each.title, "option": each.option, "kind": each.kind}
        for each in read_decisions(session)
    ]
    talks = list(map(conversation, read_conversations(session)))
    return f"{ascii_json({**_facts(session), 'conversations': talks, 'decisions': decisions})}\n"


_TEXTS: Final[dict[Format, Callable[[StoredSession], str]]] = {
    "markdown": _markdown,
    "html": _html,
    "json": _json,
}
"""What writes the formats that are text."""


def _facts(session: StoredSession) -> dict[str, Json]:
    return {
        "v": OUTPUT_VERSION,
        "id": session.id,
        "session": session.session_id,
        "agent": session.agent.name,
        "command": list(session.agent.command),
        "cwd": str(session.cwd),
        "title": session.title,
        "state": session.state,
        "started": session.started.isoformat(),
        "last_used": session.last_used.isoformat(),
        "prompts": session.prompts,
        "usage": asdict(session.usage),
        "draft": session.draft,
        "parent": session.parent,
        "recordings": [str(each.recording) for each in session.parts],
    }
