"""What a replay does with requests and frames that the recording does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from tests.inspector.talks import answer, ask, chunk, prompt
from tests.inspector.testing.live_agents import agent, begun, ended, replay

READS_A = [
    *begun("s1"),
    prompt(3, "go"),
    ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/w/a", limit=5),
    answer("client", 1, {"content": "A"}),
    chunk("A"),
    ended(3),
]
READS_B_TOO = """
start("live")
turn = hear("session/prompt")
cwd = os.getcwd()
request(1, "fs/read_text_file", path=f"{cwd}/a", limit=5)
hear(id=1)
request(2, "fs/read_text_file", path=f"{cwd}/b", limit=5)
seen = hear(id=2)
text("A")
respond(turn, stopReason="end_turn")
"""


class OwnFiles:
    """Responds to each read with a text, and refuses anything else."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def observe(self, notification: Notification) -> None:
        self.methods.append(notification.method)

    async def respond(self, request: Request) -> Json:
        self.methods.append(request.method)
        if request.method != "fs/read_text_file":
            raise RequestFailedError(-32601, "Method not found")
        return {"content": "B"}


async def test_a_request_beyond_the_recording_fails_with_the_nearest(tmp_path: Path) -> None:
    result = await replay(READS_A, agent(READS_B_TOO), tmp_path)
    assert not result.is_passed
    (error,) = result.errors
    assert error.startswith(
        "after frame 7 of the recording: the agent sent fs/read_text_file (live frame 9), which "
        "the recording does not have there; the nearest is frame 6, which has its counterpart"
    )
    assert f"$.path\n    - {tmp_path}/a\n    + {tmp_path}/b" in error


async def test_a_method_that_the_recording_never_has_is_named(tmp_path: Path) -> None:
    script = READS_B_TOO.replace('request(2, "fs/read_text_file"', 'request(2, "fs/other"')
    result = await replay(READS_A, agent(script), tmp_path)
    assert "it has no fs/other at all" in result.render()


async def test_a_forwarded_request_gets_the_response_of_the_client_and_is_noted(
    tmp_path: Path,
) -> None:
    means = OwnFiles()
    result = await replay(READS_A, agent(READS_B_TOO), tmp_path, on_miss=means)
    assert result.is_passed, result.render()
    assert means.methods == ["fs/read_text_file", "session/update"]
    assert result.notes == ("fs/read_text_file (live frame 9) was forwarded",)


async def test_a_refusal_of_the_client_reaches_the_agent(tmp_path: Path) -> None:
    script = READS_B_TOO.replace('request(2, "fs/read_text_file"', 'request(2, "fs/other"')
    script = script.replace('text("A")', 'text("A" if seen["error"]["code"] == -32601 else "?")')
    result = await replay(READS_A, agent(script), tmp_path, on_miss=OwnFiles())
    assert result.is_passed, result.render()


async def test_a_request_with_other_fields_is_a_difference(tmp_path: Path) -> None:
    """With no better counterpart it gets the recorded response, and the diff shows the field."""
    script = READS_B_TOO.replace('path=f"{cwd}/a", limit=5', 'path=f"{cwd}/a", limit=6')
    script = script.replace('request(2, "fs/read_text_file", path=f"{cwd}/b", limit=5)', "")
    script = script.replace("seen = hear(id=2)", "")
    result = await replay(READS_A, agent(script), tmp_path)
    assert result.errors == ()
    assert [each.path for each in result.differences] == ["$.params.limit"]


async def test_a_response_without_its_request_is_unplayed_and_fails(tmp_path: Path) -> None:
    script = """
start("live")
turn = hear("session/prompt")
text("A")
respond(turn, stopReason="end_turn")
"""
    result = await replay(READS_A, agent(script), tmp_path)
    assert not result.is_passed
    assert result.played == 3
    assert (
        "before frame 7 (response to fs/read_text_file): the agent had responded to everything and "
        "sent no more; fs/read_text_file (recorded frame 6) was recorded next"
    ) in result.render()


async def test_what_comes_behind_the_last_recorded_frame_is_noted(tmp_path: Path) -> None:
    script = """
start("live")
turn = hear("session/prompt")
text("A")
respond(turn, stopReason="end_turn")
text("and more")
"""
    recorded = [*begun("s1"), prompt(3, "go"), chunk("A"), ended(3)]
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()
    (note,) = result.notes
    assert note.startswith("agent_message_chunk (live frame 9) came behind the last recorded frame")
    assert "and more" not in note
    within = script.replace('text("A")', 'text("A")\nupdate("plan", entries=[])')
    assert not (await replay(recorded, agent(within), tmp_path)).is_passed


MODE = 'update("current_mode_update", currentModeId="yolo"{})'
TITLE = 'update("session_info_update", title="{}")'


@pytest.mark.parametrize(
    ("first", "between", "second", "behind", "is_passed"),
    [
        ("", "", "", MODE.format(""), True),
        ("", MODE.format(""), "", "", False),
        (MODE.format(""), "", "", "", False),
        ("", "", MODE.format(', session="unknown"'), "", False),
        ("", "", "", MODE.format(', session="unknown"'), False),
        (TITLE.format("new"), "", "", "", False),
        ("", TITLE.format("new"), "", "", True),
        ("", "", TITLE.format("new"), "", True),
        ("", "", 'text("hidden", session=None)', "", False),
        ("", "", 'send(method="_more", params={})', "", False),
        ("", "", "", 'send(method="_more", params={})', True),
    ],
)
async def test_an_additional_update_fails_if_it_cannot_have_come_behind_the_recording(
    tmp_path: Path, first: str, between: str, second: str, behind: str, is_passed: bool
) -> None:
    script = f"""
start("live")
turn = hear("session/prompt")
{first}
text("A")
respond(turn, stopReason="end_turn")
{between}
turn = hear("session/prompt")
text("B")
{second}
respond(turn, stopReason="end_turn")
{behind}
"""
    turns = [prompt(3, "go"), chunk("A"), ended(3), prompt(4, "on"), chunk("B"), ended(4)]
    result = await replay([*begun("s1"), *turns], agent(script), tmp_path)
    assert result.is_passed is is_passed, result.render()
    assert is_passed is bool(result.notes)


async def test_a_request_behind_the_last_recorded_frame_fails(tmp_path: Path) -> None:
    script = """
start("live")
respond(hear("session/prompt"), stopReason="end_turn")
request(1, "fs/read_text_file", path="/x")
"""
    result = await replay([*begun("s1"), prompt(3, "go"), ended(3)], agent(script), tmp_path)
    assert not result.is_passed
    assert "which the recording does not have there" in result.render()
