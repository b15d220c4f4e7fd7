"""What the line at the editor says of a turn: by the frames and the clock alone."""

from __future__ import annotations

from typing import Any

from acp_console.chat.past import PastStates
from acp_console.chat.work import TurnWork, opening_work, past_work, turn_work
from acp_inspector.session.conversations import Conversations
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

PROMPT = (0.0, prompt(1, "go"))


def work(now: float, *timed: tuple[float, Said], **how: bool) -> TurnWork:
    conversations = Conversations()
    for (at, _), frame in zip(timed, frames(*(said for _, said in timed)), strict=True):
        conversations.apply(type(frame)(frame.seq, at, frame.side, frame.data))
    found = turn_work(conversations.fold, conversations.get("s1"), now, **how)
    assert found is not None
    return found


def tool(id_: str, title: str, status: str = "in_progress") -> Said:
    return update("tool_call", toolCallId=id_, title=title, status=status)


def request(id_: int, method: str, **params: Any) -> Said:
    return ask("agent", id_, method, sessionId="s1", **params)


def test_there_is_nothing_to_say_before_the_first_turn() -> None:
    conversations = Conversations()
    assert turn_work(conversations.fold, conversations.get("s1"), 1) is None


def test_a_session_that_opens_says_what_is_waited_for() -> None:
    said = (
        ask("client", 1, "initialize"),
        answer("agent", 1, {"protocolVersion": 1}),
        ask("client", 2, "session/new"),
        ask("agent", 1, "session/load"),
    )
    found: list[list[str]] = []
    for count in range(len(said) + 1):
        conversations = Conversations()
        conversations.read(frames(*said[:count]))
        opening = opening_work(conversations.fold, 8.0)
        found.append([] if opening is None else opening.parts)
    opens = ["0:07", "opens a session"]
    assert found == [[], ["0:07", "the agent starts"], [], opens, opens]
    conversations = Conversations()
    conversations.read(frames(said[0]))
    silent = opening_work(conversations.fold, 45.1)
    assert silent is not None
    assert silent.parts == ["0:45", "no frame for 45 s", "waits for initialize"]
    assert silent.is_silent


def test_a_slow_model_a_hanging_tool_and_a_silent_agent_look_different() -> None:
    assert work(12, PROMPT).parts == ["0:12", "waits for the agent 0:12"]
    hanging = (PROMPT, (3, tool("t", "Run pytest -q")))
    assert work(12, *hanging).parts == ["0:12", "Run pytest -q 0:09", "1 tool"]
    assert work(43, *hanging).parts == [
        *("0:43", "no frame for 40 s", "waits for “Run pytest -q”", "1 tool")
    ]
    assert work(40, PROMPT).parts == ["0:40", "no frame for 40 s", "waits for the agent"]


def test_what_waits_for_the_user_or_for_the_client_says_so() -> None:
    asks = (1, request(1, "session/request_permission", toolCall={"toolCallId": "t"}))
    assert work(5, PROMPT, asks).parts == ["0:05", "waits for you", "1 tool"]
    assert work(5, PROMPT, asks).waits_for_user
    # A form, or a subagent that asks.
    assert work(5, PROMPT, asks_user=True).activity == "waits for you"
    writes = (1, request(2, "fs/write_text_file", path="/w/cart.py", content=""))
    assert work(41, PROMPT, writes).parts == [*("0:41", "no frame for 40 s", "writes cart.py 0:40")]
    reads = (1, request(2, "fs/read_text_file", path="/w/cart.py"))
    assert work(3, PROMPT, reads).activity == "reads cart.py 0:02"
    # The tool that reads says more.
    assert work(4, PROMPT, (1, tool("t", "Edit cart.py")), reads).activity == "Edit cart.py 0:03"


def test_a_program_that_the_agent_waits_for_is_named_and_has_a_time() -> None:
    create = request(3, "terminal/create", command="pytest", args=["-q"])
    waits = (2, request(4, "terminal/wait_for_exit", terminalId="t"))
    started = ((1, create), (1, answer("client", 3, {"terminalId": "t"})), waits)
    assert work(41, PROMPT, *started).parts == ["0:41", "runs pytest -q 0:39"]
    # The program is quiet, not the agent.
    assert not work(41, PROMPT, *started).is_silent
    called = (1, tool("c", "Run the tests"))
    assert work(41, PROMPT, called, *started).parts == ["0:41", "Run the tests 0:40", "1 tool"]
    assert work(5, PROMPT, waits).activity == "runs a program 0:03"


def test_the_turn_of_an_earlier_moment_is_as_it_was_then() -> None:
    conversations = Conversations()
    option = {"optionId": "y", "kind": "allow_once", "name": "Yes"}
    asks = {"toolCall": {"toolCallId": "t"}, "options": [option]}
    said = (
        prompt(1, "go"),
        tool("t", "Edit"),
        request(2, "session/request_permission", **asks),
        answer("client", 2, {"outcome": {"outcome": "selected", "optionId": "y"}}),
        answer("agent", 1, {"stopReason": "end_turn"}),
        prompt(2, "on"),
    )
    conversations.read(frames(*said))
    found = [past_work(conversations.at(n)["s1"], n / 10) for n in range(1, 7)]
    works = [each for each in found if each is not None]
    assert [each.tools for each in works] == [0, 1, 1, 1, 1, 0]
    assert [each.waits_for_user for each in works] == [False, False, True, False, False, False]
    assert [each.ending for each in works] == ["", "", "", "", "end_turn", ""]
    assert works[2].activity == "waits for you"
    states = PastStates()
    assert [states.of(conversations.at(n)["s1"], n / 10).state for n in (2, 3, 5)] == [
        *("◐ working", "? waits for you", "● ready")
    ]


def test_the_turn_of_an_agent_that_has_ended_has_failed() -> None:
    said = (PROMPT, (2, tool("t", "Run pytest -q")), (3, chunk("I will look at")))
    found = work(90, *said, is_stopped=True)
    assert (found.ending, found.parts) == ("failed", ["0:03", "1 tool"])
    assert not found.is_silent
    ended = work(90, PROMPT, (1, answer("agent", 1, {"stopReason": "end_turn"})), is_stopped=True)
    assert ended.ending == "end_turn"


def test_an_agent_that_sends_text_writes_or_thinks() -> None:
    thinks = (1, chunk("hm", kind="agent_thought_chunk"))
    assert work(2, PROMPT, thinks).activity == "thinks"
    assert work(2, PROMPT, thinks, (1.5, chunk("well"))).activity == "writes"
    assert work(9, PROMPT, thinks, (1.5, chunk("well"))).activity == "waits for the agent 0:07"


def test_tools_tokens_and_cost_are_those_that_were_sent() -> None:
    usage = update("usage_update", used=12_400, size=200_000, cost={"amount": 0.42})
    both = (PROMPT, (1, tool("a", "A")), (2, tool("b", "B\x1b")), (3, usage))
    assert work(4, *both).parts == ["0:04", "2 tools run", "2 tools", "12k in context", "$0.42"]
    assert "\x1b" not in work(4, PROMPT, both[2]).activity
    odd = update("usage_update", used="many", cost={"amount": None})
    assert work(4, PROMPT, (1, odd)).used == ()


def test_a_turn_that_is_over_says_what_it_took() -> None:
    done = answer("agent", 1, {"stopReason": "max_tokens", "usage": {"totalTokens": 2100}})
    over = work(99, PROMPT, (1, tool("a", "A", "completed")), (61, done))
    assert over.parts == ["1:01", "1 tool", "2.1k tokens"]
    assert over.ending == "max_tokens"
    # The next one begins anew.
    assert work(102, PROMPT, (61, done), (100, prompt(2, "on"))).parts[0] == "0:02"


def test_a_turn_of_version_2_runs_until_it_is_idle() -> None:
    begun = [
        (0.0, ask("client", 0, "initialize", protocolVersion=2)),
        (0.0, answer("agent", 0, {"protocolVersion": 2})),
        (1.0, prompt(1, "go")),
        (1.1, answer("agent", 1, {"messageId": "m"})),
        (2.0, update("state_update", state="running")),
    ]
    assert work(12, *begun).parts == ["0:11", "waits for the agent 0:10"]
    asking = (3.0, update("state_update", state="requires_action"))
    assert work(12, *begun, asking).waits_for_user
    idle = (9.0, update("state_update", state="idle", stopReason="end_turn"))
    assert work(12, *begun, idle).ending == "end_turn"
