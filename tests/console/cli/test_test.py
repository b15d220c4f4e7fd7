"""Recordings as regression tests, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent, Call

COUNTING = 'prompt = hear_prompt(); say("one, two"); end(prompt); hear("never")'
MISCOUNTING = 'prompt = hear_prompt(); say("one, three"); end(prompt); hear("never")'


@pytest.fixture
def corpus(agent: Agent, call: Call, tmp_path: Path) -> Path:
    """Two recordings of one conversation, one of them deeper."""
    folder = tmp_path / "recordings"
    (folder / "deep").mkdir(parents=True)
    for name in ("one", "deep/two"):
        path = str(folder / f"{name}.acp.ndjson")
        assert call("exec", "--record", path, "count", "--", *agent(COUNTING)).code == 0
    return folder


def test_all_recordings_of_a_directory_are_played(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "-n", "2", str(corpus), "--", *agent(COUNTING))
    assert (done.code, done.err) == (exit_codes.DONE, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert sorted(line[1] for line in lines[:2]) == [
        f"{corpus}/deep/two.acp.ndjson",
        f"{corpus}/one.acp.ndjson",
    ]
    assert lines[-1] == ["2", "passed"]


def test_a_difference_fails_and_is_shown(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", str(corpus), "--", *agent(MISCOUNTING))
    assert done.code == exit_codes.FOUND
    assert done.out.count("    - one, two\n    + one, three\n") == 2
    assert done.out.endswith("\n2 failed\n")
    assert call("test", "--level", "shape", str(corpus), "--", *agent(MISCOUNTING)).code == 0


def test_the_report_for_build_servers_has_the_differences(
    corpus: Path, agent: Agent, call: Call, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    (corpus / "bad.acp.ndjson").write_bytes(b"")
    call("test", "--junit", str(report), str(corpus), "--", *agent(MISCOUNTING))
    suite = ElementTree.parse(report).getroot()[0]
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "2", "errors": "1", "skipped": "0"}
    failures = [failure.text or "" for failure in suite.iter("failure")]
    assert ["+ one, three" in text for text in failures] == [True, True]
    (error,) = suite.iter("error")
    assert "it is empty" in (error.get("message") or "")


def test_a_report_that_cannot_be_written_is_an_error(
    corpus: Path, agent: Agent, call: Call
) -> None:
    words = ("test", "--junit", "/no/such/report.xml", str(corpus))
    done = call(*words, "--", *agent(COUNTING))
    assert done.code == exit_codes.USAGE
    assert "--junit: cannot write /no/such/report.xml: no such file" in done.err


def test_json_has_every_outcome(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "--json", str(corpus / "one.acp.ndjson"), "--", *agent(MISCOUNTING))
    found = json.loads(done.out)
    assert found["counts"] == {"failed": 1}
    (outcome,) = found["recordings"]
    assert (outcome["status"], outcome["played"], len(outcome["differences"])) == ("failed", 3, 1)


def test_an_update_makes_the_recordings_pass(corpus: Path, agent: Agent, call: Call) -> None:
    done = call("test", "--update", str(corpus), "--", *agent(MISCOUNTING))
    assert done.code == exit_codes.DONE
    assert done.out.count("+ one, three") == 2
    assert done.out.endswith("\n2 updated\n")
    assert read_recording(corpus / "one.acp.ndjson").bad_lines == ()
    done = call("test", str(corpus), "--", *agent(MISCOUNTING))
    assert (done.code, done.out.endswith("\n2 passed\n")) == (exit_codes.DONE, True)


def test_shards_have_each_recording_once(corpus: Path, agent: Agent, call: Call) -> None:
    played = [
        call("test", "--shard", f"{number}/3", str(corpus), "--", *agent(COUNTING)).out
        for number in (1, 2, 3)
    ]
    assert sum(out.count("passed  ") for out in played) == 2
    done = call("test", "--shard", "4/3", str(corpus))
    assert (done.code, "'4/3' is not a shard such as 2/4" in done.err) == (exit_codes.USAGE, True)


def test_without_an_agent_nothing_is_started(corpus: Path, call: Call) -> None:
    done = call("test", str(corpus))
    assert done.code == exit_codes.USAGE
    assert done.out.count("skipped") == 3
    assert "give --agent NAME or -- COMMAND" in done.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["no/such"], exit_codes.USAGE, "cannot read no/such: no such file"),
        (["--agent", "nobody"], exit_codes.USAGE, "unknown agent 'nobody'"),
        (["--", "/no/such/agent"], exit_codes.AGENT, "there is no such command"),
    ],
)
def test_what_cannot_be_done_has_a_sentence(
    corpus: Path, call: Call, words: list[str], code: int, sentence: str
) -> None:
    done = call("test", str(corpus), *words)
    assert done.code == code
    assert sentence in done.out + done.err


def test_a_directory_without_recordings_is_no_green(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = call("test", str(tmp_path / "empty"))
    assert (done.code, "there are no recordings" in done.err) == (exit_codes.USAGE, True)
