"""The capability matrix: the capabilities each side claimed, their uses, and the outcomes.

Methods have their capability in the method table of the schema. `features_of_call` and
`features_of_response` return the capabilities that part of a message uses: a block type in a
prompt, a server type in a session, an update type.

Source: ACP, Initialization, "Capabilities"; the same of version 2; the method table of the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_inspector.session.exchanges import Exchange, PairedMessage
from acp_protocol.dialects.spellings import WIRE_NAMES
from acp_protocol.framing import Side
from acp_protocol.json_values import get, get_list, get_string
from acp_protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    ErrorResponse,
    Json,
    Notification,
    Request,
    SuccessResponse,
)
from acp_protocol.schema.methods import METHODS, find_method
from acp_protocol.schema.vocabulary import OPENING, PROMPT_CAPABILITIES

AGENT: Final = "agentCapabilities"
CLIENT: Final = "clientCapabilities"
_UPDATES: Final[Mapping[str, str]] = {
    "notice": f"{CLIENT}.session.notices",
    "compaction_update": f"{CLIENT}.session.compaction",
    "compaction_summary_chunk": f"{CLIENT}.session.compaction",
    "plan_update": f"{CLIENT}.plan",
    "plan_removed": f"{CLIENT}.plan",
    "subagent_update": f"{CLIENT}.subagents",
    "session_message": f"{CLIENT}.subagents",
    "session_message_chunk": f"{CLIENT}.subagents",
}
"""Updates that need a capability in version 1; in version 2 they need none."""

FEATURES: Final[Mapping[int, tuple[str, ...]]] = {
    1: (
        *(f"{AGENT}.promptCapabilities.{name}" for name in PROMPT_CAPABILITIES.values()),
        *(f"{AGENT}.mcpCapabilities.{name}" for name in ("http", "sse", "acp")),
        f"{AGENT}.sessionCapabilities.additionalDirectories",
        f"{AGENT}.sessionCapabilities.systemPrompt",
        f"{CLIENT}.auth.terminal",
        f"{CLIENT}.elicitation.form",
        f"{CLIENT}.elicitation.url",
        f"{CLIENT}.session.configOptions.boolean",
        *dict.fromkeys(_UPDATES.values()),
    ),
    2: (
        *(f"{AGENT}.session.prompt.{name}" for name in PROMPT_CAPABILITIES.values()),
        *(f"{AGENT}.session.mcp.{name}" for name in ("stdio", "http", "acp")),
        f"{AGENT}.session.additionalDirectories",
        f"{AGENT}.session.systemPrompt",
        f"{CLIENT}.auth.terminal",
        f"{CLIENT}.elicitation.form",
        f"{CLIENT}.elicitation.url",
    ),
}
"""Every capability that `features_of_call` and `features_of_response` can return, by version."""


def features_of_call(method: str, params: Json, version: int) -> set[str]:
    """Return the capabilities that the content of a request or notification uses."""
    if method == "session/prompt":
        return set(_prompt(params, version))
    if method in OPENING:
        return set(_opening(params, version))
    if method == "elicitation/create":
        mode = get_string(params, "mode") or "form"
        return {f"{CLIENT}.elicitation.{mode}"} if mode in {"form", "url"} else set()
    if method == "session/update" and version == 1:
        return set(_update(get(params, "update")))
    return set()


def features_of_response(method: str, result: Json, version: int) -> set[str]:
    """Return the capabilities that a response uses."""
    if method == "initialize":
        kinds = {get_string(each, "type") for each in get_list(result, "authMethods")}
        return {f"{CLIENT}.auth.terminal"} if "terminal" in kinds else set()
    if method in OPENING and version == 1 and _has_boolean(result):
        return {f"{CLIENT}.session.configOptions.boolean"}
    return set()


def _prompt(params: Json, version: int) -> Iterator[str]:
    room = f"{AGENT}.promptCapabilities" if version == 1 else f"{AGENT}.session.prompt"
    for block in get_list(params, "prompt"):
        if name := PROMPT_CAPABILITIES.get(get_string(block, "type")):
            yield f"{room}.{name}"


def _opening(params: Json, version: int) -> Iterator[str]:
    servers = get_list(params, "mcpServers")
    kinds = {get_string(server, "type") for server in servers}
    if version == 1:
        # Version 1 has no capability for stdio: every agent must support it.
        yield from (f"{AGENT}.mcpCapabilities.{kind}" for kind in kinds & {"http", "sse", "acp"})
    else:
        yield from (f"{AGENT}.session.mcp.{kind}" for kind in kinds & {"stdio", "http", "acp"})
    room = f"{AGENT}.sessionCapabilities" if version == 1 else f"{AGENT}.session"
    if get_list(params, "additionalDirectories"):
        yield f"{room}.additionalDirectories"
    if get(params, "systemPrompt") is not None:
        yield f"{room}.systemPrompt"


def _update(update: Json) -> Iterator[str]:
    name = get_string(update, "sessionUpdate")
    if name in _UPDATES:
        yield _UPDATES[name]
    if name == "config_option_update" and _has_boolean(update):
        yield f"{CLIENT}.session.configOptions.boolean"


def _has_boolean(source: Json) -> bool:
    options = get_list(source, "configOptions")
    return any(get(option, "type") == "boolean" for option in options)


Mark: TypeAlias = Literal[
    "used without a claim", "claimed and refused", "never used", "extension", "unknown", ""
]
MAX_CLAIM_DEPTH: Final = 10
"""Levels of nested claims that are read."""
_AUTH: Final = "authMethods"


@dataclass(slots=True)
class Capability:
    """One capability, its claim and its uses."""

    side: Side
    """The side that claims it."""
    path: str
    """Its path below the capabilities of its side."""
    is_known: bool = True
    """Whether it is in the schema of the version that was agreed on."""
    claim: Json = None
    """What was claimed, unchanged; None for nothing."""
    is_claimed: bool = False
    claimed_in: int | None = None
    """The frame of the claim."""
    used: int = 0
    """How often the other side used it."""
    first_used: int | None = None
    """The frame of the first use."""
    worked: int = 0
    """Uses with a result."""
    failed: int = 0
    """Uses with an error."""
    refused: int = 0
    """Failed uses whose error is "method not found"."""

    @property
    def mark(self) -> Mark:
        """A note, e.g. "never used"; empty if there is none."""
        if self.used and not self.is_claimed:
            return "used without a claim"
        if self.is_claimed and self.refused:
            return "claimed and refused"
        if not self.is_known:
            return "extension" if "._meta." in self.path else "unknown"
        return "never used" if self.is_claimed and not self.used else ""


class Capabilities:
    """Reads the frames of one connection, and keeps a row for each capability."""

    def __init__(self) -> None:
        self.version = 1
        """The protocol version that was agreed on."""
        self._known: set[str] = set()
        """The paths in the schema of the version that was agreed on."""
        self._rows: dict[str, Capability] = {}
        self._claims: dict[Side, tuple[Json, int]] = {}
        self._used: dict[Exchange, set[str]] = {}
        self._lay_out()

    def rows(self) -> list[Capability]:
        """Return every capability of the version that was agreed on, and each other claim."""
        rows = self._rows.values()
        return [row for row in rows if row.is_known or row.claim is not None or row.used]

    def apply(self, frame: Frame, paired: Sequence[PairedMessage]) -> None:
        for message, exchange in paired:
            match message:
                case Request(method=method, params=params):
                    used = self._call(frame, method, params, "request")
                    if used and exchange is not None:
                        self._used[exchange] = used
                case Notification(method=method, params=params):
                    self._call(frame, method, params, "notification")
                case SuccessResponse() | ErrorResponse() if exchange is not None:
                    self._answer(frame, message, exchange)
                case _:
                    pass

    def _call(self, frame: Frame, method: str, params: Json, kind: Any) -> set[str]:
        if method == "initialize" and frame.side == "client":
            self._claims["client"] = params, frame.seq
            self._take_claims()
            return set()
        row = find_method(method, self.version, kind=kind)
        used = features_of_call(method, params, self.version)
        if row is not None and row.gate is not None and row.sent_by in {frame.side, "either"}:
            used.add(row.gate)
        for path in used:
            self._use(path, frame)
        return used

    def _use(self, path: str, frame: Frame) -> None:
        capability = self._row(path)
        capability.used += 1
        capability.first_used = capability.first_used or frame.seq

    def _answer(
        self, frame: Frame, answer: SuccessResponse | ErrorResponse, exchange: Exchange
    ) -> None:
        method = exchange.request.method
        if isinstance(answer, SuccessResponse):
            if method == "initialize" and exchange.requester == "client":
                self._agree(answer.result, frame)
            for path in features_of_response(method, answer.result, self.version):
                self._use(path, frame)
        for path in self._used.pop(exchange, ()):
            capability = self._row(path)
            capability.worked += isinstance(answer, SuccessResponse)
            capability.failed += isinstance(answer, ErrorResponse)
            capability.refused += exchange.code == METHOD_NOT_FOUND

    # Claims

    def _agree(self, result: Json, frame: Frame) -> None:
        self._claims["agent"] = result, frame.seq
        version = 2 if get(result, "protocolVersion") == 2 else 1
        if version != self.version:
            self.version = version
            self._rows.clear()
            self._lay_out()
        self._take_claims()

    def _lay_out(self) -> None:
        gates = [row.gate for row in METHODS if row.version == self.version and row.gate]
        self._known = {*gates, *FEATURES[self.version]}
        for path in sorted(self._known):
            self._row(path)

    def _take_claims(self) -> None:
        for row in self._rows.values():
            row.claim, row.is_claimed, row.claimed_in = None, False, None
        # Paths that only hold capabilities; everything below another path belongs to one
        # capability.
        above = {each for path in self._known for each in _prefixes(path)}
        ends = self._known - above
        for side, (source, n) in self._claims.items():
            root = AGENT if side == "agent" else CLIENT
            claimed = get(source, root if self.version == 1 else "capabilities")
            for path in [path for path in self._rows if path.split(".")[0] == root]:
                self._claim(path, reduce(get, path.split(".")[1:], claimed), n)
            for path, value in _leaves(claimed, root):
                is_part = path in above or not ends.isdisjoint(_prefixes(path))
                if not is_part:
                    self._claim(path, value, n)
            if side == "agent":
                self._claim(_AUTH, get(source, _AUTH), n)

    def _claim(self, path: str, value: Json, n: int) -> None:
        row = self._row(path)
        if value is not None:
            row.claim, row.is_claimed, row.claimed_in = value, _is_claim(path, value), n

    def _row(self, path: str) -> Capability:
        if path not in self._rows:
            side: Side = "client" if path.startswith(CLIENT) else "agent"
            self._rows[path] = Capability(side, path, is_known=path in self._known)
        return self._rows[path]


def _prefixes(path: str) -> set[str]:
    """Return the paths above a path."""
    names = path.split(".")
    return {".".join(names[:count]) for count in range(1, len(names))}


def _is_claim(path: str, value: Json) -> bool:
    """Return whether a value claims a capability: true or an object, not false, null or nothing."""
    if path == _AUTH:
        return isinstance(value, list) and len(cast("list[Json]", value)) > 0
    if path == f"{CLIENT}.elicitation":
        # An object without a mode claims nothing.
        return any(get(value, mode) is not None for mode in ("form", "url"))
    return value is True or isinstance(value, Mapping)


def _leaves(value: Json, path: str, depth: int = MAX_CLAIM_DEPTH) -> Iterator[tuple[str, Json]]:
    """Yield each claim without nested claims; what extensions have in `_meta` is one claim each."""
    if not isinstance(value, Mapping):
        return
    for name, inner in cast("Mapping[str, Json]", value).items():
        full_path = f"{path}.{name}"
        # The abilities that only a dialect has are one row each.
        is_leaf = depth == 0 or (path.endswith("._meta") and name not in WIRE_NAMES)
        if isinstance(inner, Mapping) and inner and not is_leaf:
            yield from _leaves(cast("Json", inner), full_path, depth - 1)
        else:
            yield full_path, inner
