"""Rules: a TOML file, the frames that each rule acts on, and what it does to them.

Every rule counts and draws random numbers separately for each direction, so its effect depends only
on the seed and on the frames of that direction, not on thread timing.

Source: docs/intercept.md, "Rules".
"""

from __future__ import annotations

import signal as signals
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias, cast, get_args

from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.patterns import BoundedRegex
from acp_inspector.intercept.batches import BatchEdit
from acp_inspector.intercept.live_filter import Matcher
from acp_inspector.intercept.message import (
    MAX_COPIES,
    MAX_WAIT_S,
    Inject,
    InterceptedFrame,
    InterceptError,
    ProxyRefusal,
    encode,
    parse_or_none,
)
from acp_inspector.jsonpath import JSONPathError, delete_at, parse_path, set_at
from acp_protocol import faults, jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.faults import (
    ENDINGS,
    Crash,
    Fault,
    Hang,
    OutgoingFrame,
    Spelling,
    delayed,
    find_signal,
    with_id,
)
from acp_protocol.framing import Side
from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import ErrorResponse, Json, Request, SuccessResponse
from acp_protocol.safe_regex import PatternError

REORDER_TIMEOUT_S: Final = 5.0
"""Seconds that a reordered frame waits for others by default."""
MAX_NAME_CHARS: Final = 60
"""Characters of a key or name that an error message repeats."""
MAX_PADDING: Final = 2**27
"""Bytes that a line is padded to."""
MAX_DEPTH: Final = 1_000_000
"""Brackets that a frame gets."""
_MAX_INT: Final = 2**31
_LINE_ENDINGS: Final = frozenset(b"\r\n")


class RulesError(AcpError):
    """A rules file is invalid; the message names file, rule and key."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Selects, among the frames that match the filter, those that a rule acts on."""

    side: Side | None = None
    """The sender of these frames; None for both."""
    after: int = 0
    """How many of them are skipped at first."""
    first: int | None = None
    """How many of the next ones are considered; None for all."""
    every: int = 1
    """Of those, consider only every n-th."""
    probability: float = 1.0
    """The probability that the rule acts on each of those."""


@dataclass(slots=True)
class InterceptRule:
    """An action, and the frames that it applies to."""

    name: str
    matches: Matcher
    action: str
    """A key of `ACTIONS`."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """A value for each field of the action."""
    trigger: Trigger = Trigger()
    seed: int = 0
    request: str | None = None
    """The HTTP requests that it acts on, one of `REQUESTS`; None: it acts on frames."""
    _matched: dict[Side, int] = field(default_factory=dict[Side, int])
    _rng: dict[Side, Random] = field(default_factory=dict[Side, Random])

    def __post_init__(self) -> None:
        sides: tuple[Side, ...] = ("client", "agent")
        for side in sides:
            self._matched[side] = 0
            # A string seeds the same way in every run; no cryptography is involved.
            self._rng[side] = Random(f"{self.seed}/{self.name}/{side}")  # noqa: S311

    def process(self, frame: InterceptedFrame, inject: Inject) -> InterceptedFrame:
        """Return a copy after the action, or `frame` if the rule does not act on it."""
        del inject
        side = frame.frame.side
        if not (self._fits(frame) and self._acts(side)):
            return frame
        copy = frame.copy()
        ACTIONS[self.action].run(copy, self.values, self.name, self._rng[side])
        return copy

    def fault_of(self, request: str) -> RequestFault | None:
        """Return what happens to an HTTP request of a kind; None if the rule does not act on it."""
        if self.request != request or not self._acts("client"):
            return None
        values, by = self.values, self.name
        match self.action:
            case "status":
                return RequestFault(by, refusal=_refusal(values))
            case "late":
                return RequestFault(by, late=values["seconds"])
            case "delay":
                seconds = delayed(values["seconds"], values["jitter"], self._rng["client"])
                return RequestFault(by, delay=round(seconds, 6))
            case _:
                return RequestFault(by, cut_at=values["bytes"])

    def _acts(self, side: Side) -> bool:
        """Count what the rule may act on, and return whether it does."""
        trigger = self.trigger
        self._matched[side] += 1
        number = self._matched[side] - trigger.after
        is_late = trigger.first is not None and number > trigger.first
        if number <= 0 or number % trigger.every or is_late:
            return False
        return trigger.probability >= 1 or self._rng[side].random() < trigger.probability

    def fits_all(self, frame: InterceptedFrame) -> bool:
        """Return whether none of the messages of an array matches, so that all of it may."""
        return not any(self._fits(entry) for _, entry in BatchEdit(frame).entries())

    def _fits(self, frame: InterceptedFrame) -> bool:
        is_ours = self.request is None and self.trigger.side in {None, frame.frame.side}
        return is_ours and self.matches(frame.current)


@dataclass(frozen=True, slots=True)
class RequestFault:
    """What happens to an HTTP request."""

    by: str
    """The rule."""
    refusal: ProxyRefusal | None = None
    """The response that it gets, and the server never sees it."""
    delay: float = 0.0
    """Seconds before the server gets it."""
    late: float = 0.0
    """Seconds that the response is held back."""
    cut_at: int | None = None
    """Bytes of the response after which it breaks off."""


def load_rules(
    path: Path, compile_filter: Callable[[str], Matcher], *, is_http: bool = False
) -> Sequence[InterceptRule]:
    """Return the rules of a file, in its order.

    Args:
        path: The file.
        compile_filter: May raise `FilterError`.
        is_http: Whether frames travel over HTTP, so that rules may act on that.

    Raises:
        RulesError: the file cannot be read or is invalid.
    """
    try:
        # Some editors put a byte order mark in front.
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise RulesError(f"{path} cannot be read: {reason}") from None
    try:
        return parse_rules(text, compile_filter, is_http=is_http)
    except RulesError as problem:
        raise RulesError(f"{path}: {problem}") from None


def parse_rules(
    text: str, compile_filter: Callable[[str], Matcher], *, is_http: bool = False
) -> Sequence[InterceptRule]:
    """Return the rules in a TOML document; see `load_rules`.

    Raises:
        RulesError: it is invalid.
    """
    try:
        top = _Table(tomllib.loads(text), "")
    except (ValueError, RecursionError) as problem:
        # Not only syntax errors: Python refuses numbers of more than 4,300 digits.
        raise RulesError(f"invalid TOML: {escape_controls(str(problem))}") from None
    top.check_keys(("seed", "rule"))
    seed = top.integer("seed", 0, least=-_MAX_INT)
    rules: list[InterceptRule] = []
    for number, values in enumerate(top.tables("rule"), 1):
        rule = _read_rule(_Table(values, f"rule {number}"), seed, compile_filter)
        if rule.name in {other.name for other in rules}:
            name = single_line(rule.name, MAX_NAME_CHARS)
            raise RulesError(f"rule {number}: the name `{name}` is used twice")
        used = rule.action if rule.action in HTTP_ACTIONS else rule.request and "request"
        if used and not is_http:
            name = single_line(rule.name, MAX_NAME_CHARS)
            raise RulesError(f"rule `{name}`: `{used}` is for HTTP, which `proxy --listen` speaks")
        rules.append(rule)
    return tuple(rules)


class _Table:
    """A table of the file, whose values are checked as they are read."""

    def __init__(self, values: Mapping[str, Any], path: str) -> None:
        self.values = values
        self.path = path

    def error(self, key: str, text: str) -> RulesError:
        begin = f"{self.path}: " if self.path else ""
        return RulesError(f"{begin}`{single_line(key, MAX_NAME_CHARS)}` {text}")

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.values:
            if key not in known:
                guess = did_you_mean(key.lower(), known, mark="`")
                raise self.error(key, f"is not known here{f'; {guess}' if guess else ''}")

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        found = self.values.get(key, [])
        items: list[Any] = cast("list[Any]", found) if isinstance(found, list) else [None]
        if not all(isinstance(item, dict) for item in items):
            raise self.error(key, f"is written as `[[{key}]]`, once for each")
        return items

    def value(self, key: str, default: object = None) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, "is missing")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self.value(key, default)
        if not isinstance(value, str):
            raise self.error(key, "has to be a text")
        return value

    def integer(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = _MAX_INT
    ) -> int:
        value = self.value(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.error(key, f"has to be a whole number from {least} to {most}")
        return value

    def number(self, key: str, default: float | None = None, *, most: float) -> float:
        value = self.value(key, default)
        if type(value) not in {int, float} or not 0 <= value <= most:
            raise self.error(key, f"has to be a number from 0 to {most:g}")
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self.value(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "has to be `true` or `false`")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.value(key, default)
        if value not in choices:
            raise self.error(key, f"has to be {' or '.join(f'`{each}`' for each in choices)}")
        return value


def _read_rule(table: _Table, seed: int, compile_filter: Callable[[str], Matcher]) -> InterceptRule:
    name = table.text("name")
    table.path = f"rule `{single_line(name, MAX_NAME_CHARS)}`"
    if not name or name == "person":
        raise table.error("name", "has to be a name of its own")
    keys = ("name", "filter", "from", "request", "after", "first", "every", "probability")
    table.check_keys((*keys, *ACTIONS))
    request = table.choice("request", REQUESTS) if "request" in table.values else None
    sides: dict[Any, Side] = {"client": "client", "agent": "agent"}
    if "from" in table.values:
        table.choice("from", tuple(sides))
    trigger = Trigger(
        sides.get(table.values.get("from")),
        table.integer("after", 0, least=0),
        table.integer("first") if "first" in table.values else None,
        table.integer("every", 1),
        table.number("probability", 1.0, most=1.0),
    )
    try:
        matches = compile_filter(table.text("filter", ""))
    except FilterError as problem:
        raise table.error("filter", f"is invalid: {problem}") from None
    action, values = _read_action(table)
    if request is not None:
        _check_request(table, request, action)
    elif action in HTTP_ACTIONS and trigger.side == "agent":
        raise table.error("from", f"has to be `client`, whose requests `{action}` acts on")
    return InterceptRule(name, matches, action, values, trigger, seed, request)


def _check_request(table: _Table, request: str, action: str) -> None:
    """Refuse what a rule about requests cannot have."""
    for key in ("filter", "from"):
        if key in table.values:
            raise table.error(key, "chooses frames, and `request` chooses requests")
    known = REQUEST_ACTIONS - ({"cut"} if request == "WebSocket" else set())
    if action not in known:
        names = ", ".join(f"`{each}`" for each in sorted(known))
        raise table.error(action, f"is for frames; a request can have {names}")


def _read_action(table: _Table) -> tuple[str, Mapping[str, Any]]:
    found = [key for key in table.values if key in ACTIONS]
    if len(found) != 1:
        given = " and ".join(f"`{key}`" for key in found) or "no action"
        known = ", ".join(f"`{key}`" for key in ACTIONS)
        raise RulesError(f"{table.path}: has {given}, and needs exactly one of {known}")
    name = found[0]
    given_values: Any = {} if table.values[name] is True else table.values[name]
    if not isinstance(given_values, dict):
        raise table.error(name, "has to be a table of its fields, or `true`")
    inner = _Table(cast("dict[str, Any]", given_values), f"{table.path}, `{name}`")
    action = ACTIONS[name]
    inner.check_keys(tuple(action.fields))
    values = {key: read(inner, key) for key, read in action.fields.items()}
    action.check(inner, values)
    return name, values


# The fields of actions.

_Reader: TypeAlias = Callable[[_Table, str], Any]


def _integer(default: int | None = None, *, least: int = 1, most: int = _MAX_INT) -> _Reader:
    return lambda table, key: table.integer(key, default, least=least, most=most)


def _seconds(default: float | None = None, most: float = MAX_WAIT_S) -> _Reader:
    return lambda table, key: table.number(key, default, most=most)


def _choice(choices: Sequence[str], default: str | None = None) -> _Reader:
    return lambda table, key: table.choice(key, choices, default)


def _piece(table: _Table, key: str) -> int | str:
    return "characters" if table.values.get(key) == "characters" else table.integer(key)


def _text(table: _Table, key: str) -> bytes:
    text = table.text(key)
    if not text:
        raise table.error(key, "has to hold something")
    return text.encode()


def _line(table: _Table, key: str) -> bytes:
    text = table.text(key).encode()
    _check_line(table, key, text)
    return text


def _check_line(table: _Table, key: str, text: bytes) -> None:
    if not _LINE_ENDINGS.isdisjoint(text):
        raise table.error(key, "must not hold a line ending")


def _path(table: _Table, key: str) -> object:
    text = table.text(key)
    if not text.startswith("$"):
        raise table.error(key, "has to be a path like `$.params.sessionId`")
    try:
        return parse_path(text)
    except JSONPathError as problem:
        raise table.error(key, f"is not a path, see character {problem.position + 1}") from None


def _json(table: _Table, key: str) -> Json:
    value = table.value(key)
    try:
        encode(value)
    except InterceptError as problem:
        raise table.error(key, f"has to be a value that JSON can represent: {problem}") from None
    return value


def _optional_error(table: _Table, key: str) -> Json:
    if key not in table.values:
        return None
    error: Any = _json(table, key)
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    inner = _Table(fields, f"{table.path}, `{key}`")
    inner.check_keys(("code", "message", "data"))
    inner.integer("code", least=-_MAX_INT)
    inner.text("message")
    return cast("Json", error)


def _signal(table: _Table, key: str) -> str:
    name = table.text(key, "KILL")
    try:
        find_signal(name)
    except ValueError:
        raise table.error(key, "is not a signal here; try `KILL`, `TERM` or `SEGV`") from None
    return name


def _check_rewrite(table: _Table, values: dict[str, Any]) -> None:
    """Compile the pattern, and find references to groups that it does not have."""
    try:
        values["pattern"] = BoundedRegex(values["pattern"])
        _check_line(table, "with", values["pattern"].expand_empty(values["with"]))
    except PatternError as problem:
        raise table.error("pattern", f"is invalid, or `with` does not fit: {problem}") from None


def _check_answer(table: _Table, values: Mapping[str, Any]) -> None:
    del values
    if ("result" in table.values) == ("error" in table.values):
        raise RulesError(f"{table.path}: needs either `result` or `error`")


# Implementations of the actions.

_Values: TypeAlias = Mapping[str, Any]


def _set(frame: InterceptedFrame, values: _Values, by: str) -> None:
    message = parse_or_none(frame.raw)
    if set_at(message, values["path"], values["value"]):
        frame.edit(encode(message), by)


def _delete(frame: InterceptedFrame, values: _Values, by: str) -> None:
    message = parse_or_none(frame.raw)
    if delete_at(message, values["path"]):
        frame.edit(encode(message), by)


def _wrong_id(frame: InterceptedFrame, values: _Values, by: str) -> None:
    message = jsonrpc.read_message(frame.raw)
    if isinstance(message, SuccessResponse | ErrorResponse):
        frame.edit(with_id(frame.raw, message.id, values["as"]), by)


def _answer(frame: InterceptedFrame, values: _Values, by: str) -> None:
    if isinstance(jsonrpc.read_message(frame.raw), Request):
        frame.answer(by, result=values["result"], error=values["error"])


def _refusal(values: _Values) -> ProxyRefusal:
    return ProxyRefusal(values["code"], values["body"], values["retry_after"])


def _refuse(frame: InterceptedFrame, values: _Values, by: str) -> None:
    if frame.frame.side == "client":
        frame.refuse(_refusal(values), by)


def _respond_late(frame: InterceptedFrame, values: _Values, by: str) -> None:
    if frame.frame.side == "client":
        frame.respond_late(values["seconds"], by)


@dataclass(frozen=True, slots=True)
class RuleAction:
    """An action of rules."""

    fields: Mapping[str, _Reader]
    run: Callable[[InterceptedFrame, _Values, str, Random], None]
    """Performs it; gets the frame, a value for each field, the rule's name and its random numbers.
    """
    check: Callable[[_Table, dict[str, Any]], object] = lambda table, values: None
    """Checks the values together."""


def _fault(fields: Mapping[str, _Reader], make: Callable[[_Values], Fault]) -> RuleAction:
    """Return the action that makes a fault of scripted agents."""

    def run(frame: InterceptedFrame, values: _Values, by: str, rng: Random) -> None:
        outgoing = OutgoingFrame(frame.raw)
        make(values)(outgoing, rng)
        _change(frame, outgoing, by)
        _send_differently(frame, outgoing, by)

    return RuleAction(fields, run)


def _change(frame: InterceptedFrame, outgoing: OutgoingFrame, by: str) -> None:
    """Change the bytes of a frame, and those beside it, as a fault has done."""
    if outgoing.prefix:
        frame.precede(outgoing.prefix, by)
    if outgoing.ending is not None:
        frame.end_line(outgoing.ending, by)
    frame.edit(outgoing.raw or b"", by, "corrupted")


def _send_differently(frame: InterceptedFrame, outgoing: OutgoingFrame, by: str) -> None:
    """Send a frame as a fault says."""
    if outgoing.is_dropped:
        frame.drop(by)
    if outgoing.copies > 1:
        frame.duplicate(outgoing.copies, by)
    if outgoing.behind:
        frame.reorder(outgoing.behind, outgoing.behind_s, by)
    if outgoing.piece is not None:
        frame.split(outgoing.piece, outgoing.pause_s, by)
    if outgoing.rate is not None:
        frame.throttle(outgoing.rate, by)
    if outgoing.cut_at is not None:
        frame.cut(outgoing.cut_at, by)
    if isinstance(outgoing.end, Crash):
        frame.crash(outgoing.end.signal or signals.SIGKILL, by)
    if isinstance(outgoing.end, Hang):
        frame.hang(by)


ACTIONS: Final[Mapping[str, RuleAction]] = {
    "replace": RuleAction(
        {"text": _text, "with": _line},
        lambda frame, v, by, _: frame.edit(frame.raw.replace(v["text"], v["with"]), by),
    ),
    "rewrite": RuleAction(
        {"pattern": lambda table, key: table.text(key).encode(), "with": _line},
        lambda frame, v, by, _: frame.edit(v["pattern"].substitute(v["with"], frame.raw), by),
        _check_rewrite,
    ),
    "set": RuleAction({"path": _path, "value": _json}, lambda frame, v, by, _: _set(frame, v, by)),
    "delete": RuleAction({"path": _path}, lambda frame, v, by, _: _delete(frame, v, by)),
    # Together, seconds and jitter stay below the limit for a single wait.
    "delay": RuleAction(
        {"seconds": _seconds(most=MAX_WAIT_S / 2), "jitter": _seconds(0.0, MAX_WAIT_S / 2)},
        lambda frame, v, by, rng: frame.delay(
            round(delayed(v["seconds"], v["jitter"], rng), 6), by
        ),
    ),
    "throttle": _fault({"rate": _integer()}, lambda v: faults.throttle(v["rate"])),
    "drop": _fault({}, lambda _: faults.drop()),
    "discard": RuleAction({}, lambda frame, v, by, _: frame.discard(by)),
    "duplicate": _fault(
        {"times": _integer(2, least=2, most=MAX_COPIES)}, lambda v: faults.duplicate(v["times"])
    ),
    "reorder": _fault(
        {"frames": _integer(1), "seconds": _seconds(REORDER_TIMEOUT_S)},
        lambda v: faults.reorder(v["frames"], seconds=v["seconds"]),
    ),
    "corrupt": _fault(
        {"bytes": _integer(1), "mode": _choice(("flip", "replace"), "flip")},
        lambda v: faults.corrupt(v["bytes"], v["mode"]),
    ),
    "invalid": _fault({}, lambda _: faults.invalid()),
    "spelling": _fault({"as": _choice(get_args(Spelling))}, lambda v: faults.spelling(v["as"])),
    "pad": _fault({"bytes": _integer(most=MAX_PADDING)}, lambda v: faults.pad(v["bytes"])),
    "nest": _fault({"depth": _integer(most=MAX_DEPTH)}, lambda v: faults.nest(v["depth"])),
    "noise": _fault(
        {
            "text": lambda table, key: table.text(key) if key in table.values else None,
            "newline": lambda table, key: table.boolean(key, default=True),
        },
        lambda v: faults.noise(v["text"], newline=v["newline"]),
    ),
    "ending": _fault({"as": _choice(tuple(ENDINGS))}, lambda v: faults.ending(v["as"])),
    "wrong_id": RuleAction(
        {"as": _choice(("other", "retyped", "null", "missing"))},
        lambda frame, v, by, _: _wrong_id(frame, v, by),
    ),
    "cut": _fault({"bytes": _integer(least=0)}, lambda v: faults.cut(v["bytes"])),
    "split": _fault(
        {"bytes": _piece, "pause": _seconds(0.0)},
        lambda v: faults.split(v["bytes"], pause=v["pause"]),
    ),
    "hang": _fault({}, lambda _: faults.hang()),
    "crash": _fault({"signal": _signal}, lambda v: faults.crash(signal=v["signal"])),
    "answer": RuleAction(
        {
            "result": lambda table, key: _json(table, key) if key in table.values else None,
            "error": _optional_error,
        },
        lambda frame, v, by, _: _answer(frame, v, by),
        _check_answer,
    ),
    "status": RuleAction(
        {
            "code": _integer(least=400, most=599),
            "body": lambda table, key: table.text(key, ""),
            "retry_after": lambda table, key: (
                table.integer(key, least=0) if key in table.values else None
            ),
        },
        lambda frame, v, by, _: _refuse(frame, v, by),
    ),
    "late": RuleAction(
        {"seconds": _seconds()}, lambda frame, v, by, _: _respond_late(frame, v, by)
    ),
}
"""What rules can do: the key in the file, its fields, and what it does to a frame."""
HTTP_ACTIONS: Final = frozenset({"late", "status"})
"""Those that act on the HTTP request of a frame."""
REQUEST_ACTIONS: Final = frozenset({"cut", "delay", "late", "status"})
"""Those that act on requests, whether or not they have a frame."""
REQUESTS: Final = ("GET", "POST", "DELETE", "WebSocket")
"""The requests that a rule can act on; a WebSocket is none of GET."""
