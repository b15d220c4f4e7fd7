"""Serves `terminal/*` requests with commands that run for an agent.

Source: ACP, Terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import (
    CommandRefusedError,
    CommandSpec,
    ExitStatus,
    TerminalMissingError,
    TerminalPool,
)
from acp_protocol.jsonrpc import Json

TERMINAL_METHODS: Final = frozenset(
    f"terminal/{action}" for action in ("create", "output", "wait_for_exit", "kill", "release")
)
"""The methods that an agent may call if the client offers terminals."""


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
                status = {} if seen.status is None else {"exitStatus": _status(seen.status)}
                return {"output": seen.output, "truncated": seen.is_cut, **status}
            case "terminal/wait_for_exit":
                return _status(await terminals.find(session, params["terminalId"]).wait())
            case "terminal/kill":
                await terminals.find(session, params["terminalId"]).kill()
            case _:
                await terminals.release(session, params["terminalId"])
    except TerminalMissingError as problem:
        raise RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, str(problem)) from None
    except CommandRefusedError as problem:
        raise RequestFailedError(jsonrpc.INVALID_PARAMS, str(problem)) from None
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


def _status(status: ExitStatus) -> dict[str, Json]:
    return {"exitCode": status.code, "signal": status.signal}
