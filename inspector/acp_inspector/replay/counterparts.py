"""Finds the live counterparts of what is recorded, by content.

The order in which an agent sends parallel requests says nothing, and their ids are new in each run.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, cast

from acp_inspector.compare.id_map import IdMap
from acp_inspector.compare.likeness import content, content_differences, likeness
from acp_inspector.compare.values import GENERATED_IDS
from acp_inspector.replay.client_script import ClientScript, Event, ScriptStep
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import (
    ENVELOPE,
    Json,
    Request,
    RequestId,
    SuccessResponse,
    encode,
    id_key,
    parse,
)

_TOOL_CALL: Final = ("title", "kind", "name", "rawInput", "locations")
_DECISIVE: Final = {
    "fs/read_text_file": ("path",),
    "fs/write_text_file": ("path",),
    "terminal/create": ("command", "args"),
    "terminal/output": ("terminalId",),
    "terminal/wait_for_exit": ("terminalId",),
    "terminal/kill": ("terminalId",),
    "terminal/release": ("terminalId",),
}
"""The fields of a request that say what it is about, where not all do."""


def request_likeness(method: str, recorded: Json, live: Json, ids: IdMap) -> float:
    """Return how alike two requests of one method are, from 0 to 1."""
    if method == "session/request_permission":
        calls = [get(each, "toolCall") or get(each, "subject") or each for each in (recorded, live)]
        bound = ids.to_live({"toolCallId": get(calls[0], "toolCallId")})
        if get(bound, "toolCallId") == get(calls[1], "toolCallId") is not None:
            return 1.0
        return call_likeness(calls[0], calls[1], ids)
    names = _DECISIVE.get(method)
    return likeness(content(ids.to_live(recorded), names), content(live, names))


def call_likeness(recorded: Json, live: Json, ids: IdMap) -> float:
    """Return how alike two tool calls look, from 0 to 1."""
    return likeness(content(ids.to_live(recorded), _TOOL_CALL), content(live, _TOOL_CALL))


class Counterparts:
    """The live counterparts of what is recorded: requests, tool calls and ids."""

    def __init__(self, script: ClientScript, ids: IdMap) -> None:
        self._script = script
        self._ids = ids
        self.matched: dict[Hashable, Request] = {}
        """The live request of each recorded one, by its position in the script."""
        self.tool_calls: dict[tuple[str | None, Hashable], str] = {}
        """Live ids of tool calls by recorded session and id."""
        self._bound_calls: set[tuple[str | None, str]] = set()
        self._minted: dict[tuple[str | None, str, str], tuple[list[Json], list[Json]]] = {}
        for event in script.events:
            self.note_minted(event, is_live=False)

    def live_session(self, recorded: str | None) -> str | None:
        return get_text(self._ids.to_live({"sessionId": recorded}), "sessionId")

    def candidates(self, event: Event) -> list[tuple[float, Event]]:
        """Return the unmatched recorded requests of a method, the best of this turn first."""
        found: list[tuple[float, Event]] = []
        for recorded in self._script.requests:
            is_free = recorded.key not in self.matched and recorded.name == event.name
            if is_free and self.live_session(recorded.session) == event.session:
                params = recorded.params, event.params
                score = request_likeness(event.name, *params, self._ids)
                found.append((score, recorded))
                if score >= 1 and recorded.period == event.period:
                    return found[-1:]
        # Sorting is stable: of two alike the first is taken.
        return sorted(found, key=lambda each: (each[1].period != event.period, -each[0]))

    def pair(self, recorded: Event, live: Event) -> None:
        request = live.message
        assert isinstance(request, Request)
        self.matched[recorded.key] = request
        self._ids.learn(recorded.params, request.params)
        for name in ("toolCall", "subject"):
            ids = [get_text(get(each.params, name), "toolCallId") for each in (recorded, live)]
            if ids[0] is not None and ids[1] is not None:
                self.tool_calls.setdefault((recorded.session, ids[0]), ids[1])
                self._bound_calls.add((recorded.session, ids[1]))

    def bind_tool_call(self, event: Event) -> None:
        """Find the recorded counterpart of a new tool call, by content."""
        live = cast("str", event.key)
        sessions = {
            recorded for recorded, _ in self._script.tool_calls
            if self.live_session(recorded) == event.session
        }  # fmt: skip
        if any((session, live) in self._bound_calls for session in sessions):
            return
        free = [
            recorded for key, recorded in self._script.tool_calls.items()
            if key[0] in sessions and key not in self.tool_calls
            and recorded.period == event.period
        ]  # fmt: skip
        if not free:
            return
        update = get(event.params, "update")
        best = max(
            free,
            key=lambda each: call_likeness(get(each.params, "update"), update, self._ids),
        )
        self.tool_calls[best.session, best.key] = live
        self._bound_calls.add((best.session, live))
        self._ids.learn(best.params, event.params)

    def note_minted(self, event: Event, *, is_live: bool) -> None:
        """Bind ids in other updates by the order in which they first appear in their kind."""
        update = get(event.params, "update")
        found = {name: value for name in GENERATED_IDS if (value := get_text(update, name))}
        if not found:
            return
        session = event.session
        if is_live:
            sessions = self._script.run.sessions
            session = next((each for each in sessions if self.live_session(each) == session), None)
        for name, value in found.items():
            recorded, live = self._minted.setdefault((session, event.name, name), ([], []))
            values = live if is_live else recorded
            if value not in values:
                values.append(value)
                if is_live and len(live) <= len(recorded):
                    self._ids.agree(name, recorded[len(live) - 1], value)

    def bind_lost_session(self, event: Event) -> None:
        """Bind the session of a response that the recording lacks to the next unknown one."""
        message = event.message
        result = message.result if isinstance(message, SuccessResponse) else None
        live = get_text(result, "sessionId")
        if live is None:
            return
        opening = tuple(f"response to session/{way}" for way in ("new", "load", "resume", "fork"))
        known = self._script.responses.values()
        opened = {each.session for each in known if each.name in opening}
        for session in self._script.run.sessions:
            if session not in opened and session and self.live_session(session) == session:
                self._ids.agree("sessionId", session, live)
                return

    def to_live(self, step: ScriptStep) -> bytes:
        """Return a recorded client frame with its ids and directories replaced.

        Also one that is not a message: an agent may read it all the same. Its own bytes if it has
        none of them, or is not JSON.
        """
        try:
            before = parse(step.frame.data)
        except ValueError:
            return step.frame.data
        ids = {
            id_key(request.message.id): self.matched[request.key].id
            for request in step.requests
            if isinstance(request.message, Request) and request.key in self.matched
        }
        after: Json
        if isinstance(before, list):
            after = [self._message_to_live(each, ids) for each in cast("list[Json]", before)]
        else:
            after = self._message_to_live(before, ids)
        return step.frame.data if after == before else encode(after)

    def _message_to_live(
        self, message: Json, ids: Mapping[tuple[str, RequestId], RequestId]
    ) -> Json:
        if not isinstance(message, dict):
            return message
        members = cast("dict[str, Json]", message)
        if not members.keys() & ENVELOPE:
            # A prompt of a dialect that has no JSON-RPC around it.
            return self._ids.to_live(members)
        after = {
            name: self._ids.to_live(value) if name in {"params", "result", "error"} else value
            for name, value in members.items()
        }
        if "method" not in after and isinstance(id_ := after.get("id"), str | int):
            after["id"] = ids.get(id_key(id_), id_)
        return after

    def describe_miss(self, event: Event, played: int) -> str:
        """Return what the agent requests beyond the recording, and the nearest that it has.

        `played` is the number of the last recorded frame that was sent.
        """
        text = (
            f"after frame {played} of the recording: the agent sent {event.name} (live frame "
            f"{event.seq}), which the recording does not have there"
        )
        nearest = max(
            (each for each in self._script.requests if each.name == event.name),
            key=lambda each: request_likeness(event.name, each.params, event.params, self._ids),
            default=None,
        )
        if nearest is None:
            return f"{text}; it has no {event.name} at all"
        used = ", which has its counterpart" if nearest.key in self.matched else ""
        recorded = content(self._ids.to_live(nearest.params))
        lines = content_differences(recorded, content(event.params))
        differing = "".join(f"\n    {line}" for line in lines) or " with the same fields"
        return f"{text}; the nearest is frame {nearest.seq}{used}{differing}"
