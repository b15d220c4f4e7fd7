"""What a step tells the client about a session; `questions` holds what it asks.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from acp_agent.scripted.run import Run
from acp_agent.scripted.values import members
from acp_agent.scripted.words import Speaker, plan_entry, shown_text, text_block
from acp_protocol.jsonrpc import Json

Cut: TypeAlias = Literal["words", "characters", "random"]
Pieces: TypeAlias = int | Cut
LONGEST_PIECE: Final = 12
"""Characters of a piece that chance cuts off, at most."""


@dataclass(frozen=True, slots=True)
class Say:
    """Says or thinks a text, or has the user say it."""

    speaker: Speaker
    text: str
    pieces: Pieces
    pause: float
    """Seconds between two pieces."""
    size: int | None
    """Bytes that the text has at least, by being repeated; None for as it is."""
    message_id: str | None
    is_whole: bool = False
    """Whether each piece is all of the message, in place of what was said of it before."""

    async def play(self, run: Run) -> None:
        """Send it, piece by piece."""
        text = str(run.filled(self.text))
        if self.size is not None:
            text *= -(-self.size // max(1, len(text.encode())))
        message_id = run.message_id(self.speaker, self.message_id)
        words = run.session.words
        spell = words.whole if self.is_whole else words.message
        for number, piece in enumerate(self._cut(text, run)):
            if number and self.pause:
                await run.talk.stage.sleep(self.pause)
            await run.update(spell(self.speaker, text_block(piece), message_id))

    def _cut(self, text: str, run: Run) -> Sequence[str]:
        if isinstance(self.pieces, int):
            count = min(self.pieces, len(text)) or 1
            ends = [len(text) * number // count for number in range(count + 1)]
            return [text[begin:end] for begin, end in pairwise(ends)]
        if self.pieces == "characters":
            return list(text)
        if self.pieces == "words":
            words = text.split(" ")
            return [f"{word} " for word in words[:-1]] + words[-1:]
        pieces: list[str] = []
        at = 0
        while at < len(text):
            length = run.dice.randint(1, LONGEST_PIECE)
            pieces.append(text[at : at + length])
            at += length
        return pieces


@dataclass(frozen=True, slots=True)
class ShowBlock:
    """Says something that is no text: an image, a link."""

    speaker: Speaker
    block: Json
    message_id: str | None

    async def play(self, run: Run) -> None:
        """Send it."""
        message_id = run.message_id(self.speaker, self.message_id)
        words = run.session.words
        await run.update(words.message(self.speaker, run.filled(self.block), message_id))


@dataclass(frozen=True, slots=True)
class ShowPlan:
    """Shows the whole plan."""

    entries: Sequence[Json]

    async def play(self, run: Run) -> None:
        """Send it."""
        entries = [plan_entry(run.filled(entry)) for entry in self.entries]
        await run.update(run.session.words.plan(entries))


@dataclass(frozen=True, slots=True)
class CallTool:
    """Tells a tool call, or what has changed about one."""

    call_id: str
    members: Mapping[str, Json]
    """In the words of version 1."""
    more: Sequence[str] = ()
    """Texts that it shows beside what it has shown before."""

    async def play(self, run: Run) -> None:
        """Send it."""
        run.session.speaker = None
        words = run.session.words
        if self.members or self.call_id not in words.calls:
            await run.update(words.call(self.call_id, members(run.filled(dict(self.members)))))
        for text in self.more:
            await run.update(words.more(self.call_id, shown_text(str(run.filled(text)))))


@dataclass(frozen=True, slots=True)
class ShowTerminal:
    """Shows a command that runs at the agent's, in a terminal that only it writes in."""

    terminal_id: str
    call_id: str | None
    """The tool call that shows it."""
    command: str
    output: str
    chunk: int | None
    """Bytes of a piece of the output; None for one piece."""
    code: int | None
    """The exit code, if it ends."""

    async def play(self, run: Run) -> None:
        """Send what is new about it."""
        run.session.speaker = None
        words, cwd = run.session.words, run.session.cwd
        raw = str(run.filled(self.output)).encode()
        size = self.chunk or max(1, len(raw))
        output = [raw[begin : begin + size] for begin in range(0, len(raw), size)]
        told = words.terminal(self.terminal_id, self.call_id, self.command, cwd)
        told += words.printed(self.terminal_id, self.call_id, output)
        told += [] if self.code is None else words.exited(self.terminal_id, self.code)
        for update in told:
            await run.update(update)


@dataclass(frozen=True, slots=True)
class Update:
    """Sends an update as it is written."""

    update: Json

    async def play(self, run: Run) -> None:
        """Send it."""
        update = run.filled(self.update)
        await run.update(update, keeps=members(update).get("sessionUpdate") != "state_update")


@dataclass(frozen=True, slots=True)
class ChangeMode:
    """Puts the session into another mode."""

    mode: str
    modes: Sequence[str]

    async def play(self, run: Run) -> None:
        """Do so, and tell it."""
        run.session.mode = self.mode
        update = run.session.words.mode(self.mode, self.modes or [self.mode])
        await run.update(update, keeps=False)


@dataclass(frozen=True, slots=True)
class ShowCommands:
    """Tells which commands a prompt may begin with."""

    commands: Mapping[str, str]

    async def play(self, run: Run) -> None:
        """Send them."""
        await run.update(run.session.words.commands(self.commands), keeps=False)


@dataclass(frozen=True, slots=True)
class ShowState:
    """Tells what the session is at; only version 2 has a word for that."""

    state: str
    more: Json

    async def play(self, run: Run) -> None:
        """Send it."""
        update = run.session.words.state(self.state, **members(run.filled(self.more)))
        if update is not None:
            await run.update(update, keeps=False)


@dataclass(frozen=True, slots=True)
class Rename:
    """Gives the session a title."""

    title: str

    async def play(self, run: Run) -> None:
        """Do so, and tell it."""
        title = str(run.filled(self.title))
        run.session.title = title
        await run.update({"sessionUpdate": "session_info_update", "title": title}, keeps=False)
