"""Prints a turn while it runs: the reply to stdout, messages for the user to stderr."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Final, Literal, TypeAlias

from acp_console.chat.permissions import (
    EDIT_KINDS,
    AllowLevel,
    PermissionPrompt,
    Rules,
    command_of,
    required_level,
)
from acp_console.chat.requested_calls import RequestedCalls
from acp_console.cli.errors import fail, say, warn
from acp_console.cli.format_option import ascii_json
from acp_console.cli.markdown_stream import MarkdownStream
from acp_console.wording.values import OUTPUT_VERSION, fenced, plural
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.session.events import (
    CallChanged,
    Malformed,
    RequestSent,
    SessionEvent,
    SessionOpened,
    Updated,
)
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_protocol.errors import AcpError, RequestFailedError, error_detail
from acp_protocol.host.sanitize import ProseStream, escape_controls, single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object, get, get_string, get_text
from acp_protocol.jsonrpc import (
    Json,
    Request,
    is_array_of_messages,
)
from acp_protocol.schema.turn_updates import is_echo
from acp_protocol.schema.vocabulary import EFFECT_KINDS, OUTPUT, REPLIES, RESTORING, USER_MESSAGES
from acp_protocol.tool_calls import is_final, merge

Format: TypeAlias = Literal["text", "json", "quiet"]

MAX_CALLS: Final = 1000
"""Tool calls that are remembered."""
META_WIDTH: Final = 300
"""Characters of the `_meta` of a response that are printed, at most."""
_NO_REASONS: Final = ("", "cancelled", "canceled")
"""Why a call of a cancelled turn failed, where the agent has no other reason."""
TITLE_WIDTH: Final = 120
"""Characters of a tool call's title, at most."""


class TurnPrinter:
    """Observes a journal and prints the agent's output as it arrives."""

    def __init__(
        self,
        format_: Format,
        on_stdout_failure: Callable[[], None],
        *,
        allowed: AllowLevel = "all",
        rules: Rules | None = None,
        has_stderr: bool = False,
        cwd: Path | None = None,
        takes_batches: bool = False,
        markdown: MarkdownStream | None = None,
    ) -> None:
        """Print in `format_`; call `on_stdout_failure` when stdout takes no more.

        `allowed` is what the agent may do without asking, `rules` come before it. `has_stderr`
        prints the stderr of the agent as well. Relative paths of calls are in `cwd`. Without
        `takes_batches`, arrays are refused, so that nothing in them is printed. `markdown` draws
        the reply.
        """
        self._cwd = cwd
        self._takes_batches = takes_batches
        self._allowed: AllowLevel = allowed
        self._rules = rules
        self._format: Format = format_
        self._on_stdout_failure = on_stdout_failure
        self._is_in_line = False
        self._is_exact = format_ == "quiet" and not sys.stdout.isatty()
        """Whether the reply goes to a program, which gets it as it was sent."""
        self._prose = ProseStream()
        self._markdown = markdown
        self._sessions = Sessions(exchanges=Exchanges(is_lean=True))
        if cwd is not None:
            self._sessions.decoder.begin_recording(None, str(cwd))
        self._messages: set[str] = set()
        """Ids of messages that were printed at least in part."""
        self._message: str | None = None
        """The last of them."""
        self._calls: dict[str, dict[str, Json]] = {}
        """The tool calls of the turn, the newest last."""
        self._permission_calls: dict[str, Mapping[str, Json]] = {}
        """The calls of permission requests; some agents say only there what a call runs."""
        self._has_begun = False
        self._prompt: Request | None = None
        self._restoring: Request | None = None
        """The request that has loaded or resumed the session."""
        self._is_restored = False
        self._outputs = 0
        """Updates with output for the user since the prompt."""
        self._late = 0
        """Those that came after the end of the turn."""
        self._history = 0
        """Updates of earlier turns that came after the session was loaded or resumed."""
        self._mixed_history = 0
        """Those that came after the prompt, and so are printed."""
        self._elsewhere = 0
        """Pieces of text for other sessions than that of the prompt."""
        self._other_session = ""
        """The first of them."""
        self.is_replaying = False
        """Whether the agent repeats what was said before, which is not shown."""
        self._early: list[Mapping[str, Json]] = []
        """Updates that came before all of the session was known, in JSON."""
        self._printed: dict[str, str] = {}
        """What was printed of tool calls."""
        self._failed: set[str] = set()
        """Tool calls whose failure was printed."""
        self._is_cancelled = False
        """Whether the turn was cancelled, and so its tool calls."""
        self._requested = RequestedCalls()
        self.has_surprises = False
        """Whether the agent has done more than it may without asking."""
        self._has_output = False
        self._has_lost = False
        self.refusals = 0
        self.has_ended = False
        """Whether the agent has said how the turn ended."""
        self._stderr = getincrementaldecoder("utf-8")("replace") if has_stderr else None
        self.stray_lines = 0
        """Lines of the agent's stdout that were no message."""
        self.first_stray_line = b""
        self.failure: OSError | None = None
        """Why stdout takes no more, such as a reader that has gone or a full disk."""

    def note_loss(self, text: str) -> None:
        """Print why the recording lacks something."""
        self._has_lost = True
        say(text)

    def note_cancel(self) -> None:
        """Take note that the turn is cancelled: calls that fail from now on end by that."""
        self._is_cancelled = True

    def report_losses(self, missed: int) -> bool:
        """Return whether something was lost; say so if we have `missed` entries by a bug."""
        if missed:
            fail(
                f"acp-console has a bug: {plural(missed, 'message')} could not be printed or "
                "recorded",
                "please report it, with what acp-console --debug exec prints",
            )
        return self._has_lost or missed > 0

    def show(self, entry: Entry) -> None:
        if isinstance(entry, StderrChunk) and self._stderr is not None:
            sys.stderr.write(escape_controls(self._stderr.decode(entry.data)))
        if isinstance(entry, JournalEvent):
            self._sessions.note(entry)
            if entry.begins_connection:
                self._prompt = None
        if not isinstance(entry, Frame) or self._is_refused(entry):
            return
        for event in self._sessions.feed(entry):
            self._show_event(entry, event)

    def _show_event(self, entry: Frame, event: SessionEvent) -> None:
        match event:
            case Malformed() if entry.side == "agent" and entry.data.strip():
                self.first_stray_line = self.first_stray_line or entry.data
                self.stray_lines += 1
            case RequestSent(message=Request() as request) if entry.side == "client":
                if request.method == "session/prompt":
                    self._prompt = request
                elif request.method in RESTORING:
                    self._restoring = request
            case SessionOpened(exchange=exchange) if exchange.request.method in RESTORING:
                self._is_restored = True
            case Updated():
                self._show_update(event)
            case _:
                pass

    def _is_refused(self, frame: Frame) -> bool:
        return (
            frame.side == "agent" and not self._takes_batches and is_array_of_messages(frame.data)
        )

    def _show_update(self, event: Updated) -> None:
        session_id, update = event.session, event.update
        if self.is_replaying:
            is_history = event.kind in OUTPUT | USER_MESSAGES
            self._history += self._is_restored and is_history
            return
        if isinstance(event, CallChanged):
            self._track(event)
        is_prompted = self._prompt is not None and session_id == get(
            self._prompt.params, "sessionId"
        )
        if self._prompt is not None and is_prompted:
            self._note_order(self._prompt, event)
        if self._format == "json" and self._has_begun:
            self._write_json({"update": update})
        elif self._format == "json":
            self._early.append({"update": update})
        elif session_id is not None and not is_prompted and event.kind in REPLIES:
            self._elsewhere += self._prompt is not None
            self._other_session = self._other_session or session_id
        elif self._prompt is not None:
            # What comes before the prompt, such as a new mode, is no reply to it.
            self._show_text(update)

    def _note_order(self, prompt: Request, event: Updated) -> None:
        """Count the updates that came after the end of the turn, or belong to an earlier one."""
        if event.kind in OUTPUT:
            self._outputs += 1
            self._late += event.turn is None
        is_user = self._is_restored and event.kind == "user_message_chunk"
        if is_user and not is_echo(get(prompt.params, "prompt"), get(event.update, "content")):
            # What came before the message of another turn is no reply to this prompt.
            self._outputs += 1
            self._mixed_history = self._outputs

    def is_in_line(self) -> bool:
        """Return whether the last line on stdout has no end yet."""
        return self._is_in_line

    def begin(self, session_id: str, version: int, mode: Json) -> None:
        """Print what is known of the session, in JSON."""
        if self._format == "json":
            session = {"sessionId": session_id, "protocolVersion": version, "mode": mode}
            self._has_begun = True
            for line in ({"session": session}, *self._early):
                self._write_json(line)

    def show_mode(self, mode: str, *, asks: bool) -> None:
        """Print the mode that was chosen for the user; `asks`: a stricter one would not ask."""
        if self._format == "text":
            name = single_line(mode, TITLE_WIDTH)
            why = "in which the agent asks" if asks else "the most restrictive"
            say(f"running in mode {name}, {why}; --allow edits lets it change files")

    def show_decision(self, ask: PermissionPrompt, is_allowed: bool) -> None:
        """Print a refusal, and in JSON every decision."""
        self._requested.note(ask, is_allowed, self._calls)
        id_ = ask.tool_call.get("toolCallId")
        if isinstance(id_, str):
            self._permission_calls[id_] = ask.tool_call
            if len(self._permission_calls) > MAX_CALLS:
                del self._permission_calls[next(iter(self._permission_calls))]
        self.refusals += not is_allowed
        ruling = self._rules.decide(ask) if self._rules is not None else None
        if self._format == "json":
            decision: dict[str, Json] = {
                "toolCallId": ask.tool_call.get("toolCallId"),
                "title": ask.title,
                "kind": ask.kind,
                "decision": "allow" if is_allowed else "reject",
            }
            if ask.command is not None:
                decision["command"] = ask.command
            if ruling is not None:
                decision["rule"] = ruling[1]
            self._write_json({"permission": decision})
        if not is_allowed:
            where = f", outside {ask.cwd}" if ask.paths_outside else ""
            what = single_line(_described(ask.tool_call, self._cwd), TITLE_WIDTH)
            kind = single_line(ask.kind, TITLE_WIDTH)
            self.finish()
            way = f"--allow {required_level(ask)} allows it"
            if ask.tool_names:
                named = (single_line(name, TITLE_WIDTH) for name in ask.tool_names)
                way = f"{' '.join(f'--allow-tool {name}' for name in named)} or {way}"
            if ask.is_choice:
                way = f"only a person can choose between its {len(ask.options)} options"
            elif ruling is not None:
                way = f"denied by the rule at {ruling[1]}"
            say(f"{what} ({kind}{where}); {way}", "refused")

    def end(self, session_id: str, answer: Mapping[str, Json]) -> None:
        self.has_ended = True
        reason, effects = answer["stopReason"], self._requested.effects(self._calls)
        surprises = [self._beyond_allowed(each) for each in (effects.unasked, effects.refused)]
        self.has_surprises = any(surprises)
        if self._format == "json":
            end = {
                "stopReason": reason,
                "sessionId": session_id,
                "usage": answer.get("usage"),
                "refusals": self.refusals,
                "unasked": dict(effects.all),
                "late": self._late,
                "history": self._history + self._mixed_history,
            }
            self._write_json(end)
            return
        self.finish()
        for id_ in self._calls:
            self._show_call(id_)
        # Some agents say there why a turn has failed, and nowhere else.
        meta = json_text(answer.get("_meta")) if answer.get("_meta") else ""
        more = f"; its _meta: {single_line(meta, META_WIDTH)}" if meta else ""
        if reason != "end_turn":
            warn(f"the turn ended early: {single_line(str(reason), TITLE_WIDTH)}{more}")
        elif not self._has_output:
            warn(f"the turn ended without any output{more}")
        self._warn_about_order()
        unasked, refused = surprises
        if unasked:
            warn(
                f"the agent acted without asking ({unasked}): --allow {self._allowed} holds only "
                "for what it asks; choose another --mode if it has one"
            )
        if refused:
            warn(f"the agent says that it did what was refused ({refused})")

    def _beyond_allowed(self, effects: Mapping[str, int]) -> str:
        """Return the counts of effects that the user has not allowed; empty if there are none."""
        expected = {"edits": EDIT_KINDS, "all": EFFECT_KINDS}.get(self._allowed, frozenset())
        counts = sorted(each for each in effects.items() if each[0] not in expected)
        return ", ".join(f"{kind} {count}" for kind, count in counts)

    def _warn_about_order(self) -> None:
        if self._elsewhere:
            count = plural(self._elsewhere, "update")
            where = single_line(self._other_session, TITLE_WIDTH)
            warn(f"did not print the text of {count} for another session: {where}")
        if self._late:
            warn(f"{plural(self._late, 'update')} came after the end of the turn")
        if self._history + self._mixed_history:
            count = plural(self._history + self._mixed_history, "update")
            method = self._restoring.method if self._restoring is not None else "session/load"
            mixed = f"; {self._mixed_history} after the prompt, printed with the reply"
            printed = mixed if self._mixed_history else ""
            warn(f"{count} of the history came after the response to {method}{printed}")

    def fail(self, problem: AcpError) -> None:
        """Print the error that ends the turn, in JSON."""
        if self._format == "json":
            error: dict[str, Json] = {"message": str(problem)}
            if isinstance(problem, RequestFailedError):
                error = {"code": problem.code, "message": problem.message, "data": problem.data}
            self._write_json({"error": error})

    def finish(self) -> None:
        """End the last line."""
        self._write(self._drawn(self._prose.finish()))
        if self._markdown is not None:
            self._write(self._markdown.finish())
        if self._is_in_line and not self._is_exact:
            self._write("\n")
        self._is_in_line = False

    def _show_text(self, update: Json) -> None:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": content}:
                self._begin_message(get_text(update, "messageId"))
                self._show_block(content)
            case {"sessionUpdate": "agent_message", "messageId": str(id_), "content": blocks}:
                # Version 2 may send a whole message, and again after a change.
                if id_ not in self._messages:
                    self._begin_message(id_)
                    for block in as_list(blocks):
                        self._show_block(block)
            case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(id_)}:
                call = self._with_request(id_)
                says_something = (
                    " " in str(call.get("title") or "") or _subject(call, self._cwd) is not None
                )
                if says_something or id_ in self._printed or is_final(call.get("status")):
                    self._show_call(id_, is_growing=get_text(update, "title") is not None)
            case _:
                pass

    def _begin_message(self, id_: str | None) -> None:
        """Begin a line if another message begins: all chunks of one have its id, or none."""
        if id_ != self._message:
            self.finish()
        self._message = id_
        if id_ is not None:
            self._messages.add(id_)

    def _track(self, event: CallChanged) -> None:
        changes = as_object(event.update)
        id_ = changes.get("toolCallId")
        if not isinstance(id_, str):
            return
        if get(self._calls.get(id_), "status") == "completed":
            changes = self._after_completion(id_, changes)
        # Some agents announce only the calls that need no permission.
        known = self._calls.pop(id_, None) or self._permission_calls.get(id_, {})
        self._calls[id_] = merge(known, changes, self._sessions.version)
        if len(self._calls) > MAX_CALLS:
            self._forget(next(iter(self._calls)))

    def _after_completion(self, id_: str, changes: dict[str, Json]) -> dict[str, Json]:
        """Return what an update may change of a completed call."""
        if changes["sessionUpdate"] == "tool_call" and not is_final(changes.get("status")):
            # The agent gives the id to another call.
            self._forget(id_)
            return changes
        # What has been done stays done, whatever the agent calls it afterwards.
        return {name: value for name, value in changes.items() if name not in {"kind", "status"}}

    def _forget(self, id_: str) -> None:
        self._requested.forget(id_, self._calls)
        del self._calls[id_]
        self._permission_calls.pop(id_, None)
        self._printed.pop(id_, None)
        self._failed.discard(id_)

    def _with_request(self, id_: str) -> Mapping[str, Json]:
        """Return a tool call for printing: its updates, and what only the request for it says."""
        call, request = self._calls[id_], self._permission_calls.get(id_)
        if request is None or _subject(call, self._cwd) is not None:
            return call
        title, more = get_string(call, "title"), get_string(request, "title")
        if _subject(request, self._cwd) is None and " " not in title:
            title = more if title in more else f"{title}: {more}".removesuffix(": ")
        return {**call, **request, "title": title or more, "status": call.get("status")}

    def _show_call(self, id_: str, *, is_growing: bool = False) -> None:
        """Print a tool call once, again if more of it is known, and its failure once.

        `is_growing`: more of its title may follow soon, since some agents stream it.
        """
        if self._format != "text":
            return
        call, shown = self._calls[id_], self._with_request(id_)
        described, subject = _described(shown, self._cwd), _subject(shown, self._cwd)
        before = self._printed.get(id_)
        has_grown = before is not None and not is_growing and _is_begin(before, described)
        if before is None or has_grown or _is_news(subject, before):
            self._printed[id_] = described if has_grown else f"{described} {subject or ''}".strip()
            self.finish()
            self._has_output = True
            sys.stderr.write(f"  * {single_line(described, TITLE_WIDTH)}\n")
        if call.get("status") == "failed" and id_ not in self._failed:
            self._failed.add(id_)
            self.finish()
            reason = _failure(call)
            _, reason = fenced(reason.strip()) or ("", reason)
            if self._is_cancelled and reason.strip().lower() in _NO_REASONS:
                sys.stderr.write("  ◌ cancelled\n")
                return
            reason = single_line(reason.strip() or "no reason given", TITLE_WIDTH)
            sys.stderr.write(f"  ✗ failed: {reason}\n")

    def _show_block(self, block: Json) -> None:
        match block:
            case {"type": "text", "text": str(text)} | {"text": str(text)}:
                self._write(text if self._is_exact else self._drawn(self._prose.feed(text)))
                self._is_in_line = self._markdown is None and not text.endswith("\n")
            case {"type": str(kind)}:
                if self._markdown is not None:
                    self.finish()
                self._write(self._prose.finish())
                self._write(f"[{single_line(kind, TITLE_WIDTH)}]")
                self._is_in_line = True
            case _:
                pass

    def _drawn(self, text: str) -> str:
        """Return what of the reply can be shown now that this came."""
        return text if self._markdown is None else self._markdown.feed(text)

    def _write_json(self, value: Mapping[str, Json]) -> None:
        self._write(f"{ascii_json({'v': OUTPUT_VERSION, **value})}\n")

    def _write(self, text: str) -> None:
        if not text or self.failure is not None:
            return
        self._has_output = True
        try:
            try:
                sys.stdout.write(text)
            except UnicodeEncodeError:
                # Half of a character in UTF-16, or an encoding that has no such character.
                sys.stdout.write(escape_controls(text))
            sys.stdout.flush()
        except OSError as problem:
            # Raised here, it would reach only the journal.
            self.failure = problem
            self._on_stdout_failure()


def _is_news(subject: str | None, printed: str) -> bool:
    """Return whether a line about a tool call does not yet say what it runs or touches."""
    name = PurePath(subject or "").name
    return subject is not None and subject not in printed and name not in printed


def _is_begin(printed: str, described: str) -> bool:
    """Return whether a line showed only the beginning of what is now known of a tool call."""
    return printed != described and described.startswith(printed)


def _subject(call: Mapping[str, Json], cwd: Path | None) -> str | None:
    """Return what a tool call runs or touches; of a command not the directory it runs in."""
    prompt = PermissionPrompt(0, "", call, (), cwd=cwd)
    files: dict[Path, str] = {}
    for path in () if prompt.kind == "execute" else prompt.paths:
        # Some agents name a file twice: as a whole path and below the session's directory.
        files.setdefault(prompt.absolute(path), path)
    paths = list(files.values())
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return prompt.command or (f"{paths[0]}{more}" if paths else None)


def _described(call: Mapping[str, Json], cwd: Path | None) -> str:
    """Return the title of a tool call, with what it runs or touches if that is not in it."""
    names = PermissionPrompt(0, "", call, ()).tool_names
    title = str(call.get("title") or next(iter(names), None) or call.get("kind") or "other")
    subject = _subject(call, cwd)
    shown = subject if command_of(call) is not None else PurePath(subject or "").name
    return title if subject is None or (shown or "") in title else f"{title}: {subject}"


def _failure(call: Mapping[str, Json]) -> str:
    """Return why a tool call failed: its last text, or what its output says."""
    for block in reversed(as_list(call.get("content"))):
        if text := get_text(get(block, "content"), "text"):
            return text
    return error_detail(call.get("rawOutput")) or ""
