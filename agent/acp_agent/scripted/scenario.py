"""What a scenario holds once it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from acp_agent.scripted.faults import FaultRule, FrameFault
from acp_agent.scripted.run import ScriptStep
from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import Json

WrongId: TypeAlias = Literal["other", "retyped", "null", "missing", "previous", "swapped"]
WRONG_IDS: Final[tuple[WrongId, ...]] = get_args(WrongId)
"""One that no request has; the same in another JSON type; null; none; that of the last
response; that
of another request which still has no answer, and which gets this one's."""
PROMPT: Final = "session/prompt"


@dataclass(frozen=True, slots=True)
class ResponseOverride:
    """How a request is answered, as far as it differs from what a good agent does."""

    has_result: bool = False
    """Whether there is a result in place of the usual one, be it null."""
    result: Json = None
    over: Json = None
    """Members that are put over the usual result."""
    error: Json = None
    """The error in place of a result."""
    wrong_id: WrongId | None = None
    faults: tuple[FrameFault, ...] = ()


@dataclass(slots=True, eq=False)
class Reaction:
    """What happens when the client says something."""

    place: str
    """Where it stands in the file."""
    method: str
    nth: tuple[int, ...] = ()
    """Which messages of that method it is for, from 1 on; empty for any."""
    contains: str | None = None
    """What the text of the prompt has to hold."""
    pattern: re.Pattern[str] | None = None
    """What has to be found in the text of the prompt."""
    times: int | None = None
    """How often it is played at most."""
    expected: Json = None
    """What the params have to hold; None for anything."""
    steps: tuple[ScriptStep, ...] = ()
    has_steps: bool = False
    """Whether the steps replace the usual behaviour, even if there are none."""
    after: tuple[ScriptStep, ...] = ()
    """What is played behind the answer."""
    cancelled: tuple[ScriptStep, ...] = ()
    """What is played when the client cancels."""
    stops_on_cancel: bool = True
    stop: str | None = "end_turn"
    """The stop reason; None: none is sent."""
    echoes_prompt: bool = True
    """Whether version 2 repeats the prompt as a message of the user."""
    answer: ResponseOverride = ResponseOverride()
    is_required: bool = False
    """Whether it is a failure if it is never played."""
    played: int = 0

    @property
    def is_selective(self) -> bool:
        """Whether it is for certain messages only."""
        return bool(self.nth) or self.contains is not None or self.pattern is not None

    def fits(self, nth: int, text: str) -> bool:
        """Return whether it is for the nth message of its method, a prompt with that text."""
        if self.times is not None and self.played >= self.times:
            return False
        if self.nth and nth not in self.nth:
            return False
        if self.contains is not None and self.contains not in text:
            return False
        return self.pattern is None or self.pattern.search(text) is not None


@dataclass(slots=True)
class Reactions:
    """The reactions of a scenario, in the order of the file."""

    all: Sequence[Reaction]

    def choose(self, method: str, nth: int, text: str) -> Reaction | None:
        """Return the reaction to a message, and count it; None if there is none.

        Those for certain messages come first. The others follow one another, and the last stays.
        """
        fitting = [each for each in self.all if each.method == method and each.fits(nth, text)]
        selective = [each for each in fitting if each.is_selective]
        others = [each for each in fitting if not each.is_selective]
        fresh = [each for each in others if each.times is not None or each.played == 0]
        found = [*selective, *fresh, *others[-1:]]
        if not found:
            return None
        found[0].played += 1
        return found[0]


@dataclass(frozen=True, slots=True)
class ScriptedAgentInfo:
    """What the agent says about itself."""

    name: str = "scripted"
    title: str = "Scripted agent"
    version: str = "1.0.0"
    capabilities: Json = None
    """What is put over the usual capabilities."""
    auth: Sequence[Json] = ()
    """The ways to log in."""
    wants_login: bool = False
    """Whether there is no session before the client has logged in."""
    modes: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Sequence[Json] = ()
    page: int | None = None
    """Sessions of one page of their list; None for all of them."""
    is_strict: bool = True
    """Whether params that do not fit their shape are refused."""


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session that was there before."""

    id: str
    cwd: str | None
    """None: where the agent was started, which mostly is where the client works."""
    title: str | None
    updated_at: str | None
    steps: tuple[ScriptStep, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that a file says."""

    name: str
    seed: int = 0
    newest: int = 1
    """The newest version that is spoken."""
    framing: Framing | None = None
    """How frames are kept apart; None for what the dialect has, which mostly is lines."""
    dialect: str | None = None
    """The dialect that is spoken; None for the protocol as it is published."""
    card: ScriptedAgentInfo = ScriptedAgentInfo()
    reactions: Sequence[Reaction] = ()
    fault_rules: Sequence[FaultRule] = ()
    sessions: Sequence[SavedSession] = ()
    start: tuple[ScriptStep, ...] = ()
    """What is played before anything is answered."""
    end: tuple[ScriptStep, ...] = ()
    """What is played when the client has left."""
