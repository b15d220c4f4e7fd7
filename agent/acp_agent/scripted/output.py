"""What a step writes as it stands there, whatever the protocol says to it.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from dataclasses import dataclass

from acp_agent.scripted.run import Run
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Notify:
    """Sends a notification of any method."""

    method: str
    params: Json
    """None: it has none."""

    async def play(self, run: Run) -> None:
        """Send it."""
        await run.notify(self.method, run.filled(self.params))


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Sends any JSON as a frame."""

    frame: Json

    async def play(self, run: Run) -> None:
        """Send it."""
        await run.send(run.filled(self.frame))


@dataclass(frozen=True, slots=True)
class WriteBytes:
    """Writes bytes on stdout, whatever they are."""

    raw: bytes

    async def play(self, run: Run) -> None:
        """Write them."""
        await run.put(self.raw)


@dataclass(frozen=True, slots=True)
class WriteText:
    """Writes a text on stdout, whatever it is."""

    text: str
    newline: bool

    async def play(self, run: Run) -> None:
        """Write it."""
        text = str(run.filled(self.text)) + ("\n" if self.newline else "")
        await run.put(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Complain:
    """Writes a line on stderr."""

    text: str

    async def play(self, run: Run) -> None:
        """Write it."""
        run.talk.stage.tell(str(run.filled(self.text)))


@dataclass(frozen=True, slots=True)
class CloseStdout:
    """Closes stdout, and goes on."""

    async def play(self, run: Run) -> None:
        """Close it."""
        await run.talk.wire.close()
