"""Which tool calls of an agent its permission requests are about, and what it did beside them.

Some agents ask under an id of their own, which no tool call has. Such a request is decided by the
announced call that has the same input. A title alone decides nothing, because agents choose titles
freely; it only tells apart what has the same input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_console.chat.permissions import PermissionPrompt
from acp_protocol.json_values import as_list, descendants, get, get_string, get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import EFFECT_KINDS
from acp_protocol.tool_calls import merge

ToolCall: TypeAlias = Mapping[str, Json]

MAX_ASKS: Final = 1000
"""Permission requests of one turn that are remembered."""
_REFUSAL: Final = re.compile(
    r"reject|den(?:y|ied)|declin|refus|cancel|abort|not (?:allowed|approved|permitted)|permission"
)
"""In what a call has put out: it did nothing, because that was refused."""


def find_announced(request: ToolCall, calls: Iterable[ToolCall]) -> ToolCall | None:
    """Return the open call that a request under an id of its own is about; None if none is sure.

    Its input has to be equal, or hold the path and the texts of each change that the call shows. An
    equal title is needed besides: one input may be that of several tools.
    """
    title = _title(request)
    found = [
        call
        for call in calls
        if title
        and title == _title(call)
        and len(_kinds(call, request)) <= 1
        and (_has_input_of(call, request) or _shows_input_of(call, request))
    ]
    return found[0] if len(found) == 1 else None


def with_announced(announced: ToolCall, request: ToolCall) -> dict[str, Json]:
    """Return a request with what the announced call says besides; the paths of both count."""
    joined = merge(announced, request, 1)
    kinds = _kinds(announced, request)
    joined["kind"] = kinds.pop() if len(kinds) == 1 else "other"
    for field in ("locations", "content"):
        if both := [*as_list(announced.get(field)), *as_list(request.get(field))]:
            joined[field] = both
    return joined


@dataclass(frozen=True, slots=True)
class Effects:
    """What an agent did beside its permission requests: calls by their kinds."""

    unasked: Counter[str]
    """It did not ask."""
    refused: Counter[str]
    """It asked and was refused."""

    @property
    def all(self) -> Counter[str]:
        return self.unasked + self.refused


@dataclass(frozen=True, slots=True)
class _Ask:
    call: ToolCall
    is_allowed: bool
    completed: frozenset[str]
    """Ids of the calls that were completed when it was asked."""


class RequestedCalls:
    """The permission requests of one turn."""

    def __init__(self) -> None:
        self._asks: list[_Ask] = []
        self._forgotten = Effects(Counter(), Counter())

    def note(self, ask: PermissionPrompt, is_allowed: bool, calls: Mapping[str, ToolCall]) -> None:
        """Note a decision; `calls` are the calls so far by their ids."""
        if len(self._asks) < MAX_ASKS:
            done = (id_ for id_, call in calls.items() if call.get("status") == "completed")
            self._asks.append(_Ask(ask.tool_call, is_allowed, frozenset(done)))

    def forget(self, id_: str, calls: Mapping[str, ToolCall]) -> None:
        """Count one of `calls` for good, because it will not be among them any longer."""
        if _effect(calls[id_]) in EFFECT_KINDS:
            self._forgotten = self._effects({id_: calls[id_]}, calls)
        self._asks = [ask for ask in self._asks if ask.call.get("toolCallId") != id_]

    def effects(self, calls: Mapping[str, ToolCall]) -> Effects:
        """Return what calls had effects without permission.

        Some agents never say that a call has ended, so only a failed one counts for nothing, unless
        it is a command that has run. One that was refused counts if it says that it was carried
        out.
        """
        return self._effects(calls, calls)

    def _effects(self, counted: Mapping[str, ToolCall], calls: Mapping[str, ToolCall]) -> Effects:
        decisions = self._decisions(counted, calls)
        unasked, refused = self._forgotten.unasked.copy(), self._forgotten.refused.copy()
        for id_, call in counted.items():
            kind, decision = _effect(call), decisions.get(id_)
            if kind not in EFFECT_KINDS or decision is True:
                continue
            if decision is False:
                refused[kind] += _was_carried_out(call)
            else:
                unasked[kind] += call.get("status") != "failed" or _exit_code(call) is not None
        return Effects(+unasked, +refused)

    def _decisions(
        self, counted: Mapping[str, ToolCall], calls: Mapping[str, ToolCall]
    ) -> dict[str, bool]:
        """Return for each counted call that was asked about whether it was allowed."""
        found: dict[str, bool] = {}
        others: list[_Ask] = []
        for ask in self._asks:
            id_ = ask.call.get("toolCallId")
            if not (isinstance(id_, str) and id_ in calls):
                others.append(ask)
            elif (
                id_ in counted
                and id_ not in ask.completed
                and not _is_harmless_beside(ask.call, calls[id_])
            ):
                found[id_] = found.get(id_, False) or ask.is_allowed
        for ask in others:
            left = {
                id_: call
                for id_, call in counted.items()
                if id_ not in found and id_ not in ask.completed and _may_be(call, ask.call)
            }
            # One request is about one call; of several alike it does not matter which.
            titled = (id_ for id_, call in left.items() if _title(call) == _title(ask.call))
            if (id_ := next(titled, next(iter(left), None))) is not None:
                found[id_] = ask.is_allowed
        return found


def _may_be(call: ToolCall, request: ToolCall) -> bool:
    """Return whether a request may be about a call, for what is counted after the fact."""
    if len({_effect(call), _effect(request)} - {"other"}) > 1:
        return False
    if _has_input_of(call, request):
        return True
    is_titled = bool(_title(call)) and _title(call) == _title(request)
    has_both = bool(call.get("rawInput")) and bool(request.get("rawInput"))
    return is_titled and (not has_both or _has_paths_of(call, request))


def _is_harmless_beside(request: ToolCall, call: ToolCall) -> bool:
    """Return whether a request was for less than the call did, such as for reading."""
    harmless = _effect(request) not in {"other", *EFFECT_KINDS}
    return harmless and _effect(call) in EFFECT_KINDS


def _has_input_of(call: ToolCall, request: ToolCall) -> bool:
    raw = request.get("rawInput")
    return bool(raw) and raw == call.get("rawInput")


def _shows_input_of(call: ToolCall, request: ToolCall) -> bool:
    """Return whether a call shows nothing but changes that are the input of a request."""
    prompt = PermissionPrompt(0, "", request, ())
    if not PermissionPrompt(0, "", call, ()).is_diff or prompt.has_command:
        return False
    texts = {each for each in descendants(request.get("rawInput")) if isinstance(each, str)}
    return all(
        get_text(diff, "path") in texts
        and get_text(diff, "newText") in texts
        and (get_text(diff, "oldText") or None) in {None, *texts}
        for diff in as_list(call.get("content"))
    )


def _has_paths_of(call: ToolCall, request: ToolCall) -> bool:
    """Return whether both name the same files, and neither a command."""
    one, other = (PermissionPrompt(0, "", each, ()) for each in (call, request))
    has_command = one.has_command or other.has_command
    return bool(one.paths) and {*one.paths} == {*other.paths} and not has_command


def _kinds(*calls: ToolCall) -> set[str]:
    """Return the kinds that are said; calls with more than one are not the same."""
    return {PermissionPrompt(0, "", call, ()).kind for call in calls} - {"other"}


def _title(call: ToolCall) -> str:
    return get_string(call, "title")


def _effect(call: ToolCall) -> str:
    """Return the kind of a call; where the agent gives none, that of what it shows."""
    prompt = PermissionPrompt(0, "", call, ())
    if prompt.kind != "other":
        return prompt.kind
    if prompt.command is not None or prompt.has_terminal:
        return "execute"
    return "edit" if prompt.has_diff else "other"


def _was_carried_out(call: ToolCall) -> bool:
    """Return whether a call that was refused says that it was carried out all the same."""
    if (code := _exit_code(call)) is not None:
        return code == 0
    texts = [get_text(get(each, "content"), "text") for each in as_list(call.get("content"))]
    output = " ".join([*filter(None, texts), str(call.get("rawOutput") or "")]).lower()
    return call.get("status") == "completed" and _REFUSAL.search(output) is None


def _exit_code(call: ToolCall) -> int | None:
    """Return how the command of a call has ended, where agents say so."""
    output = call.get("rawOutput")
    found = [get(output, name) for name in ("exitCode", "exit_code", "exit", "code")]
    return next((each for each in found if type(each) is int), None)
