"""Plays a recording's client for `acp-console replay`, and learns what its agent varies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from acp_console.agents.spec import AgentSpec
from acp_console.chat.elicitation import Elicitation, ElicitationAnswer
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import AllowLevel, PermissionPrompt, PolicyDecider
from acp_console.cli import exit_codes
from acp_console.cli.errors import UsageError, say, warn
from acp_console.cli.format_option import print_json
from acp_inspector.compare.diff import CompareOptions
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.recording.format import Header, RecordingError, new_header
from acp_inspector.recording.reader import Recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.client_player import PlayLimits, play_as_client
from acp_inspector.replay.directories import ReplayDirectories, replay_directories
from acp_inspector.replay.expectations import (
    Expectations,
    compare_with,
    expectations_beside,
    propose,
)
from acp_inspector.replay.result import ReplayResult
from acp_inspector.replay.trust import Trust, check_trust
from acp_inspector.testing.recording_test import prepare_directory
from acp_protocol.client_duties import TERMINAL_METHODS
from acp_protocol.errors import AcpError, RequestFailedError, describe_os_error
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.json_values import get_int, get_text
from acp_protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    Json,
    Notification,
    Request,
    SuccessResponse,
    read_message,
)

_LEVELS: Final[dict[str, AllowLevel]] = {
    "fs/read_text_file": "reads",
    "fs/write_text_file": "edits",
    **dict.fromkeys(TERMINAL_METHODS, "all"),
}
"""What has to be allowed for each method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReplay:
    """A recording and an agent, with all that was chosen for them."""

    recording: Recording
    frames: Sequence[Frame]
    """The whole frames of the recording."""
    agent: AgentSpec
    cwd: Path | None
    """The place of the first session's directory; None: a new one with the recording's files."""
    limits: PlayLimits
    forwards_as: AllowLevel | None
    """What is allowed to requests that the recording does not have; None: they fail."""
    output: Path | None
    """A new recording of the live traffic."""
    allows_redacted: bool
    trust: Trust

    async def play(self, journal: Journal, options: CompareOptions | None = None) -> ReplayResult:
        """Play it once; the live traffic comes to `journal`.

        Raises:
            AcpError: see `play_as_client`.
        """
        header = self.recording.header
        check_trust(self.recording, "client", self.trust, self.frames)
        with self._directories() as directories:
            live = new_header(self.agent.command, directories.cwd, about=header.about)
            async with AsyncExitStack() as stack:
                stack.enter_context(
                    record_replay(journal, self.output, replace(live, meta=header.meta))
                )
                means = None
                if self.forwards_as is not None:
                    means = OwnMeans(directories, self.forwards_as, self.frames)
                    await stack.enter_async_context(means.handlers)
                return await play_as_client(
                    self.recording,
                    self.agent.remote or self.agent.absolute_command(),
                    directories,
                    limits=self.limits,
                    options=options,
                    allows_redacted=self.allows_redacted,
                    trust=self.trust,
                    on_miss=means,
                    journal=journal,
                    env={**os.environ, **self.agent.env},
                    dialect=self.agent.dialect,
                    # What is recorded is what was really sent.
                    translates=self.output is None,
                )

    @contextmanager
    def _directories(self) -> Generator[ReplayDirectories]:
        """Yield the places of the recorded directories; new ones are removed at the end."""
        header, cwd = self.recording.header, self.cwd and self.cwd.resolve()
        with tempfile.TemporaryDirectory(prefix="acp-replay-") as name:
            new = Path(name).resolve()
            found = replay_directories(self.frames, cwd, new, recorded_cwd=header.cwd)
            for recorded, place in found.places.items():
                say(f"hands to the agent: directory: {recorded} as {place}")
            found.create()
            if cwd is None:
                prepare_directory(self.recording, found.cwd)
            yield found


def check_options(
    cwd: Path | None,
    allow: AllowLevel | None,
    output: Path | None,
    *,
    learns: bool,
    forwards: bool,
) -> None:
    """Check the options that exclude each other.

    Raises:
        UsageError: two do.
    """
    if allow is not None and not forwards:
        raise UsageError("--allow has no effect without --on-miss forward")
    if learns and output is not None:
        raise UsageError("--learn plays twice, so --output cannot be given", "record one replay")
    if learns and cwd is not None:
        raise UsageError(
            "--learn plays twice in new directories, so --cwd cannot be given",
            "put the files that the agent needs into meta.files of the recording",
        )


async def learn_expectations(client: ClientReplay, file: Path, format_: str) -> int:
    """Play twice and propose what may differ; return the exit code."""
    runs = Journal(), Journal()
    differing: list[set[tuple[str, str]]] = []
    """Names and paths where each run differs from the recording."""
    for journal in runs:
        result = await client.play(journal)
        differing.append({(each.name, each.path) for each in result.differences})
        if result.errors:
            click.echo(f"{escape_controls(file.name)}: {result.render()}")
            return exit_codes.AGENT if result.has_agent_ended else exit_codes.FOUND
    left, right = (journal.entries for journal in runs)
    proposal = propose(left, right)
    rest = compare_with(proposal, left, right).differences
    varying = compare_with(Expectations(), left, right).differences
    changed = differing[0] & differing[1] - {(each.name, each.path) for each in varying}
    text, path = proposal.to_toml(), expectations_beside(file)
    is_written = bool(text) and _write_new(path, text)
    if format_ == "json":
        found: Json = proposal.model_dump(exclude_defaults=True)
        written = str(path) if is_written else None
        print_json({"file": str(file), "expectations": found, "written": written})
    elif is_written:
        say(f"wrote {path}; the replay allows what it lists, so remove what should not vary")
    elif text:
        warn(f"{path} exists and stays as it is; the new proposal follows")
        click.echo(escape_controls(text), nl=False)
    elif not rest and not changed:
        say("both runs were alike: there is nothing to expect")
    for difference in rest:
        where = _where(difference.name, difference.path)
        warn(f"no expectation is proposed for what differs between the two runs in {where}")
    for name, place in sorted(changed):
        warn(f"both runs differ from the recording in {_where(name, place)}")
    return exit_codes.FOUND if rest or changed else exit_codes.DONE


def _where(name: str, path: str) -> str:
    return escape_controls(f"{name} at {path}" if path else name)


def _write_new(path: Path, text: str) -> bool:
    """Write a file that does not exist yet; return whether it was written.

    Raises:
        AcpError: it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as problem:
        raise AcpError(f"cannot write {path}: {describe_os_error(problem)}") from None
    return True


class OwnMeans:
    """Responds to requests that the recording does not have, inside the replay's directories.

    What is allowed is decided as `exec` does. There is no user, so forms and pages are cancelled.
    """

    def __init__(
        self, directories: ReplayDirectories, allow: AllowLevel, frames: Sequence[Frame]
    ) -> None:
        self._directories = directories
        self.handlers = ClientHandlers(
            PolicyDecider(allow, self._report),
            reads=allow != "none",
            writes=allow in {"edits", "all"},
            runs=allow == "all",
            elicitor=self,
        )
        """To be entered: its end ends the commands that still run."""
        versions = (get_int(_result(frame), "protocolVersion") for frame in frames)
        self.handlers.version = next((each for each in versions if each is not None), 1)

    def observe(self, notification: Notification) -> None:
        self.handlers.observe_notification(notification)

    async def respond(self, request: Request) -> Json:
        say(f"forwarded: {request.method}")
        session = get_text(request.params, "sessionId")
        if session is not None:
            others = list(self._directories.places.values())
            self.handlers.open_session(session, self._directories.cwd, others)
        try:
            return await self.handlers.handle_request(request)
        except RequestFailedError as refusal:
            level = _LEVELS.get(request.method)
            is_switched_off = level is not None and refusal.code == METHOD_NOT_FOUND
            why = f"needs --allow {level}" if is_switched_off else refusal.message
            say(f"refused: {request.method}: {why}")
            raise

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        say(f"cancelled, as a replay has no user: {request.message}")
        return ElicitationAnswer("cancel")

    def complete(self, elicitation_id: str) -> None:
        """No page was opened."""

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
    if path.exists():
        raise RecordingError(f"{path} exists already; choose another name")
    writer = RecordingWriter(path, header, warn=warn, is_ours=True)

    def write(entry: Entry) -> None:
        writer.write([entry])

    unsubscribe = journal.subscribe(write)
    try:
        yield
    finally:
        unsubscribe()
        writer.discard_if_empty()
        writer.close()
