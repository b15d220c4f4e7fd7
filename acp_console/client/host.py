"""What the client does for an agent: files, and consent.

Source: ACP, File System; ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from acp_console.client.permissions import Decider, read_ask
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.files import FileMissingError, FileRefusedError, Roots
from acp_protocol.jsonrpc import Json, Notification, Request

logger = logging.getLogger(__name__)

CAPABILITIES: Final[dict[str, Json]] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": False,
}


class ClientHost:
    """Handles what an agent asks of its client."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._roots: dict[str, Roots] = {}
        self._cancelled: set[str] = set()
        self._answerers: dict[str, Callable[[dict[str, Json]], Json]] = {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
        }

    def open_session(self, session_id: str, cwd: Path) -> None:
        """Let the agent read and write below `cwd` for this session."""
        self._roots[session_id] = Roots([cwd])

    def begin_turn(self, session_id: str) -> None:
        """Let the session ask for consent again."""
        self._cancelled.discard(session_id)

    def cancel_turn(self, session_id: str) -> None:
        """Answer every question of the session with `cancelled` until its next turn."""
        self._cancelled.add(session_id)

    async def handle_request(self, request: Request) -> Json:
        """Answer a request of the agent."""
        from acp_protocol.schema.validate import check_params

        known = request.method in self._answerers or request.method == "session/request_permission"
        if not known:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
            )
        complaints = check_params(request.method, request.params)
        if wrong := [str(complaint) for complaint in complaints if not complaint.lenient]:
            raise RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {'; '.join(wrong)}")
        if request.method == "session/request_permission":
            return await self._decide(request)
        return self._answerers[request.method](request.params)

    async def handle_notification(self, notification: Notification) -> None:
        """Take note; what is shown comes from the journal."""
        logger.debug("the agent told %s", notification.method)

    async def _decide(self, request: Request) -> Json:
        ask = read_ask(request.id, request.params)
        if ask is None:
            raise RequestFailedError(jsonrpc.INVALID_PARAMS, "Invalid params")
        chosen = None
        if ask.session_id not in self._cancelled:
            chosen = await self._decider.decide(ask)
        # An answer that was not offered must not go out, and none may follow on a cancelled turn.
        is_offered = any(option.id == chosen for option in ask.options)
        if chosen is None or not is_offered or ask.session_id in self._cancelled:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _read(self, params: dict[str, Json]) -> Json:
        roots, path = self._place(params)
        try:
            text = roots.read_text(path)
        except FileRefusedError as problem:
            raise _refusal(problem) from None
        return {"content": _part(text, params.get("line"), params.get("limit"))}

    def _write(self, params: dict[str, Json]) -> Json:
        roots, path = self._place(params)
        try:
            roots.write_text(path, cast("str", params["content"]))
        except FileRefusedError as problem:
            raise _refusal(problem) from None
        return {}

    def _place(self, params: dict[str, Json]) -> tuple[Roots, str]:
        roots = self._roots.get(params["sessionId"])
        if roots is None:
            raise RequestFailedError(
                jsonrpc.RESOURCE_NOT_FOUND, "No such session", {"sessionId": params["sessionId"]}
            )
        return roots, params["path"]


def _part(text: str, line: int | None, limit: int | None) -> str:
    """Return `limit` lines of `text` from the 1-based `line` on."""
    if line is None and limit is None:
        return text
    lines = text.splitlines(keepends=True)
    start = max((line or 1) - 1, 0)
    return "".join(lines[start:] if limit is None else lines[start : start + limit])


def _refusal(problem: FileRefusedError) -> RequestFailedError:
    is_missing = isinstance(problem, FileMissingError)
    code = jsonrpc.RESOURCE_NOT_FOUND if is_missing else jsonrpc.INVALID_PARAMS
    return RequestFailedError(code, str(problem))
