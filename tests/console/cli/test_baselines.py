"""Baselines of `lint`, `test` and `conform`: what is known passes, what is new fails."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.baselines import Baseline, Issue, without_varying
from acp_console.cli.errors import UsageError
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.conftest import Agent, Call
from tests.inspector.lint.talk import Talk


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Path]:
    """Write a recording in which a client calls unknown methods, each refused wrongly."""

    def record(*methods: str) -> Path:
        talk = Talk()
        talk.open()
        for method in methods:
            talk.refuse(talk.ask(method, sessionId="s1"), -32603)
        path = tmp_path / "talk.acp.ndjson"
        header = Header(tool="tester", schema="v1", created="2026-11-21T12:00:00Z", cwd="/home/ada")
        path.write_bytes(encode_header(header) + b"".join(map(encode_entry, talk.entries)))
        return path

    return record


def test_known_findings_pass_and_new_ones_fail(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    baseline = str(tmp_path / "known.json")
    file = str(recorded("a/b"))
    assert call("lint", file).code == exit_codes.FOUND
    written = call("lint", "--baseline", baseline, "--update-baseline", file)
    assert written.code == exit_codes.DONE
    assert f"{baseline}: 2 known, 2 of them new; 0 gone" in written.err
    known = call("lint", "--baseline", baseline, file)
    assert (known.code, known.err) == (exit_codes.DONE, "")
    assert "0 errors, 0 warnings, 0 info (2 findings hidden by --baseline)" in known.out

    recorded("a/b", "c/d")
    new = call("lint", "--baseline", baseline, "--format", "json", file)
    told = json.loads(new.out)
    assert new.code == exit_codes.FOUND
    assert {each["rule"] for each in told["findings"]} == {
        "unprefixed-method",
        "unknown-method-not-refused",
    }
    assert all("c/d" in each["message"] for each in told["findings"])
    assert (told["known"], told["counts"]["error"], told["gone"]) == (2, 2, [])


def test_no_baseline_holds_lines_that_cannot_be_read(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    file, baseline = recorded("a/b"), str(tmp_path / "known.json")
    file.write_bytes(file.read_bytes() + b"{half of a line\n")
    update = ("lint", "--baseline", baseline, "--update-baseline")
    note = "note: no baseline holds lines that cannot be read\n"
    for more in ((), ("--fail-on", "warning")):
        done = call(*update, *more, str(file))
        assert (done.code, note in done.err) == (exit_codes.FOUND, True)
    done = call(*update, "--fail-on", "never", str(file))
    assert (done.code, note in done.err) == (exit_codes.DONE, False)


def test_findings_that_are_gone_are_reported_until_the_baseline_is_updated(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    baseline = str(tmp_path / "known.json")
    file = str(recorded("a/b", "c/d"))
    call("lint", "--baseline", baseline, "--update-baseline", file)
    recorded("a/b")
    done = call("lint", "--baseline", baseline, file)
    assert done.code == exit_codes.DONE
    assert "note: 2 known issues of the baseline did not occur; --update-baseline" in done.err
    gone = "unknown-method-not-refused the unknown method c/d was answered with -32603"
    assert f"talk.acp.ndjson: {gone}" in done.err
    # What a filter or --ignore leaves out is not gone.
    for options in (
        ["--filter", "n == 1"],
        ["--ignore", "unknown-method-not-refused", "--ignore", "unprefixed-method"],
    ):
        assert "did not occur" not in call("lint", "--baseline", baseline, *options, file).err
    assert "; 2 gone" in call("lint", "--baseline", baseline, "--update-baseline", file).err
    assert call("lint", "--baseline", baseline, file).err == ""


def test_more_of_a_known_finding_than_before_is_new(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    baseline = str(tmp_path / "known.json")
    file = str(recorded("a/b"))
    call("lint", "--baseline", baseline, "--update-baseline", file)
    recorded("a/b", "a/b")
    told = json.loads(call("lint", "--baseline", baseline, "--json", file).out)
    assert [each["rule"] for each in told["findings"]] == ["unknown-method-not-refused"]
    assert told["findings"][0]["frames"][-1] > 6


def test_a_baseline_names_files_from_its_own_directory(
    call: Call,
    recorded: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = recorded("a/b")
    (tmp_path / "ci").mkdir()
    baseline = tmp_path / "ci/known.json"
    call("lint", "--baseline", str(baseline), "--update-baseline", str(file))
    assert {each["where"] for each in json.loads(baseline.read_text())["known"]} == {
        "../talk.acp.ndjson"
    }
    monkeypatch.chdir(tmp_path)
    assert call("lint", "--baseline", "ci/known.json", "talk.acp.ndjson").code == exit_codes.DONE


def test_one_file_serves_all_commands_and_files(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    baseline = tmp_path / "known.json"
    other = {"command": "conform", "where": "agent v1", "name": "files.line"}
    elsewhere = {"command": "lint", "where": "other.acp.ndjson", "name": "not-json"}
    baseline.write_text(json.dumps({"acp_baseline": 1, "known": [other, elsewhere]}))
    call("lint", "--baseline", str(baseline), "--update-baseline", str(recorded("a/b")))
    names = [each["name"] for each in json.loads(baseline.read_text())["known"]]
    assert sorted(names) == [
        "files.line",
        "not-json",
        "unknown-method-not-refused",
        "unprefixed-method",
    ]


def test_a_baseline_may_name_rules_by_their_numbers(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    baseline, file = tmp_path / "known.json", recorded("a/b")
    call("lint", "--baseline", str(baseline), "--update-baseline", str(file))
    text = baseline.read_text()
    numbered = text.replace("unknown-method-not-refused", "ACP-L041")
    baseline.write_text(numbered.replace("unprefixed-method", "ACP-L369"))
    assert numbered != text
    told = json.loads(call("lint", "--baseline", str(baseline), "--json", str(file)).out)
    assert (told["findings"], told["gone"]) == ([], [])
    call("lint", "--baseline", str(baseline), "--update-baseline", str(file))
    assert baseline.read_text() == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "is not a baseline"),
        ("{", "is not a baseline"),
        ("{}", "is not a baseline: acp_baseline: is missing"),
        ('{"acp_baseline": 2}', "acp_baseline"),
        ('{"acp_baseline": 1, "known": [{"command": "rm", "where": "", "name": ""}]}', "command"),
        ('{"acp_baseline": 1, "run": []}', "run"),
        (
            '{"acp_baseline":1,"known":[{"command":"lint","where":"a","name":"b","count":0}]}',
            "count",
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=reason):
        Baseline(path, "lint")


def test_only_a_regular_file_is_a_baseline(tmp_path: Path) -> None:
    real, link, pipe = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "pipe.json"
    real.write_text('{"acp_baseline": 1}')
    link.symlink_to(real)
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="link"):
        Baseline(link, "lint")
    with pytest.raises(UsageError, match="it is a pipe"):
        Baseline(pipe, "lint")
    with pytest.raises(UsageError, match="does not exist"):
        Baseline(tmp_path / "none.json", "lint")


def test_an_update_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text('{"acp_baseline": 1}')
    before = os.link(path, tmp_path / "old.json")
    Baseline(path, "test", is_updating=True).write([Issue("a", "failed")], lambda issue: True)
    assert before is None
    assert (tmp_path / "old.json").read_text() == '{"acp_baseline": 1}'
    assert Baseline(path, "test").holds(Issue("a", "failed"))
    assert not list(tmp_path.glob(".*"))


def test_an_update_needs_a_file_and_every_finding(
    call: Call, recorded: Callable[..., Path], tmp_path: Path
) -> None:
    file = str(recorded("a/b"))
    assert "add --baseline FILE" in call("lint", "--update-baseline", file).err
    options = ("--baseline", str(tmp_path / "b"), "--update-baseline", "--filter", "n > 1")
    done = call("lint", *options, file)
    assert done.code == exit_codes.USAGE
    assert "leave out --filter" in done.err


def test_ids_numbers_and_times_do_not_tell_findings_apart() -> None:
    first = "the tool call call_7f was never announced after 12.5 s, answered with -32603"
    second = "the tool call call_81 was never announced after 3 s, answered with -32603"
    assert without_varying(first) == without_varying(second)
    assert without_varying(first) != without_varying(second.replace("-32603", "-32601"))


COUNTING = 'prompt = hear_prompt(); say("one, two"); end(prompt); hear("never")'
MISCOUNTING = 'prompt = hear_prompt(); say("one, three"); end(prompt); hear("never")'


def test_known_failures_of_recordings_pass(call: Call, agent: Agent, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("one", "two"):
        path = str(folder / f"{name}.acp.ndjson")
        assert call("exec", "--record", path, "count", "--", *agent(COUNTING)).code == 0
    baseline, report = str(tmp_path / "known.json"), tmp_path / "report.xml"
    options = ("--baseline", baseline)
    wrong = ("--", *agent(MISCOUNTING))
    one = str(folder / "one.acp.ndjson")
    assert call("test", *options, "--update-baseline", one, *wrong).code == exit_codes.DONE

    done = call("test", *options, "--junit", str(report), str(folder), *wrong)
    assert done.code == exit_codes.FOUND
    assert done.out.count("+ one, three") == 1
    assert done.out.endswith("\n2 failed (1 known)\n")
    assert 'failures="1" errors="0" skipped="1"' in report.read_text()
    assert "known failure: " in report.read_text()

    ignored = call("test", *options, "--ignore", "two.*", str(folder), *wrong)
    assert ignored.code == exit_codes.DONE
    assert ignored.out.endswith("\n1 failed (1 known)\n")

    right = call("test", *options, "--format", "markdown", str(folder), "--", *agent(COUNTING))
    assert right.out == "### ✅ ACP tests, 2 recordings\n\n2 passed\n"
    assert "recordings/one.acp.ndjson: failed" in right.err
    failed = call("test", "--format", "markdown", one, "--", *agent(MISCOUNTING))
    assert failed.code == exit_codes.FOUND
    assert "| failed | agent\\_message\\_chunk, at" in failed.out
    assert call("test", "--ignore", "nothing", one).code == exit_codes.USAGE


HELLO = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
"""An agent that responds to everything as to initialize."""


def test_known_failures_of_cases_pass(call: Call, tmp_path: Path) -> None:
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    baseline = str(tmp_path / "known.json")
    command = ("--", sys.executable, str(hello))
    cases = ("conform", "--case", "session.new", "--case", "session.new-no-cwd")
    failed = call(*cases, *command)
    assert failed.code == exit_codes.FOUND
    options = ("--baseline", baseline)
    updated = call("conform", "--case", "session.new", *options, "--update-baseline", *command)
    assert updated.code == exit_codes.DONE
    done = call(*cases, *options, "--json", *command)
    verdicts = {each["id"]: each["known"] for each in json.loads(done.out)["cases"]}
    assert done.code == exit_codes.FOUND
    assert verdicts == {"session.new": True, "session.new-no-cwd": False}
    ignored = call(*cases, *options, "--ignore", "*-no-cwd", "--format", "markdown", *command)
    assert "1 failed (1 known)" in ignored.out
    assert "session.new-no-cwd" not in ignored.out
    assert "--ignore: no case matches" in call(*cases, "--ignore", "nosuch", *command).err
