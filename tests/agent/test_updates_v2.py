"""What programs write, in the words of version 2: terminals that the agent shows."""

from __future__ import annotations

from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.store import events
from acp_agent.store.events import Event
from acp_agent.tools.call import CommandLine, output_content, text_content
from acp_agent.updates.v2 import SessionUpdatesV2
from acp_protocol.jsonrpc import Json
from tests.agent.client import nothing, stream

COMMAND = CommandLine("make all", "/work")


class Screen:
    """A client that shows terminals as it is told to."""

    def __init__(self) -> None:
        self.told: list[Json] = []
        self.output: dict[str, bytes] = {}
        self.ended: dict[str, Json] = {}

    async def notify(self, method: str, params: Json = None) -> None:
        del method
        update = params["update"]
        self.told.append(update)
        key = update.get("terminalId")
        if update["sessionUpdate"] == "terminal_output_chunk":
            assert key not in self.ended
            self.output[key] += b64decode(update["data"])
        elif update["sessionUpdate"] == "terminal_update":
            if "output" in update:
                self.output[key] = b64decode(update["output"]["data"])
            if "exitStatus" in update:
                self.ended[key] = update["exitStatus"]

    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.told]


def ran(text: str, ending: Json = None) -> dict[str, Json]:
    return {"content": [output_content(text, COMMAND, ending)]}


async def test_what_is_written_is_added_and_the_end_is_told_last() -> None:
    screen = Screen()
    updates = SessionUpdatesV2(screen, "s")
    await updates.update_call("c", ran("a"))
    await updates.update_call("c", ran("ab"))
    await updates.update_call("c", {"status": "completed", **ran("abü", {"exitCode": 0})})
    assert [kind for kind in screen.kinds() if kind != "tool_call_update"] == [
        "terminal_update",
        "terminal_output_chunk",
        "terminal_output_chunk",
        "terminal_update",
    ]
    terminals = [update for update in screen.told if update["sessionUpdate"] == "terminal_update"]
    first, end = terminals
    assert (first["command"], first["cwd"]) == ("make all", "/work")
    assert end["exitStatus"] == {"exitCode": 0}
    assert set(end) == {"sessionUpdate", "terminalId", "exitStatus", "capabilities"}
    assert screen.output == {"c_terminal": "abü".encode()}
    [shown, ended] = [
        update for update in screen.told if update["sessionUpdate"] == "tool_call_update"
    ]
    assert shown["content"] == [{"type": "terminal", "terminalId": "c_terminal"}]
    # What the client knows is not told again.
    assert (ended["status"], "content" in ended) == ("completed", False)


async def test_nothing_runs_in_the_terminal_of_a_call_that_has_ended() -> None:
    screen = Screen()
    updates = SessionUpdatesV2(screen, "s")
    await updates.update_call("c", ran("a"))
    content = [output_content("a", COMMAND), text_content("cancelled")]
    await updates.update_call("c", {"status": "cancelled", "content": content})
    assert screen.ended == {"c_terminal": {}}
    chunk, last = screen.told[-2:]
    assert chunk["sessionUpdate"] == "tool_call_content_chunk"
    assert chunk["content"]["content"]["text"] == "cancelled"
    assert (last["status"], last["capabilities"]) == ("cancelled", None)


async def test_what_is_told_again_is_told_whole() -> None:
    screen = Screen()
    updates = SessionUpdatesV2(screen, "s")
    told: list[Event] = [events.tool("c", ran("ab")), events.tool("c", ran("abc"))]
    await updates.update_call("c", ran("abc"))
    await updates.replay(stream(told), nothing)
    assert screen.output == {"c_terminal": b"abc"}
    assert screen.told[2]["command"] == "make all"


@given(st.lists(st.text(max_size=5), min_size=1))
async def test_whatever_is_written_the_client_shows_it(texts: list[str]) -> None:
    screen = Screen()
    updates = SessionUpdatesV2(screen, "s")
    for text in texts:
        await updates.update_call("c", ran(text))
        assert screen.output["c_terminal"] == text.encode(errors="replace")
