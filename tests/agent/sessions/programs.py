"""Real agents, asked over pipes; what is said is written down as in a recording."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from acp_agent.settings.types import DatabaseUrl
from acp_inspector.journal import Journal
from acp_inspector.session.conversation import Conversation
from acp_protocol.jsonrpc import Json
from tests.agent.client import INITIALIZE, folded
from tests.warm import WARM


@dataclass
class Program:
    """A running agent."""

    process: subprocess.Popen[bytes]
    cwd: Path
    version: int
    journal: Journal = field(default_factory=Journal)
    _ids: Iterator[int] = field(default_factory=count)

    def send(self, method: str, **params: Json) -> int:
        """Ask without waiting for the answer; return the id."""
        id_ = next(self._ids)
        asked = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        line = json.dumps(asked).encode()
        self.journal.line("client", line)
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return id_

    def read(self) -> Any:
        """Return the next message; None where there is none any more."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            return None
        self.journal.line("agent", line[:-1])
        return json.loads(line)

    def ask(self, method: str, **params: Json) -> Any:
        """Ask; return the answer, a result or an error."""
        id_ = self.send(method, **params)
        while (message := self.read()) is not None:
            if message.get("id") == id_ and "method" not in message:
                return message
        raise AssertionError("the agent has ended")

    def new(self) -> str:
        """Open a session in which nothing is asked."""
        servers: dict[str, Json] = {"mcpServers": []} if self.version == 1 else {}
        session_id = self.ask("session/new", cwd=str(self.cwd), **servers)["result"]["sessionId"]
        kind: dict[str, Json] = {} if self.version == 1 else {"type": "id"}
        option: dict[str, Json] = {"configId": "mode", "value": "code"}
        self.ask("session/set_config_option", sessionId=session_id, **option, **kind)
        return session_id

    def reopen(self, session_id: str) -> Any:
        """Open a session again, with all that was said."""
        params: dict[str, Json] = {"sessionId": session_id, "cwd": str(self.cwd)}
        if self.version == 1:
            return self.ask("session/load", mcpServers=[], **params)
        return self.ask("session/resume", replayFrom={"type": "start"}, **params)

    def kill(self) -> None:
        """Kill it, and read what it has sent."""
        self.process.kill()
        while self.read() is not None:
            pass
        self.process.wait()

    def conversation(self, session_id: str) -> Conversation:
        """Return what all that was said folds into."""
        return folded(self.journal.entries).get(session_id)


@contextmanager
def program(
    store: Path | DatabaseUrl, cwd: Path, version: int, *options: str
) -> Generator[Program]:
    """Run an agent that keeps its sessions in `store`."""
    where = store.url if isinstance(store, DatabaseUrl) else str(store)
    command = [*WARM, "-m", "acp_agent", "--sessions", where]
    command += ["--protocol", str(version), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        it = Program(process, cwd, version)
        try:
            it.ask("initialize", **INITIALIZE[version])
            yield it
        finally:
            if process.poll() is None:
                process.kill()
