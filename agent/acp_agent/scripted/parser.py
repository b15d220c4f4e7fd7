"""Reads a scenario from TOML; every problem is reported with its line.

Source: docs/scripted-agent.md.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as FilePath
from pathlib import PurePosixPath, PureWindowsPath
from random import Random
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

from acp_agent.config.source import InvalidFileError, KeyPath, decode_text, did_you_mean, parse_toml
from acp_agent.scripted import actions, faults, requests
from acp_agent.scripted.faults import ENDINGS, SPELLINGS, Damage, FaultRule, FaultTarget, FrameFault
from acp_agent.scripted.messages import CONSENTS, Speaker, shown_text
from acp_agent.scripted.requests import RequestOptions
from acp_agent.scripted.run import Action, ScriptStep
from acp_agent.scripted.scenario import (
    PROMPT,
    WRONG_IDS,
    Reaction,
    ResponseOverride,
    SavedSession,
    Scenario,
    ScriptedAgentInfo,
)
from acp_agent.scripted.speech import FRAMINGS, frame_codec
from acp_agent.scripted.values import entries, members
from acp_agent.scripted.wire import CrashExit, FrameKind, HangExit
from acp_protocol import jsonrpc
from acp_protocol.dialects.registry import BATCHES, SPOKEN
from acp_protocol.framing import Framing
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json, is_request_id
from acp_protocol.schema.methods import METHODS

Word = TypeVar("Word", bound=str)

BIG: Final = 2**31
LONG: Final = 86400.0
"""Seconds that a single wait may last."""
FEW: Final = 12
"""Words of which all are named where none is near."""
SHOWN: Final = 60
"""Characters of a key or a word that a sentence repeats, at most."""


class InvalidValueError(Exception):
    """One thing in a scenario is wrong; never leaves this room."""


@dataclass
class Page:
    """The file that is read, and what there is to say about it."""

    name: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    framing: Framing = "lines"
    """How frames are kept apart, which not every fault makes sense for."""
    problems: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])
    """What is allowed, but perhaps not meant."""

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Keep what is wrong in the block as a problem, and go on behind it."""
        try:
            yield
        except InvalidValueError as problem:
            self.problems.append(str(problem))

    def report(self) -> str:
        """Return what is wrong, from the top of the file to its end."""

        def line_of(problem: str) -> int:
            number = problem.removeprefix(f"{self.name}:").partition(":")[0]
            return int(number) if number.isdecimal() else 0

        return "\n".join(sorted("\n".join(self.problems).splitlines(), key=line_of))

    def at(self, path: KeyPath, sentence: str) -> str:
        """Return a sentence with the line in which `path`, or the nearest around it, stands."""
        while path and path not in self.lines:
            path = path[:-1]
        line = f":{self.lines[path]}" if path else ""
        return f"{self.name}{line}: {sentence}"


class Table:
    """A table; `place` is what a sentence calls it."""

    def __init__(self, page: Page, members: Mapping[str, Any], path: KeyPath, place: str) -> None:
        self.page = page
        self.members = members
        self.path = path
        self.place = place

    def __contains__(self, key: str) -> bool:
        return key in self.members

    def wrong(self, key: str, sentence: str) -> InvalidValueError:
        """Return what to raise about the value of `key`."""
        return InvalidValueError(self.page.at((*self.path, key), self._about(key, sentence)))

    def wrong_itself(self, sentence: str) -> InvalidValueError:
        """Return what to raise about the table as a whole."""
        return InvalidValueError(self.page.at(self.path, f"{self.place}: {sentence}"))

    def remark(self, key: str, sentence: str) -> None:
        """Keep a remark about the value of `key`."""
        self.page.remarks.append(self.page.at((*self.path, key), self._about(key, sentence)))

    def _about(self, key: str, sentence: str) -> str:
        begin = f"{self.place}: " if self.place else ""
        return f"{begin}`{single_line(key, SHOWN)}` {sentence}"

    def allow(self, *known: str) -> None:
        """Refuse keys that are not known, each with the nearest that is.

        Raises:
            WrongError: there are some.
        """
        wrong = [
            str(self.wrong(key, f"is not known here{nearest(key, known) or _all_of(known)}"))
            for key in self.members
            if key not in known
        ]
        if wrong:
            raise InvalidValueError("\n".join(wrong))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text."""
        value = self._taken(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "has to be a text")
        return value

    def text_if_any(self, key: str) -> str | None:
        """Return a text, or None where there is none."""
        return self.text(key) if key in self.members else None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return several texts; one alone may stand without brackets."""
        value = self._taken(key, ())
        items: Sequence[Any] = (value,) if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise self.wrong(key, "has to be a text, or a list of texts")
        return tuple(items)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self._taken(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "has to be `true` or `false`")
        return value

    def whole(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = BIG
    ) -> int:
        """Return a whole number."""
        value = self._taken(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(key, f"has to be a whole number from {least} to {most}")
        return value

    def number(self, key: str, default: float | None = None, *, most: float = LONG) -> float:
        """Return a number from 0 on."""
        value = self._taken(key, default)
        if type(value) not in {int, float} or not 0 <= value <= most:
            raise self.wrong(key, f"has to be a number from 0 to {most:g}")
        return float(value)

    def word(self, key: str, words: Sequence[Word], default: str | None = None) -> Word:
        """Return one of some words."""
        value = self._taken(key, default)
        for word in words:
            if word == value:
                return word
        guess = nearest(value, words) if isinstance(value, str) else ""
        raise self.wrong(key, f"has to be {listed(words)}{guess}")

    def known(self, key: str, words: Sequence[str], what: str) -> str:
        """Return a text, with a remark if the protocol does not know it: that may be meant."""
        value = self.text(key)
        if value and value not in words and not value.startswith("_"):
            shown = single_line(value, SHOWN)
            others = _all_of(words) if len(words) <= FEW else ""
            self.remark(key, f"is `{shown}`, which is no {what}{nearest(value, words) or others}")
        return value

    def table(self, key: str, main: str = "") -> Table:
        """Return a table; any other value means its key `main`, and true an empty table."""
        value = self.members.get(key, {})
        if main and not isinstance(value, dict):
            value = {} if value is True else {main: value}
        if not isinstance(value, dict):
            raise self.wrong(key, "has to be a table, as in `{ key = value }`")
        place = f"{self.place}, `{key}`" if self.place else f"`{key}`"
        return Table(self.page, cast("dict[str, Any]", value), (*self.path, key), place)

    def tables(self, key: str, called: str) -> list[Table]:
        """Return the tables of a list; `called` is what each of them is, as in `step`.

        What is no table is kept as a problem, and left out.
        """
        value = self.members.get(key, [])
        if isinstance(value, dict) and not self.path:
            raise self.wrong(key, f"is written with two brackets: `[[{key}]]`")
        if not isinstance(value, list):
            raise self.wrong(key, "has to be a list of tables, as in `[{ key = value }]`")
        begin = f"{self.place}, " if self.place else ""
        found: list[Table] = []
        for number, item in enumerate(cast("list[Any]", value)):
            path, place = (*self.path, key, number), f"{begin}{called} {number + 1}"
            if isinstance(item, dict):
                found.append(Table(self.page, cast("dict[str, Any]", item), path, place))
            else:
                sentence = f"{place}: has to be a table, as in `{{ key = value }}`"
                self.page.problems.append(self.page.at(path, sentence))
        return found

    def json(self, key: str) -> Json:
        """Return any value that JSON knows; a text stays a text."""
        value = self._taken(key, None)
        if not _is_json(value):
            raise self.wrong(key, "has to be a value that JSON knows: no date, no inf, no nan")
        return value

    def object(self, key: str, default: Json = None) -> Json:
        """Return an object, as `value` does; a name like `$params` is valid too."""
        value = self.value(key, default)
        if key in self.members and value.__class__ not in {dict, str}:
            raise self.wrong(key, "has to be a table, or a text that is an object in JSON")
        return value

    def value(self, key: str, default: Json = None) -> Json:
        """Return a value that JSON knows; a text is read as JSON, where null can be written.

        Where the key is not there, `default` is returned as it is.
        """
        if key not in self.members:
            return default
        value = self.json(key)
        if not isinstance(value, str) or value.startswith("$"):
            return value
        try:
            return jsonrpc.parse(value.encode())
        except ValueError as problem:
            raise self.wrong(key, f"has to be a table, or a text that is JSON: {problem}") from None

    def list(self, key: str) -> list[Json]:
        """Return the entries of a list; none where there is no such key."""
        value = self.value(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "has to be a list")
        return cast("list[Json]", value)

    def objects(self, key: str, *named: str) -> Sequence[Json]:
        """Return a list of objects, each of which has one of the members `named`."""
        found = self.list(key)
        for entry in found:
            if not (isinstance(entry, dict) and any(name in entry for name in named)):
                raise self.wrong(key, f"has to be a list of tables with {listed(named)}")
        return found

    def _taken(self, key: str, default: object) -> Any:
        value = self.members.get(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        return value


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the half sentence that names the known word nearest to `word`; nothing if none is."""
    found = did_you_mean(word, known)
    return f"; did you mean `{found}`?" if found else ""


def _all_of(known: Sequence[str]) -> str:
    return f"; there is {listed(known)}"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them."""
    ticked = [f"`{word}`" for word in words]
    return " or ".join([", ".join(ticked[:-1]), ticked[-1]] if len(ticked) > 1 else ticked)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_json(each) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_json(each) for each in cast("list[Any]", value))
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int)


# The schema takes time to import, so it is imported by the scenarios that use its words.


@cache
def kinds() -> Sequence[str]:
    """Return the kinds of tool calls."""
    from acp_protocol.schema import v1

    return get_args(v1.ToolKind)


@cache
def statuses() -> Sequence[str]:
    """Return what a tool call is at, in any version."""
    from acp_protocol.schema import v1, v2

    return _spelled(v1.ToolCallStatus, v2.ToolCallStatus)


@cache
def stop_reasons() -> Sequence[str]:
    """Return why a turn ends."""
    from acp_protocol.schema import v1

    return get_args(v1.StopReason)


@cache
def updates() -> Sequence[str]:
    """Return what an update is about, in any version."""
    from acp_protocol.schema import v1, v2

    tags: list[Any] = [get_args(each)[1] for each in (v1.SessionUpdate, v2.SessionUpdate)]
    return tuple({word: None for tag in tags for word in tag.values if word != "*"})


def _spelled(*types: Any) -> Sequence[str]:
    """Return the words of literals, or of unions in which some stand, each once."""
    words: dict[str, None] = {}
    for each in types:
        for inner in get_args(each):
            words |= {inner: None} if isinstance(inner, str) else dict.fromkeys(get_args(inner))
    return tuple(words)


TARGET_KEYS: Final = ("method", "update", "of", "after", "first", "every", "probability")
SORTS: Final[tuple[FrameKind, ...]] = ("request", "notification", "answer")
DAMAGES: Final[tuple[Damage, ...]] = ("flip", "replace")
COPIES: Final = 1000
"""How often a frame may leave, at most."""
OTHERS: Final = 10_000
"""Frames that may overtake one, at most."""
HUGE: Final = 2**30
"""Bytes to which a line may be made longer."""
HANG_S: Final = 600.0
"""Seconds that a process hangs, unless the scenario says how long."""
REORDER_TIMEOUT_S: Final = 5.0
"""Seconds that a frame waits for others to overtake it, as in rules of the proxy."""
PAUSE: Final = 0.001
"""Seconds between pieces: without any, a pipe would put them together again."""
WITHOUT_ACTION: Final = ("noise", "crash", "hang")
"""Faults that a step may consist of, because they need no frame."""


def read_faults(table: Table) -> tuple[FrameFault, ...]:
    """Return the faults of a table, in the order in which they are written.

    Raises:
        WrongError: one of them makes no sense.
    """
    return tuple(
        _FAULT_READERS[key][2](_inner(table, key)) for key in table.members if key in _FAULT_READERS
    )


def read_fault_rule(table: Table, seed: int) -> FaultRule:
    """Return the faults of a table, and the frames that they strike.

    Raises:
        WrongError: something makes no sense.
    """
    table.allow(*TARGET_KEYS, *FAULTS)
    found = read_faults(table)
    if not found:
        raise table.wrong_itself(f"does nothing; it needs {listed(FAULTS)}")
    named = sorted({row.name for row in METHODS})
    aim = FaultTarget(
        table.known("method", named, "method") if "method" in table else None,
        table.known("update", updates(), "update") if "update" in table else None,
        table.word("of", SORTS) if "of" in table else None,
        table.whole("after", 0, least=0),
        table.whole("first") if "first" in table else None,
        table.whole("every", 1),
        table.number("probability", 1.0, most=1.0),
    )
    # A string is hashed alike in every run; this is not about secrets.
    return FaultRule(aim, found, Random(f"{seed}/{table.place}"))  # noqa: S311


def _inner(table: Table, key: str) -> Table:
    main, keys, _ = _FAULT_READERS[key]
    inner = table.table(key, main or "true")
    if not main and inner.members:
        raise table.wrong(key, "has to be `true`")
    inner.allow(*keys)
    return inner


def _delay(table: Table) -> FrameFault:
    # Together they stay below what a single wait may be.
    most = LONG / 2
    return faults.DelayFault(
        table.number("seconds", most=most), table.number("jitter", 0.0, most=most)
    )


def _reorder(table: Table) -> FrameFault:
    of = table.word("of", SORTS) if "of" in table else None
    seconds = table.number("seconds", REORDER_TIMEOUT_S)
    return faults.ReorderFault(table.whole("frames", 1, most=OTHERS), of, seconds)


def _split(table: Table) -> FrameFault:
    pause = table.number("pause", PAUSE)
    if table.members.get("bytes") == "characters":
        return faults.SplitFault("characters", pause)
    return faults.SplitFault(table.whole("bytes"), pause)


def _throttle(table: Table) -> FrameFault:
    return faults.ThrottleFault(table.whole("rate"))


def _corrupt(table: Table) -> FrameFault:
    return faults.CorruptFault(table.whole("bytes", 1), table.word("mode", DAMAGES, "flip"))


def _noise(table: Table) -> FrameFault:
    newline = table.flag("newline", default=True)
    if "hex" in table:
        return faults.NoiseFault(hex_bytes(table, "hex"), newline)
    text = table.text_if_any("text")
    return faults.NoiseFault(None if text is None else text.encode(), newline)


def _ending(table: Table) -> FrameFault:
    return faults.LineEndingFault(ENDINGS[table.word("as", tuple(ENDINGS))])


def _length(table: Table) -> FrameFault:
    by = table.whole("by", least=-HUGE, most=HUGE)
    if table.page.framing == "lines":
        sentence = 'needs a header: write `framing = "content-length"` at the top of the file'
        raise table.wrong_itself(sentence)
    return faults.WrongLengthFault(by)


def _spelling(table: Table) -> FrameFault:
    return faults.EncodingFault(table.word("as", SPELLINGS))


def _crash(table: Table) -> FrameFault:
    if "signal" in table:
        return faults.ExitFault(CrashExit(signal=_signal(table, table.text("signal"), "signal")))
    code = table.members.get("code", 1)
    if isinstance(code, str):
        return faults.ExitFault(CrashExit(signal=_signal(table, code, "code")))
    return faults.ExitFault(CrashExit(code=table.whole("code", 1, least=0, most=255)))


def _hang(table: Table) -> FrameFault:
    ignored = tuple(_signal(table, name, "ignore") for name in table.texts("ignore"))
    return faults.ExitFault(HangExit(table.number("seconds", HANG_S), ignored))


def _signal(table: Table, text: str, key: str) -> signal.Signals:
    try:
        return signal.Signals[f"SIG{text.removeprefix('SIG')}"]
    except KeyError:
        raise table.wrong(key, "is no signal here; try `KILL`, `TERM` or `SEGV`") from None


def hex_bytes(table: Table, key: str) -> bytes:
    """Return the bytes that a text writes in pairs of hexadecimal digits.

    Raises:
        WrongError: it does not.
    """
    try:
        return bytes.fromhex(table.text(key))
    except ValueError:
        raise table.wrong(key, "has to be bytes like `ff fe 0a`") from None


_FaultReader: TypeAlias = tuple[str, tuple[str, ...], Callable[[Table], FrameFault]]
_FAULT_READERS: Final[Mapping[str, _FaultReader]] = {
    "delay": ("seconds", ("seconds", "jitter"), _delay),
    "drop": ("", (), lambda table: faults.DropFault()),
    "duplicate": (
        "times",
        ("times",),
        lambda table: faults.DuplicateFault(table.whole("times", 2, least=2, most=COPIES)),
    ),
    "reorder": ("frames", ("frames", "of", "seconds"), _reorder),
    "split": ("bytes", ("bytes", "pause"), _split),
    "throttle": ("rate", ("rate",), _throttle),
    "cut": ("bytes", ("bytes",), lambda table: faults.CutFault(table.whole("bytes", least=0))),
    "corrupt": ("bytes", ("bytes", "mode"), _corrupt),
    "invalid": ("", (), lambda table: faults.InvalidUtf8Fault()),
    "noise": ("text", ("text", "hex", "newline"), _noise),
    "ending": ("as", ("as",), _ending),
    "length": ("by", ("by",), _length),
    "spelling": ("as", ("as",), _spelling),
    "pad": ("bytes", ("bytes",), lambda table: faults.PadFault(table.whole("bytes", most=HUGE))),
    "nest": ("depth", ("depth",), lambda table: faults.NestFault(table.whole("depth", most=HUGE))),
    "crash": ("code", ("code", "signal"), _crash),
    "hang": ("seconds", ("seconds", "ignore"), _hang),
}
"""The key of a value without a table, all keys, and the function that reads them."""
FAULTS: Final = tuple(_FAULT_READERS)
"""What can go wrong with a frame, one word each."""


HOW: Final = ("chance", "repeat", "only", "session", *FAULTS)
"""The keys that are valid beside any action."""
ASKING: Final = ("expect", "id", "await", "force", "failed")
TEXT_KEYS: Final = ("pieces", "pause", "size", "message", "whole")
SPEAKERS: Final[Mapping[str, Speaker]] = {
    "text": "agent_message",
    "thought": "agent_thought",
    "user": "user_message",
}
PIECES: Final[tuple[actions.TextCut, ...]] = ("words", "characters", "random")
REPEATS: Final = 10_000_000


TOOL: Final = (
    "title",
    "kind",
    "status",
    "text",
    "diff",
    "content",
    "locations",
    "input",
    "output",
    "with",
)
"""What may be said of one."""


def tool_members(table: Table) -> Mapping[str, Json]:
    """Return the members of a tool call in the words of version 1.

    Raises:
        WrongError: something makes no sense.
    """
    fields: dict[str, Json] = {}
    if "title" in table:
        fields["title"] = table.text("title")
    if "kind" in table:
        fields["kind"] = table.known("kind", kinds(), "kind of tool")
    if "status" in table:
        fields["status"] = table.known("status", statuses(), "status of a tool call")
    content = [shown_text(text) for text in table.texts("text")]
    if "diff" in table:
        content.append(_diff(table.table("diff")))
    if "content" in table:
        content += table.list("content")
    if content or "content" in table:
        fields["content"] = content
    if "locations" in table:
        fields["locations"] = [
            {"path": entry} if isinstance(entry, str) else entry
            for entry in table.list("locations")
        ]
    for key, name in {"input": "rawInput", "output": "rawOutput"}.items():
        if key in table:
            fields[name] = table.json(key)
    return fields | members(table.object("with"))


def _diff(table: Table) -> Json:
    table.allow("path", "old", "new")
    old = {"oldText": table.text("old")} if "old" in table else {}
    return {"type": "diff", "path": table.text("path"), **old, "newText": table.text("new", "")}


def read_steps(table: Table, key: str) -> tuple[ScriptStep, ...]:
    """Return the steps of a list; what is wrong with one of them is kept, and the others read."""
    steps: list[ScriptStep] = []
    for each in table.tables(key, "step" if key == "steps" else f"`{key}` step"):
        with table.page.collecting():
            steps.append(_read_step(each))
    return tuple(steps)


def _read_step(table: Table) -> ScriptStep:
    action = _read_action(table)
    only = table.whole("only", most=2) if "only" in table else None
    return ScriptStep(
        table.page.at(table.path, table.place),
        action,
        read_faults(table),
        table.number("chance", 1.0, most=1.0),
        table.whole("repeat", 1, most=REPEATS),
        only,
        table.text_if_any("session"),
    )


def _read_action(table: Table) -> Action | None:
    found = [key for key in ACTIONS if key in table]
    if not found:
        return _read_faults_only(table)
    keys, read = _READERS[found[0]]
    for other in found[1:]:
        if other not in keys:
            sentence = f"does `{found[0]}` and `{other}`, and a step does one thing"
            raise table.wrong_itself(sentence)
    table.allow(found[0], *keys, *HOW)
    return read(table)


def _read_faults_only(table: Table) -> None:
    if not any(key in table for key in WITHOUT_ACTION):
        if "delay" in table:
            raise table.wrong("delay", "belongs to a frame; to let time pass, there is `wait`")
        for key in table.members:
            if guess := nearest(key, ACTIONS):
                raise table.wrong(key, f"is not known here{guess}")
        raise table.wrong_itself(f"does nothing; it needs {listed(ACTIONS)}")
    table.allow("chance", "repeat", "only", *WITHOUT_ACTION)


def _log(speaker: str) -> Callable[[Table], Action]:
    def read(table: Table) -> Action:
        is_word = isinstance(table.members.get("pieces"), str)
        pieces = table.word("pieces", PIECES) if is_word else table.whole("pieces", 1)
        return actions.SendText(
            SPEAKERS[speaker],
            table.text(speaker),
            pieces,
            table.number("pause", 0.0),
            table.whole("size", most=2**30) if "size" in table else None,
            table.text_if_any("message"),
            table.flag("whole"),
        )

    return read


def _block(table: Table) -> Action:
    speaker = table.word("by", tuple(SPEAKERS), "text")
    return actions.SendBlock(SPEAKERS[speaker], table.object("block"), table.text_if_any("message"))


def _plan(table: Table) -> Action:
    return actions.SendPlan(table.list("plan"))


def _tool(table: Table) -> Action:
    return actions.SendToolCall(table.text("tool"), tool_members(table), table.texts("more"))


def _asking(table: Table, *branches: str) -> RequestOptions:
    id_ = table.members.get("id")
    if not is_request_id(id_):
        raise table.wrong("id", "has to be a text or a whole number")
    return RequestOptions(
        {key: read_steps(table, key) for key in (*branches, "failed") if key in table},
        table.value("expect"),
        id_,
        table.flag("await", default=True),
        table.flag("force"),
    )


def _consent(table: Table) -> Action:
    call_id = table.text("permission")
    options: list[Json] = []
    for each in table.list("options") if "options" in table else CONSENTS:
        if isinstance(each, str) and each in CONSENTS:
            options.append({"optionId": each, "name": CONSENTS[each], "kind": each})
        elif "optionId" in members(each):
            options.append(each)
        else:
            sentence = f"has to be a list of {listed(tuple(CONSENTS))}, or tables with `optionId`"
            raise table.wrong("options", sentence)
    chosen = table.table("chosen")
    by_option = {option: read_steps(chosen, option) for option in chosen.members}
    title = table.text("title", call_id)
    asking = _asking(table, "allowed", "rejected", "cancelled")
    return requests.RequestPermission(
        call_id, title, tool_members(table), options, by_option, asking
    )


def _read_file(table: Table) -> Action:
    extent = {key: table.whole(key, least=0) for key in ("line", "limit") if key in table}
    return requests.RequestReadFile(table.text("read"), extent, _asking(table, "answered"))


def _write_file(table: Table) -> Action:
    asking = _asking(table, "answered")
    return requests.RequestWriteFile(table.text("write"), table.text("content", ""), asking)


def _run_command(table: Table) -> Action:
    command = table.texts("run")
    if not command:
        raise table.wrong("run", "has to hold a command")
    return requests.RequestRunCommand(
        command, table.text_if_any("tool"), _asking(table, "answered")
    )


def _elicit(table: Table) -> Action:
    params: dict[str, Json] = {"message": table.text("elicit")}
    if "url" in table:
        name = table.text("name", "elicitation-1")
        params |= {"mode": "url", "url": table.text("url"), "elicitationId": name}
    else:
        empty: dict[str, Json] = {"type": "object", "properties": {}}
        schema = empty | members(table.object("schema"))
        params |= {"mode": "form", "requestedSchema": schema}
    return requests.RequestElicitation(params, _asking(table, "accepted", "declined", "cancelled"))


def _ask(table: Table) -> Action:
    params = table.value("params", {})
    return requests.SendRequest(table.text("ask"), params, _asking(table, "answered"))


def _terminal(table: Table) -> Action:
    return actions.SendTerminal(
        table.text("terminal"),
        table.text_if_any("tool"),
        table.text("command", ""),
        table.text("output", ""),
        table.whole("chunk") if "chunk" in table else None,
        table.whole("exit", least=-BIG) if "exit" in table else None,
    )


def _read_notification(table: Table) -> Action:
    return actions.SendNotification(table.text("tell"), table.value("params"))


def _mode(table: Table) -> Action:
    return actions.SetMode(table.text("mode"), table.texts("modes"))


def _commands(table: Table) -> Action:
    return actions.SendCommands(read_commands(table))


def read_commands(table: Table) -> Mapping[str, str]:
    """Return commands and what they do, from a list of names or a table.

    Raises:
        WrongError: they are neither.
    """
    if isinstance(table.members.get("commands"), list | str):
        return {name: name for name in table.texts("commands")}
    inner = table.table("commands")
    return {name: inner.text(name) for name in inner.members}


def _state(table: Table) -> Action:
    more = table.object("with", {})
    return actions.SendState(table.text("state"), more)


def _wait(table: Table) -> Action:
    match table.members.get("wait"):
        case "cancel":
            return actions.WaitForEvent("cancel")
        case "forever":
            return actions.WaitForEvent("forever")
        case str():
            raise table.wrong("wait", "has to be seconds, `cancel` or `forever`")
        case _:
            return actions.WaitSeconds(table.number("wait"), table.number("jitter", 0.0))


def _close(table: Table) -> Action:
    table.word("close", ("stdout",))
    return actions.CloseStdout()


def _ways(table: Table, key: str) -> Sequence[Sequence[ScriptStep]]:
    found: list[Sequence[ScriptStep]] = []
    for number, way in enumerate(table.list(key)):
        if not isinstance(way, list):
            raise table.wrong(key, "has to be a list of lists of steps")
        place = f"{table.place}, `{key}` {number + 1}"
        inner = Table(table.page, {"steps": way}, (*table.path, key, number), place)
        found.append(read_steps(inner, "steps"))
    return found


_Reader: TypeAlias = tuple[tuple[str, ...], Callable[[Table], Action]]
_READERS: Final[Mapping[str, _Reader]] = {
    "run": (("tool", "answered", *ASKING), _run_command),
    "terminal": (("tool", "command", "output", "chunk", "exit"), _terminal),
    "tool": ((*TOOL, "more"), _tool),
    "permission": (
        (*TOOL, "options", "chosen", "allowed", "rejected", "cancelled", *ASKING),
        _consent,
    ),
    "read": (("line", "limit", "answered", *ASKING), _read_file),
    "write": (("content", "answered", *ASKING), _write_file),
    "elicit": (("schema", "url", "name", "accepted", "declined", "cancelled", *ASKING), _elicit),
    "ask": (("params", "answered", *ASKING), _ask),
    "tell": (("params",), _read_notification),
    "text": (TEXT_KEYS, _log("text")),
    "thought": (TEXT_KEYS, _log("thought")),
    "user": (TEXT_KEYS, _log("user")),
    "block": (("by", "message"), _block),
    "plan": ((), _plan),
    "update": ((), lambda table: actions.SendUpdate(table.object("update"))),
    "mode": (("modes",), _mode),
    "commands": ((), _commands),
    "state": (("with",), _state),
    "title": ((), lambda table: actions.SetTitle(table.text("title"))),
    "frame": ((), lambda table: actions.SendFrame(table.value("frame"))),
    "line": ((), lambda table: actions.WriteText(table.text("line"), newline=True)),
    "raw": ((), lambda table: actions.WriteText(table.text("raw"), newline=False)),
    "hex": ((), lambda table: actions.WriteBytes(hex_bytes(table, "hex"))),
    "stderr": ((), lambda table: actions.WriteStderr(table.text("stderr"))),
    "wait": (("jitter",), _wait),
    "close": ((), _close),
    "batch": ((), lambda table: actions.SendBatch(read_steps(table, "batch"))),
    "one_of": ((), lambda table: actions.PlayOneOf(_ways(table, "one_of"))),
    "beside": ((), lambda table: actions.PlayConcurrently(_ways(table, "beside"))),
    "steps": ((), lambda table: actions.PlaySteps(read_steps(table, "steps"))),
}
"""The keys that are valid beside each action, and the function that reads it.

If a step has several, the first in this order is its action.
"""
ACTIONS: Final = tuple(_READERS)
"""What a step can do, one word each."""


TOP: Final = (
    *("seed", "protocol", "framing", "dialect"),
    *("agent", "on", "prompt", "fault", "session", "start", "end"),
)
DIALECTS: Final = tuple(name for name in SPOKEN if name != BATCHES)
"""Ways to say what version 1 says; the draft with batches is none of those."""
ANSWER: Final = ("result", "with", "error", "id", *FAULTS)
ON: Final = ("nth", "times", "expect", "steps", "after", "required", *ANSWER)
PROMPTS: Final = ("contains", "matches", "stop", "cancel", "echo")
CARD: Final = (
    "name",
    "title",
    "version",
    "capabilities",
    "auth",
    "wants_login",
    "modes",
    "commands",
    "options",
    "page",
    "strict",
)
_PATHS: Final = (PurePosixPath, PureWindowsPath)


def load_scenario(path: FilePath, seed: int | None = None) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario of a file, and remarks on what is perhaps not meant.

    `seed` goes before the one in the file.

    Raises:
        InvalidFileError: the file cannot be read, or something in it makes no sense.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidFileError(f"{path} cannot be read: {error.strerror}") from None
    text = decode_text(str(path), content)
    return read_scenario(text, str(path), seed)


def read_scenario(
    text: str, name: str = "scenario", seed: int | None = None
) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario that `text` spells, and remarks on what is perhaps not meant.

    Raises:
        InvalidFileError: something makes no sense; the message tells all of it.
    """
    source = parse_toml(FilePath(name), text)
    members = source.tree
    page = Page(name, source.lines)
    if not members:
        page.remarks.append(f"{name}: it says nothing, and a good agent is played")
    scenarios: list[Scenario] = []
    with page.collecting():
        scenarios.append(_read_top(Table(page, members, (), ""), seed))
    if page.problems:
        raise InvalidFileError(page.report())
    return scenarios[0], page.remarks


def _read_top(top: Table, wanted_seed: int | None) -> Scenario:
    with top.page.collecting():
        top.allow(*TOP)
    newest, seed, card = 1, wanted_seed or 0, ScriptedAgentInfo()
    dialect: str | None = None
    with top.page.collecting():
        newest = top.whole("protocol", 1, most=2)
    with top.page.collecting():
        dialect = _read_dialect(top, newest)
    framing: Framing | None = None
    with top.page.collecting():
        framing = FRAMINGS[top.word("framing", tuple(FRAMINGS))] if "framing" in top else None
        top.page.framing = frame_codec(framing, dialect).framing
    with top.page.collecting():
        seed = top.whole("seed", 0, least=-BIG) if wanted_seed is None else wanted_seed
    with top.page.collecting():
        card = _read_card(top.table("agent"))
    reactions: list[Reaction] = []
    for table in top.tables("on", "on"):
        with top.page.collecting():
            reactions.append(_read_on(table))
    for table in top.tables("prompt", "prompt"):
        with top.page.collecting():
            reactions.append(_read_prompt(table))
    sessions: list[SavedSession] = []
    for table in top.tables("session", "session"):
        with top.page.collecting():
            saved = _read_session(table)
            if any(each.id == saved.id for each in sessions):
                raise table.wrong("id", "is that of another session")
            sessions.append(saved)
    fault_rules: list[FaultRule] = []
    for table in top.tables("fault", "fault"):
        with top.page.collecting():
            fault_rules.append(read_fault_rule(table, seed))
    return Scenario(
        top.page.name,
        seed,
        newest,
        framing,
        dialect,
        card,
        reactions,
        fault_rules,
        sessions,
        read_steps(top, "start"),
        read_steps(top, "end"),
    )


def _read_dialect(top: Table, newest: int) -> str | None:
    dialect = top.word("dialect", DIALECTS) if "dialect" in top else None
    if dialect is not None and newest > 1:
        raise top.wrong("dialect", f"has only version 1, and `protocol` is {newest}")
    return dialect


def _read_card(table: Table) -> ScriptedAgentInfo:
    with table.page.collecting():
        table.allow(*CARD)
    usual = ScriptedAgentInfo()
    if table.members.get("name") == "":
        table.remark("name", "is empty")
    modes = table.texts("modes")
    if twice := [mode for at, mode in enumerate(modes) if mode in modes[:at]]:
        table.remark("modes", f"has `{single_line(twice[0], SHOWN)}` twice")
    return ScriptedAgentInfo(
        table.text("name", usual.name),
        table.text("title", usual.title),
        table.text("version", usual.version),
        table.object("capabilities"),
        table.objects("auth", "id", "methodId"),
        table.flag("wants_login"),
        modes,
        read_commands(table),
        table.objects("options", "id", "configId"),
        table.whole("page") if "page" in table else None,
        table.flag("strict", default=True),
    )


def _allow(table: Table, *known: str) -> None:
    """Refuse keys that are not known, and above all those of a step that stands in none."""
    for key in table.members:
        if key in ACTIONS and key not in known:
            raise table.wrong(key, f"belongs to a step: `steps = [{{ {key} = … }}]`")
    table.allow(*known)


def _read_on(table: Table) -> Reaction:
    _allow(table, "method", *ON)
    methods = sorted({row.name for row in METHODS if row.sent_by != "agent"})
    method = table.text("method")
    table.place += f" ({method})"
    table.known("method", methods, "method of a client")
    if method == PROMPT:
        raise table.wrong("method", "is written as `[[prompt]]`")
    return _read_reaction(table, method)


def _read_prompt(table: Table) -> Reaction:
    _allow(table, *PROMPTS, *ON)
    reaction = _read_reaction(table, PROMPT)
    reaction.contains = table.text_if_any("contains")
    if "matches" in table:
        try:
            reaction.pattern = re.compile(table.text("matches"))
        except re.error as problem:
            raise table.wrong("matches", f"is no pattern: {problem}") from None
    if table.members.get("stop") is False:
        reaction.stop = None
    elif "stop" in table:
        reaction.stop = table.known("stop", stop_reasons(), "stop reason")
    if table.members.get("cancel") == "ignore":
        reaction.stops_on_cancel = False
    elif isinstance(table.members.get("cancel"), str):
        raise table.wrong("cancel", "has to be `ignore`, or steps to play then")
    else:
        reaction.cancelled = read_steps(table, "cancel")
    reaction.echoes_prompt = table.flag("echo", default=True)
    return reaction


def _read_reaction(table: Table, method: str) -> Reaction:
    nth = table.members.get("nth", [])
    numbers = entries(nth) if isinstance(nth, list) else [nth]
    if not all(type(number) is int and number >= 1 for number in numbers):
        raise table.wrong("nth", "has to be a whole number from 1 on, or a list of them")
    return Reaction(
        table.page.at(table.path, table.place),
        method,
        nth=tuple(numbers),
        times=table.whole("times") if "times" in table else None,
        expected=_read_expected(table),
        steps=read_steps(table, "steps"),
        has_steps="steps" in table,
        after=read_steps(table, "after"),
        answer=_read_answer(table),
        is_required=table.flag("required"),
    )


def _read_expected(table: Table) -> Json:
    expected = table.value("expect")
    is_name = isinstance(expected, str) and expected.startswith("$")
    if expected is None or is_name or expected.__class__ in {dict, list}:
        return expected
    raise table.wrong("expect", "has to be a table, as the params are")


def _read_answer(table: Table) -> ResponseOverride:
    shown = [key for key in ("result", "error") if key in table]
    if len(shown) > 1:
        raise table.wrong_itself("is answered with `result` or with `error`, not with both")
    error: Json = None
    if "error" in table:
        inner = table.table("error")
        inner.allow("code", "message", "data")
        error = {
            "code": inner.whole("code", -32603, least=-BIG),
            "message": inner.text("message", "Internal error"),
        }
        error |= {"data": inner.json("data")} if "data" in inner else {}
    return ResponseOverride(
        "result" in table,
        table.value("result"),
        table.object("with"),
        error,
        table.word("id", WRONG_IDS) if "id" in table else None,
        read_faults(table),
    )


def _read_session(table: Table) -> SavedSession:
    _allow(table, "id", "cwd", "title", "updated_at", "steps")
    cwd = table.text_if_any("cwd")
    if cwd is not None and not any(kind(cwd).is_absolute() for kind in _PATHS):
        table.remark("cwd", "is no absolute path")
    return SavedSession(
        table.text("id"),
        cwd,
        table.text_if_any("title"),
        table.text_if_any("updated_at"),
        read_steps(table, "steps"),
    )
