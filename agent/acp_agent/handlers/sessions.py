"""Methods about stored sessions, open or not; they are the same in both versions.

Source: ACP, Session List; Session Delete; the unstable archive, status and title of sessions.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from anyio.abc import TaskGroup

from acp_agent.elicitation import SessionClient
from acp_agent.handlers.base import NAME, Handlers, open_elsewhere
from acp_agent.handlers.params import Params, invalid_params
from acp_agent.services import AgentServices
from acp_agent.sessions.session import INFO, session_info
from acp_agent.store.database import (
    SessionQuery,
    SessionRecord,
    decode_cursor,
    encode_cursor,
)
from acp_agent.updates.v1 import SessionUpdates
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

MAX_TITLE_LENGTH: Final = 200
SUSPENDED_META: Final[Json] = {NAME: {"asleep": True}}
"""Marks a suspended session in `_meta`."""


class SessionHandlers(Handlers):
    """Handles requests about stored sessions, besides those about opening and using them."""

    def __init__(self, services: AgentServices, client: SessionClient, tasks: TaskGroup) -> None:
        super().__init__(services, client, tasks)
        self.handlers |= {"session/list": self._list, "session/delete": self._delete}
        if self.is_unstable:
            self.handlers |= {
                "session/archive": self._archive,
                "session/unarchive": self._unarchive,
                "session/status": self._status,
                "session/set_title": self._set_title,
            }

    async def _list(self, params: Params) -> Json:
        cwd = params.get("cwd")
        if cwd is not None and not Path(cwd).is_absolute():
            raise invalid_params("cwd is no absolute path")
        archived = params.get("archived") if self.is_unstable else None
        if archived is None:
            archived = "exclude"
        if archived not in ("exclude", "include", "only"):
            raise invalid_params(f"archived: {archived!r} is not supported")
        query = SessionQuery(_normal(cwd) if cwd is not None else None, archived)
        if (cursor := params.get("cursor")) is not None:
            query = decode_cursor(cursor, query)
            if query is None:
                raise invalid_params("cursor: it was not given for this list")
        size = self.page_size
        records = await self.store.retry(partial(self.store.page, query, size + 1))
        page = records[:size]
        result: dict[str, Json] = {"sessions": [self._list_entry(record) for record in page]}
        if len(records) > len(page):
            result["nextCursor"] = encode_cursor(page[-1], query)
        return result

    def _list_entry(self, record: SessionRecord) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "sessionId": record.id,
            "cwd": record.cwd,
            "title": record.title,
            "updatedAt": record.updated,
        }
        if record.directories:
            entry["additionalDirectories"] = list(record.directories)
        if self.is_unstable:
            entry["archived"] = record.is_archived
        if record.id in self.sessions.suspended:
            entry["_meta"] = SUSPENDED_META
        return entry

    async def _delete(self, params: Params) -> Json:
        session_id: str = params["sessionId"]
        await self.sessions.close(session_id)
        # Deleting a session that is not there succeeds.
        if (record := self.store.get(session_id)) is not None:
            await self._change_closed(record, partial(self.store.delete, record.number))
        return {}

    async def _archive(self, params: Params) -> Json:
        session_id: str = params["sessionId"]
        self.record_of(session_id)
        await self.sessions.close(session_id)
        record = self.record_of(session_id)
        archive = partial(self.store.change, record.number, is_archived=1)
        await self._change_closed(record, archive)
        return {}

    async def _unarchive(self, params: Params) -> Json:
        record = self.record_of(params["sessionId"])
        await self.store.retry(partial(self.store.change, record.number, is_archived=0))
        return {}

    async def _status(self, params: Params) -> Json:
        record = self.record_of(params["sessionId"])
        if not self.store.locks.is_taken(record.number):
            return {"status": "saved"}
        result: dict[str, Json] = {"status": "open"}
        is_suspended = record.id in self.sessions.suspended
        if is_suspended:
            result["_meta"] = SUSPENDED_META
        if self.version >= 2:
            if (session := self.sessions.awake.get(record.id)) is not None:
                result["state"] = self.state(session)
            elif is_suspended:
                result["state"] = {"state": "idle"}
        return result

    async def _set_title(self, params: Params) -> Json:
        record = self.record_of(params["sessionId"])
        words = " ".join(params["title"].split())
        title = escape_controls(words)[:MAX_TITLE_LENGTH].strip()
        if not title:
            raise invalid_params("title is empty")
        await self.store.retry(partial(self.store.change, record.number, title=title, is_named=1))
        if (session := self.sessions.awake.get(record.id)) is not None:
            await session.send_title()
        elif record.id in self.sessions.suspended:
            # It need not wake for this.
            updates = SessionUpdates(self.client, record.id)
            await updates.send(INFO, session_info(self.record_of(record.id)))
        return {"title": title}

    async def _change_closed(self, record: SessionRecord, work: Callable[[], None]) -> None:
        """Run `work` on a session that is not open, and is not opened meanwhile."""
        if not self.store.take(record.number):
            raise open_elsewhere(record.id)
        try:
            with self.sessions.change(record.id):
                await self.store.retry(work)
        finally:
            self.store.locks.release(record.number)


def _normal(cwd: str) -> str:
    """Return the path of a directory as it is stored, whether or not it still exists."""
    return os.path.normpath(cwd)
