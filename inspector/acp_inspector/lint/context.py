"""The context of a check: the content of a frame, and the state before it.

Rules are more lenient than a parser: a request without `"jsonrpc"` still counts as one, so that one
mistake does not hide others.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_inspector.lint.state import IdKey, LintState, Point, SeenSession, SentRequest, opposite
from acp_inspector.messages import DecodedFrame
from acp_inspector.views.annotations import Severity
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import (
    ENVELOPE,
    UNSUPPORTED_VERSION,
    Json,
    RequestId,
    id_key,
    is_request_id,
)
from acp_protocol.schema.methods import VERSIONS, find_method
from acp_protocol.schema.validate import accepts

Kind: TypeAlias = Literal[
    "request", "notification", "result", "failure", "batch", "draft batch", "broken"
]

Place: TypeAlias = tuple[str, dict[str, Json]]
"""The path of an object in a message, and the object."""
Violation: TypeAlias = tuple[str, str]
"""The text of a problem, and its path."""

INITIALIZE: Final = ("initialize", "proxy/initialize")
"""Methods that negotiate the version."""
QUOTED_CHARACTERS: Final = 80
"""Characters of a value that a problem quotes."""
DELIVERY_TIMEOUT_S: Final = 2.0
"""Seconds after which a frame counts as received by the other side, without further proof."""
REACTION_S: Final = 0.001
"""Seconds in which no peer reacts to a frame: what is sent so soon after it has crossed it."""

_INDEX: Final = re.compile(r"\.\d+(?=\.|$)")

BODIES: Final[dict[Kind, str]] = {
    "request": "params",
    "notification": "params",
    "result": "result",
    "failure": "error",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A violation of a rule."""

    text: str
    """The problem in one sentence."""
    frames: tuple[int, ...]
    """The frames that prove it, oldest first."""
    severity: Severity | None = None
    """Set if it differs from the severity of the rule."""
    path: str = ""
    """The path in the message, if there is one, e.g. `params.update.content`."""
    topic: str = ""
    """What it is about, if each connection has one finding of the rule about it, however often it
    occurs; empty: every occurrence is a finding."""


CheckResult: TypeAlias = tuple[Problem, ...] | None
"""What a check found: not applicable (None), no problem (empty), or problems."""

OK: Final[tuple[Problem, ...]] = ()
"""The check applied and found no problem."""


class Context:
    """A frame and the state before it."""

    __slots__ = (
        "decoded",
        "error",
        "frame",
        "id",
        "kind",
        "method",
        "params",
        "previous",
        "reported",
        "request",
        "result",
        "seq",
        "session",
        "session_id",
        "side",
        "state",
        "update",
        "value",
        "variant",
        "verdict",
        "version",
    )

    def __init__(self, frame: Frame, state: LintState) -> None:
        self.frame = frame
        self.seq = frame.seq
        self.side: Side = frame.side
        self.state = state
        self.previous = state.last.get(frame.side)
        """The frame of the same side before this one."""
        self.decoded = DecodedFrame(frame)
        self.value = self.decoded.members
        """The whole message; empty if it is not an object."""
        self.kind: Kind = "broken"
        if isinstance(self.decoded.value, list):
            self.kind = "draft batch" if state.dialect == BATCHES else "batch"
        self.id: Json = None
        """As sent; it may be invalid."""
        self.method: str | None = None
        """Its own, or that of the request that it responds to."""
        self.params: dict[str, Json] = {}
        """Those of a call; empty if they are absent or not an object."""
        self.result: Json = None
        self.error: dict[str, Json] = {}
        self.request: SentRequest | None = None
        """The request, for a response to one."""
        self.update: dict[str, Json] = {}
        """The update in a `session/update`; empty for anything else."""
        self.variant: str | None = None
        """Its `sessionUpdate`."""
        self.reported: set[str] = set()
        """The paths that checks have reported something about."""
        self.verdict: Any = NotImplemented
        """The result of the schema validation; computed on first use, then kept."""
        self._classify(self.value)
        self.session_id = self._find_session()
        self.session: SeenSession | None = (
            None if self.session_id is None else state.sessions.get(self.session_id)
        )
        self.version = self._find_version()
        """The protocol version to read it by; None until one is negotiated."""

    @property
    def time(self) -> float:
        return self.frame.time

    @property
    def point(self) -> Point:
        """Its number and time."""
        return Point(self.seq, self.frame.time)

    @property
    def key(self) -> IdKey | None:
        """The key of its id among the requests of the caller; None without a valid id."""
        if not is_request_id(self.id):
            return None
        caller = self.side if self.kind == "request" else opposite(self.side)
        return (caller, *id_key(cast("RequestId", self.id)))

    @property
    def result_object(self) -> dict[str, Json]:
        """The result if it is an object; empty otherwise."""
        return as_object(self.result)

    @property
    def code(self) -> int | None:
        """The code of an error response."""
        code = self.error.get("code")
        return code if type(code) is int else None

    def had_received(self, point: Point | SentRequest) -> bool:
        """Return whether its sender must have received the other side's frame at `point` before.

        Frames may cross: the sender must have received it once it responded to a later frame, or
        after a delivery timeout.
        """
        return (
            self.state.seen[self.side] >= point.seq or self.time - point.time > DELIVERY_TIMEOUT_S
        )

    def topic(self, of: str = "") -> str:
        """Return the topic of a problem of all messages like this one, at the path `of`."""
        path = _INDEX.sub("", of)
        return f"{self.side} {self.kind} {self.method} {self.variant} {path}"

    def has_crossed(self, point: Point) -> bool:
        """Return whether it was sent too soon to be a reaction to the frame at `point`."""
        return self.state.seen[self.side] < point.seq and self.time - point.time < REACTION_S

    def ends_after(self, point: Point) -> bool:
        """Return whether it ends a turn whose agent must have received the frame at `point`.

        An agent that ends a turn has received the responses to what it requested in it.
        """
        replied = None if self.session is None else self.session.replied
        return self.had_received(point) or (
            replied is not None and replied.seq > point.seq and not self.has_crossed(replied)
        )

    def problem(
        self,
        text: str,
        *since: Point | SentRequest | None,
        at: str = "",
        path: str = "",
        severity: Severity | None = None,
        topic: str = "",
    ) -> tuple[Problem, ...]:
        """Return the problem that this frame broke the rule, with the frames that prove it.

        `path` is the path in the message; `at` is the path within the update, the params or the
        result.
        """
        frames = {point.seq for point in since if point is not None} | {self.seq}
        if at:
            path = f"{self.body}.{at}"
        return (Problem(text, tuple(sorted(frames)), severity, path, topic),)

    @property
    def body(self) -> str:
        """The path of what the message is about: update, params, result or error."""
        is_update = self.method == "session/update" and self.kind != "result"
        return "params.update" if is_update else BODIES[self.kind]

    @property
    def subject(self) -> Json:
        """What the message is about: update, params, result or error."""
        if self.kind == "result":
            return self.result
        if self.kind == "failure":
            return self.error
        return self.update if self.method == "session/update" else self.params

    def members(self, at: str) -> list[tuple[str, Json]]:
        """Return the members at a place in the body, with their paths.

        `*` is every item of an array, or member of an object; `|` is between names.
        """
        found: list[tuple[str, Json]] = [("", self.value)]
        for name in f"{self.body}.{at}".split("."):
            found = [
                (f"{path}.{key}".removeprefix("."), value)
                for path, outer in found
                for key, value in _inner(outer, name)
            ]
        return found

    def problems(self, found: Iterable[Violation]) -> tuple[Problem, ...]:
        """Return problems of this frame alone, given by their text and path."""
        return tuple(Problem(text, (self.seq,), path=path) for text, path in found)

    def _classify(self, value: dict[str, Json]) -> None:
        self.id = value.get("id")
        method = value.get("method")
        if isinstance(method, str):
            self.kind = "request" if "id" in value else "notification"
            self.method = method
            self.params = as_object(value.get("params"))
            if method == "session/update":
                self.update = as_object(self.params.get("update"))
                variant = self.update.get("sessionUpdate")
                self.variant = variant if isinstance(variant, str) else None
            return
        if "jsonrpc" not in value and not value.keys() <= ENVELOPE:
            # A line of a log in JSON, which may have an id, and a result, of its own.
            return
        if "result" in value and value.get("error") is None:
            # Even with `"error": null` beside it, which only `result-and-error` reports.
            self.kind, self.result = "result", value["result"]
        elif "error" in value:
            self.kind, self.error = "failure", as_object(value["error"])
        else:
            return
        key = self.key
        self.request = None if key is None else self.state.requests.get(key)
        if self.request is not None:
            self.method = self.request.method

    def _find_session(self) -> str | None:
        if self.request is not None:
            return self.request.session
        session = self.params.get("sessionId")
        return session if isinstance(session, str) else None

    def _goes_on(self) -> bool:
        """Return whether it is a call after a failed `initialize`."""
        if self.kind not in {"request", "notification"} or self.state.initialize is None:
            return False
        return not (self.method or "$/").startswith("$/")

    def _followed_version(self) -> int | None:
        """Return the version by which to read a client's call to a disguised agent.

        None: it is valid in version 2 only, because the client trusts the agent's number.
        """
        kind = "request" if self.kind == "request" else "notification"
        for version in sorted(VERSIONS):
            row = find_method(self.method or "", version, kind=kind)
            if row and row.params and accepts(row.params, version, known_only=True)(self.params):
                return None if version > 1 else 1
        return 1

    def _find_version(self) -> int | None:
        if self.method not in INITIALIZE:
            version = self.state.version
            is_call = self.kind in {"request", "notification"}
            if self.state.is_disguised and is_call and self.side == "client":
                return self._followed_version()
            if version is None and self.side == "client" and self._goes_on():
                return self.state.assumed_version(self.side)
            return version
        if self.kind == "result" and is_version_1_in_disguise(self.result_object):
            return 1
        source = self.result_object if self.kind == "result" else self.params
        if self.kind == "failure" and self.request is not None:
            if self.code == UNSUPPORTED_VERSION:
                return 2
            source = self.request.params
        wanted = source.get("protocolVersion")
        # The form of a version that does not exist yet is not known.
        return wanted if type(wanted) is int and wanted in VERSIONS else None


@dataclass(frozen=True, slots=True)
class EndContext:
    """The end of the recording, for checks."""

    state: LintState
    point: Point
    """The last entry."""
    is_orderly: bool
    """The connection was closed and the agent ended by itself."""
    is_over: bool
    """The connection ended; otherwise the recording just stops."""
    has_client_left: bool
    """The client closed the connection, before the agent did or ended."""

    @property
    def blames_responder(self) -> bool:
        """Whether an open request is an error: nothing kept its receiver from responding."""
        return self.is_orderly and not self.has_client_left

    def problem(
        self, text: str, *frames: Point | SentRequest, severity: Severity | None = None
    ) -> tuple[Problem, ...]:
        """Return the problem that a rule was broken at the end, with the frames that prove it."""
        return (Problem(text, tuple(sorted({frame.seq for frame in frames})), severity),)


def is_version_1_in_disguise(initialized: dict[str, Json]) -> bool:
    """Return whether an `initialize` result names version 2, but has the form of version 1."""
    version = initialized.get("protocolVersion")
    is_version_1 = "agentCapabilities" in initialized and not initialized.keys() & {
        "capabilities",
        "info",
    }
    return type(version) is int and version >= 2 and is_version_1


def _inner(outer: Json, names: str) -> Iterator[tuple[str, Json]]:
    if names != "*":
        members = as_object(outer)
        yield from ((name, members[name]) for name in names.split("|") if name in members)
    elif isinstance(outer, dict):
        yield from as_object(outer).items()
    else:
        yield from ((str(index), each) for index, each in enumerate(as_list(outer)))


def items(path: str, value: Json) -> list[Place]:
    """Return the items of an array with their paths, an empty object for each that is none."""
    return [(f"{path}.{index}", as_object(each)) for index, each in enumerate(as_list(value))]


def repeated(values: Iterable[Json]) -> Iterator[tuple[int, str]]:
    """Yield each string that occurred before, with its index."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if isinstance(value, str):
            if value in seen:
                yield index, value
            seen.add(value)


def is_one_of(value: Json, words: Container[str]) -> bool:
    """Return whether `value` is one of these words; a list or an object is not."""
    return isinstance(value, str) and value in words


def quoted(value: Json) -> str:
    """Return a value as JSON on one line, shortened if it is long; safe to show."""
    return single_line(json_text(value, default=str), QUOTED_CHARACTERS)
