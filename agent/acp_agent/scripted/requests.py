"""What a step asks the client, and how it goes on by the answer.

Source: ACP, Tool Calls, "Requesting Permission"; File System; Terminals; Elicitation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from acp_agent.scripted.run import PendingRequest, Run, ScriptStep
from acp_agent.scripted.values import members
from acp_protocol.jsonrpc import Json, RequestId

Branches = Mapping[str, Sequence[ScriptStep]]
"""How it goes on, by what came of a question."""
CALM: Final = 1.0
"""Seconds that answers to what was asked may still take when a turn was cancelled."""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How a question is asked, whatever it is about."""

    branches: Branches = field(default_factory=dict[str, Sequence[ScriptStep]])
    expected: Json = None
    """What stands in the result; None for anything."""
    id: RequestId = None
    """Its id; None for one that no other question has."""
    waits: bool = True
    """Whether it goes on only when there is an answer."""
    is_forced: bool = False
    """Whether it is asked although the client does not offer it."""

    async def ask(self, run: Run, method: str, params: Json) -> PendingRequest | None:
        """Send the request; return the response, or None if the step does not wait for it.

        An unexpected result is logged and counts as a failure.
        """
        pending = await run.ask(method, run.filled(params), self.id, waits=self.waits)
        if not self.waits or run.batch is not None:
            return None
        if pending.error is None and self.expected is not None:
            run.connection.expect(run.filled(self.expected), pending.result, run.place)
        if pending.error is not None and self.expected is not None and not self._handles_failure:
            run.connection.fail(
                f"{run.place}: {method} was answered with the error {pending.error}"
            )
        return pending

    async def go_on(self, run: Run, outcome: str) -> None:
        """Play the branch of an outcome, if there is one."""
        await run.play(self.branches.get(outcome, ()))

    @property
    def _handles_failure(self) -> bool:
        return "failed" in self.branches

    async def is_offered(self, run: Run, *path: str) -> bool:
        """Return whether the client has a capability; if not, log it and play `failed`."""
        offer: Json = run.connection.offers
        for name in path:
            offer = members(offer).get(name)
        is_there = offer is not None and offer is not False
        if not is_there and not self.is_forced:
            run.connection.stage.note(f"{run.place}: not asked, the client has no {'.'.join(path)}")
            await self.go_on(run, "failed")
            return False
        return True


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Asks with any method and any params."""

    method: str
    params: Json
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        pending = await self.asking.ask(run, self.method, self.params)
        if pending is not None:
            await self.asking.go_on(run, "failed" if pending.error is not None else "answered")


@dataclass(frozen=True, slots=True)
class RequestPermission:
    """Asks the user for consent to a tool call."""

    call_id: str
    title: str
    members: Mapping[str, Json]
    """What has changed about the tool call, in the words of version 1."""
    options: Sequence[Json]
    by_option: Branches
    """How it goes on, by the id of the chosen option."""
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        words = run.session.words
        run.session.speaker = None
        if self.call_id not in words.calls:
            begin = {"title": self.title, "status": "pending"} | dict(self.members)
            await run.update(words.call(self.call_id, members(run.filled(begin))))
        changed = members(run.filled(dict(self.members)))
        params = words.pending(self.call_id, self.title, changed, self.options)
        await self._send_state(run, "requires_action")
        pending = await self.asking.ask(run, "session/request_permission", params)
        if pending is None:
            return
        await self._send_state(run, "running")
        option, outcome = self._outcome(pending)
        await run.play(self.by_option.get(option, ()))
        await self.asking.go_on(run, outcome)

    async def _send_state(self, run: Run, state: str) -> None:
        update = run.session.words.state(state)
        if update is not None and self.asking.waits and run.batch is None:
            await run.update(update, keeps=False)

    def _outcome(self, pending: PendingRequest) -> tuple[str, str]:
        """Return the option that was chosen, if any, and what that means."""
        outcome = members(members(pending.result).get("outcome"))
        if pending.error is not None or outcome.get("outcome") not in {"selected", "cancelled"}:
            return "", "failed"
        if outcome["outcome"] == "cancelled":
            return "", "cancelled"
        chosen = str(outcome.get("optionId"))
        kinds = {option["optionId"]: str(option.get("kind")) for option in self.options}
        if chosen not in kinds:
            return chosen, "failed"
        return chosen, "allowed" if kinds[chosen].startswith("allow") else "rejected"


@dataclass(frozen=True, slots=True)
class RequestReadFile:
    """Reads a file through the client; only version 1 can."""

    path: str
    extent: Mapping[str, Json]
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        if await self.asking.is_offered(run, "fs", "readTextFile"):
            params = {"sessionId": run.session.id, "path": self.path, **self.extent}
            await SendRequest("fs/read_text_file", params, self.asking).play(run)


@dataclass(frozen=True, slots=True)
class RequestWriteFile:
    """Writes a file through the client; only version 1 can."""

    path: str
    content: str
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        if await self.asking.is_offered(run, "fs", "writeTextFile"):
            params = {"sessionId": run.session.id, "path": self.path, "content": self.content}
            await SendRequest("fs/write_text_file", params, self.asking).play(run)


@dataclass(frozen=True, slots=True)
class RequestRunCommand:
    """Runs a command in a terminal of the client; only version 1 can."""

    command: Sequence[str]
    call_id: str | None
    """The tool call that shows the terminal; None for none."""
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        """Run it to its end; `answer` is the result of `terminal/output` then."""
        if not await self.asking.is_offered(run, "terminal"):
            return
        name, *arguments = self.command
        params = {"command": name, "args": arguments, "cwd": run.session.cwd}
        quiet = RequestOptions()
        created = await quiet.ask(run, "terminal/create", {"sessionId": run.session.id, **params})
        if created is None or created.error is not None:
            await self.asking.go_on(run, "failed")
            return
        terminal = {"terminalId": members(created.result).get("terminalId")}
        if self.call_id is not None:
            content = [{"type": "terminal", **terminal}]
            changed: dict[str, Json] = {"status": "in_progress", "content": content}
            await run.update(run.session.words.call(self.call_id, changed))
        about = {"sessionId": run.session.id, **terminal}
        await quiet.ask(run, "terminal/wait_for_exit", about)
        output = await self.asking.ask(run, "terminal/output", about)
        result = run.turn.known.get("answer")
        await quiet.ask(run, "terminal/release", about)
        run.turn.known["answer"] = result
        is_well = output is not None and output.error is None
        await self.asking.go_on(run, "answered" if is_well else "failed")


@dataclass(frozen=True, slots=True)
class RequestElicitation:
    """Asks the user for something in a form, or to visit an address."""

    params: Mapping[str, Json]
    asking: RequestOptions

    async def play(self, run: Run) -> None:
        mode = str(self.params["mode"])
        if not await self.asking.is_offered(run, "elicitation", mode):
            return
        params = {"sessionId": run.session.id, **self.params}
        pending = await self.asking.ask(run, "elicitation/create", params)
        if pending is None:
            return
        action = members(pending.result).get("action")
        outcomes = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
        await self.asking.go_on(run, outcomes.get(str(action), "failed"))


async def withdraw(run: Run) -> None:
    """End what was asked in a turn that was cancelled; return when that is answered, or soon.

    In version 2 the agent takes its questions back; in version 1 the client answers them by itself.
    """
    open_ones = [
        pending for pending in run.turn.pending_requests if not pending.is_answered.is_set()
    ]
    if run.version >= 2:
        for pending in open_ones:
            await run.notify("$/cancel_request", {"requestId": pending.id})
    with anyio.move_on_after(CALM):
        for pending in open_ones:
            await pending.is_answered.wait()
