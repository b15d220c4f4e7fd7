"""The order of a replay: each client frame follows what it followed in the recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acp_inspector.replay.client_player import PlayLimits
from acp_inspector.replay.client_script import ClientScript
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update
from tests.inspector.testing.live_agents import agent, begun, ended, recording, replay


def read(id_: int, name: str) -> Said:
    return ask("agent", id_, "fs/read_text_file", sessionId="s1", path=f"/w/{name}")


def content(id_: int, text: str) -> Said:
    return answer("client", id_, {"content": text})


TWO_READS = [
    *begun("s1"),
    prompt(3, "go"),
    read(1, "a"),
    read(2, "b"),
    content(1, "A"),
    content(2, "B"),
    chunk("AB"),
    ended(3),
]
TOGETHER = """
start("live")
turn = hear("session/prompt")
cwd = os.getcwd()
request(7, "fs/read_text_file", path=f"{cwd}/b")
request(8, "fs/read_text_file", path=f"{cwd}/a")
b, a = hear(id=7), hear(id=8)
text(a["result"]["content"] + b["result"]["content"])
respond(turn, stopReason="end_turn")
"""
ONE_BY_ONE = TOGETHER.replace('request(8, "fs', 'b = hear(id=7)\nrequest(8, "fs').replace(
    "b, a = hear(id=7), hear(id=8)", "a = hear(id=8)"
)


@pytest.mark.parametrize("script", [TOGETHER, ONE_BY_ONE], ids=["together", "one by one"])
async def test_requests_in_another_order_get_the_responses_to_their_content(
    script: str, tmp_path: Path
) -> None:
    result = await replay(TWO_READS, agent(script), tmp_path)
    assert result.errors == ()
    assert result.played == 5
    # What the agent made of the contents is the same; only the order may be judged.
    assert not [each for each in result.differences if each.name == "agent_message_chunk"]


async def test_turns_of_two_sessions_may_end_in_another_order(tmp_path: Path) -> None:
    recorded = [
        *begun("s1", "s2"),
        prompt(4, "one", session="s1"),
        prompt(5, "two", session="s2"),
        chunk("1", session="s1"),
        ended(4),
        prompt(6, "three", session="s1"),
        chunk("2", session="s2"),
        ended(5),
        chunk("3", session="s1"),
        ended(6),
    ]
    script = """
start("a", "b")
one, two = hear("session/prompt", session="a"), hear("session/prompt", session="b")
text("2", "b")
respond(two, stopReason="end_turn")
text("1", "a")
respond(one, stopReason="end_turn")
three = hear("session/prompt", session="a")
text("3", "a")
respond(three, stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()


async def test_a_session_goes_on_while_another_waits(tmp_path: Path) -> None:
    """The second prompt of one session does not wait for the turn of the other."""
    recorded = [
        *begun("s1", "s2"),
        prompt(4, "one", session="s1"),
        prompt(5, "two", session="s2"),
        ended(5),
        ended(4),
        prompt(6, "three", session="s1"),
        ended(6),
    ]
    script = """
start("a", "b")
one, two = hear("session/prompt", session="a"), hear("session/prompt", session="b")
respond(one, stopReason="end_turn")
three = hear("session/prompt", session="a")
respond(two, stopReason="end_turn")
respond(three, stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()


CANCEL: Said = ("client", {"method": "session/cancel", "params": {"sessionId": "s1"}})
CANCELLED = [
    *begun("s1"),
    prompt(3, "go"),
    chunk("Working"),
    update("tool_call", toolCallId="c1", title="Sleep", kind="execute", status="pending"),
    update("tool_call_update", toolCallId="c1", status="in_progress"),
    CANCEL,
    answer("agent", 3, {"stopReason": "cancelled"}),
]


async def test_a_cancel_waits_for_the_reactions_before_it(tmp_path: Path) -> None:
    script = """
start("live")
turn = hear("session/prompt")
text("Work")
early = is_something_sent(0.2)
text("ing")
update("tool_call", toolCallId="x", title="Sleep", kind="execute", status="pending")
early = early or is_something_sent(0.2)
update("tool_call_update", toolCallId="x", status="in_progress")
hear("session/cancel")
respond(turn, stopReason="too early" if early else "cancelled")
"""
    result = await replay(CANCELLED, agent(script), tmp_path)
    assert result.is_passed, result.render()


async def test_a_cancel_is_sent_all_the_same_when_its_turn_is_over(tmp_path: Path) -> None:
    script = """
start("live")
respond(hear("session/prompt"), stopReason="end_turn")
hear("session/cancel")
"""
    result = await replay(CANCELLED, agent(script), tmp_path)
    assert result.errors == ()
    assert result.played == 4
    assert not result.is_passed


COMMANDS = update("available_commands_update", availableCommands=[])
STREAM = """
start("live")
{before}
turn = hear("session/prompt")
{behind}
text("Working")
while not is_something_sent(0.05): text("!")
hear("session/cancel")
respond(turn, stopReason="cancelled")
"""


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ('update("available_commands_update", availableCommands=[])', ""),
        ("", 'update("available_commands_update", availableCommands=[])'),
        ("", ""),
    ],
    ids=["earlier", "as recorded", "never"],
)
async def test_a_cancel_is_sent_into_a_stream_whenever_other_updates_come(
    before: str, behind: str, tmp_path: Path
) -> None:
    """Updates that may come at any time do not hold it back until the agent falls silent."""
    recorded = [*CANCELLED[:5], COMMANDS, chunk("Working"), CANCEL, CANCELLED[-1]]
    script = STREAM.format(before=before, behind=behind)
    # The stream ends only with the cancellation.
    limits = PlayLimits(timeout=5, settle=0.1, quiet=0.5)
    result = await replay(recorded, agent(script), tmp_path, limits=limits)
    assert result.errors == ()
    assert result.played == 4
    assert result.is_passed is bool(before or behind), result.render()


async def test_a_cancel_that_followed_only_time_is_not_sent_at_once(tmp_path: Path) -> None:
    """An agent may not have begun yet with what it would cancel."""
    said = frames(*CANCELLED[:5], CANCEL, CANCELLED[-1])
    late = [replace(each, time=each.time + 60 * (each.seq > 5)) for each in said]
    script = """
start("live")
turn = hear("session/prompt")
early = is_something_sent(0.2)
hear("session/cancel")
respond(turn, stopReason="too early" if early else "cancelled")
"""
    limits = PlayLimits(timeout=10, settle=0.1, quiet=2.0)
    result = await replay(recording(late), agent(script), tmp_path, limits=limits)
    assert result.is_passed, result.render()
    assert [step.follows_time for step in ClientScript(said).steps] == [False, False, False, True]
    assert not any(step.follows_time for step in ClientScript(frames(*CANCELLED)).steps)


async def test_in_version_2_a_prompt_waits_for_the_end_of_the_turn(tmp_path: Path) -> None:
    recorded = [
        *begun("s1", version=2),
        prompt(3, "one"),
        answer("agent", 3, {}),
        update("state_update", state="idle", stopReason="end_turn"),
        prompt(4, "two"),
        answer("agent", 4, {}),
        update("state_update", state="idle", stopReason="end_turn"),
    ]
    script = """
start("live", version=2)
respond(hear("session/prompt"))
early = is_something_sent(0.2)
update("state_update", state="idle", stopReason="too early" if early else "end_turn")
respond(hear("session/prompt"))
update("state_update", state="idle", stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()


async def test_no_prompt_waits_for_an_update_that_may_come_at_any_time(tmp_path: Path) -> None:
    commands = update("available_commands_update", availableCommands=[])
    recorded = [*begun("s1"), commands, prompt(3, "go"), chunk("x"), ended(3)]
    script = """
start("live")
turn = hear("session/prompt")
update("available_commands_update", availableCommands=[])
text("x")
respond(turn, stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.errors == ()
    assert result.played == 3


async def test_a_response_follows_the_cancellation_of_its_request(tmp_path: Path) -> None:
    withdrawn: Said = ("agent", {"method": "$/cancel_request", "params": {"requestId": 1}})
    refused: Said = ("client", {"id": 1, "error": {"code": -32800, "message": "cancelled"}})
    recorded = [
        *begun("s1"),
        prompt(3, "go"),
        ask("agent", 1, "session/request_permission", sessionId="s1", toolCall={}, options=[]),
        withdrawn,
        refused,
        ended(3),
    ]
    script = """
start("live")
turn = hear("session/prompt")
request(1, "session/request_permission", toolCall={}, options=[])
early = is_something_sent(0.2)
send(method="$/cancel_request", params={"requestId": 1})
hear(id=1)
respond(turn, stopReason="too early" if early else "end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()


def test_a_client_frame_names_what_it_followed() -> None:
    steps = ClientScript(frames(*CANCELLED)).steps
    needs = [[(need.kind, need.name) for need in step.needs] for step in steps]
    assert needs[:3] == [
        [],
        [("response", "response to initialize")],
        [("response", "response to initialize"), ("response", "response to session/new")],
    ]
    assert needs[3] == [("text", "agent_message_chunk"), ("tool call", "tool_call_update")]


async def test_recorded_pauses_last_as_long_as_the_pace_says(tmp_path: Path) -> None:
    """Three hours pass by in no time at a pace of 0, and of nearly 0."""
    script = agent('start("live")\nrespond(hear("session/prompt"), stopReason="end_turn")')
    said = frames(*begun("s1"), prompt(3, "go"), ended(3))
    for pace in (0.0, 1e-6):
        late = [replace(each, time=each.time + 10_000 * (each.seq > 4)) for each in said]
        limits = PlayLimits(timeout=10, settle=0.1, pace=pace)
        result = await replay(recording(late), script, tmp_path, limits=limits)
        assert result.is_passed, result.render()


async def test_a_path_in_an_error_response_is_that_of_the_replay(tmp_path: Path) -> None:
    refused: Said = ("client", {"id": 1, "error": {"code": -32002, "message": "no /w/a"}})
    recorded = [*begun("s1"), prompt(3, "go"), read(1, "a"), refused, chunk("no /w/a"), ended(3)]
    script = """
start("live")
turn = hear("session/prompt")
request(1, "fs/read_text_file", path=os.getcwd() + "/a")
text(hear(id=1)["error"]["message"])
respond(turn, stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()


@pytest.mark.parametrize(
    ("text", "is_passed"),
    [("Workin", False), ("Working", True), ("Working on", True), ("Working hard", False)],
)
async def test_a_cancellation_may_end_a_text_earlier_or_later(
    text: str, is_passed: bool, tmp_path: Path
) -> None:
    """But not before what the client had seen."""
    recorded = [
        *CANCELLED[:6],
        CANCEL,
        chunk(" on it"),
        answer("agent", 3, {"stopReason": "cancelled"}),
    ]
    script = f"""
start("live")
turn = hear("session/prompt")
text({text!r})
hear("session/cancel") if len({text!r}) > 6 else None
respond(turn, stopReason="cancelled")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed is is_passed, result.render()
    assert any("its turn was cancelled" in note for note in result.notes) is is_passed


async def test_a_cancellation_after_its_turn_does_not_shorten_the_next_one(tmp_path: Path) -> None:
    """An editor sends it while the response is on its way; the next reply is compared whole."""
    recorded = [
        *begun("s1"),
        prompt(3, "go"),
        chunk("Done."),
        ended(3),
        CANCEL,
        prompt(4, "and?"),
        chunk("Done again."),
        ended(4),
    ]
    script = """
start("live")
turn = hear("session/prompt")
text("Done.")
respond(turn, stopReason="end_turn")
hear("session/cancel")
turn = hear("session/prompt")
text("Done")
respond(turn, stopReason="end_turn")
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert not result.is_passed, result.render()
    whole = await replay(recorded, agent(script.replace('"Done")', '"Done again.")')), tmp_path)
    assert whole.is_passed, whole.render()
