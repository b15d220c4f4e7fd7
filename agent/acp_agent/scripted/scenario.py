"""The file of a scenario, as pydantic models; what is wrong with one is reported with its line.

Source: docs/scripted-agent.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from acp_agent.scripted.faults import AllFaults, FaultRule, Faulty, WrongLengthFault
from acp_agent.scripted.run import Step
from acp_agent.scripted.schema import (
    BIG,
    SHOWN,
    TABLES,
    AnyJson,
    Commands,
    Count,
    JsonObject,
    Known,
    ParsedJson,
    ScenarioPart,
    Texts,
    listed,
    nearest,
    objects_with,
    parsed,
    stop_reasons,
    whole,
    wrong,
    wrong_at,
)
from acp_agent.scripted.steps import HoldsSteps, SendText, Steps
from acp_agent.scripted.wire import frame_codec
from acp_protocol.dialects.registry import BATCHES, SPOKEN
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import METHODS
from acp_protocol.user_files.toml_source import (
    InvalidFileError,
    KeyPath,
    ParsedFile,
    decode_text,
    parse_toml,
)

PROMPT: Final = "session/prompt"
DIALECTS: Final = tuple(name for name in SPOKEN if name != BATCHES)
"""Ways to say what version 1 says; the draft with batches is none of those."""
WrongId: TypeAlias = Literal["other", "retyped", "null", "missing", "previous", "swapped"]
"""One that no request has; the same in another JSON type; null; none; that of the last response;
that of another request which still has no answer, and which gets this one's."""
ECHO: Final = SendText(text="You said: $prompt")
"""The reply to a prompt that the scenario has nothing for."""


class ErrorObject(ScenarioPart):
    code: Annotated[int, whole(-BIG)] = -32603
    message: str = "Internal error"
    data: AnyJson = None

    def as_json(self) -> dict[str, Json]:
        data = {"data": self.data} if "data" in self.model_fields_set else {}
        return {"code": self.code, "message": self.message} | data


def _as_numbers(value: Any) -> Sequence[int]:
    numbers = cast("list[Any]", value if isinstance(value, list) else [value])
    if not all(type(number) is int and number >= 1 for number in numbers):
        raise wrong("has to be a whole number from 1 on, or a list of them")
    return numbers


def _as_params(value: Any) -> Json:
    found = parsed(value)
    is_name = isinstance(found, str) and found.startswith("$")
    if found is None or is_name or isinstance(found, dict | list):
        return cast("Json", found)
    raise wrong("has to be a table, as the params are")


class Reaction(HoldsSteps, AllFaults):
    """What happens at a message of the client; its faults strike the response."""

    nth: Annotated[Sequence[int], BeforeValidator(_as_numbers)] = ()
    """Which messages of that method it is for, from 1 on; empty for any."""
    times: Count | None = None
    """How often it is played at most."""
    expect: Annotated[Any, BeforeValidator(_as_params)] = None
    """What the params have to hold; None for anything."""
    steps: Steps = ()
    after: Steps = ()
    """What is played behind the response."""
    required: bool = False
    """Whether it is a failure if it is never played."""
    result: ParsedJson = None
    over: JsonObject = Field(default=None, alias="with")
    """Members that are put over the usual result."""
    error: ErrorObject | None = None
    id: WrongId | None = None

    @property
    def has_steps(self) -> bool:
        """Whether the steps replace the usual behaviour, even if there are none."""
        return "steps" in self.model_fields_set

    @property
    def has_result(self) -> bool:
        """Whether the result replaces the usual one, be it null."""
        return "result" in self.model_fields_set

    @property
    def is_selective(self) -> bool:
        """Whether it is for certain messages only."""
        return bool(self.nth)

    def fits(self, nth: int, text: str) -> bool:
        """Return whether it is for the nth message of its method, a prompt with that text."""
        del text
        return not self.nth or nth in self.nth

    @model_validator(mode="after")
    def _has_one_outcome(self) -> Self:
        if self.has_result and self.error is not None:
            raise wrong("is answered with `result` or with `error`, not with both")
        return self


def _client_methods() -> Sequence[str]:
    return sorted({row.name for row in METHODS if row.sent_by != "agent"})


class On(Reaction):
    method: Annotated[str, Known("method of a client", _client_methods)]

    @field_validator("method")
    @classmethod
    def _is_no_prompt(cls, value: str) -> str:
        if value == PROMPT:
            raise wrong("is written as `[[prompt]]`")
        return value


def _as_pattern(value: Any) -> Any:
    if not isinstance(value, str):
        raise wrong("has to be a text")
    try:
        return re.compile(value)
    except re.error as problem:
        raise wrong(f"is no pattern: {problem}") from None


def _as_stop(value: Any) -> Any:
    return None if value is False else value


def _as_cancel(value: Any) -> Any:
    if isinstance(value, str) and value != "ignore":
        raise wrong("has to be `ignore`, or steps to play then")
    return None if value == "ignore" else value


class Prompt(Reaction):
    contains: str | None = None
    matches: Annotated[re.Pattern[str], BeforeValidator(_as_pattern)] | None = None
    stop: Annotated[str | None, BeforeValidator(_as_stop), Known("stop reason", stop_reasons)] = (
        "end_turn"
    )
    """None: none is sent."""
    cancel: Annotated[Steps | None, BeforeValidator(_as_cancel)] = ()
    """What is played when the client cancels; None: it is ignored."""
    echo: bool = True
    """Whether version 2 repeats the prompt as a message of the user."""

    @property
    def turn_steps(self) -> Sequence[Step]:
        return self.steps if self.has_steps or self.error is not None else (ECHO,)

    @property
    def is_selective(self) -> bool:
        return bool(self.nth) or self.contains is not None or self.matches is not None

    def fits(self, nth: int, text: str) -> bool:
        if self.contains is not None and self.contains not in text:
            return False
        return super().fits(nth, text) and (self.matches is None or bool(self.matches.search(text)))


class ScriptedAgentInfo(ScenarioPart):
    """What the agent reports about itself."""

    name: str = "scripted"
    title: str = "Scripted agent"
    version: str = "1.0.0"
    capabilities: JsonObject = None
    """What is put over the usual capabilities."""
    auth: Annotated[Sequence[Any], objects_with("id", "methodId")] = ()
    wants_login: bool = False
    """Whether there is no session before the client has logged in."""
    modes: Texts = ()
    commands: Commands = Field(default_factory=dict[str, str])
    options: Annotated[Sequence[Any], objects_with("id", "configId")] = ()
    page: Count | None = None
    """Sessions of one page of their list; None for all of them."""
    strict: bool = True
    """Whether params that do not fit their schema are refused."""

    def remarks(self) -> Iterator[tuple[str, str]]:
        if not self.name:
            yield "name", "is empty"
        twice = [mode for at, mode in enumerate(self.modes) if mode in self.modes[:at]]
        if twice:
            yield "modes", f"has `{single_line(twice[0], SHOWN)}` twice"


class SavedSession(HoldsSteps):
    """A session that was there before."""

    id: str
    cwd: str | None = None
    """None: where the agent was started, which mostly is where the client works."""
    title: str | None = None
    updated_at: str | None = None
    steps: Steps = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        kinds = (PurePosixPath, PureWindowsPath)
        if self.cwd is not None and not any(kind(self.cwd).is_absolute() for kind in kinds):
            yield "cwd", "is no absolute path"


def _has_distinct_ids(sessions: Sequence[SavedSession]) -> Sequence[SavedSession]:
    ids = [session.id for session in sessions]
    twice = [at for at, id_ in enumerate(ids) if id_ in ids[:at]]
    if twice:
        raise wrong_at(*(((at, "id"), "is that of another session") for at in twice))
    return sessions


class Scenario(ScenarioPart):
    seed: Annotated[int, whole(-BIG)] = 0
    protocol: Annotated[int, whole(1, 2)] = 1
    """The newest version that is spoken."""
    framing: Literal["lines", "content-length"] | None = None
    """How frames are kept apart; None for what the dialect has, which mostly is lines."""
    dialect: str | None = None
    """The dialect that is spoken; None for the protocol as it is published."""
    agent: ScriptedAgentInfo = ScriptedAgentInfo()
    on: Annotated[Sequence[On], TABLES] = ()
    prompt: Annotated[Sequence[Prompt], TABLES] = ()
    fault: Annotated[Sequence[FaultRule], TABLES] = ()
    session: Annotated[Sequence[SavedSession], TABLES, AfterValidator(_has_distinct_ids)] = ()
    start: Steps = ()
    """What is played before anything is answered."""
    end: Steps = ()
    """What is played when the client has left."""

    @property
    def reactions(self) -> Sequence[Reaction]:
        return [*self.on, *self.prompt]

    def reactions_to(self, method: str) -> Sequence[Reaction]:
        """Return the reactions to messages of a method, in the order of the file."""
        return self.prompt if method == PROMPT else [on for on in self.on if on.method == method]

    @field_validator("on", "prompt", "fault", "session", "start", "end", mode="before")
    @classmethod
    def _is_list(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, dict):
            raise wrong(f"is written with two brackets: `[[{info.field_name}]]`")
        return value

    @field_validator("dialect", mode="before")
    @classmethod
    def _can_be_played(cls, value: Any, info: ValidationInfo) -> Any:
        if value not in DIALECTS:
            raise wrong(f"has to be {listed(DIALECTS)}{nearest(value, DIALECTS)}")
        if info.data.get("protocol", 1) > 1:
            raise wrong(f"has only version 1, and `protocol` is {info.data['protocol']}")
        return value


def load_scenario(path: Path, seed: int | None = None) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario of a file, and remarks on what is perhaps not meant.

    `seed` goes before the one in the file.

    Raises:
        InvalidFileError: the file cannot be read, or something in it makes no sense.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidFileError(f"{path} cannot be read: {error.strerror}") from None
    return read_scenario(decode_text(str(path), content), str(path), seed)


def read_scenario(
    text: str, name: str = "scenario", seed: int | None = None
) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario that `text` spells, and remarks on what is perhaps not meant.

    Raises:
        InvalidFileError: something makes no sense; the message has a line for each problem.
    """
    source = parse_toml(Path(name), text)
    try:
        scenario = Scenario.model_validate(source.tree)
    except ValidationError as error:
        problems = [(each["loc"], each["msg"]) for each in error.errors()]
        problems.sort(key=lambda problem: source.line(problem[0]))
        raise InvalidFileError(*(message(source, *problem) for problem in problems)) from None
    parts = list(_placed(scenario, (), source))
    if frame_codec(scenario.framing, scenario.dialect).framing == "lines":
        sentence = 'needs a header: write `framing = "content-length"` at the top of the file'
        lengths = [path for path, part in parts if isinstance(part, WrongLengthFault)]
        if lengths:
            raise InvalidFileError(*(message(source, path, sentence) for path in lengths))
    remarks = [
        message(source, (*path, key), sentence)
        for path, part in parts
        for key, sentence in part.remarks()
    ]
    if not source.tree:
        remarks.append(f"{name}: it says nothing, and a good agent is played")
    return scenario if seed is None else scenario.model_copy(update={"seed": seed}), remarks


def message(source: ParsedFile, path: KeyPath, sentence: str) -> str:
    """Return a sentence about a value, with its line and its place in the file."""
    place = path
    if path and isinstance(path[-1], str):
        place = path[:-1]
        sentence = f"`{single_line(path[-1], SHOWN)}` {sentence}"
    words = _place(place, source.tree)
    return f"{source.at(path)}: {words}: {sentence}" if words else f"{source.at(path)}: {sentence}"


def _place(path: KeyPath, tree: Mapping[str, Json]) -> str:
    """Return what messages call a table: `prompt 2, step 1`."""
    words: list[str] = []
    for at, key in enumerate(path):
        numbers = [each for each in path[at + 1 : at + 3] if isinstance(each, int)]
        if isinstance(key, int):
            if isinstance(path[at - 1], int):
                words.append(f"step {key + 1}")
        elif not numbers or isinstance(path[at + 1], str):
            words.append(f"`{single_line(key, SHOWN)}`")
        elif at == 0 and key in {"on", "prompt", "session", "fault"}:
            table = as_object(as_list(tree[key])[numbers[0]])
            method = table.get("method") if key == "on" else None
            words.append(f"{key} {numbers[0] + 1}" + (f" ({method})" if method else ""))
        elif key == "steps":
            words.append(f"step {numbers[0] + 1}")
        elif len(numbers) > 1:
            words.append(f"`{key}` {numbers[0] + 1}")
        else:
            words.append(f"`{key}` step {numbers[0] + 1}")
    return ", ".join(words)


def _placed(
    value: Any, path: KeyPath, source: ParsedFile
) -> Iterator[tuple[KeyPath, ScenarioPart]]:
    """Tell each table where it is in the file, and yield them with their paths."""
    if isinstance(value, ScenarioPart):
        if isinstance(value, Faulty):
            value.set_place(f"{source.at(path)}: {_place(path, source.tree)}")
        yield path, value
        for key, child in value.children():
            yield from _placed(child, (*path, key), source)
    elif isinstance(value, Mapping):
        for key, child in cast("Mapping[str, Any]", value).items():
            yield from _placed(child, (*path, key), source)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, child in enumerate(cast("Sequence[Any]", value)):
            yield from _placed(child, (*path, number), source)
