"""Both sides of a recording as scripts: what they make of the ends of turns."""

from __future__ import annotations

from acp_inspector.compare.id_map import IdMap
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.client_script import ClientScript, ConnectionEvents
from acp_inspector.replay.counterparts import Counterparts
from acp_protocol.jsonrpc import parse
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

IDLE = update("state_update", state="idle")


def greeted(version: int) -> list[Said]:
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
    ]


def test_an_agent_whose_result_has_no_stop_reason_owes_nothing() -> None:
    run = ConnectionEvents()
    for frame in frames(*greeted(1), prompt(2, "a"), answer("agent", 2, {})):
        run.apply(frame)
    assert not run.owes_response


def test_a_client_does_not_wait_for_an_idle_from_before_its_prompt() -> None:
    taken = answer("agent", 2, {"messageId": "m"})
    cancel: Said = ("client", {"method": "session/cancel", "params": {"sessionId": "s1"}})
    script = ClientScript(frames(*greeted(2), prompt(2, "a"), IDLE, taken, cancel, IDLE))
    assert [need.kind for need in script.steps[-1].needs] == ["update", "response"]
    assert script.turn_end(script.cancels[0]) == 7


def test_a_prompt_of_a_dialect_is_known_by_its_meaning() -> None:
    spoken = b'{"type": "prompt", "session_id": "s1", "content": [{"type": "text", "text": "a"}]}'
    script = AgentScript(frames(("client", spoken), chunk("x")))
    (cue,) = script.requests["prompt"]
    assert cue.turn is not None
    assert cue.scene is not None
    assert [line.frame.seq for line in cue.scene] == [2]


def test_a_prompt_without_json_rpc_is_sent_to_the_session_of_the_replay() -> None:
    bare = b'{"type":"prompt","session_id":"s1","content":[{"type":"text","text":"a"}]}'
    script = ClientScript(frames(*greeted(1), ("client", bare)))
    ids = IdMap()
    ids.rebind("sessionId", "s1", "live")
    sent = Counterparts(script, ids).to_live(script.steps[-1])
    assert parse(sent) == parse(bare) | {"session_id": "live"}
