"""Methods about stored sessions, open or not; they are the same in both versions.

Source: ACP, Session List; Session Delete; the unstable archive, status and title of sessions.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

from acp_agent.handlers.base import NAME, Handlers
from acp_agent.params import Handler, Params, invalid_params, open_elsewhere
from acp_agent.sessions.session import INFO, Session, session_info
from acp_agent.sessions.store import (
    PAGE_SIZE,
    Archived,
    SessionQuery,
    SessionRecord,
    decode_cursor,
    encode_cursor,
    retry_busy,
)
from acp_agent.updates.v1 import SessionUpdates
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

TITLE_LIMIT: Final = 200
"""Characters of a title; a longer one is cut."""
SUSPENDED_META: Final[Json] = {NAME: {"asleep": True}}
"""Marks a suspended session in `_meta`."""
_ARCHIVED: Final[Mapping[Json, Archived]] = {
    None: "exclude",
    "exclude": "exclude",
    "include": "include",
    "only": "only",
}


class SessionHandlers:
    """Handles requests about stored sessions.

    `state` returns the state of an open session, in versions that have one.
    """

    def __init__(
        self, handlers: Handlers, state: Callable[[Session], dict[str, Json]] | None = None
    ) -> None:
        self._handlers = handlers
        self._store = handlers.services.store
        self._is_unstable = handlers.services.is_unstable
        self._state = state
        self.handlers: dict[str, Handler] = {
            "session/list": self._list,
            "session/delete": self._delete,
        }
        if self._is_unstable:
            self.handlers |= {
                "session/archive": self._archive,
                "session/unarchive": self._unarchive,
                "session/status": self._status,
                "session/set_title": self._set_title,
            }

    async def _list(self, params: Params) -> Json:
        wanted = self._wanted(params)
        if (cursor := params.get("cursor")) is not None:
            behind = decode_cursor(cursor, wanted)
            if behind is None:
                raise invalid_params("cursor: it was not given for this list")
            wanted = behind
        records = await retry_busy(partial(self._store.page, wanted, PAGE_SIZE + 1))
        listed: dict[str, Json] = {
            "sessions": [self._shown(record) for record in records[:PAGE_SIZE]]
        }
        if len(records) > PAGE_SIZE:
            listed["nextCursor"] = encode_cursor(records[PAGE_SIZE - 1], wanted)
        return listed

    def _wanted(self, params: Params) -> SessionQuery:
        cwd = params.get("cwd")
        if cwd is not None and not Path(cwd).is_absolute():
            raise invalid_params("cwd is no absolute path")
        archived = params.get("archived") if self._is_unstable else None
        if not isinstance(archived, str | None) or archived not in _ARCHIVED:
            raise invalid_params(f"archived: {archived!r} is not supported")
        return SessionQuery(normal(cwd) if cwd is not None else None, _ARCHIVED[archived])

    def _shown(self, record: SessionRecord) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "sessionId": record.id,
            "cwd": record.cwd,
            "title": record.title,
            "updatedAt": record.updated,
        }
        if record.directories:
            shown["additionalDirectories"] = list(record.directories)
        if self._is_unstable:
            shown["archived"] = record.is_archived
        if record.id in self._handlers.open.suspended:
            shown["_meta"] = SUSPENDED_META
        return shown

    async def _delete(self, params: Params) -> Json:
        session_id = cast("str", params["sessionId"])
        await self._handlers.close(session_id)
        # Deleting a session that is not there succeeds.
        if (record := self._store.get(session_id)) is not None:
            await self._alone(record, partial(self._store.delete, record.number))
        return {}

    async def _archive(self, params: Params) -> Json:
        session_id = cast("str", params["sessionId"])
        self._handlers.recorded(session_id)
        await self._handlers.close(session_id)
        record = self._handlers.recorded(session_id)
        await self._alone(record, partial(self._store.change, record.number, is_archived=1))
        return {}

    async def _unarchive(self, params: Params) -> Json:
        record = self._handlers.recorded(cast("str", params["sessionId"]))
        await retry_busy(partial(self._store.change, record.number, is_archived=0))
        return {}

    async def _status(self, params: Params) -> Json:
        record = self._handlers.recorded(cast("str", params["sessionId"]))
        status = "open" if self._store.claims.is_taken(record.number) else "saved"
        fields: dict[str, Json] = {"status": status}
        if record.id in self._handlers.open.suspended:
            fields["_meta"] = SUSPENDED_META
        if self._state is not None and status == "open":
            session = self._handlers.open.awake.get(record.id)
            if session is not None:
                fields["state"] = self._state(session)
            elif record.id in self._handlers.open.suspended:
                fields["state"] = {"state": "idle"}
        return fields

    async def _set_title(self, params: Params) -> Json:
        record = self._handlers.recorded(cast("str", params["sessionId"]))
        title = escape_controls(" ".join(cast("str", params["title"]).split()))[
            :TITLE_LIMIT
        ].strip()
        if not title:
            raise invalid_params("title is empty")
        await retry_busy(partial(self._store.change, record.number, title=title, is_named=1))
        if (session := self._handlers.open.awake.get(record.id)) is not None:
            await session.send_title()
        elif record.id in self._handlers.open.suspended:
            # It need not wake for this.
            updates = SessionUpdates(self._handlers.services.client, record.id)
            await updates.send(INFO, session_info(self._handlers.recorded(record.id)))
        return {"title": title}

    async def _alone(self, record: SessionRecord, work: Callable[[], None]) -> None:
        """Run `work` on a session that is not open, and is not opened meanwhile."""
        if not self._store.take(record.number):
            raise open_elsewhere(record.id)
        try:
            with self._handlers.open.change(record.id):
                await retry_busy(work)
        finally:
            self._store.claims.release(record.number)


def normal(cwd: str) -> str:
    """Return the path of a directory as it is stored, whether or not it still exists."""
    return str(Path(os.path.normpath(cwd)))
