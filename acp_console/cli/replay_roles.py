"""`acp-console replay --as agent` and `--as alone`: a recording without an agent of one's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import click
from click.core import ParameterSource

from acp_console.cli import exit_codes
from acp_console.cli.errors import UsageError, say, warn
from acp_console.cli.format_option import print_json
from acp_console.cli.ignores import (
    applied_expectations,
    expectations_file,
    ignores_of,
    report_expectations,
    report_ignores,
    tolerances_of,
)
from acp_console.cli.reading import UNKNOWN_FIELDS
from acp_console.cli.run_async import run_until_signal
from acp_console.wording.values import OUTPUT_VERSION, plural
from acp_inspector.compare.diff import Ignore
from acp_inspector.compare.steps import Level
from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import Recording, garbage_collection_off, read_recording
from acp_inspector.replay.acts import AgentJudge
from acp_inspector.replay.agent_player import (
    ABOUT_CLIENT,
    CLIENT_TIMEOUT,
    AgentPlayer,
    MissPolicy,
)
from acp_inspector.replay.agent_script import AgentScript, connections
from acp_inspector.replay.expectations import expectations_beside
from acp_inspector.replay.reports import reported_refusal, write_report
from acp_inspector.replay.result import ReplayResult
from acp_inspector.replay.trust import Trust, check_trust, project_trust, recorded_acts
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.transport.stdio import open_stdio

Role: TypeAlias = Literal["client", "agent", "alone"]
Decorated = TypeVar("Decorated", bound=Callable[..., object])

OPTIONS: Final[dict[str, tuple[Role, ...]]] = {
    "agent": ("client",),
    "cwd": ("client",),
    "allow_redacted": ("client",),
    "timeout": ("client", "agent"),
    "trust": ("client", "agent"),
    "ignored": ("client", "agent"),
    "on_miss": ("client", "agent"),
    "pace": ("client", "agent"),
    "allow": ("client",),
    "output": ("client",),
    "learn": ("client",),
    "level": ("client", "agent"),
    "strict": ("client", "agent"),
    "expect": ("client", "agent"),
    "connection": ("agent",),
    "report": ("agent",),
    "is_update": ("alone",),
}
"""The roles that each option belongs to; others belong to all."""
ROLE_SECTIONS: Final = {
    "As the agent": ("connection", "report"),
    "Alone": ("is_update",),
}
"""The options of each role in the help."""
MAX_DIFFERENCES_SHOWN: Final = 20
"""Differences that are shown of each kind, unless all are requested."""


def role_options(command: Decorated) -> Decorated:
    """Add the roles `agent` and `alone` to `replay`, with their options.

    The command itself is called as the client only.
    """

    @wraps(command)
    def run(
        *args: Any,
        connection: int,
        report: Path | None,
        is_update: bool,
        **options: Any,
    ) -> object:
        context = click.get_current_context()
        role: Role = options["role"]
        _check_options(context, role)
        if role == "client":
            return command(*args, **options)
        is_json, is_all = options["format_"] == "json", options["is_all"]
        if role == "alone":
            with garbage_collection_off():
                recording = _read(options["file"])
                return _snapshot(recording, is_update=is_update, is_json=is_json, is_all=is_all)
        with reported_refusal(report, options["file"], "agent"):
            ignores = ignores_of(options["ignored"], lacks=UNKNOWN_FIELDS)
            recording = _read(options["file"])
            is_default = context.get_parameter_source("timeout") is ParameterSource.DEFAULT
            agent = _AgentOptions(
                on_miss=_policy(options["on_miss"]),
                speed=options["pace"],
                connection=connection,
                timeout=CLIENT_TIMEOUT if is_default else options["timeout"],
                report=report,
                ignores=ignores,
                expect=expectations_file(recording.path, options["expect"]),
                level=options["level"],
                strict=options["strict"],
                trust=project_trust(Path.cwd(), is_given=options["trust"]),
                is_json=is_json,
                limit=None if is_all else MAX_DIFFERENCES_SHOWN,
            )
            return _replay_as_agent(recording, agent)

    options = (
        click.option(
            "--connection",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            metavar="N",
            help="Which process to play if the recording has several.",
        ),
        click.option(
            "--report",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write the verdict to FILE: as JUnit if it ends with .xml, else as JSON.",
        ),
        click.option(
            "--update",
            "is_update",
            is_flag=True,
            help="Show what differs, and store the snapshot anew.",
        ),
    )
    decorated = cast("Decorated", run)
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _policy(on_miss: str | None) -> MissPolicy:
    """Return what is done with a request that the recording does not have.

    Raises:
        UsageError: it is for the other role.
    """
    if on_miss == "forward":
        raise UsageError(
            "--on-miss forward does not go with --as agent", "use nearest, error or fail"
        )
    return cast("MissPolicy", on_miss or "nearest")


def _check_options(context: click.Context, role: Role) -> None:
    """Refuse options that do nothing in this role.

    Raises:
        UsageError: one was given.
    """
    given = context.meta.get("agent_command")
    if given is not None and role != "client":
        raise UsageError(f"--as {role} starts no agent", "leave the command after -- out")
    for param in context.command.params:
        roles = OPTIONS.get(param.name or "", (role,))
        source = context.get_parameter_source(param.name or "")
        if role not in roles and source is ParameterSource.COMMANDLINE:
            name = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
            raise UsageError(
                f"{name} does not go with --as {role}", f"it goes with --as {roles[0]}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgentOptions:
    """The options of `--as agent`."""

    on_miss: MissPolicy
    speed: float
    connection: int
    timeout: float
    report: Path | None
    ignores: Sequence[Ignore]
    expect: Path | None
    level: Level
    strict: Sequence[str]
    trust: Trust
    is_json: bool
    limit: int | None
    """Differences of each kind to show; None: all."""


def _replay_as_agent(recording: Recording, options: _AgentOptions) -> int:
    """Play the agent on stdin and stdout; print the verdict to stderr, and return the exit code.

    Raises:
        RecordingError: it has no such connection, or would have the client start or touch what it
            names; nothing was sent.
    """
    expected = applied_expectations(options.expect)
    script, is_trusted = _script(recording, options)
    is_redacted = bool(recording.header.redacted)
    if is_redacted:
        say("the recording is redacted: the client gets placeholders where it had secrets")

    async def play() -> int:
        player = AgentPlayer(
            script,
            transport := open_stdio(framing=None),
            on_miss=options.on_miss,
            speed=options.speed,
            is_redacted=is_redacted,
            ignores=[*options.ignores, *expected.ignores],
            options={
                "level": options.level,
                "matchers": expected.matchers,
                "tolerances": tolerances_of(options.strict),
            },
            judge=None if is_trusted else AgentJudge(),
        )
        code = exit_codes.FOUND
        try:
            await player.play(timeout=options.timeout)
            await transport.aclose()
        finally:
            # A client may also end its agent by a signal, and wants the verdict then too.
            result = player.result()
            if hint := _hint_about_client(result, recording.path):
                result = replace(result, notes=(*result.notes, hint))
            for note in player.notes:
                say(escape_controls(note))
            if options.report is not None:
                write_report(options.report, recording.path, result)
            if options.is_json:
                value = {"v": OUTPUT_VERSION, "file": str(recording.path), **result.to_json()}
                text = json.dumps(value)
            else:
                name = escape_controls(recording.path.name)
                text = f"{name}: {result.render(limit=options.limit)}"
            sys.stderr.write(f"{text}\n")
            if result.is_passed:
                code = exit_codes.DONE
            is_expected = report_expectations(expected, options.expect)
            if not report_ignores(options.ignores) or not is_expected:
                code = exit_codes.USAGE
        return code

    return run_until_signal(play)


def _hint_about_client(result: ReplayResult, recording: Path) -> str:
    """Return how to allow another client; empty if it describes itself as recorded."""
    paths = [
        each.path.partition("[")[0]
        for each in result.differences
        if each.name in ABOUT_CLIENT and each.path.startswith("$.params.")
    ]
    if not paths:
        return ""
    return (
        f"the client describes itself otherwise: {', '.join(dict.fromkeys(paths))}; to allow that, "
        f"give each path to --ignore, or an [[ignore]] entry with path and reason in "
        f"{expectations_beside(recording).name}"
    )


def _script(recording: Recording, options: _AgentOptions) -> tuple[AgentScript, bool]:
    """Return what is played, and whether it is trusted.

    Raises:
        RecordingError: there is no such connection, or it would act and is not trusted.
    """
    found = connections(recording.entries) or [list(recording.entries)]
    if options.connection > len(found):
        raise RecordingError(
            f"{recording.path} has {plural(len(found), 'connection')}, not {options.connection}"
        )
    if len(found) > 1:
        say(f"connection {options.connection} of {len(found)} is played; see --connection")
    script = AgentScript(
        found[options.connection - 1],
        is_complete=recording.footer is not None and not recording.bad_lines,
    )
    trust = options.trust
    is_trusted = check_trust(recording, "agent", trust, script.frames, has_files=False)
    for line in recorded_acts(recording, "agent", script.frames, has_files=False):
        say(f"the client will be requested to do this: {line}")
    return script, is_trusted


def _read(path: Path) -> Recording:
    recording = read_recording(path)
    for fault in recording.bad_lines:
        warn(f"{recording.path}, line {fault.line}: {fault.reason}")
    return recording


def _snapshot(recording: Recording, *, is_update: bool, is_json: bool, is_all: bool) -> int:
    """Compare our reading of the recording with the stored one; return the exit code.

    Raises:
        RecordingError: the snapshot is missing or invalid, or cannot be written.
    """
    # pydantic takes time, and the other roles do not need it.
    from acp_inspector.replay.snapshot import compare_with_snapshot, snapshot_path

    found = compare_with_snapshot(recording, is_updating=is_update)
    if found is None:
        path = snapshot_path(recording.path)
        raise RecordingError(f"there is no snapshot {path}", hint="store one with --update")
    if is_json:
        print_json(
            {
                "file": str(recording.path),
                "snapshot": str(found.path),
                "passed": found.is_passed,
                "updated": is_update and bool(found.diff),
                "findings": len(found.now.findings),
                "sessions": len(found.now.conversation),
                "exchanges": len(found.now.exchanges),
                "diff": [*found.diff],
            }
        )
    else:
        for line in found.diff if is_all else found.shown(" (--all shows them)"):
            click.echo(line)
        why = "the recording holds no frame" if found.is_empty else f"{found.path.name} differs"
        verdict = f"pass: {found.counts}" if found.is_passed else f"fail: {why}; {found.counts}"
        if is_update and not found.is_empty:
            done = f"stored {found.path.name}" if found.diff else "unchanged"
            verdict = f"{done}: {found.counts}"
        click.echo(f"{escape_controls(recording.path.name)}: {verdict}")
    if is_update:
        found.store()
    is_done = found.is_passed or (is_update and not found.is_empty)
    return exit_codes.DONE if is_done else exit_codes.FOUND
