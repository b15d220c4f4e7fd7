"""All that reads the frames of a connection, each as a function of the next entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from acp_console.agents.session_options import most_restrictive_mode, session_options
from acp_console.chat.changed_files import ChangedFiles
from acp_console.chat.elicitation import ElicitationAnswer
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_console.chat.work import work_of
from acp_console.cli.exec_output import TurnPrinter
from acp_console.traffic.talk import talk_at
from acp_console.tui.transcript.cards import card_of
from acp_console.tui.transcript.rows import Look
from acp_console.wording.capabilities import capability_cells
from acp_console.wording.statistics import headline, session_cells
from acp_console.wording.transcript import transcript_lines
from acp_console.wording.transcript_markdown import markdown_lines
from acp_console.wording.waiting import wait_tree
from acp_inspector.compare.diff import compare
from acp_inspector.compare.steps import Steps
from acp_inspector.journal import Entry, Frame
from acp_inspector.lint.engine import Linter
from acp_inspector.messages import Decoder
from acp_inspector.replay.acts import acts_of, count_prompts
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.client_script import ClientScript
from acp_inspector.replay.directories import replay_directories
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_inspector.session.items import Item
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.to_json import session_to_json
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Notification, Request, SuccessResponse, read_message
from tests.fuzz.wrong_types import Case
from tests.inspector.talks import Said, answer, ask, paired_row, prompt, update

LOOK = Look.from_theme({}, has_colors=False)
Fold = Callable[[Entry], object]
LOOK_EVERY = 60
"""Entries after which what shows the state of a fold is called."""


def draw(item: Item) -> None:
    card = card_of(item)
    for part in range(card.part_count):
        card.key(part)
        card.rows(part, 80, LOOK)
        card.source(part)


def model_fold(dialect: str | None = None) -> Fold:
    """Fold into the model of sessions; look at all of it again and again."""
    model = SessionModel(None if dialect is None else open_dialect(dialect))
    files = ChangedFiles()

    def apply(entry: Entry) -> None:
        model.apply(entry)
        if entry.seq % LOOK_EVERY:
            return
        model.notes()
        list(wait_tree(model.waiting()))
        list(map(capability_cells, model.capabilities.rows()))
        headline(model)
        for id_, snapshot in model.conversations.at(model.n).items():
            json.dumps(session_to_json(snapshot))
            list(transcript_lines(snapshot))
            list(markdown_lines(snapshot.items, "agent"))
            for item in snapshot.items:
                draw(item)
            work_of(model.conversations, id_)
            files.note(snapshot.items)
        talk_at(model.conversations, model.n, 100)
        files.files()
        for key, tally in model.statistics.sessions.items():
            session_cells(model, key, tally)
        statistics = model.statistics
        for counts in (statistics.total, *statistics.sessions.values(), *statistics.turns.values()):
            _ = counts.chunk_rate, counts.failed_calls, counts.cost

    return apply


def sessions_fold() -> Fold:
    sessions = Sessions()
    return lambda entry: sessions.feed(entry) if isinstance(entry, Frame) else None


def steps_fold() -> Fold:
    exchanges, steps, decoder = Exchanges(), Steps(), Decoder(None)

    def apply(entry: Entry) -> None:
        if isinstance(entry, Frame):
            steps.apply(entry, exchanges.pair(decoder.decode(entry)))

    return apply


def rows_fold() -> Fold:
    exchanges = Exchanges()
    return lambda entry: paired_row(entry, exchanges) if isinstance(entry, Frame) else None


def lint_fold() -> Fold:
    return Linter(unstable=True).feed


def printer_fold(format_: Any) -> Callable[[], Fold]:
    def fold() -> Fold:
        printer = TurnPrinter(format_, lambda: None)
        printer.begin("s1", 1, None)

        def apply(entry: Entry) -> None:
            printer.show(entry)
            if not entry.seq % LOOK_EVERY:
                printer.end("s1", {"stopReason": "end_turn"})

        return apply

    return fold


class Refuser:
    """A user who leaves each form."""

    async def elicit(self, request: object) -> ElicitationAnswer:
        del request
        return ElicitationAnswer("cancel")

    def complete(self, elicitation_id: str) -> None:
        del elicitation_id


def handlers_fold(version: int) -> Fold:
    decider = PolicyDecider("none", lambda ask, is_allowed: None)
    handlers = ClientHandlers(decider, elicitor=Refuser())
    handlers.version = version

    def apply(entry: Entry) -> None:
        if not isinstance(entry, Frame) or entry.side != "agent":
            return
        message = read_message(entry.data)
        if isinstance(message, Notification):
            handlers.observe_notification(message)
        elif isinstance(message, Request) and not message.method.startswith(("fs/", "terminal/")):
            # It waits for nothing, because nobody is asked.
            with suppress(StopIteration, RequestFailedError):
                handlers.handle_request(message).send(None)

    return apply


def options_fold() -> Fold:
    """Read the options of each session."""

    def apply(entry: Entry) -> None:
        if isinstance(entry, Frame):
            message = read_message(entry.data)
            if isinstance(message, SuccessResponse):
                for option in session_options(as_object(message.result)):
                    most_restrictive_mode(option)

    return apply


def replay_fold() -> Fold:
    """Read what a replay needs of a recording, in portions."""
    entries: list[Entry] = []

    def apply(entry: Entry) -> None:
        entries.append(entry)
        if len(entries) % LOOK_EVERY:
            return
        found = [each for each in entries if isinstance(each, Frame)]
        acts_of("client", found)
        acts_of("agent", found)
        count_prompts(found)
        replay_directories(found, None, Path("/nowhere"), recorded_cwd="/recorded")
        ClientScript(found)
        AgentScript(found)
        compare(found, found)
        del entries[len(opening(1)) :]

    return apply


FOLDS: Mapping[str, Callable[[], Fold]] = {
    "model": model_fold,
    "sessions": sessions_fold,
    "steps": steps_fold,
    "rows": rows_fold,
    "lint": lint_fold,
    "exec text": printer_fold("text"),
    "exec json": printer_fold("json"),
    "handlers 1": partial(handlers_fold, 1),
    "handlers 2": partial(handlers_fold, 2),
    "options": options_fold,
    "replay": replay_fold,
    "ACPex": partial(model_fold, "acpex"),
    "OpenOxide": partial(model_fold, "openoxide"),
    "Continuum": partial(model_fold, "continuum"),
}


def opening(version: int) -> list[Said]:
    """Return the start of a connection with a session and a turn."""
    text = [{"type": "text", "text": "hello"}]
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
        ask("client", 2, "session/new", cwd="/w", mcpServers=[]),
        answer("agent", 2, {"sessionId": "s1"}),
        prompt(3, "hello"),
        update("tool_call", toolCallId="call1", title="Call", kind="edit", status="pending"),
        update("agent_message", messageId="message1", content=text),
    ]


def said(cases: Iterable[Case]) -> Iterator[Said]:
    """Yield the messages of the cases, requests with their responses."""
    for number, case in enumerate(cases, start=100):
        side = "agent" if case.method.sent_by == "agent" else "client"
        other = "client" if side == "agent" else "agent"
        name, value = case.method.name, case.value
        if case.is_minimal:
            # Nothing is known of this call from others.
            value = json.loads(json.dumps(value).replace('"call1"', f'"call{number}"'))
        if case.method.kind == "notification":
            yield side, {"method": name, "params": value}
        elif case.is_result:
            yield side, {"id": number, "method": name, "params": {"sessionId": "s1"}}
            yield other, {"id": number, "result": value}
        else:
            yield side, {"id": number, "method": name, "params": value}
            yield other, {"id": number, "result": {}}
