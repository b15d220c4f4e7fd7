"""The pytest plugin, in projects as their authors write them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree

import anyio
import pytest

from acp_inspector.filter.compiler import compile_filter
from acp_inspector.journal import Journal
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.testing.live_agent import start_agent
from acp_inspector.testing.updating import replace_recording
from tests.warm import WARM

pytestmark = pytest.mark.long

pytest_plugins = ["pytester"]

for _name in ("clients", "fixtures", "recording_test", "updating"):
    # What comes in with a run inside this process goes with it, and the next one imports it anew.
    import_module(f"acp_inspector.testing.{_name}")
compile_filter("kind == request")

MODULE = "acp_inspector.testing.pytest_plugin"
IS_INSTALLED = any(each.value == MODULE for each in entry_points(group="pytest11"))
PLUGIN = () if IS_INSTALLED else ("-p", MODULE)
AGENT = "from acp_agent.scripted import Agent\nagent = Agent"
COUNTING = """
async def prompt(call):
    await call.text("one, two")
"""
MISCOUNTING = COUNTING.replace("two", "three")
HANGING = """
async def prompt(call):
    await call.forever()
"""
DYING = """
from acp_agent.scripted import crash

async def prompt(call):
    await call.stderr("no key")
    await call.fault(crash(7))
"""
ASKING = """
async def prompt(call):
    if "slow" in call.prompt:
        await call.text("Wait.")
        await call.forever()
    await call.tool("call-1", title="Write", kind="edit")
    if await call.permission("call-1") == "allow_once":
        await call.write(f"{call.cwd}/notes.md", "milk\\n")
        await call.tool("call-1", status="completed")
    else:
        await call.tool("call-1", status="failed")
    await call.text("Done.")
"""


@pytest.fixture(autouse=True)
def warm_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the fixtures start of ours starts warm."""
    console = (*WARM, "-m", "acp_console")
    for name, command in {
        "clients._PROXY": (*console, "proxy", "--no-control"),
        "clients._MOCK": (*console, "mock"),
        "fixtures._MODEL": (*console, "model"),
        "fixtures._AGENT": (*WARM, "-m", "acp_agent"),
    }.items():
        monkeypatch.setattr(f"acp_inspector.testing.{name}", command)


def scripted(folder: Path, script: str, name: str = "agent.py") -> str:
    """Return the command of an agent that plays a script."""
    path = folder / name
    path.write_text(script)
    return shlex.join([*WARM, "-m", "acp_agent", "--script", str(path)])


def record(
    path: Path, command: str, prompt: str = "count", files: dict[str, str] | None = None
) -> Path:
    """Record one turn."""
    journal = Journal()
    cwd = path.parent / "cwd"
    cwd.mkdir(parents=True, exist_ok=True)

    async def talk() -> None:
        async with start_agent(shlex.split(command), cwd=cwd, journal=journal) as agent:
            await agent.prompt(prompt)

    anyio.run(talk)
    header = new_header(shlex.split(command), cwd)
    header.meta["files"] = dict(files or {})
    replace_recording(path, header, journal.entries)
    return path


def project(pytester: pytest.Pytester, agent: str = "", **more: str) -> None:
    """Write the configuration of a project with recordings."""
    (pytester.path / "recordings").mkdir(exist_ok=True)
    lines = {"acp_recordings": "recordings", "acp_agent": agent, **more}
    config = "\n".join(f"{name} = {value}" for name, value in lines.items() if value)
    pytester.makeini(f"[pytest]\n{config}\n")


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *words)


def text_of(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


# What it costs


def test_a_project_that_does_not_use_it_imports_nothing_of_ours_but_the_plugin(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        import sys

        def test_it():
            ours = [name for name in sys.modules if name.partition(".")[0].startswith("acp_")]
            plugin = "acp_inspector.testing.pytest_plugin"
            assert sorted(ours) == ["acp_inspector", "acp_inspector.testing", plugin]
        """
    )
    (pytester.path / "stray.acp.ndjson").write_text("not collected\n")
    done = pytester.runpytest_subprocess(*PLUGIN, "--strict-config", "--strict-markers", "-q")
    done.assert_outcomes(passed=1)


def test_the_plugin_imports_nothing_but_pytest_and_the_standard_library() -> None:
    program = (
        f"import pytest, sys; at = set(sys.modules); import {MODULE}; print(*set(sys.modules) - at)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    new = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert new <= {"acp_inspector", *sys.stdlib_module_names}


# Recordings as items


def test_each_recording_below_the_named_paths_is_a_test(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    record(pytester.path / "recordings/deep/one.acp.ndjson", command)
    record(pytester.path / "recordings/two.acp.ndjson", command)
    record(pytester.path / "elsewhere/three.acp.ndjson", command)
    project(pytester, command)
    done = run(pytester, "-v")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(
        [
            "recordings/deep/one.acp.ndjson::replay PASSED*",
            "recordings/two.acp.ndjson::replay PASSED*",
        ]
    )


def test_recordings_are_collected_beside_the_test_paths(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    record(pytester.path / "recordings/one.acp.ndjson", command)
    project(pytester, command, testpaths="tests")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests/test_it.py").write_text("def test_it(): pass\n")
    run(pytester).assert_outcomes(passed=2)
    # What is named on the command line is all that runs.
    run(pytester, "tests").assert_outcomes(passed=1)


def test_without_an_agent_a_recording_is_skipped_with_a_reason(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester)
    done = run(pytester, "-rs")
    done.assert_outcomes(skipped=1)
    assert (
        "no agent was named to play it against, and it has no snapshot: give --acp-agent"
        in text_of(done)
    )


def test_a_difference_is_shown_without_a_traceback(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester)
    other = scripted(pytester.path, MISCOUNTING, "other.py")
    done = run(pytester, "--acp-agent", other)
    done.assert_outcomes(failed=1)
    text = text_of(done)
    assert "one.acp.ndjson: fail: 1 problem; 3 client frames played" in text
    assert "    - one, two\n    + one, three\n" in text
    assert "Traceback" not in text
    assert "runtest" not in text


def test_the_level_decides_what_is_a_difference(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, MISCOUNTING, "other.py"))
    run(pytester, "--acp-level", "shape").assert_outcomes(passed=1)
    run(pytester, "--acp-level", "strict").assert_outcomes(failed=1)
    project(pytester, scripted(pytester.path, MISCOUNTING, "other.py"), acp_level="shape")
    run(pytester).assert_outcomes(passed=1)
    project(pytester, acp_level="loose")
    done = run(pytester)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*acp_level is none of strict, semantic, shape*"])


def test_junit_has_the_whole_difference(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, MISCOUNTING, "other.py"))
    run(pytester, "--junit-xml", "report.xml")
    (case,) = ElementTree.parse(pytester.path / "report.xml").getroot().iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert "- one, two\n" in failure.text
    assert "+ one, three" in failure.text
    assert "pytest_plugin.py" not in failure.text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a recording: it is empty"),
        (b'{"jsonrpc":"2.0","method":"x"}\n', "is not a recording: its first line is not a header"),
        (b"\x00\xff\xfe garbage\n", "is not a recording: its first line is not a header"),
    ],
)
def test_a_file_that_is_no_recording_fails_with_a_sentence(
    pytester: pytest.Pytester, content: bytes, sentence: str
) -> None:
    (pytester.path / "recordings").mkdir()
    (pytester.path / "recordings/bad.acp.ndjson").write_bytes(content)
    project(pytester, scripted(pytester.path, COUNTING))
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert sentence in text_of(done)
    assert "Traceback" not in text_of(done)


def test_a_recording_without_frames_is_no_green(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    path = record(pytester.path / "recordings/one.acp.ndjson", command)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    project(pytester, command)
    run(pytester).assert_outcomes(failed=1)


def test_a_recording_that_is_cut_off_fails(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    path = record(pytester.path / "recordings/one.acp.ndjson", command)
    whole = path.read_bytes()
    project(pytester, command)
    for end in (len(whole) - 20, whole.rindex(b'"update"') + 5):
        path.write_bytes(whole[:end])
        done = run(pytester, "-W", "default", "-rP")
        done.assert_outcomes(failed=1, warnings=1)
        assert "1 line of the recording could not be read" in text_of(done)
        assert "the file ends in the middle of this line" in text_of(done)


def test_what_is_missing_is_a_warning_or_an_error_as_the_project_wants(
    pytester: pytest.Pytester,
) -> None:
    command = scripted(pytester.path, COUNTING)
    path = record(pytester.path / "recordings/one.acp.ndjson", command)
    project(pytester, command)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(each for each in lines[:-1] if b'"event":"spawn"' not in each))
    done = run(pytester, "-W", "default", "-rP")
    done.assert_outcomes(passed=1, warnings=1)
    assert "is missing in the recording" in text_of(done)
    done = run(pytester, "-W", "error")
    done.assert_outcomes(failed=1)
    assert "one.acp.ndjson: it cannot be read completely" in text_of(done)


def test_without_an_agent_a_recording_is_compared_with_its_snapshot(
    pytester: pytest.Pytester,
) -> None:
    path = record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    snapshot = path.with_name("one.acp.ndjson.snapshot.json")
    project(pytester)
    run(pytester, "--acp-update").assert_outcomes(passed=1)
    assert "one, two" in snapshot.read_text()
    run(pytester).assert_outcomes(passed=1)
    snapshot.write_text(snapshot.read_text().replace("one, two", "one, three"))
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "one.acp.ndjson.snapshot.json differs" in text_of(done)
    snapshot.write_text("{}")
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "is not a snapshot" in text_of(done)


def test_a_redacted_recording_is_played_only_if_that_is_allowed(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING.replace("one, two", "your key is «secret:1»"))
    path = record(pytester.path / "recordings/one.acp.ndjson", command)
    header, *lines = path.read_text().splitlines(keepends=True)
    redacted = {**json.loads(header), "redacted": ["anthropic"]}
    path.write_text(json.dumps(redacted) + "\n" + "".join(lines[:-1]))
    project(pytester, command)
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "is redacted" in text_of(done)
    assert "allow it with --acp-allow-redacted" in text_of(done)
    run(pytester, "--acp-allow-redacted").assert_outcomes(passed=1)


def test_what_acts_is_played_only_where_the_project_names_the_recording(
    pytester: pytest.Pytester,
) -> None:
    command = scripted(pytester.path, COUNTING)
    path = record(pytester.path / "recordings/one.acp.ndjson", command)
    server = '"mcpServers":[{"name":"x","command":"/bin/true","args":[],"env":[]}]'
    lines = path.read_text().replace('"mcpServers":[]', server).splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    project(pytester, command)
    done = run(pytester)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["recordings that act, such as by *: 1; -v lists them"])
    done = run(pytester, "-v")
    done.stdout.fnmatch_lines(["*handed to the agent*", "one.acp.ndjson: MCP server: /bin/true *"])
    other = pytester.path / "other"
    other.mkdir()
    path.rename(other / path.name)
    pytester.makepyfile(
        """
        def test_it(acp_replay):
            acp_replay("other/one.acp.ndjson").assert_passed()
        """
    )
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "allow it with --trust" in text_of(done)
    assert "MCP server: /bin/true" in text_of(done)
    run(pytester, "--acp-trust").assert_outcomes(passed=1)


def test_an_agent_that_is_missing_fails_with_a_sentence(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, "/no/such/agent")
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "there is no such command" in text_of(done)
    assert "Traceback" not in text_of(done)


def test_an_agent_that_hangs_fails_in_time(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, HANGING, "other.py"))
    done = run(pytester, "--acp-timeout", "500ms")
    done.assert_outcomes(failed=1)
    assert "0.5 s" in text_of(done)


def test_an_agent_that_dies_fails_with_its_stderr(pytester: pytest.Pytester) -> None:
    record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, DYING, "other.py"))
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "the agent exited with code 7" in text_of(done)
    assert "no key" in text_of(done)


def test_an_agent_is_named_by_a_path_of_the_project(pytester: pytest.Pytester) -> None:
    """It is started in the directory of its session."""
    command = scripted(pytester.path, COUNTING)
    record(pytester.path / "recordings/one.acp.ndjson", command)
    project(pytester, f"{shlex.join(WARM)} -m acp_agent --script agent.py")
    run(pytester).assert_outcomes(passed=1)


# Update


def test_an_update_writes_what_has_changed_and_shows_it(pytester: pytest.Pytester) -> None:
    same = record(
        pytester.path / "recordings/same.acp.ndjson", scripted(pytester.path, MISCOUNTING)
    )
    path = record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, MISCOUNTING, "other.py"))
    before, kept = path.read_text().splitlines(), same.read_bytes()
    done = run(pytester, "--acp-update")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*updated recordings*", "one.acp.ndjson: updated; fail: 1 problem*"])
    assert "    - one, two\n    + one, three\n" in text_of(done)
    after = path.read_text().splitlines()
    changed = [line for line in after if line not in before]
    # The chunk, and the digest.
    assert len(changed) == 2
    assert "one, three" in changed[0]
    assert same.read_bytes() == kept
    assert read_recording(path).bad_lines == ()
    run(pytester).assert_outcomes(passed=2)


def test_an_update_needs_a_conversation_that_came_to_its_end(pytester: pytest.Pytester) -> None:
    path = record(pytester.path / "recordings/one.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester, scripted(pytester.path, DYING, "other.py"))
    before = path.read_bytes()
    done = run(pytester, "--acp-update")
    done.assert_outcomes(failed=1)
    assert "not updated: the conversation did not come to its end" in text_of(done)
    assert path.read_bytes() == before


# Shards and workers


def test_shards_split_the_recordings_by_their_paths_alone(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    first = record(pytester.path / "recordings/0.acp.ndjson", command).read_bytes()
    names = [f"{number}.acp.ndjson" for number in range(8)]
    for name in names:
        (pytester.path / "recordings" / name).write_bytes(first)
    pytester.makepyfile("def test_of_no_recording(): pass")
    project(pytester, command)

    def shard(text: str) -> set[str]:
        done = run(pytester, "--collect-only", "-q", "--acp-shard", text)
        return {line for line in done.outlines if line.endswith("::replay")}

    parts = [shard(f"{number}/3") for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == [
        f"recordings/{name}::replay" for name in names
    ]
    (pytester.path / "recordings/1.acp.ndjson").unlink()
    assert [shard(f"{number}/3") for number in (1, 2, 3)] == [
        part - {"recordings/1.acp.ndjson::replay"} for part in parts
    ]
    done = run(pytester, "--acp-shard", "4/3")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--acp-shard*"])


def test_a_shard_without_recordings_passes(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    record(pytester.path / "recordings/0.acp.ndjson", command)
    project(pytester, command)
    codes = [run(pytester, "--acp-shard", f"{number}/3").ret for number in (1, 2, 3)]
    assert codes == [pytest.ExitCode.OK] * 3
    (pytester.path / "recordings/0.acp.ndjson").unlink()
    assert run(pytester, "--acp-shard", "1/3").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--acp-shard", "x"], "--acp-shard: 'x' is not a shard: expected I/N with 1 ≤ I ≤ N"),
        (["--acp-timeout", "soon"], "--acp-timeout: 'soon' is not a duration"),
        (["--acp-agent", "'unclosed"], "--acp-agent: No closing quotation: 'unclosed"),
    ],
)
def test_a_wrong_option_is_one_usage_error(
    pytester: pytest.Pytester, words: list[str], sentence: str
) -> None:
    record(pytester.path / "recordings/0.acp.ndjson", scripted(pytester.path, COUNTING))
    project(pytester)
    done = run(pytester, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in "\n".join(done.errlines)


def test_configuration_that_names_nothing_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    project(pytester, "'unclosed")
    done = run(pytester)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*acp_agent: No closing quotation*"])
    pytester.makeini("[pytest]\nacp_recordings = recs\n")
    done = run(pytester)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*acp_recordings names */recs, which does not exist*"])
    # A first run makes them.
    run(pytester, "--acp-record", "once").assert_outcomes(passed=1)


def test_it_works_under_xdist(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, COUNTING)
    for name in "abc":
        record(pytester.path / f"recordings/{name}.acp.ndjson", command)
    record(
        pytester.path / "recordings/d.acp.ndjson",
        scripted(pytester.path, MISCOUNTING, "other.py"),
    )
    project(pytester, command, testpaths="tests")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests/test_it.py").write_text(
        "def test_it(acp_agent): assert acp_agent.prompt('count').text == 'one, two'\n"
    )
    done = pytester.runpytest_subprocess(*PLUGIN, "-n", "2", "--junit-xml", "report.xml")
    done.assert_outcomes(passed=4, failed=1)
    assert "+ one, two" in text_of(done)
    assert "+ one, two" in (pytester.path / "report.xml").read_text()
    done = pytester.runpytest_subprocess(*PLUGIN, "-n", "1", "--acp-update")
    done.assert_outcomes(passed=5)
    assert "d.acp.ndjson: updated; fail: 1 problem" in text_of(done)


# Fixtures


def in_project(pytester: pytest.Pytester, script: str, test: str, *words: str) -> pytest.RunResult:
    """Run a test of a project whose agent plays a script."""
    project(pytester, scripted(pytester.path, script))
    pytester.makepyfile(test_it=test)
    return run(pytester, *words)


def test_a_plain_function_talks_to_the_agent(pytester: pytest.Pytester) -> None:
    done = in_project(
        pytester,
        ASKING,
        """
        def test_allowed(acp_agent):
            turn = acp_agent.prompt("write it")
            assert (turn.text, turn.stop_reason) == ("Done.", "end_turn")
            assert turn.tool_calls["call-1"]["status"] == "completed"
            assert turn.permissions[0]["outcome"]["outcome"] == "selected"
            assert (acp_agent.cwd / "notes.md").read_text() == "milk\\n"

        def test_rejected(acp_agent):
            turn = acp_agent.prompt("write it", permission="reject")
            assert turn.tool_calls["call-1"]["status"] == "failed"
            assert not (acp_agent.cwd / "notes.md").exists()

        def test_chosen_by_a_function(acp_agent):
            seen = []
            def choose(params):
                seen.append(params["toolCall"]["toolCallId"])
                return "allow_once"
            assert acp_agent.prompt("write it", permission=choose).text == "Done."
            assert seen == ["call-1"]

        def test_cancelled(acp_agent):
            turn = acp_agent.start_prompt("slow")
            assert acp_agent.wait_for_update("agent_message_chunk")["content"]["text"] == "Wait."
            acp_agent.cancel()
            assert turn.result(10).stop_reason == "cancelled"

        def test_two_sessions(acp_agent):
            one, two = acp_agent.new_session(), acp_agent.new_session()
            assert one != two
            assert acp_agent.prompt("write", session_id=one).text == "Done."
            assert acp_agent.initialized["protocolVersion"] == 1
        """,
    )
    done.assert_outcomes(passed=5)


V2_TESTS = """
import pytest

def test_what_a_turn_of_version_2_was(acp_agent):
    (acp_agent.cwd / "notes.md").write_text("Buy milk.\\n")
    turn = acp_agent.prompt("edit notes.md: milk => bread")
    assert acp_agent.version == 2
    assert "capabilities" in acp_agent.initialized
    assert turn.stop_reason == turn.result["stopReason"] == "end_turn"
    assert turn.text.startswith("I'll edit")
    assert [each["subject"]["toolCall"]["kind"] for each in turn.permissions] == ["edit"]
    (call,) = turn.tool_calls.values()
    assert call["status"] == "completed"
    assert (acp_agent.cwd / "notes.md").read_text() == "Buy bread.\\n"
    assert "# Buy" not in acp_agent.prompt("hello").text

def test_rejected(acp_agent):
    (acp_agent.cwd / "notes.md").write_text("Buy milk.\\n")
    turn = acp_agent.prompt("edit notes.md: milk => bread", permission="reject")
    assert (turn.stop_reason, turn.permissions[0]["outcome"]["optionId"]) == ("end_turn", "reject")
    assert (acp_agent.cwd / "notes.md").read_text() == "Buy milk.\\n"

def test_cancelled(acp_agent):
    turn = acp_agent.start_prompt("run sleep 30")
    acp_agent.wait_for_update("tool_call_update")
    acp_agent.cancel()
    assert turn.result(20).stop_reason == "cancelled"

def test_two_sessions_at_once(acp_agent):
    one, two = acp_agent.new_session(), acp_agent.new_session()
    turns = [acp_agent.start_prompt("hello", session_id=each) for each in (one, two)]
    texts = {each.result(20).text for each in turns}
    assert len(texts) == 1 and texts.pop()

@pytest.mark.acp_recording("hello.acp.ndjson")
def test_recorded(acp_agent):
    assert acp_agent.prompt("hello").stop_reason == "end_turn"
"""


def our_agent(*words: str) -> str:
    return shlex.join([*WARM, "-m", "acp_agent", "--no-config", *words])


def test_an_agent_of_version_2_is_talked_to_in_version_2(pytester: pytest.Pytester) -> None:
    project(pytester, our_agent("--protocol", "2"), acp_protocol="2")
    pytester.makepyfile(test_it=V2_TESTS)
    run(pytester, "--acp-record", "once").assert_outcomes(passed=5)
    assert b'"state":"idle"' in (pytester.path / "hello.acp.ndjson").read_bytes()
    run(pytester, "-k", "recorded").assert_outcomes(passed=1)


@pytest.mark.parametrize(("newest", "offered"), [("1", "2"), ("2", "1")])
def test_the_older_version_is_spoken_if_one_side_has_no_newer_one(
    pytester: pytest.Pytester, newest: str, offered: str
) -> None:
    project(pytester, our_agent("--protocol", newest), acp_protocol=offered)
    pytester.makepyfile(
        """
        def test_it(acp_agent):
            assert acp_agent.prompt("hello").stop_reason == "end_turn"
            assert acp_agent.version == 1
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_a_test_chooses_the_version_itself(pytester: pytest.Pytester) -> None:
    project(pytester, our_agent("--protocol", "2"))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("version", [1, 2])
        def test_it(acp_agent, version):
            assert acp_agent.start(protocol=version)["protocolVersion"] == version
            assert acp_agent.prompt("hello").text
        """
    )
    run(pytester).assert_outcomes(passed=2)
    project(pytester, acp_protocol="3")
    done = run(pytester)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*acp_protocol is none of 1, 2*"])


def test_a_turn_of_version_2_that_does_not_end_fails_in_time(pytester: pytest.Pytester) -> None:
    command = scripted(pytester.path, f"{AGENT}(protocol=2)\n{HANGING}")
    project(pytester, command, acp_protocol="2")
    pytester.makepyfile("def test_it(acp_agent): acp_agent.prompt('x', timeout=0.5)")
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "OperationTimeoutError" in text_of(done)
    assert "0.5" in text_of(done)


@pytest.mark.parametrize(
    ("dialect", "is_named"),
    [("continuum", False), ("acpex", False), ("openoxide", True), ("v2-batch", True)],
)
def test_an_agent_of_a_dialect_is_talked_to_in_official_words(
    pytester: pytest.Pytester, dialect: str, is_named: bool
) -> None:
    named = {"acp_dialect": dialect} if is_named else {}
    project(pytester, our_agent("--dialect", dialect), **named)
    pytester.makepyfile(
        """
        import pytest

        def test_it(acp_agent):
            (acp_agent.cwd / "notes.md").write_text("Buy milk.\\n")
            session = acp_agent.new_session()
            turn = acp_agent.prompt("read notes.md", session_id=session)
            assert turn.stop_reason == "end_turn"
            assert "milk" in turn.text + str(turn.tool_calls)

        @pytest.mark.acp_recording("hello.acp.ndjson")
        def test_recorded(acp_agent):
            assert acp_agent.prompt("hello").text
        """
    )
    run(pytester, "--acp-record", "once").assert_outcomes(passed=2)
    run(pytester).assert_outcomes(passed=2)


def test_a_coroutine_talks_to_the_agent(pytester: pytest.Pytester) -> None:
    done = in_project(
        pytester,
        COUNTING,
        """
        import pytest

        @pytest.mark.anyio
        async def test_it(acp_agent, anyio_backend_name):
            async with acp_agent.connect() as agent:
                turn = await agent.prompt("count")
            assert turn.text == "one, two"
            assert len(acp_agent.journal) > 6

        @pytest.fixture
        def anyio_backend():
            return "asyncio"
        """,
    )
    done.assert_outcomes(passed=1)


def test_an_error_of_the_agent_points_to_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    done = in_project(pytester, DYING, 'def test_it(acp_agent):\n    acp_agent.prompt("count")\n')
    done.assert_outcomes(failed=1)
    text = text_of(done)
    assert '>       acp_agent.prompt("count")' in text or '>   acp_agent.prompt("count")' in text
    assert "AgentExitedError: the agent exited with code 7" in text
    assert "stderr: no key" in text
    assert "live_agent.py" not in text
    assert "fixtures.py" not in text


def test_an_agent_without_a_command_is_an_error_with_a_hint(pytester: pytest.Pytester) -> None:
    project(pytester)
    pytester.makepyfile("def test_it(acp_agent): acp_agent.prompt('x')")
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "no agent was named; give --acp-agent, or set acp_agent" in text_of(done)


def test_programs_of_the_project_that_are_not_found_have_a_hint(
    pytester: pytest.Pytester,
) -> None:
    """They are started in the directory of a session, or of the test."""
    project(pytester, f"{sys.executable} -m no_such_module")
    pytester.makepyfile(
        f"""
        COMMAND = [{sys.executable!r}, "-m", "no_such_module", "{{agent}}"]

        def test_agent(acp_agent): acp_agent.prompt("x")

        def test_client(acp_client): acp_client(COMMAND, script="echo").assert_passed()
        """
    )
    done = run(pytester)
    done.assert_outcomes(failed=2)
    assert text_of(done).count("E   hint: it was started in a directory of its own") == 2


MARKED = """
import pytest

@pytest.mark.acp_recording("counting.acp.ndjson")
def test_it(acp_agent):
    (acp_agent.cwd / "list.txt").write_text("milk")
    assert acp_agent.prompt("count").stop_reason == "end_turn"
"""


def test_a_missing_recording_is_recorded_once_and_compared_from_then_on(
    pytester: pytest.Pytester,
) -> None:
    path = pytester.path / "counting.acp.ndjson"
    done = in_project(pytester, COUNTING, MARKED)
    done.assert_outcomes(errors=1)
    assert "--acp-record once records it" in text_of(done)
    assert not path.exists()
    in_project(pytester, COUNTING, MARKED, "--acp-record", "once").assert_outcomes(passed=1)
    assert read_recording(path).header.meta["files"] == {"list.txt": "milk"}
    in_project(pytester, COUNTING, MARKED).assert_outcomes(passed=1)
    before = path.read_bytes()
    for words in ((), ("--acp-record", "once"), ("--acp-record", "new")):
        done = in_project(pytester, MISCOUNTING, MARKED, *words)
        done.assert_outcomes(failed=1)
        assert "    - one, two\n    + one, three" in text_of(done)
        assert "pytest_plugin.py" not in text_of(done)
    assert path.read_bytes() == before


def test_what_a_test_sends_otherwise_is_recorded_anew_if_that_is_wanted(
    pytester: pytest.Pytester,
) -> None:
    in_project(pytester, COUNTING, MARKED, "--acp-record", "once").assert_outcomes(passed=1)
    other = MARKED.replace('"count"', '"count again"')
    done = in_project(pytester, COUNTING, other)
    done.assert_outcomes(failed=1)
    assert "--acp-record new records it" in text_of(done)
    in_project(pytester, COUNTING, other, "--acp-record", "new").assert_outcomes(passed=1)
    in_project(pytester, COUNTING, other).assert_outcomes(passed=1)
    in_project(pytester, MISCOUNTING, other, "--acp-record", "rewrite").assert_outcomes(passed=1)
    in_project(pytester, MISCOUNTING, other).assert_outcomes(passed=1)


def test_a_marked_test_allows_what_the_expectations_of_its_recording_allow(
    pytester: pytest.Pytester,
) -> None:
    in_project(pytester, COUNTING, MARKED, "--acp-record", "once").assert_outcomes(passed=1)
    expected = pytester.path / "counting.expect.toml"
    entry = '[[ignore]]\nfilter = "update == agent_message_chunk"\nreason = "a live model"\n'
    expected.write_text(entry)
    in_project(pytester, MISCOUNTING, MARKED).assert_outcomes(passed=1)
    expected.write_text(entry.replace("agent_message_chunk", "usage_update"))
    done = in_project(pytester, COUNTING, MARKED)
    done.assert_outcomes(failed=1)
    assert "counting.expect.toml: never applied: update == usage_update" in text_of(done)


@pytest.mark.parametrize(
    ("fixture", "body", "why"),
    [
        ("acp_agent", "pass", "the test has sent nothing; 3 frames of the client are recorded"),
        ("acp_client", "pass", "the test has not used it"),
        ("acp_replay", "pass", "the test has not used it"),
        ("acp_replay", "acp_replay('other.acp.ndjson')", "the test has not used it"),
        ("", "pass", "the test has not used it"),
    ],
)
def test_a_test_that_does_not_use_the_recording_of_its_marker_fails(
    pytester: pytest.Pytester, fixture: str, body: str, why: str
) -> None:
    record(pytester.path / "counting.acp.ndjson", scripted(pytester.path, COUNTING))
    test = (
        'import pytest\n@pytest.mark.acp_recording("counting.acp.ndjson")\n'
        f"def test_it({fixture}): {body}\n"
    )
    for words in ((), ("--acp-record", "once")):
        done = in_project(pytester, COUNTING, test, *words)
        done.assert_outcomes(failed=1)
        assert f"counting.acp.ndjson: {why}" in text_of(done)
    (pytester.path / "counting.acp.ndjson").unlink()
    done = in_project(pytester, COUNTING, test)
    done.assert_outcomes(errors=1)
    assert "--acp-record once records it" in text_of(done)
    in_project(pytester, COUNTING, test, "--acp-record", "once").assert_outcomes(failed=1)
    assert not (pytester.path / "counting.acp.ndjson").exists()


def test_an_update_of_a_test_keeps_the_lines_that_mean_the_same(pytester: pytest.Pytester) -> None:
    path = pytester.path / "counting.acp.ndjson"
    in_project(pytester, COUNTING, MARKED, "--acp-record", "once").assert_outcomes(passed=1)
    before = path.read_text().splitlines()
    in_project(pytester, MISCOUNTING, MARKED, "--acp-update").assert_outcomes(passed=1)
    changed = [line for line in path.read_text().splitlines() if line not in before]
    # The chunk, and the digest.
    assert len(changed) == 2
    assert "one, three" in changed[0]
    in_project(pytester, MISCOUNTING, MARKED).assert_outcomes(passed=1)
    other = MARKED.replace('"count"', '"count again"').replace('"milk"', '"bread"')
    in_project(pytester, MISCOUNTING, other, "--acp-record", "new").assert_outcomes(passed=1)
    assert read_recording(path).header.meta["files"] == {"list.txt": "bread"}
    changed = [line for line in path.read_text().splitlines() if line not in before]
    assert len(changed) == 4
    in_project(pytester, MISCOUNTING, other).assert_outcomes(passed=1)


def test_a_test_that_fails_by_itself_shows_how_the_conversation_differs(
    pytester: pytest.Pytester,
) -> None:
    test = MARKED.replace("assert acp", "turn = acp")
    test = test.replace('.stop_reason == "end_turn"', '\n    assert "two" in turn.text, turn')
    in_project(pytester, COUNTING, test, "--acp-record", "once").assert_outcomes(passed=1)
    done = in_project(pytester, MISCOUNTING, test)
    done.assert_outcomes(failed=1)
    turn = "PromptTurn(stop_reason='end_turn', tool_calls={}, text='one, three')"
    assert f"AssertionError: {turn}" in text_of(done)
    assert "    - one, two\n    + one, three" in text_of(done)


def test_a_test_that_fails_by_itself_records_nothing(pytester: pytest.Pytester) -> None:
    test = MARKED.replace('"end_turn"', '"refusal"')
    in_project(pytester, COUNTING, test, "--acp-record", "once").assert_outcomes(failed=1)
    assert not (pytester.path / "counting.acp.ndjson").exists()


def test_what_a_test_has_recorded_is_played_as_a_recording(pytester: pytest.Pytester) -> None:
    """Also the files that it has put into the working directory."""
    test = MARKED.replace("counting.acp", "recordings/read.acp").replace(
        '"count"', '"read list.txt"'
    )
    project(pytester, f"{shlex.join(WARM)} -m acp_agent --no-config")
    pytester.makepyfile(test_it=test)
    run(pytester, "test_it.py", "--acp-record", "once").assert_outcomes(passed=1)
    assert b"milk" in (pytester.path / "recordings/read.acp.ndjson").read_bytes()
    run(pytester).assert_outcomes(passed=2)


def test_a_function_replays_a_recording(pytester: pytest.Pytester) -> None:
    record(pytester.path / "one.acp.ndjson", scripted(pytester.path, COUNTING))
    other = scripted(pytester.path, MISCOUNTING, "other.py")
    done = in_project(
        pytester,
        COUNTING,
        f"""
        import pytest

        def test_passed(acp_replay):
            assert acp_replay("one.acp.ndjson").passed

        @pytest.mark.acp_recording("one.acp.ndjson")
        def test_marked(acp_replay):
            acp_replay().assert_passed()

        def test_shape(acp_replay):
            acp_replay("one.acp.ndjson", {other!r}, level="shape").assert_passed()

        def test_failed(acp_replay):
            acp_replay("one.acp.ndjson", {other!r}).assert_passed()

        def test_missing(acp_replay):
            acp_replay("none.acp.ndjson").assert_passed()
        """,
    )
    done.assert_outcomes(passed=3, failed=2)
    assert "+ one, three" in text_of(done)
    assert "no such file" in text_of(done)
    assert "testing.py" not in text_of(done)


CLIENT = """
import json, subprocess, sys
agent = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def request(id, method, params):
    line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    agent.stdin.write(line.encode() + b"\\n")
    agent.stdin.flush()
    for line in agent.stdout:
        message = json.loads(line)
        if message.get("id") == id and "method" not in message:
            return message["result"]
        print(message["params"]["update"]["content"]["text"])
request(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
session = request(1, "session/new", {"cwd": "/", "mcpServers": []})["sessionId"]
block = {"type": "text", "text": "count"}
print(request(2, "session/prompt", {"sessionId": session, "prompt": [block]})["stopReason"])
agent.stdin.close()
sys.exit(agent.wait())
"""


def test_a_client_is_run_with_a_scripted_agent(pytester: pytest.Pytester) -> None:
    (pytester.path / "client.py").write_text(CLIENT)
    (pytester.path / "good.py").write_text(COUNTING)
    (pytester.path / "strict.py").write_text(
        "async def prompt(call):\n    assert call.prompt == 'other'\n"
    )
    pytester.makepyfile(
        f"""
        COMMAND = [{sys.executable!r}, "client.py", "{{agent}}"]

        def test_good(acp_client):
            run = acp_client(COMMAND, script="good.py")
            run.assert_passed()
            assert run.stdout == "one, two\\nend_turn\\n"
            assert b"count" in run.traffic.frames[-3].data

        def test_unexpected(acp_client):
            acp_client(COMMAND, script="strict.py").assert_passed()

        def test_without_agent(acp_client):
            run = acp_client([{sys.executable!r}, "-c", "pass"], script="good.py")
            assert run.problem == "the client has started no agent"

        def test_hanging(acp_client):
            command = [{sys.executable!r}, "-c", "import time; time.sleep(600)"]
            run = acp_client(command, script="good.py", timeout=0.3)
            assert run.problem == "the client did not end in time"
        """
    )
    done = run(pytester)
    done.assert_outcomes(passed=3, failed=1)
    assert "AssertionError: the client exited with code 1" in text_of(done)
    assert "agent | " in text_of(done)


def test_a_client_that_cannot_be_tested_has_its_cause_first(pytester: pytest.Pytester) -> None:
    (pytester.path / "client.py").write_text(CLIENT)
    (pytester.path / "bad.py").write_text("async def prompt(call)\n")
    pytester.makepyfile(
        f"""
        COMMAND = [{sys.executable!r}, "client.py", "{{agent}}"]

        def test_without_script(acp_client):
            acp_client(COMMAND, script="none.py").assert_passed()

        def test_with_an_invalid_script(acp_client):
            acp_client(COMMAND, script="bad.py").assert_passed()

        def test_without_client(acp_client):
            acp_client("/no/such/client {{agent}}", script="echo")
        """
    )
    done = run(pytester)
    done.assert_outcomes(failed=3)
    text = text_of(done)
    assert "AssertionError: the agent of the client could not be played: none.py" in text
    assert "AssertionError: the agent of the client could not be played: /" in text
    assert "AgentStartError: the client could not be started" in text
    assert "clients.py" not in text
    assert "process.py" not in text


def test_a_client_may_find_its_agent_in_a_variable(pytester: pytest.Pytester) -> None:
    (pytester.path / "client.py").write_text(CLIENT)
    (pytester.path / "good.py").write_text(COUNTING)
    pytester.makepyfile(
        f"""
        def test_it(acp_client):
            command = ["sh", "-c", "exec {sys.executable} $0 $AGENT", "client.py"]
            run = acp_client(command, script="good.py", env={{"AGENT": "{{agent}}"}})
            run.assert_passed()
            assert run.stdout == "one, two\\nend_turn\\n"
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_a_client_is_recorded_once_and_compared_from_then_on(pytester: pytest.Pytester) -> None:
    (pytester.path / "client.py").write_text(CLIENT)
    (pytester.path / "good.py").write_text(COUNTING)
    test = f"""
        import pytest

        @pytest.mark.acp_recording("count.acp.ndjson")
        def test_it(acp_client):
            run = acp_client("{sys.executable} client.py {{agent}}", script="good.py")
            run.assert_passed()
            assert run.stdout == "one, two\\nend_turn\\n"
    """
    pytester.makepyfile(test_it=test)
    done = run(pytester)
    done.assert_outcomes(errors=1)
    assert "--acp-record once records it" in text_of(done)
    run(pytester, "--acp-record", "once").assert_outcomes(passed=1)
    (pytester.path / "good.py").unlink()
    for end in ("agent.stdin.close()", "agent.terminate(); agent.wait(); sys.exit()"):
        client = CLIENT.replace("agent.stdin.close()", end)
        (pytester.path / "client.py").write_text(client)
        run(pytester).assert_outcomes(passed=1)
        (pytester.path / "client.py").write_text(client.replace('"count"', '"count again"'))
        done = run(pytester)
        done.assert_outcomes(failed=1)
        assert "agent |     - count\nE       agent |     + count again" in text_of(done)
        assert "hint: if that is wanted, --acp-record rewrite records it anew" in text_of(done)
    # Also if the test asserts nothing about it.
    pytester.makepyfile(test_it=test.replace("run.assert_passed()", "return"))
    run(pytester).assert_outcomes(failed=1)
    entry = '[[ignore]]\npath = "$.params.prompt"\nreason = "the user types something"\n'
    (pytester.path / "count.expect.toml").write_text(entry)
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("top", "options"),
    [
        ("protocol=2", ("--protocol", "2")),
        ("dialect='acpex'", ("--dialect", "acpex")),
        ("dialect='openoxide', framing='content-length'", ("--dialect", "openoxide")),
    ],
)
def test_a_client_of_version_2_or_a_dialect_is_run_recorded_and_compared(
    pytester: pytest.Pytester, top: str, options: tuple[str, ...]
) -> None:
    """The script says what its agent speaks, and the recording what it spoke."""
    (pytester.path / "good.py").write_text(f"{AGENT}({top})\n{COUNTING}")
    client = [*WARM, "-m", "acp_console", "exec", *options, "count", "--", "{agent}"]
    test = f"""
        import pytest

        @pytest.mark.acp_recording("count.acp.ndjson")
        def test_it(acp_client):
            run = acp_client({client!r}, script="good.py")
            run.assert_passed()
            assert run.stdout.strip() == "one, two"
    """
    pytester.makepyfile(test_it=test)
    run(pytester, "--acp-record", "once").assert_outcomes(passed=1)
    (pytester.path / "good.py").unlink()
    run(pytester).assert_outcomes(passed=1)
    pytester.makepyfile(test_it=test.replace("'count'", "'count again'"))
    run(pytester).assert_outcomes(failed=1)


MODEL_AGENT = """
import json, os, sys, urllib.request
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "session/prompt":
        body = json.dumps({"model": "m", "messages": message["params"]["prompt"]}).encode()
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        try:
            text = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
        except OSError as problem:
            text = str(problem)
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        params = {"sessionId": "s1", "update": chunk}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"},
               "session/prompt": {"stopReason": "end_turn"}}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": results[method]}
    print(json.dumps(answer), flush=True)
"""


class _Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"choices": [{"message": {"content": "from the model"}}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        del format, args


def test_the_model_of_an_agent_is_recorded_once_and_replayed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pytester.path / "model_agent.py").write_text(MODEL_AGENT)
    project(pytester, f"{sys.executable} model_agent.py")
    test = """
        def test_it(acp_agent, acp_model):
            acp_model("turn.cassette")
            acp_agent.prompt("hello")
            assert acp_agent.prompt("hello").text == "from the model"
    """
    pytester.makepyfile(test_it=test)
    with HTTPServer(("127.0.0.1", 0), _Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        run(pytester, "--acp-record", "once").assert_outcomes(passed=1)
        server.shutdown()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    run(pytester).assert_outcomes(passed=1)
    missing = test.replace('"hello")\n            assert', '"bye")\n            assert')
    pytester.makepyfile(test_it=missing.replace("assert ", ""))
    done = run(pytester)
    done.assert_outcomes(failed=1)
    assert "is not in the cassette" in text_of(done)
    assert "fixtures.py" not in text_of(done)


def test_a_marker_without_a_name_is_a_mistake(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.mark.acp_recording()\ndef test_it(acp_agent): pass\n"
    )
    done = run(pytester)
    assert 'the marker is acp_recording("NAME.acp.ndjson")' in text_of(done)
