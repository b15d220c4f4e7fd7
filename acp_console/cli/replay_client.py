"""What `acp-console replay` needs to play a client: its pace, its own means, a new recording."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import click

from acp_console.cli.errors import say, warn
from acp_console.client.handlers import ClientHandlers
from acp_console.client.permissions import AllowLevel, PermissionPrompt, PolicyDecider
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.directories import ReplayDirectories
from acp_protocol.json_values import get_int, get_text
from acp_protocol.jsonrpc import Json, Notification, Request, SuccessResponse, read_message


class Pace(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in newer click
    """A factor for recorded pauses: 0 for `instant`, 1 for `recorded`, or a number."""

    name = "pace"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        known = {"instant": 0.0, "recorded": 1.0}
        try:
            factor = known[value] if value in known else float(value)
        except ValueError:
            factor = -1.0
        if not isfinite(factor) or factor < 0:
            self.fail(f"{value!r} is not instant, recorded or a factor such as 0.5", param, ctx)
        return factor


class OwnMeans:
    """Responds to requests that the recording does not have, inside the replay's directories."""

    def __init__(
        self, directories: ReplayDirectories, allow: AllowLevel, frames: Sequence[Frame]
    ) -> None:
        self._directories = directories
        self._handlers = ClientHandlers(PolicyDecider(allow, self._report))
        versions = (get_int(_result(frame), "protocolVersion") for frame in frames)
        self._handlers.version = next((each for each in versions if each is not None), 1)

    def observe(self, notification: Notification) -> None:
        self._handlers.observe_notification(notification)

    async def respond(self, request: Request) -> Json:
        say(f"forwarded: {request.method}")
        session = get_text(request.params, "sessionId")
        if session is not None:
            others = list(self._directories.places.values())
            self._handlers.open_session(session, self._directories.cwd, others)
        return await self._handlers.handle_request(request)

    def _report(self, request: PermissionPrompt, is_allowed: bool) -> None:
        say(f"{'allowed' if is_allowed else 'rejected'}: {request.title}")


def _result(frame: Frame) -> Json:
    message = read_message(frame.data)
    return message.result if isinstance(message, SuccessResponse) else None


@contextmanager
def record_replay(journal: Journal, path: Path | None, header: Header) -> Generator[None]:
    """Record the journal to a new file while the block runs; no path: do nothing.

    Raises:
        RecordingError: the file exists already or cannot be written.
    """
    if path is None:
        yield
        return
    writer = RecordingWriter(path, header, warn=warn)

    def write(entry: Entry) -> None:
        writer.write([entry])

    unsubscribe = journal.subscribe(write)
    try:
        yield
    finally:
        unsubscribe()
        writer.discard_if_empty()
        writer.close()
