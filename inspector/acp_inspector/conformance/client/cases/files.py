"""Reading and writing files, in version 1."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import anyio

from acp_inspector.conformance.client.checks import WELL
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import (
    CLIENT,
    PROFILES,
    V1,
    V2,
    CaseFailedError,
    NotReachedError,
    Profile,
)
from acp_inspector.conformance.wire import Reply, error_of, result_of
from acp_protocol.jsonrpc import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, Json

case = partial(CLIENT.case, persona=WELL)


NOTE: Final = "acp-conform-note.txt"
"""A file that is written by the client in the directory of the session, and removed afterwards."""
TEXT: Final = "one\ntwo\nthree\nfour\n"


def _path(stage: Stage, name: str) -> str:
    """Return the path of a file in the directory of the session, which may be the root."""
    return str(Path(stage.cwd, name))


async def _write(stage: Stage, text: str) -> Reply:
    params: Json = {"sessionId": stage.session, "path": _path(stage, NOTE), "content": text}
    return await stage.request("fs/write_text_file", params)


async def _read(stage: Stage, **more: Json) -> str:
    params: Json = {"sessionId": stage.session, "path": _path(stage, NOTE), **more}
    result = result_of(await stage.request("fs/read_text_file", params), "fs/read_text_file")
    content = result.get("content")
    if not isinstance(content, str):
        raise CaseFailedError("the result of fs/read_text_file has no text as content")
    return content


def _both(stage: Stage) -> None:
    stage.require("fs.readTextFile")
    stage.require("fs.writeTextFile")


@case("files.write-new", profiles=V1, rules=("write-refused-as-missing",))
async def write_new(stage: Stage) -> None:
    stage.require("fs.writeTextFile")
    await _remove(stage)
    result_of(await _write(stage, TEXT), "fs/write_text_file")
    await _remove(stage)


async def _remove(stage: Stage) -> None:
    await anyio.Path(_path(stage, NOTE)).unlink(missing_ok=True)


@case("files.read-back", "File system, Reading files", profiles=V1, rules=("missing-file-content",))
async def read_back(stage: Stage) -> None:
    """What was written is read again, to the letter."""
    _both(stage)
    text = f"{TEXT}é 日本 \U0001f600\n"
    result_of(await _write(stage, text), "fs/write_text_file")
    got = await _read(stage)
    await _remove(stage)
    if got != text:
        raise CaseFailedError("the text that was read is not the text that was written")


@case("files.read-part", "File system, Reading files", profiles=V1)
async def read_part(stage: Stage) -> None:
    """`line` and `limit` select lines; the first line is 1."""
    _both(stage)
    result_of(await _write(stage, TEXT), "fs/write_text_file")
    got = await _read(stage, line=2, limit=2)
    await _remove(stage)
    if got.removesuffix("\n") != "two\nthree":
        raise CaseFailedError(f"lines 2 and 3 were requested, and came as {got!r}")


@case("files.write-over", "File system, Writing files", profiles=V1)
async def write_over(stage: Stage) -> None:
    """Writing a file replaces all of its text."""
    _both(stage)
    for text in (TEXT, "short\n"):
        result_of(await _write(stage, text), "fs/write_text_file")
    got = await _read(stage)
    await _remove(stage)
    if got != "short\n":
        raise CaseFailedError("the file does not hold just what was written last")


@case("files.missing", "File system, Reading files", profiles=V1)
async def missing(stage: Stage) -> None:
    """Reading a file that does not exist is refused with -32002."""
    stage.require("fs.readTextFile")
    params: Json = {"sessionId": stage.session, "path": _path(stage, "no-such-file-0000")}
    error_of(await stage.request("fs/read_text_file", params), "reading it", RESOURCE_NOT_FOUND)


@case("files.relative", "File system", profiles=V1)
async def relative(stage: Stage) -> None:
    """A path that is not absolute is refused."""
    stage.require("fs.readTextFile")
    params: Json = {"sessionId": stage.session, "path": "no-such-directory/notes.txt"}
    error_of(await stage.request("fs/read_text_file", params), "reading it")


def _not_offered(
    id_: str,
    capability: str,
    method: str,
    params: dict[str, Json],
    profiles: tuple[Profile, ...] = V1,
) -> None:
    @case(
        id_,
        "Initialization, Client capabilities",
        says=f"A client that does not offer {method} refuses it.",
        profiles=profiles,
        persona=WELL,
    )
    async def refuses(stage: Stage) -> None:
        if stage.offers(capability):
            raise NotReachedError(f"the client offers {capability}")
        reply = await stage.request(method, {"sessionId": stage.session, **params})
        error_of(reply, method)


_not_offered(
    "files.read-not-offered", "fs.readTextFile", "fs/read_text_file", {"path": "/dev/null"}
)
_not_offered(
    "files.write-not-offered",
    "fs.writeTextFile",
    "fs/write_text_file",
    {"path": f"/no-such-directory/{NOTE}", "content": ""},
)
_not_offered("terminal.not-offered", "terminal", "terminal/create", {"command": "true"})
_not_offered(
    "elicitation.not-offered",
    "elicitation.form",
    "elicitation/create",
    {
        "mode": "form",
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
    },
    PROFILES,
)


@case("methods.of-version-1", "Migration from version 1, Client methods", profiles=V2)
async def of_version_1(stage: Stage) -> None:
    """Requests for files and terminals are unknown in version 2, and get the error -32601."""
    params: Json = {"sessionId": stage.session, "path": "/dev/null"}
    reply = await stage.request("fs/read_text_file", params)
    error_of(reply, "fs/read_text_file", METHOD_NOT_FOUND)
    params = {"sessionId": stage.session, "command": "true"}
    reply = await stage.request("terminal/create", params)
    error_of(reply, "terminal/create", METHOD_NOT_FOUND)
