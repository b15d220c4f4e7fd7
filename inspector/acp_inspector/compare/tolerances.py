"""The table of what two runs of one conversation may differ in: a row for each tolerance.

A tolerance of values has their forms (`values.Form`: where it is, what it looks like, whether it is
bound): they are replaced before steps are aligned, and then have to agree. If a difference of texts
is not in single values, the row has `where` and `agree` instead. Of a tolerance of the structure
the row has only the words; `steps` leaves out what a later update has replaced, and
`align.Alignment.may_pass` says which steps may come in another order.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, TypeAlias, cast

from acp_inspector.compare import patterns
from acp_inspector.compare.titles import are_cut, are_relative
from acp_inspector.compare.values import (
    ABSENT,
    ID,
    TIMESTAMPS,
    Form,
    Place,
    PlacedText,
    Variable,
    Where,
    nowhere,
)
from acp_protocol.jsonrpc import Json

ToleranceName: TypeAlias = str
Agreement: TypeAlias = Callable[
    [PlacedText, PlacedText], Sequence[tuple[Variable, Variable]] | None
]
"""Returns the variables that have to agree so that two texts are one; None if they are not."""

_NUMBER: Final = (int, float)
_PROCESS_IDS: Final = frozenset({"pid", "ppid", "pgid", "processid", "processgroupid"})
_DURATIONS: Final = ({"secs", "nanos"}, {"seconds", "nanos"})
"""The members of an object that is a duration, as programs in Rust and protocol buffers write it.
"""
_RUN_TIME: Final = re.compile(
    r"(?:^|_)(?:duration|elapsed|latency|took|(?:wall|run|execution|cpu)_?time)"
    r"(?:_?(?:ms|s|secs?|seconds|milli(?:s|seconds)|nanos|ns|us))?$"
)
"""Names of numbers that say how long something took, with underscores."""
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TITLES: Final = re.compile(
    r"tool call \$\.params\.update\.title"
    r"|session/request_permission \$\.params(?:\.subject)?\.toolCall\.title"
)
"""The titles of tool calls: the step and the path."""
_NEAR_HEX: Final = re.compile(r"[0-9a-fA-F][0-9a-fA-F]{7}")
_NEAR_ID: Final = re.compile(r"[a-z][_-][0-9A-Za-z]{12}|[0-7][0-9A-Z]{25}")
_NEAR_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-")
_NEAR_OUTPUT: Final = re.compile(
    r"[0-9][:./-][0-9]|[0-9] ?(?:[mnuµ]?s|milli)|[a-z]{2}\.? +[0-9]|:[0-9]{5}|[0-9a-f]{7}\]"
)


# Where


in_usage: Where = attrgetter("is_usage")
in_output: Where = attrgetter("is_output")
in_input: Where = attrgetter("is_input")


def outside_input(place: Place) -> bool:
    return not place.is_input


def in_tools(place: Place) -> bool:
    """Return whether a place is in the input or the output of a tool."""
    return place.is_input or place.is_output


def in_title(place: Place) -> bool:
    return bool(_TITLES.fullmatch(f"{place.step.name} {place.path_in_message}"))


# What it looks like


def is_process_id(name: str, value: Json) -> bool:
    plain = name.replace("_", "").replace(" ", "").replace("-", "").lower()
    return plain in _PROCESS_IDS and (not isinstance(value, str) or value.isdecimal())


def is_timestamp(name: str, value: Json) -> bool:
    return name in TIMESTAMPS and value != ABSENT


def is_run_time(name: str, value: Json) -> bool:
    del value
    return bool(_RUN_TIME.search(_CAMEL.sub("_", name).lower()))


def is_epoch(name: str, value: Json) -> bool:
    del name
    return patterns.is_epoch(cast("float", value))


def is_duration(name: str, value: Json) -> bool:
    del name
    members = cast("Mapping[str, Json]", value)
    return {*members} in _DURATIONS and all(type(each) is int for each in members.values())


# Whether two texts are one


def same_lines(one: PlacedText, other: PlacedText) -> Sequence[tuple[Variable, Variable]] | None:
    """Accept two texts that have the same lines of two streams, interleaved otherwise."""
    lines, others = one.lines, other.lines
    found: dict[str, deque[int]] = {}
    for at, (line, _) in enumerate(others):
        found.setdefault(line, deque()).append(at)
    order = [found[line].popleft() for line, _ in lines if found.get(line)]
    if len(order) != len(lines) or any(found.values()) or not _are_two_streams(order):
        return None
    return [
        pair
        for at, (_, ours) in zip(order, lines, strict=True)
        for pair in zip(ours, others[at][1], strict=False)
    ]


def _are_two_streams(order: Sequence[int]) -> bool:
    """Return whether numbers are two ascending sequences, interleaved."""
    low, high = -1, -1
    """The last number of each; the greater one takes what it can."""
    for number in order:
        if number > high:
            high = number
        elif number > low:
            low = number
        else:
            return False
    return True


# The table


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Something in which two runs may differ."""

    name: ToleranceName
    counted: tuple[str, str]
    """What a result counts, of one and of several."""
    text: str
    """What may differ; a cell of a table in Markdown."""
    forms: tuple[Form, ...] = ()
    """The values that may differ. The first that fits counts."""
    where: Where = nowhere
    """Where texts may differ that `agree` accepts."""
    agree: Agreement = lambda one, other: None
    is_strict: bool = False
    """Whether it counts on the level `strict` too."""


TABLE: Final = (
    Tolerance(
        "ids-in-text",
        ("id inside a text", "ids inside texts"),
        "ids inside texts: of at least six characters, with a digit",
        forms=(ID,),
        is_strict=True,
    ),
    Tolerance(
        "temp-paths",
        ("temporary path", "temporary paths"),
        "the first name below `/tmp`, `/var/tmp`, the temporary directory of Windows and the like: "
        "bound like an id",
        forms=(
            Form(
                "path",
                pattern=patterns.TEMPORARY_PATH,
                near=re.compile(r"/(?:tmp|var)/|\\Temp\\"),
            ),
        ),
        is_strict=True,
    ),
    Tolerance(
        "usage",
        ("usage number", "usage numbers"),
        "numbers in `usage_update` and in objects named `usage`, `quota`, `cost`, `token_count`: "
        "only the type counts; not in tool input (`rawInput`) and in requests of the agent",
        forms=(Form("usage", where=in_usage, bound=nowhere, types=_NUMBER),),
    ),
    Tolerance(
        "process-ids",
        ("process id", "process ids"),
        "numbers named `pid` and the like, also as texts and inside tool output: only the type "
        "counts. In tool input and in requests of the agent they are bound",
        forms=(
            Form(
                "pid",
                where=in_tools,
                bound=in_input,
                pattern=patterns.PROCESS_ID,
                new="[0-9]+$",
                near=re.compile("(?i:pid|pgid|process)"),
            ),
            Form("pid_number", bound=in_input, types=_NUMBER, holds=is_process_id),
            Form("pid_text", bound=in_input, types=(str,), holds=is_process_id),
        ),
    ),
    Tolerance(
        "shapes",
        ("value bound by shape", "values bound by shape"),
        "UUIDs, ULIDs, 32 or 40 hexadecimal digits, ids of model services "
        "(`msg_01XFDUDYJgAACz`), trace contexts, addresses (`0x7f1b95cd02c0`), RFC 3339 times, "
        "epoch numbers from 2017 to 2033 in s and ms: bound like ids; in tool output also free "
        "ports of this machine (`localhost:43123`) and the digest of a new commit "
        "(`[main 3f2a1bc]`). Two times up to five seconds apart may be one time in the other run. "
        'Of `updatedAt` and `createdAt`, and of durations (`{"secs": 1, "nanos": 5}`, not in tool '
        "input and in requests of the agent), only presence and type count; so of run times "
        "(`in 0.02s`, `durationMs`), dates in words and times of day in tool output, but not in "
        "diffs",
        forms=(
            Form("trace", pattern=patterns.TRACE, near=_NEAR_HEX),
            Form("uuid", pattern=patterns.UUID, near=_NEAR_HEX),
            Form("ulid", pattern=patterns.ULID, near=_NEAR_ID),
            Form("hex", pattern=patterns.DIGEST, near=_NEAR_HEX),
            Form("address", pattern=patterns.ADDRESS, near=_NEAR_HEX),
            Form("service", pattern=patterns.SERVICE_ID, near=_NEAR_ID),
            Form("time", pattern=patterns.RFC_TIME, near=_NEAR_TIME, is_time=True),
            Form("epoch", pattern=patterns.EPOCH, near=_NEAR_HEX, is_time=True),
            Form("date", in_output, nowhere, pattern=patterns.DATE_OR_TIME, near=_NEAR_OUTPUT),
            Form(
                "elapsed",
                in_output,
                nowhere,
                pattern=patterns.RUN_TIME,
                new=r"\d.*",
                near=_NEAR_OUTPUT,
            ),
            Form("port", in_output, pattern=patterns.PORT, new=r"\d{5}$", near=_NEAR_OUTPUT),
            Form("commit", in_output, pattern=patterns.COMMIT, new=r"\w+$", near=_NEAR_OUTPUT),
            Form("timestamp", bound=nowhere, types=(str,), holds=is_timestamp),
            Form("run_time", in_output, nowhere, types=_NUMBER, holds=is_run_time),
            Form("epoch_number", types=_NUMBER, holds=is_epoch, is_time=True),
            Form("duration", outside_input, nowhere, types=(dict,), holds=is_duration),
        ),
        is_strict=True,
    ),
    Tolerance(
        "late-updates",
        ("update late", "updates late"),
        "session info, commands, usage, options and mode are in channels of their own: no order "
        "against the rest, and a value may come in a later turn. What is sent between two turns "
        "belongs to the later one",
    ),
    Tolerance(
        "call-states",
        ("tool call with other states repeated", "tool calls with other states repeated"),
        "repeated states of a tool call, and falls back to `pending`",
    ),
    Tolerance(
        "replaced-values",
        (
            "step with other values that were replaced",
            "steps with other values that were replaced",
        ),
        "values of a tool call, a plan and the like that a later update replaced",
    ),
    Tolerance(
        "output-lines",
        (
            "output with lines interleaved otherwise",
            "outputs with lines interleaved otherwise",
        ),
        "lines of two streams in tool output that interleave otherwise",
        where=in_output,
        agree=same_lines,
    ),
    Tolerance(
        "request-order",
        ("call or request in another order", "calls and requests in another order"),
        "a permission request and its tool call, and calls, requests and responses that are open "
        "together, in another order. A request of the agent and what it streams (texts, plans), "
        "unless the tool call that the request belongs to had ended before: agents send requests "
        "past updates that are still on their way. A permission that is asked after the call has "
        "ended is a difference. Of the client's requests those that were open together, the mode "
        "and the model of a session, and new sessions; never `initialize`, prompts, and sessions "
        "that are opened again",
    ),
    Tolerance(
        "cut-titles",
        ("title cut at a path", "titles cut at a path"),
        "the title of a tool call that an agent cuts to a length, behind, within or in front of a "
        "directory that has another path in the other run: `Read /home/ada/pro...`, "
        "`Read ...a/project/x.py`. Both have to be equally long, unless only the longer path was "
        "cut in front, and what is behind the directory is compared as far as both have it",
        where=in_title,
        agree=lambda one, other: () if are_cut(one, other) else None,
    ),
    Tolerance(
        "relative-titles",
        ("title relative to another directory", "titles relative to another directory"),
        "the title of a tool call that is a path from the root of a repository, or from the "
        "directory itself, which has another one around it in the other run: `src/x.py`, "
        "`project/src/x.py`",
        where=in_title,
        agree=lambda one, other: () if are_relative(one, other) else None,
    ),
)
"""All tolerances, in the order in which they are tried and reported."""
TOLERANCES: Final = frozenset(each.name for each in TABLE)
STRICT: Final = frozenset(each.name for each in TABLE if each.is_strict)
"""The tolerances of the level `strict`."""
_BY_FORM: Final = {form: each.name for each in TABLE for form in each.forms}


def forms_of(names: Collection[ToleranceName]) -> list[Form]:
    """Return the forms of values that may differ."""
    return [form for each in TABLE if each.name in names for form in each.forms]


def tolerance_of(variable: Variable) -> ToleranceName | None:
    """Return by which tolerance a variable may differ; None: an id may in any case."""
    return None if variable.form is None else _BY_FORM[variable.form]


def tolerated_text(tolerated: Mapping[ToleranceName, int]) -> str:
    """Return what was tolerated, e.g. `3 values bound by shape, 2 updates late`."""
    counted = {each.name: each.counted for each in TABLE}
    return ", ".join(f"{count} {counted[name][count != 1]}" for name, count in tolerated.items())
