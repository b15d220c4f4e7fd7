"""The directories of a session, and how the agent reaches the files in them.

Where the client offers its file system, reading and writing go through it, so that what stands
unsaved in an editor counts; a path outside of the directories is not even asked for, nor one that a
link on our own disk leads out of them. Otherwise the disk is used, in the same bounds.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import anyio.to_thread
from anyio.abc import TaskGroup

from acp_agent.world.terminals import ClientTerminals, RequestSender
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.sandbox import FileMissingError, FileRefusedError, SandboxedFiles
from acp_protocol.json_values import get_text
from acp_protocol.schema.words import ToolKind

ListingKind: TypeAlias = Literal["read", "search"]
"""Kinds of calls that look through a directory."""
ResultFilter: TypeAlias = Callable[[ListingKind, str], Callable[[Path], bool]]
PathEffect: TypeAlias = tuple[ToolKind, str]
"""What a call does, and the absolute path that it does it to."""
PathCheck: TypeAlias = Callable[[str, ToolKind, Sequence[str], Sequence[PathEffect]], None]
"""Raises if a call is forbidden: its title, its kind, its paths, and what it does besides."""


class Workspace:
    """Files of one session."""

    def __init__(
        self,
        session_id: str,
        cwd: Path,
        *,
        additional: Sequence[Path] = (),
        client: RequestSender | None = None,
        client_reads: bool = False,
        client_writes: bool = False,
        terminal_tasks: TaskGroup | None = None,
    ) -> None:
        """`terminal_tasks` is given where the client offers terminals; it outlives the turns."""
        self.cwd = cwd
        self.terminals: ClientTerminals | None = None
        """The client's terminals, where it offers them."""
        if client is not None and terminal_tasks is not None:
            self.terminals = ClientTerminals(client, session_id, terminal_tasks)
        self.result_filter: ResultFilter = lambda _kind, _path: lambda _file: True
        """Which files a call of a kind that looks through a path may show."""
        self.refuse_forbidden: PathCheck = lambda _title, _kind, _paths, _effects: None
        """To be called before a tool looks at a file, so that a denied file gives nothing away."""
        self._home = cwd.resolve()
        self._session_id = session_id
        self.disk = SandboxedFiles([cwd, *additional])
        """The files on the disk, whatever stands unsaved in an editor; for use in threads."""
        self._client = client
        self._client_reads = client_reads
        self._client_writes = client_writes

    def path(self, name: str) -> str:
        """Return the absolute path that `name` means in this session; nothing is looked up."""
        return os.path.normpath(self.cwd / name)

    def display_path(self, path: Path) -> str:
        """Return a path as the model sees it: relative to the session's directory, if inside."""
        for home in (self.cwd, self._home):
            if path.is_relative_to(home):
                return str(path.relative_to(home))
        return str(path)

    def filtered(self, result_filter: ResultFilter, refuse_forbidden: PathCheck) -> Workspace:
        """Return the same files under the rules of a session."""
        filtered = copy(self)
        filtered.result_filter = result_filter
        filtered.refuse_forbidden = refuse_forbidden
        return filtered

    async def resolve(self, path: str) -> Path:
        """Return the directory or file at the absolute `path`, on the disk, its links resolved.

        Raises:
            FileRefusedError: it lies outside, or is not there.
        """
        return await anyio.to_thread.run_sync(self._placed, path)

    async def directory(self, path: str) -> Path:
        """Return the directory at the absolute `path`, on the disk, its links resolved.

        Raises:
            FileRefusedError: it lies outside, or is not a directory.
        """
        return await anyio.to_thread.run_sync(self.disk.directory, path)

    @asynccontextmanager
    async def enter_directory(self, path: str) -> AsyncGenerator[Path]:
        """Yield a path to the directory at the absolute `path`, for a program to start in.

        Raises:
            FileRefusedError: it lies outside, or is not a directory.
        """
        with ExitStack() as stack:
            entered = self.disk.open_parent_path(path)
            yield await anyio.to_thread.run_sync(stack.enter_context, entered)

    def _placed(self, path: str) -> Path:
        try:
            return self.disk.directory(path)
        except FileRefusedError:
            # What is not a directory lies in one.
            self.disk.check_inside(path)
            named = self.disk.directory(str(Path(path).parent)) / Path(path).name
            try:
                found = named.resolve(strict=True)
            except (OSError, RuntimeError):
                raise FileMissingError(path) from None
            self.disk.check_inside(str(found))
            return found

    async def read_text(self, path: str) -> str:
        """Return the text of the file at the absolute `path`.

        Raises:
            FileMissingError: there is no such file.
            FileRefusedError: it may not or cannot be read; the message says why.
        """
        self.disk.check_inside(path)
        if self._client is None or not self._client_reads:
            return await anyio.to_thread.run_sync(self.disk.read_text, path)
        await anyio.to_thread.run_sync(self.disk.check_links, path)
        params = {"sessionId": self._session_id, "path": path}
        try:
            result = await self._client.request("fs/read_text_file", params)
        except RequestFailedError as refusal:
            is_missing = refusal.code == jsonrpc.RESOURCE_NOT_FOUND
            # Some clients say it by another code. What lies on the disk they would have found.
            if is_missing or await anyio.to_thread.run_sync(self.disk.is_missing, path):
                raise FileMissingError(path) from None
            raise FileRefusedError(path, refusal.message) from None
        content = get_text(result, "content")
        if content is None:
            raise FileRefusedError(path, "the client's answer holds no text")
        return content

    async def write_text(self, path: str, text: str, goal: str | None = None) -> None:
        """Give the file at the absolute `path` a new text.

        `goal` is where the path leads, its links resolved: on the disk it is written there, and no
        link is followed that has come since.

        Raises:
            FileRefusedError: it may not or cannot be written; the message says why.
        """
        self.disk.check_inside(path)
        if self._client is None or not self._client_writes:
            is_followed = goal is None
            write = partial(self.disk.write_text, goal or path, text, is_followed=is_followed)
            await anyio.to_thread.run_sync(write)
            return
        await anyio.to_thread.run_sync(self.disk.check_links, path)
        params = {"sessionId": self._session_id, "path": path, "content": text}
        try:
            await self._client.request("fs/write_text_file", params)
        except RequestFailedError as refusal:
            raise FileRefusedError(path, refusal.message) from None
