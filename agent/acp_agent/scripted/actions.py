"""The actions of steps that send, write, wait, or play other steps.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import anyio

from acp_agent.scripted.messages import Speaker, plan_entry, shown_text, text_block
from acp_agent.scripted.run import Run, ScriptStep
from acp_agent.scripted.values import members
from acp_protocol.jsonrpc import Json

TextCut: TypeAlias = Literal["words", "characters", "random"]
Pieces: TypeAlias = int | TextCut
LONGEST_PIECE: Final = 12
"""Characters of a piece that chance cuts off, at most."""


@dataclass(frozen=True, slots=True)
class SendText:
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
        text = str(run.filled(self.text))
        if self.size is not None:
            text *= -(-self.size // max(1, len(text.encode())))
        message_id = run.message_id(self.speaker, self.message_id)
        words = run.session.words
        spell = words.whole if self.is_whole else words.message
        for number, piece in enumerate(self._cut(text, run)):
            if number and self.pause:
                await run.connection.stage.sleep(self.pause)
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
            length = run.random.randint(1, LONGEST_PIECE)
            pieces.append(text[at : at + length])
            at += length
        return pieces


@dataclass(frozen=True, slots=True)
class SendBlock:
    """Says something that is no text: an image, a link."""

    speaker: Speaker
    block: Json
    message_id: str | None

    async def play(self, run: Run) -> None:
        message_id = run.message_id(self.speaker, self.message_id)
        words = run.session.words
        await run.update(words.message(self.speaker, run.filled(self.block), message_id))


@dataclass(frozen=True, slots=True)
class SendPlan:
    """Shows the whole plan."""

    entries: Sequence[Json]

    async def play(self, run: Run) -> None:
        entries = [plan_entry(run.filled(entry)) for entry in self.entries]
        await run.update(run.session.words.plan(entries))


@dataclass(frozen=True, slots=True)
class SendToolCall:
    """Tells a tool call, or what has changed about one."""

    call_id: str
    members: Mapping[str, Json]
    """In the words of version 1."""
    more: Sequence[str] = ()
    """Texts that it shows beside what it has shown before."""

    async def play(self, run: Run) -> None:
        run.session.speaker = None
        words = run.session.words
        if self.members or self.call_id not in words.calls:
            await run.update(words.call(self.call_id, members(run.filled(dict(self.members)))))
        for text in self.more:
            await run.update(words.more(self.call_id, shown_text(str(run.filled(text)))))


@dataclass(frozen=True, slots=True)
class SendTerminal:
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
        run.session.speaker = None
        words, cwd = run.session.words, run.session.cwd
        raw = str(run.filled(self.output)).encode()
        size = self.chunk or max(1, len(raw))
        output = [raw[begin : begin + size] for begin in range(0, len(raw), size)]
        fields = words.terminal(self.terminal_id, self.call_id, self.command, cwd)
        fields += words.printed(self.terminal_id, self.call_id, output)
        fields += [] if self.code is None else words.exited(self.terminal_id, self.code)
        for update in fields:
            await run.update(update)


@dataclass(frozen=True, slots=True)
class SendUpdate:
    """Sends an update as it is written."""

    update: Json

    async def play(self, run: Run) -> None:
        update = run.filled(self.update)
        await run.update(update, keeps=members(update).get("sessionUpdate") != "state_update")


@dataclass(frozen=True, slots=True)
class SetMode:
    """Puts the session into another mode."""

    mode: str
    modes: Sequence[str]

    async def play(self, run: Run) -> None:
        run.session.mode = self.mode
        update = run.session.words.mode(self.mode, self.modes or [self.mode])
        await run.update(update, keeps=False)


@dataclass(frozen=True, slots=True)
class SendCommands:
    """Tells which commands a prompt may begin with."""

    commands: Mapping[str, str]

    async def play(self, run: Run) -> None:
        await run.update(run.session.words.commands(self.commands), keeps=False)


@dataclass(frozen=True, slots=True)
class SendState:
    """Sends the state of the session; only version 2 has such an update."""

    state: str
    more: Json

    async def play(self, run: Run) -> None:
        update = run.session.words.state(self.state, **members(run.filled(self.more)))
        if update is not None:
            await run.update(update, keeps=False)


@dataclass(frozen=True, slots=True)
class SetTitle:
    """Gives the session a title."""

    title: str

    async def play(self, run: Run) -> None:
        title = str(run.filled(self.title))
        run.session.title = title
        await run.update({"sessionUpdate": "session_info_update", "title": title}, keeps=False)


@dataclass(frozen=True, slots=True)
class SendNotification:
    """Sends a notification of any method."""

    method: str
    params: Json
    """None: it has none."""

    async def play(self, run: Run) -> None:
        await run.notify(self.method, run.filled(self.params))


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Sends any JSON as a frame."""

    frame: Json

    async def play(self, run: Run) -> None:
        await run.send(run.filled(self.frame))


@dataclass(frozen=True, slots=True)
class WriteBytes:
    """Writes bytes on stdout, whatever they are."""

    raw: bytes

    async def play(self, run: Run) -> None:
        await run.put(self.raw)


@dataclass(frozen=True, slots=True)
class WriteText:
    """Writes a text on stdout, whatever it is."""

    text: str
    newline: bool

    async def play(self, run: Run) -> None:
        text = str(run.filled(self.text)) + ("\n" if self.newline else "")
        await run.put(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class WriteStderr:
    """Writes a line on stderr."""

    text: str

    async def play(self, run: Run) -> None:
        run.connection.stage.write_line(str(run.filled(self.text)))


@dataclass(frozen=True, slots=True)
class CloseStdout:
    """Closes stdout, and goes on."""

    async def play(self, run: Run) -> None:
        await run.connection.wire.close()


@dataclass(frozen=True, slots=True)
class WaitSeconds:
    """Lets time pass."""

    seconds: float
    jitter: float
    """Seconds more, at most, by chance."""

    async def play(self, run: Run) -> None:
        more = run.random.uniform(0, self.jitter) if self.jitter else 0.0
        await run.connection.stage.sleep(self.seconds + more)


@dataclass(frozen=True, slots=True)
class WaitForEvent:
    """Waits until the client cancels, or for ever; in both cases no longer than it is there."""

    what: Literal["cancel", "forever"]

    async def play(self, run: Run) -> None:
        async with anyio.create_task_group() as tasks:

            async def look(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(look, run.connection.has_left)
            if self.what == "cancel":
                tasks.start_soon(look, run.turn.is_cancelled)


@dataclass(frozen=True, slots=True)
class SendBatch:
    """Lets the messages of several steps leave in one array."""

    steps: Sequence[ScriptStep]

    async def play(self, run: Run) -> None:
        collected: list[Json] = []
        await replace(run, batch=collected).play(self.steps)
        await run.send(collected)


@dataclass(frozen=True, slots=True)
class PlaySteps:
    """Plays steps as one."""

    steps: Sequence[ScriptStep]

    async def play(self, run: Run) -> None:
        await run.play(self.steps)


@dataclass(frozen=True, slots=True)
class PlayOneOf:
    """Plays one of several lists of steps, as chance wants it."""

    ways: Sequence[Sequence[ScriptStep]]

    async def play(self, run: Run) -> None:
        await run.play(run.random.choice(self.ways))


@dataclass(frozen=True, slots=True)
class PlayConcurrently:
    """Plays several lists of steps beside each other."""

    ways: Sequence[Sequence[ScriptStep]]

    async def play(self, run: Run) -> None:
        async with anyio.create_task_group() as tasks:
            for steps in self.ways:
                tasks.start_soon(run.play, steps)
