"""What people report about checkers in builds, retold for lint: allow lists, baselines, exit codes.

Each test is one public report of somebody who runs a checker of code or of a protocol in a build.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.conftest import Call
from tests.inspector.lint.talk import Talk


def record(path: Path, *methods: str, earlier: int = 0, session: str = "s1") -> str:
    """Write a recording in which each of these methods is refused with the wrong code."""
    talk = Talk()
    talk.initialize()
    for n in range(earlier):
        talk.new_session(f"earlier-{n}")
    talk.new_session(session)
    for method in methods:
        talk.refuse(talk.ask(method, sessionId=session), -32603)
    header = Header(tool="tester", schema="v1", created="2026-11-21T12:00:00Z", cwd="/home/ada")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_header(header) + b"".join(map(encode_entry, talk.entries)))
    return str(path)


@pytest.fixture
def known(call: Call, tmp_path: Path) -> str:
    """Return a baseline that knows what is wrong with the method a/b in talk.acp.ndjson."""
    baseline = str(tmp_path / "known.json")
    file = record(tmp_path / "talk.acp.ndjson", "a/b")
    assert call("lint", "--baseline", baseline, "--update-baseline", file).code == exit_codes.DONE
    return baseline


def test_what_moves_is_not_new(call: Call, known: str, tmp_path: Path) -> None:
    """A line more at the beginning of a file made everything below it new."""
    file = record(tmp_path / "talk.acp.ndjson", "a/b", earlier=40)
    assert call("lint", "--baseline", known, file).code == exit_codes.DONE


def test_what_has_other_ids_is_not_new(call: Call, known: str, tmp_path: Path) -> None:
    """The message of a finding has a value that each run generates."""
    file = record(tmp_path / "talk.acp.ndjson", "a/b", session="sess-0b0d3d4e")
    assert call("lint", "--baseline", known, file).code == exit_codes.DONE


def test_one_that_is_mended_pays_for_no_new_one(call: Call, known: str, tmp_path: Path) -> None:
    """A baseline that only counts takes one finding of a rule for another."""
    file = record(tmp_path / "talk.acp.ndjson", "c/d")
    done = call("lint", "--baseline", known, "--json", file)
    assert done.code == exit_codes.FOUND
    assert len(json.loads(done.out)["gone"]) == 2


def test_a_baseline_holds_in_another_checkout(call: Call, known: str, tmp_path: Path) -> None:
    """The baseline was written on a laptop, and the build has another directory."""
    build = tmp_path / "builds"
    build.mkdir()
    for name in ("known.json", "talk.acp.ndjson"):
        shutil.copy(tmp_path / name, build)
    options = ("--baseline", str(build / "known.json"))
    assert call("lint", *options, str(build / "talk.acp.ndjson")).code == exit_codes.DONE


def test_a_baseline_that_is_written_again_is_the_same(
    call: Call, known: str, tmp_path: Path
) -> None:
    """Each update changed the order of the file, and no review could read it."""
    before = Path(known).read_bytes()
    files = [str(tmp_path / "talk.acp.ndjson")]
    for _ in range(2):
        call("lint", "--baseline", known, "--update-baseline", *files)
        assert Path(known).read_bytes() == before
    files.insert(0, record(tmp_path / "a/other.acp.ndjson", "a/b"))
    call("lint", "--baseline", known, "--update-baseline", *files)
    both = Path(known).read_bytes()
    call("lint", "--baseline", known, "--update-baseline", *reversed(files))
    assert Path(known).read_bytes() == both


def test_a_baseline_that_is_missing_is_no_empty_one(call: Call, tmp_path: Path) -> None:
    """The build did not check the file out; everything, or nothing, was known then."""
    file = record(tmp_path / "talk.acp.ndjson")
    done = call("lint", "--baseline", str(tmp_path / "none.json"), file)
    assert done.code == exit_codes.USAGE
    assert "does not exist" in done.err


def test_an_update_says_what_it_takes_in(call: Call, known: str, tmp_path: Path) -> None:
    """Who regenerates a baseline to get rid of a false alarm lets a true one through."""
    file = record(tmp_path / "talk.acp.ndjson", "a/b", "c/d")
    done = call("lint", "--baseline", known, "--update-baseline", file)
    assert "4 known, 2 of them new; 0 gone" in done.err


def test_an_ignored_rule_that_finds_nothing_is_mentioned(call: Call, tmp_path: Path) -> None:
    """Exceptions stay for ever in a list of which nobody knows what it still hides."""
    file = record(tmp_path / "talk.acp.ndjson", "a/b")
    options = (
        "--ignore",
        "unknown-method-not-refused",
        "--ignore",
        "acp-l37*",
        "--ignore",
        "unprefixed-method",
    )
    done = call("lint", *options, file)
    assert done.code == exit_codes.DONE
    assert done.err == "note: --ignore ACP-L37*: nothing was found that it leaves out\n"


def test_an_exception_is_for_its_rule_alone(call: Call, tmp_path: Path) -> None:
    """A rule that was ignored hid another one about the same message."""
    file = record(tmp_path / "talk.acp.ndjson", "a/b")
    told = json.loads(call("lint", "--ignore", "unknown-method-not-refused", "--json", file).out)
    assert {each["rule"] for each in told["findings"]} == {"unprefixed-method"}


def test_a_misspelled_exception_is_an_error(call: Call, tmp_path: Path) -> None:
    """The name of a rule was misspelled, and the build stayed red without a reason."""
    done = call("lint", "--ignore", "ACP-L41", record(tmp_path / "talk.acp.ndjson"))
    assert done.code == exit_codes.USAGE
    assert "--ignore: no rule matches 'ACP-L41'" in done.err


def test_a_file_that_is_missing_is_no_file_without_findings(call: Call, tmp_path: Path) -> None:
    """The recordings were not there, and the build was green."""
    assert call("lint", str(tmp_path / "none.acp.ndjson")).code == exit_codes.USAGE


def test_the_summary_of_a_build_counts_what_its_baseline_knows(
    call: Call, known: str, tmp_path: Path
) -> None:
    """A green summary that hides a hundred known findings looked like a clean one."""
    file = str(tmp_path / "talk.acp.ndjson")
    done = call("lint", "--baseline", known, "--format", "markdown", file)
    assert done.code == exit_codes.DONE
    assert "2 findings hidden by --baseline" in done.out
