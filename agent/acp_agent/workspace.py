"""The directories of a session, and how the agent reaches the files in them.

Where the client offers its file system, reading and writing go through it, so that what stands
unsaved in an editor counts; a path outside of the directories is not even asked for. Otherwise the
disk is used, in the same bounds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

import anyio.to_thread

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.files import FileMissingError, FileRefusedError, Roots
from acp_protocol.jsonrpc import Json


class Asker(Protocol):
    """Whoever can ask the client."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Return the client's result."""
        ...


class Workspace:
    """Files of one session."""

    def __init__(
        self,
        session_id: str,
        cwd: Path,
        *,
        additional: Sequence[Path] = (),
        client: Asker | None = None,
        client_reads: bool = False,
        client_writes: bool = False,
    ) -> None:
        self.cwd = cwd
        self._session_id = session_id
        self._disk = Roots([cwd, *additional])
        self._client = client
        self._client_reads = client_reads
        self._client_writes = client_writes

    def path(self, name: str) -> str:
        """Return the absolute path that `name` means in this session; nothing is looked up."""
        return os.path.normpath(self.cwd / name)

    async def read_text(self, path: str) -> str:
        """Return the text of the file at the absolute `path`.

        Raises:
            FileMissingError: there is no such file.
            FileRefusedError: it may not or cannot be read; the message says why.
        """
        self._disk.check_inside(path)
        if self._client is None or not self._client_reads:
            return await anyio.to_thread.run_sync(self._disk.read_text, path)
        params = {"sessionId": self._session_id, "path": path}
        try:
            result = await self._client.request("fs/read_text_file", params)
        except RequestFailedError as refusal:
            if refusal.code == jsonrpc.RESOURCE_NOT_FOUND:
                raise FileMissingError(path) from None
            raise FileRefusedError(path, refusal.message) from None
        content = cast("dict[str, Json]", result).get("content") if isinstance(result, dict) else 0
        if not isinstance(content, str):
            raise FileRefusedError(path, "the client's answer holds no text")
        return content

    async def write_text(self, path: str, text: str) -> None:
        """Give the file at the absolute `path` a new text.

        Raises:
            FileRefusedError: it may not or cannot be written; the message says why.
        """
        self._disk.check_inside(path)
        if self._client is None or not self._client_writes:
            await anyio.to_thread.run_sync(self._disk.write_text, path, text)
            return
        params = {"sessionId": self._session_id, "path": path, "content": text}
        try:
            await self._client.request("fs/write_text_file", params)
        except RequestFailedError as refusal:
            raise FileRefusedError(path, refusal.message) from None

    async def delete(self, path: str) -> None:
        """Remove the file at the absolute `path` from the disk: clients offer no way for that.

        Raises:
            FileMissingError: there is no such file.
            FileRefusedError: it may not be removed.
        """
        await anyio.to_thread.run_sync(self._disk.delete, path)
