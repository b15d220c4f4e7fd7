"""Who decides what an agent may do.

Decided by the structured kind of what is asked, never by a title: an agent writes its titles
itself.

Source: ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, cast

from acp_protocol.jsonrpc import Json, RequestId

Allowed: TypeAlias = Literal["none", "reads", "edits", "all"]

_KINDS: Final[dict[Allowed, frozenset[str]]] = {
    "none": frozenset(),
    "reads": frozenset({"read", "search", "think"}),
    "edits": frozenset({"read", "search", "think", "edit", "move"}),
}


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One of the answers that the agent offers."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PermissionAsk:
    """An agent's question for consent."""

    request_id: RequestId
    session_id: str
    tool_call: Mapping[str, Json]
    options: tuple[PermissionOption, ...]

    @property
    def kind(self) -> str:
        """The structured kind of the tool call; "other" when the agent gives none."""
        kind = self.tool_call.get("kind")
        return kind if isinstance(kind, str) else "other"

    @property
    def title(self) -> str:
        """What the agent calls it: untrusted, and nothing to decide by."""
        title = self.tool_call.get("title")
        return title if isinstance(title, str) else self.kind

    def option(self, *kinds: str) -> PermissionOption | None:
        """Return the first offered option of the first of `kinds` that is offered."""
        for kind in kinds:
            for option in self.options:
                if option.kind == kind:
                    return option
        return None


class Decider(Protocol):
    """Whoever gives or refuses consent."""

    async def decide(self, ask: PermissionAsk) -> str | None:
        """Return the id of one of the offered options; None when nothing was decided."""
        ...


class PolicyDecider:
    """Decides without a person; what it refuses is told to `refused`."""

    def __init__(self, allowed: Allowed, refused: Callable[[PermissionAsk], None]) -> None:
        self._allowed: Allowed = allowed
        self._refused = refused

    async def decide(self, ask: PermissionAsk) -> str | None:
        """Allow what the policy allows, once; refuse the rest, once where that is offered."""
        if self._allowed == "all" or ask.kind in _KINDS[self._allowed]:
            option = ask.option("allow_once", "allow_always")
        else:
            self._refused(ask)
            option = ask.option("reject_once", "reject_always")
        return option.id if option else None


def read_ask(request_id: RequestId, params: Json) -> PermissionAsk | None:
    """Return the question that the params of `session/request_permission` ask; None when broken."""
    if not isinstance(params, dict):
        return None
    members = cast("dict[str, Json]", params)
    session_id, tool_call = members.get("sessionId"), members.get("toolCall")
    options = members.get("options")
    if not (
        isinstance(session_id, str) and isinstance(tool_call, dict) and isinstance(options, list)
    ):
        return None
    read = [_option(option) for option in cast("list[Json]", options)]
    known = tuple(option for option in read if option is not None)
    return PermissionAsk(request_id, session_id, cast("dict[str, Json]", tool_call), known)


def _option(value: Json) -> PermissionOption | None:
    match value:
        case {"optionId": str(id_), "name": str(name), "kind": str(kind)}:
            return PermissionOption(id_, name, kind)
        case _:
            return None
