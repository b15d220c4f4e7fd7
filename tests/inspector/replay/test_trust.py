"""A recording is trusted by what the user says, and by nothing that comes with it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_agent.models.factory import keyring
from acp_inspector.journal import Frame, Journal
from acp_inspector.recording.format import RecordingError, new_header
from acp_inspector.recording.origin import MAX_BYTES, NAME, is_our_recording, remember_recording
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.recording.recovery import open_writer
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.client_player import PlayLimits, play_as_client
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.trust import (
    MAX_FILES,
    MAX_LISTED,
    TRUSTED,
    UNTRUSTED,
    Trust,
    UntrustedRecordingError,
    agent_environment,
    check_trust,
    project_trust,
)
from acp_protocol.host.state import state_directory
from acp_protocol.jsonrpc import encode_request, encode_result
from acp_protocol.user_files.paths import config_file
from tests.inspector.talks import Said, chunk, frames, prompt
from tests.inspector.testing.live_agents import QUICK, agent, begun, ended, recording

LIMIT = 30.0
"""Seconds after which a replay counts as hung."""
GREETER = """
import os, sys
from acp_protocol.user_files.paths import config_directory

sys.stdin.readline()
with open({seen!r}, "a") as file:
    print(config_directory(os.environ), file=file)
print('{{"jsonrpc": "2.0", "id": 0, "result": {{"protocolVersion": 1}}}}', flush=True)
sys.stdin.read()
"""
"""An agent that notes where its configuration would be."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine that records."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return state_directory()


def journal() -> Journal:
    """A conversation that logs out."""
    talk = Journal()
    talk.line("client", encode_request(0, "initialize", {"protocolVersion": 1}))
    talk.line("agent", encode_result(0, {"protocolVersion": 1}))
    talk.line("client", encode_request(1, "logout", {}))
    talk.line("agent", encode_result(1, {}))
    return talk


def written(path: Path, *, is_ours: bool) -> Recording:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RecordingWriter(path, new_header(["agent"], path.parent), is_ours=is_ours)
    writer.write(journal().entries)
    writer.close()
    return read_recording(path)


def is_trusted(recording: Recording, trust: Trust = UNTRUSTED) -> bool:
    try:
        return check_trust(recording, "client", trust)
    except UntrustedRecordingError:
        return False


# Recorded here


def test_what_this_machine_recorded_is_trusted_also_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    assert is_trusted(written(path, is_ours=True))
    other = path.rename(tmp_path / "b.acp.ndjson")
    assert is_trusted(read_recording(other))


def test_a_changed_recording_of_this_machine_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    written(path, is_ours=True)
    path.write_bytes(path.read_bytes().replace(b"logout", b"_evil/"))
    assert not is_trusted(read_recording(path))


def test_a_recording_of_another_machine_is_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert not is_trusted(recording)


@pytest.mark.parametrize("is_ours", [True, False])
def test_what_is_appended_to_a_recording_does_not_make_it_ours(
    tmp_path: Path, is_ours: bool
) -> None:
    path = tmp_path / "a.acp.ndjson"
    written(path, is_ours=is_ours)
    writer = open_writer(path, new_header(["agent"], tmp_path), mode="append", warn=print)
    last = writer.first_number - 1
    writer.write(replace(each, seq=last + each.seq) for each in journal().entries)
    writer.close()
    assert is_trusted(read_recording(path)) is is_ours


def test_a_recording_that_is_still_written_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, new_header(["agent"], tmp_path), is_ours=True)
    writer.write(journal().entries)
    assert not is_trusted(read_recording(path))
    writer.close()
    assert is_trusted(read_recording(path))


def test_the_digests_are_private_and_not_believed_otherwise(tmp_path: Path, state: Path) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=True)
    path = state / NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    path.chmod(0o620)
    assert not is_trusted(recording)
    path.chmod(0o600)
    state.chmod(0o777)
    assert not is_trusted(recording)
    state.chmod(0o700)
    assert is_trusted(recording)
    path.rename(tmp_path / "digests")
    path.symlink_to(tmp_path / "digests")
    assert not is_trusted(recording)


def test_the_digests_do_not_grow_without_a_bound(state: Path) -> None:
    remember_recording("first")
    path = state / NAME
    with path.open("a") as file:
        file.write(f"{'0' * 64}\n" * (MAX_BYTES // 65 + 1))
    remember_recording("last")
    assert path.stat().st_size < MAX_BYTES
    assert is_our_recording("last")
    assert not is_our_recording("las")
    assert not is_our_recording("first")
    assert not is_our_recording("")


# The project


@pytest.mark.parametrize(
    "table",
    [
        '[tool.acp-console]\ntrusted = ["recordings"]',
        '[tool.acp-console]\ntrusted = ["recordings/a.acp.ndjson"]',
        '[tool.pytest.ini_options]\nacp_recordings = ["recordings"]',
        '[tool.pytest.ini_options]\nacp_recordings = "recordings other"',
        '[tool.pytest]\nacp_recordings = ["recordings"]',
    ],
)
def test_the_project_of_the_user_trusts_what_it_names(tmp_path: Path, table: str) -> None:
    (tmp_path / "pyproject.toml").write_text(table)
    below = tmp_path / "src/deep"
    below.mkdir(parents=True)
    recording = written(tmp_path / "recordings/a.acp.ndjson", is_ours=False)
    other = written(tmp_path / "b.acp.ndjson", is_ours=False)
    trust = project_trust(below)
    assert (is_trusted(recording, trust), is_trusted(other, trust)) == (True, False)


def test_the_project_that_a_recording_lies_in_does_not_trust_it_for_the_user(
    tmp_path: Path,
) -> None:
    foreign, own = tmp_path / "cloned", tmp_path / "own"
    own.mkdir()
    recording = written(foreign / "a.acp.ndjson", is_ours=False)
    (foreign / "pyproject.toml").write_text('[tool.acp-console]\ntrusted = ["."]')
    assert not is_trusted(recording, project_trust(own))
    assert is_trusted(recording, project_trust(foreign))


@pytest.mark.parametrize("named", ["..", "/", "../other", "link", "linked.acp.ndjson"])
def test_a_project_trusts_nothing_outside_itself(tmp_path: Path, named: str) -> None:
    recording = written(tmp_path / "other/a.acp.ndjson", is_ours=False)
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path / "other")
    (project / "linked.acp.ndjson").symlink_to(recording.path)
    (project / "pyproject.toml").write_text(f'[tool.acp-console]\ntrusted = ["{named}", "."]')
    trust = project_trust(project)
    for path in (recording.path, project / "link/a.acp.ndjson", project / "linked.acp.ndjson"):
        assert not trust.names(path)


def test_a_path_that_trusts_nothing_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A project renames its directory of recordings, or its author expects wildcards."""
    written(tmp_path / "recordings/a.acp.ndjson", is_ours=False)
    named = ["recordings", "recordigns", "recordings/*.ndjson", "..", "a\\u0000b"]
    texts = ", ".join(f'"{each}"' for each in named)
    file = tmp_path / "pyproject.toml"
    file.write_text(
        f"[tool.acp-console]\ntrusted = [{texts}]\n[tool.pytest.ini_options]\n"
        'acp_recordings = ["not/yet"]'
    )
    project_trust(tmp_path)
    assert [each.removeprefix(f"{file}: trusted names ") for each in caplog.messages] == [
        "recordigns, which does not exist",
        "recordings/*.ndjson, which does not exist",
        ".., which is outside the project and trusts nothing",
        "a\0b, which cannot be found",
    ]


def test_a_configuration_that_others_could_write_trusts_nothing(tmp_path: Path) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=False)
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.acp-console]\ntrusted = ["."]')
    file.chmod(0o666)
    assert not is_trusted(recording, project_trust(tmp_path))
    file.chmod(0o644)
    assert is_trusted(recording, project_trust(tmp_path))
    file.unlink()
    os.mkfifo(file)
    assert not is_trusted(recording, project_trust(tmp_path))
    pipe = os.open(file, os.O_RDWR)
    os.write(pipe, b'[tool.acp-console]\ntrusted = ["."]')
    assert not is_trusted(recording, project_trust(tmp_path))
    os.close(pipe)


@pytest.mark.parametrize("text", ["[", "[tool.acp-console]\ntrusted = 3", "x = " + "[" * 5000])
def test_an_invalid_configuration_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(RecordingError, match=r"pyproject\.toml"):
        project_trust(tmp_path)


# What an untrusted recording reaches


def test_what_is_refused_is_listed_with_how_to_trust_it(tmp_path: Path) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=False)
    with pytest.raises(UntrustedRecordingError) as caught:
        check_trust(recording, "client", UNTRUSTED)
    assert caught.value.summary.endswith("allow it with --trust:\n  login: logout (frame 3)")
    assert "[tool.acp-console]: trusted = [" in caught.value.hint
    assert check_trust(recording, "client", TRUSTED)
    assert check_trust(recording, "agent", UNTRUSTED) is False


@pytest.mark.parametrize(
    "name",
    [
        *("acp_agent/__main__.py", ".mcp.json", "opencode.json", "a", "AGENTS.md"),
        *(".rules.txt", ".cursor/rules/a.txt"),
    ],
)
def test_files_that_a_program_may_run_or_be_configured_by_need_trust(
    tmp_path: Path, name: str
) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=False)
    recording = replace(recording, entries=recording.entries[:2])
    assert check_trust(recording, "client", UNTRUSTED) is False
    recording.header.meta["files"] = {"notes.txt": "milk", "docs/a.txt": "", name: "x"}
    with pytest.raises(UntrustedRecordingError, match=f"file: {name}"):
        check_trust(recording, "client", UNTRUSTED)
    recording.header.meta["files"] = {}
    beside = tmp_path / "a.files" / name
    beside.parent.mkdir(parents=True)
    beside.write_text("x")
    for side in ("client", "agent"):
        with pytest.raises(UntrustedRecordingError, match=f"file: {name}"):
            check_trust(recording, side, UNTRUSTED)


def test_more_files_beside_a_recording_than_are_looked_at_need_trust(tmp_path: Path) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=True)
    beside = tmp_path / "a.files"
    beside.mkdir()
    for number in range(MAX_FILES):
        (beside / f"{number}.txt").touch()
    assert is_trusted(recording)
    (beside / "last.txt").touch()
    with pytest.raises(UntrustedRecordingError, match=f"more than {MAX_FILES} files in a.files"):
        check_trust(recording, "client", UNTRUSTED)


def test_a_long_list_of_what_is_refused_is_cut(tmp_path: Path) -> None:
    recording = written(tmp_path / "a.acp.ndjson", is_ours=False)
    recording.header.meta["files"] = {f"{number:03}.py": "" for number in range(MAX_LISTED + 5)}
    with pytest.raises(UntrustedRecordingError) as caught:
        check_trust(recording, "client", UNTRUSTED)
    lines = caught.value.summary.splitlines()
    assert len(lines) == 1 + MAX_LISTED + 1
    assert lines[-1] == "  and 6 more"


def test_the_files_beside_a_recording_of_this_machine_need_trust_of_their_own(
    tmp_path: Path,
) -> None:
    """Somebody who knows the recording can send it back with files of his own."""
    recording = written(tmp_path / "a.acp.ndjson", is_ours=True)
    beside = tmp_path / "a.files"
    beside.mkdir()
    (beside / "notes.txt").write_text("milk")
    assert is_trusted(recording)
    (beside / ".mcp.json").write_text("{}")
    assert not is_trusted(recording)
    assert is_trusted(recording, Trust(paths=(tmp_path,)))
    assert check_trust(recording, "agent", UNTRUSTED, has_files=False)


async def test_an_agent_of_ours_gets_a_home_of_its_own(tmp_path: Path) -> None:
    """Its configuration, keys and so its MCP servers and sessions; trusted it has the user's."""
    talk = [each for each in journal().entries if isinstance(each, Frame)][:2]
    path = tmp_path / "a.acp.ndjson"
    recording = Recording(path, new_header(["agent"], tmp_path), tuple(talk), (), None)
    seen = tmp_path / "seen"
    script = tmp_path / "agent.py"
    script.write_text(GREETER.format(seen=str(seen)))
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "user"), "ACP_AGENT_CONFIG": "/user/x"}
    for trust in (UNTRUSTED, TRUSTED):
        with anyio.fail_after(LIMIT):
            result = await play_as_client(
                recording,
                [sys.executable, str(script)],
                replay_directories(talk, tmp_path, tmp_path, recorded_cwd=""),
                limits=PlayLimits(timeout=10, settle=0.01, quiet=0.1),
                trust=trust,
                env=env,
            )
        assert result.is_passed, result.render()
    alone, users = seen.read_text().splitlines()
    assert users == str(tmp_path / "user/acp-console")
    assert "acp-replay-home-" in alone
    assert not Path(alone).exists()


ECHO = """
start("live")
first = hear("session/prompt")
sent = first["params"]["messageId"]
update("user_message_chunk", messageId=sent, content={"type": "text", "text": "x"})
respond(first, stopReason="end_turn")
second = hear("session/prompt")
open("seen", "w").write(second["params"]["prompt"][0]["text"])
respond(second, stopReason="end_turn")
"""
"""An agent that sends the id of a message back, and notes the next prompt."""


def echo_talk(message_id: str) -> list[Said]:
    """Return a conversation in which the agent has made another id of the message's."""
    text = {"type": "text", "text": "x"}
    named = {"sessionId": "s1", "messageId": message_id, "prompt": [text]}
    return [
        *begun("s1"),
        ("client", {"id": 3, "method": "session/prompt", "params": named}),
        chunk("x", kind="user_message_chunk", messageId="abc123"),
        ended(3),
        prompt(4, "abc123"),
        ended(4),
    ]


@pytest.mark.parametrize("message_id", ["harmless", "/logout"])
async def test_what_the_ids_of_a_run_make_of_a_frame_is_judged_before_it_is_sent(
    tmp_path: Path, message_id: str
) -> None:
    """A recording can say of any text that it is an id, for which the live one is sent."""
    played = recording(frames(*echo_talk(message_id)))
    with anyio.fail_after(LIMIT):
        result = await play_as_client(
            played,
            agent(ECHO),
            replay_directories(
                played.frames, tmp_path.resolve(), tmp_path.resolve(), recorded_cwd=""
            ),
            limits=QUICK,
            trust=UNTRUSTED,
        )
    seen = tmp_path / "seen"
    if message_id == "harmless":
        assert seen.read_text() == message_id
    else:
        assert not seen.exists()
        assert "frame 8 (session/prompt) could not be sent" in result.errors[0]
        assert "allow it with --trust" in result.errors[0]


def test_the_keys_and_settings_of_the_user_are_out_of_reach(tmp_path: Path) -> None:
    user = {"XDG_CONFIG_HOME": str(tmp_path), "ACP_AGENT_MODEL": "x", "ACP_AGENT_CONFIG": "/c"}
    keyring(user).put("anthropic", "k")
    with agent_environment(user, is_trusted=False) as env:
        assert env is not None
        assert keyring(env).get("anthropic") is None
        assert config_file(None, env) is None
        assert "ACP_AGENT_MODEL" not in env
        keyring(env).remove("anthropic")
    assert json.loads(keyring(user).path.read_text()) == {"anthropic": "k"}
    with agent_environment(user, is_trusted=True) as env:
        assert env == user
