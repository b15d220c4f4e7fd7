"""What a client owes an agent: lines of files, terminals, and the option that a permission chooses.

The console, the fixtures of tests and the client of the conformance cases serve agents with these
functions, so that each agent gets the same from all of them.

Source: ACP, File System; Terminals; Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from acp_protocol.errors import RequestFailedError
from acp_protocol.host.sandbox import (
    FileForbiddenError,
    FileMissingError,
    FileRefusedError,
    SandboxedFiles,
)
from acp_protocol.host.terminals import (
    CommandRefusedError,
    CommandSpec,
    ExitStatus,
    TerminalMissingError,
    TerminalPool,
)
from acp_protocol.json_values import get_list
from acp_protocol.jsonrpc import INVALID_PARAMS, NOT_PERMITTED, RESOURCE_NOT_FOUND, Json
from acp_protocol.text_lines import lines_from

Verdict: TypeAlias = Literal["allow", "reject"]

TERMINAL_METHODS: Final = frozenset(
    f"terminal/{action}" for action in ("create", "output", "wait_for_exit", "kill", "release")
)
"""The methods that an agent may call if the client offers terminals."""


def read_file(files: SandboxedFiles, params: Mapping[str, Json]) -> Json:
    """Return the result of `fs/read_text_file`.

    Raises:
        RequestFailedError: there is no such file, or it may not be read.
    """
    try:
        text = files.read_text(_text(params, "path"))
    except FileRefusedError as problem:
        raise _refusal(problem, params) from None
    return {"content": lines_from(text, params.get("line"), params.get("limit"))}


def write_file(files: SandboxedFiles, params: Mapping[str, Json]) -> Json:
    """Write a file and return the result of `fs/write_text_file`.

    Raises:
        RequestFailedError: it may not be written.
    """
    try:
        files.write_text(_text(params, "path"), _text(params, "content"))
    except FileRefusedError as problem:
        raise _refusal(problem, params) from None
    return {}


def _text(params: Mapping[str, Json], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RequestFailedError(INVALID_PARAMS, f"Invalid params: params.{name} is not a string")
    return value


def _refusal(problem: FileRefusedError, params: Mapping[str, Json]) -> RequestFailedError:
    place = {"uri": f"file://{quote(_text(params, 'path'))}"}
    if isinstance(problem, FileMissingError):
        return RequestFailedError(RESOURCE_NOT_FOUND, str(problem), place)
    reason = {"reason": NOT_PERMITTED} if isinstance(problem, FileForbiddenError) else {}
    return RequestFailedError(INVALID_PARAMS, str(problem), place | reason)


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One of the options that the agent offers."""

    id: str
    name: str
    kind: str


def permission_options(params: Json) -> tuple[PermissionOption, ...]:
    """Return the well-formed options in the params of `session/request_permission`."""
    return tuple(
        PermissionOption(id_, name, kind)
        for each in get_list(params, "options")
        for id_, name, kind in _option(each)
    )


def _option(value: Json) -> list[tuple[str, str, str]]:
    match value:
        case {"optionId": str(id_), "name": str(name), "kind": str(kind)}:
            return [(id_, name, kind)]
        case _:
            return []


def find_option(options: Iterable[PermissionOption], verdict: Verdict) -> PermissionOption | None:
    """Return the first option with that verdict for once; if there is none, for always."""
    found = {option.kind: option for option in reversed([*options])}
    return found.get(f"{verdict}_once") or found.get(f"{verdict}_always")


def permission_result(option_id: str | None) -> Json:
    """Return the result of `session/request_permission`; without an option, it was cancelled."""
    if option_id is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


async def serve_terminal(
    terminals: TerminalPool,
    method: str,
    params: Mapping[str, Json],
    *,
    cwd: Path,
    roots: SandboxedFiles,
) -> Json:
    """Return the result of one of `TERMINAL_METHODS`; its params are validated.

    `cwd` is the directory of the session, `roots` are all directories that it may start commands
    in.

    Raises:
        RequestFailedError: the session has no such terminal, or the command is not run.
    """
    session: str = params["sessionId"]
    try:
        match method:
            case "terminal/create":
                id_ = await terminals.create(session, _command(params), cwd=cwd, roots=roots)
                return {"terminalId": id_}
            case "terminal/output":
                seen = terminals.find(session, params["terminalId"]).output()
                return output_result(seen.output, seen.status, is_cut=seen.is_cut)
            case "terminal/wait_for_exit":
                return exit_result(await terminals.find(session, params["terminalId"]).wait())
            case "terminal/kill":
                await terminals.find(session, params["terminalId"]).kill()
            case _:
                await terminals.release(session, params["terminalId"])
    except TerminalMissingError as problem:
        raise RequestFailedError(RESOURCE_NOT_FOUND, str(problem)) from None
    except CommandRefusedError as problem:
        data = {"reason": NOT_PERMITTED} if problem.is_forbidden else None
        raise RequestFailedError(INVALID_PARAMS, str(problem), data) from None
    return {}


def _command(params: Mapping[str, Json]) -> CommandSpec:
    limit: Json = params.get("outputByteLimit")
    return CommandSpec(
        program=params["command"],
        args=tuple(params.get("args") or ()),
        env=tuple((variable["name"], variable["value"]) for variable in params.get("env") or ()),
        cwd=params.get("cwd"),
        # The schema also accepts a float with an integral value.
        output_limit=None if limit is None else int(limit),
    )


def output_result(output: str, status: ExitStatus | None, *, is_cut: bool = False) -> Json:
    """Return the result of `terminal/output`; without a status, the command runs."""
    ended: dict[str, Json] = {} if status is None else {"exitStatus": exit_result(status)}
    return {"output": output, "truncated": is_cut, **ended}


def exit_result(status: ExitStatus) -> Json:
    """Return the result of `terminal/wait_for_exit`."""
    return {"exitCode": status.code, "signal": status.signal}
