"""`lint` as a person, or a build, calls it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.lint import MAX_FINDINGS_KEPT, lint_json
from acp_console.cli.lint_text import ShownReport, print_reports
from acp_inspector.lint.engine import LintReport
from acp_inspector.lint.registry import rules
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.conftest import Call
from tests.inspector.lint.talk import Talk

RECORDINGS = Path(__file__).parents[3] / "recordings"
COUNTS = re.compile(r": (\d+) errors?, (\d+) warnings?, (\d+) info")
FIX = re.compile(r"^  fix( +)")


def write(path: Path, talk: Talk) -> Path:
    """Write a talk down as a recording."""
    header = Header(tool="tester", schema="v1", created="2026-11-21T12:00:00Z", cwd="/home/ada")
    path.write_bytes(encode_header(header) + b"".join(map(encode_entry, talk.entries)))
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A recording with an error, warnings, and a dozen of the same."""
    talk = Talk()
    talk.open()
    talk.refuse(talk.ask("session/summarize", sessionId="s1"), -32603)
    for _ in range(12):
        talk.send("agent", b"INFO: \x1b[31mworking\x1b[0m")
    return write(tmp_path / "wrong.acp.ndjson", talk)


@pytest.fixture
def heuristic(tmp_path: Path) -> Path:
    """A recording with a heuristic warning alone."""
    talk = Talk()
    talk.open()
    talk.send("client", {"method": "session/cancel", "params": {"sessionId": "s1"}}, end=b"\r\n")
    return write(tmp_path / "heuristic.acp.ndjson", talk)


def test_our_own_recordings_are_clean(call: Call) -> None:
    files = sorted(map(str, RECORDINGS.glob("*.acp.ndjson")))
    done = call("lint", "--fail-on", "warning", *files)
    assert (done.code, done.err) == (exit_codes.DONE, "")
    assert done.out.count("0 errors, 0 warnings, 0 info (version 1)") == len(files)


def test_a_finding_has_its_rule_its_frames_and_a_fix(call: Call, wrong: Path) -> None:
    done = call("lint", str(wrong))
    assert done.code == exit_codes.FOUND
    assert f"{wrong}: 14 errors" in done.out
    assert "unknown-method-not-refused" in done.out
    assert "#5, #6  the unknown method session/summarize was answered with -32603" in done.out
    assert re.search("  fix +Answer unknown methods with -32601.", done.out)
    assert "\x1b" not in done.out
    assert len({line.index("fix  ") for line in done.out.splitlines() if "fix  " in line}) == 1


def test_many_of_the_same_are_counted_unless_all_are_asked_for(call: Call, wrong: Path) -> None:
    some, every = call("lint", str(wrong)).out, call("lint", "--all", str(wrong)).out
    assert "… and 9 more; --all shows them" in some
    assert "more; --all" not in every
    assert every.count("stdout has text that is not a message") == 12


def test_json_is_what_the_contract_says(call: Call, wrong: Path) -> None:
    done = call("lint", "--format", "json", str(wrong))
    told = json.loads(done.out)
    assert set(told["findings"][0]) == {
        *("file", "rule", "id", "severity", "basis", "frames", "path", "message", "fix", "source"),
        "at_fault",
    }
    assert told["counts"]["error"] == 14
    assert 0 < told["exercised"] < told["rules"]
    assert told["rules"] - told["exercised"] == len(told["idle"])
    assert (told["acp_lint"], told["versions"], told["dialects"]) == (1, [1], [])


def test_sarif_points_to_lines_of_the_file(call: Call, wrong: Path) -> None:
    told = json.loads(call("lint", "--format", "sarif", str(wrong)).out)
    (run,) = told["runs"]
    (found,) = [each for each in run["results"] if each["ruleId"] == "unknown-method-not-refused"]
    place = found["locations"][0]["physicalLocation"]
    number: int = place["region"]["startLine"]
    line = wrong.read_text().splitlines()[number - 1]
    assert json.loads(line)["n"] == found["properties"]["frames"][-1]
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == "unknown-method-not-refused"
    assert (told["version"], found["level"]) == ("2.1.0", "error")


def test_junit_fails_broken_rules_and_skips_idle_ones(call: Call, wrong: Path) -> None:
    (suite,) = ElementTree.fromstring(call("lint", "--format", "junit", str(wrong)).out)
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["unknown-method-not-refused"] == ["failure"]
    assert cases["wrong-jsonrpc-version"] == []
    assert cases["undeclared-terminal"] == ["skipped"]
    failures = [name for name, tags in cases.items() if "failure" in tags]
    assert suite.get("failures") == str(len(failures))


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """A recording with more findings of one rule than are kept."""
    talk = Talk()
    talk.open()
    for _ in range(MAX_FINDINGS_KEPT + 20):
        talk.send("agent", b"INFO")
    return write(tmp_path / "noisy.acp.ndjson", talk)


def test_a_filter_finds_what_lies_behind_those_that_are_kept(call: Call, noisy: Path) -> None:
    done = call("lint", "--filter", f"n > {MAX_FINDINGS_KEPT + 10}", "--format", "json", str(noisy))
    told = json.loads(done.out)
    assert done.code == exit_codes.FOUND
    assert len(told["findings"]) == told["counts"]["error"] > 10
    assert all(max(each["frames"]) > MAX_FINDINGS_KEPT + 10 for each in told["findings"])


def test_all_means_all(call: Call, noisy: Path) -> None:
    some, every = (
        json.loads(call("lint", *wish, "--format", "json", str(noisy)).out)
        for wish in ([], ["--all"])
    )
    assert (len(some["findings"]), some["omitted"]) == (MAX_FINDINGS_KEPT, 20)
    assert (len(every["findings"]), every["omitted"]) == (MAX_FINDINGS_KEPT + 20, 0)
    assert "more; --all" not in call("lint", "--all", str(noisy)).out


def test_what_cannot_be_read_is_told_in_every_format(call: Call, wrong: Path) -> None:
    lines = wrong.read_bytes().splitlines(keepends=True)
    wrong.write_bytes(b"".join([*lines[:4], b"{ no line\n", *lines[4:]]))
    told = json.loads(call("lint", "--format", "json", str(wrong)).out)
    (fault,) = told["unreadable"]
    assert (fault["file"], fault["line"]) == (str(wrong), 5)
    (run,) = json.loads(call("lint", "--format", "sarif", str(wrong)).out)["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    assert note["message"]["text"] == fault["reason"]
    for level, tag in (("never", "system-out"), ("error", "error")):
        done = call("lint", "--format", "junit", "--fail-on", level, str(wrong))
        (suite,) = ElementTree.fromstring(done.out)
        assert [child.tag for child in suite[0]] == [tag]
        assert suite.get("errors") == str(int(tag == "error"))


def test_unreadable_lines_are_counted_beside_the_findings(call: Call, tmp_path: Path) -> None:
    talk = Talk()
    talk.open()
    path = write(tmp_path / "cut.acp.ndjson", talk)
    path.write_bytes(path.read_bytes() + b"{ no line\n")
    done = call("lint", str(path))
    assert done.code == exit_codes.FOUND
    assert ": 0 errors, 0 warnings, 0 info, 1 line unreadable" in done.out


@pytest.mark.parametrize("n", [200_000_000, 10**23])
def test_a_number_that_nobody_counts_to_costs_nothing(call: Call, wrong: Path, n: int) -> None:
    with wrong.open("a") as file:
        file.write(f'{{"n":{n},"t":1,"from":"agent","text":"no message"}}\n')
    for format_ in ("json", "sarif"):
        assert call("lint", "--format", format_, str(wrong)).code == exit_codes.FOUND


def test_sarif_spells_names_of_files_as_uris(call: Call, wrong: Path) -> None:
    odd = wrong.rename(wrong.with_name("we ird%20#ü.acp.ndjson"))
    (run,) = json.loads(call("lint", "--format", "sarif", str(odd)).out)["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == odd.as_uri()
    assert uri.endswith("/we%20ird%2520%23%C3%BC.acp.ndjson")


def test_heuristics_never_fail_a_build(call: Call, heuristic: Path) -> None:
    done = call("lint", "--fail-on", "info", str(heuristic))
    assert "crlf-line-end" in done.out
    assert done.code == exit_codes.DONE


@pytest.mark.parametrize(
    ("level", "code"), [("error", exit_codes.FOUND), ("never", exit_codes.DONE)]
)
def test_how_grave_a_failure_has_to_be_is_ones_own_choice(
    call: Call, wrong: Path, level: str, code: int
) -> None:
    assert call("lint", "--fail-on", level, str(wrong)).code == code


def test_a_filter_keeps_what_its_frames_prove(call: Call, wrong: Path) -> None:
    done = call("lint", "--filter", "method == session/summarize", "--format", "json", str(wrong))
    found = json.loads(done.out)["findings"]
    assert {5, 6}.issuperset(n for each in found for n in each["frames"])
    assert "unknown-method-not-refused" in {each["rule"] for each in found}
    assert "text-on-stdout" not in {each["rule"] for each in found}


def test_a_filter_may_ask_for_what_stands_in_no_frame(call: Call, wrong: Path) -> None:
    for text, rules_found in (
        ("rule == ACP-L041", {"unknown-method-not-refused"}),
        ("turn == 1", set[str]()),
    ):
        done = call("lint", "--filter", text, "--format", "json", str(wrong))
        found = {each["rule"] for each in json.loads(done.out)["findings"]}
        assert rules_found <= found
        assert "text-on-stdout" not in found


@pytest.fixture
def two_rules(tmp_path: Path) -> Path:
    """A recording with a response that breaks two rules: an error and a warning."""
    talk = Talk()
    talk.open()
    prompt = talk.ask("session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "hi"}])
    talk.answer(prompt, stopReason="error", transcriptPath="/tmp/t.json")
    return write(tmp_path / "two.acp.ndjson", talk)


@pytest.mark.parametrize(
    ("text", "found", "code"),
    [
        ("not rule == ACP-L371", {"invalid-stop-reason"}, exit_codes.FOUND),
        ("rule != ACP-L371", {"invalid-stop-reason"}, exit_codes.FOUND),
        ("rule == ACP-L371", {"unknown-member"}, exit_codes.DONE),
        ("rule in (ACP-L371, ACP-L134)", {"unknown-member"}, exit_codes.DONE),
        ("not rule == ACP-L144", {"unknown-member"}, exit_codes.DONE),
        ("finding < error", {"unknown-member"}, exit_codes.DONE),
        ("finding == error", {"invalid-stop-reason"}, exit_codes.FOUND),
        ("not finding == error", {"unknown-member"}, exit_codes.DONE),
        ("method == session/prompt and rule ~ L14", {"invalid-stop-reason"}, exit_codes.FOUND),
        ("method == session/new or rule == ACP-L371", {"unknown-member"}, exit_codes.DONE),
        ("turn == 1 and not finding == warning", {"invalid-stop-reason"}, exit_codes.FOUND),
    ],
)
def test_a_filter_reads_the_rule_from_each_finding(
    call: Call, two_rules: Path, text: str, found: set[str], code: int
) -> None:
    done = call("lint", "--filter", text, "--format", "json", str(two_rules))
    assert {each["rule"] for each in json.loads(done.out)["findings"]} == found
    assert done.code == code


def test_a_filter_reads_rules_that_only_a_dialect_or_unstable_parts_have(
    call: Call, tmp_path: Path
) -> None:
    talk = Talk()
    talk.open()
    talk.refuse(talk.ask("providers/list", {}), -32601)
    file = write(tmp_path / "unstable.acp.ndjson", talk)
    stable, every = (
        {each["rule"] for each in json.loads(call("lint", *options, str(file)).out)["findings"]}
        for options in (["--json"], ["--json", "--unstable"])
    )
    assert every - stable
    for rule in every - stable:
        done = call("lint", "--unstable", "--json", "--filter", f"rule == {rule}", str(file))
        assert {each["rule"] for each in json.loads(done.out)["findings"]} == {rule}


def test_a_filter_finds_what_was_reported_before_the_frames_that_it_selects(
    call: Call, tmp_path: Path
) -> None:
    """A name that is newer than the schema is reported once, unless a filter hides that."""
    talk = Talk()
    talk.open()
    suggestions = [{"prompt": [{"type": "text", "text": "Go on"}]}]
    for _ in range(2):
        talk.update("prompt_suggestions_update", suggestions=suggestions)
    file = write(tmp_path / "newer.acp.ndjson", talk)
    last = talk.entries[-1].seq
    text = f"rule == ACP-L523 and n == {last}"
    done = call("lint", "--json", "--filter", text, str(file))
    assert [each["frames"] for each in json.loads(done.out)["findings"]] == [[last]]


def test_ignored_rules_are_counted_and_do_not_fail(call: Call, two_rules: Path) -> None:
    done = call("lint", "--ignore", "acp-l14*", str(two_rules))
    assert done.code == exit_codes.DONE
    assert "0 errors, 1 warning, 0 info (1 finding hidden by --ignore)" in done.out
    assert "invalid-stop-reason" not in done.out
    told = json.loads(call("lint", "--ignore", "unknown-member", "--json", str(two_rules)).out)
    assert (told["ignored"], told["hidden"], len(told["findings"])) == (1, 0, 1)


def test_an_ignored_rule_that_does_not_exist_is_a_mistake(call: Call, two_rules: Path) -> None:
    done = call("lint", "--ignore", "ACP-L1444", str(two_rules))
    assert done.code == exit_codes.USAGE
    assert "--ignore: no rule matches 'ACP-L1444'" in done.err
    assert "did you mean ACP-L" in done.err


def test_markdown_is_a_table_in_which_nothing_of_the_peer_acts(call: Call, tmp_path: Path) -> None:
    talk = Talk()
    talk.open()
    talk.refuse(talk.ask("a|b<img src=x>![](http://x.example)`c`"), -32603)
    file = write(tmp_path / "hostile.acp.ndjson", talk)
    done = call("lint", "--format", "markdown", str(file))
    assert done.code == exit_codes.FOUND
    lines = done.out.splitlines()
    assert lines[0] == "### ❌ ACP lint, 1 recording"
    (row,) = [line for line in lines if line.startswith("| error | unknown-method-not-refused")]
    assert "a\\|b\\<img src=x\\>!\\[\\](http://x.example)\\`c\\`" in row
    assert row.replace("\\|", "").count("|") == 8


def test_the_summary_counts_what_a_filter_hides(call: Call, wrong: Path) -> None:
    done = call("lint", "--filter", "n == 1", str(wrong))
    assert done.out.startswith(f"{wrong}: 0 errors, 0 warnings, 0 info (")
    assert " findings hidden by --filter) (version 1)\n" in done.out


def test_a_filter_that_matches_no_frame_is_a_mistake(call: Call, wrong: Path) -> None:
    for format_ in ("text", "json"):
        done = call("lint", "--filter", "session == nosuch", "--format", format_, str(wrong))
        assert done.code == exit_codes.USAGE
        assert "--filter session == nosuch: no frame matches" in done.err
    assert json.loads(done.out)["hidden"] > 0


def test_a_filter_on_findings_may_match_no_frame(call: Call, wrong: Path) -> None:
    assert call("lint", "--filter", "rule == ACP-L134", str(wrong)).code == exit_codes.DONE


def test_a_wrong_filter_is_shown_with_its_place(call: Call, wrong: Path) -> None:
    done = call("lint", "--filter", "methud == x", str(wrong))
    assert done.code == exit_codes.USAGE
    assert "^" in done.err


def test_every_rule_is_listed(call: Call) -> None:
    listed = call("lint", "--rules").out
    assert all(name in listed and rule.id in listed for name, rule in rules().items())
    told = json.loads(call("lint", "--rules", "--format", "json").out)["rules"]
    assert [each["rule"] for each in told] == list(rules())


def test_one_rule_is_told_in_full(call: Call) -> None:
    done = call("lint", "--rules", "acp-l016")
    assert done.out.startswith("wrong-jsonrpc-version (ACP-L016)  `jsonrpc` is present")
    assert call("lint", "--rules", "wrong-jsonrpc-version").out == done.out
    assert 'fix: Write "jsonrpc": "2.0" into every message.' in done.out


def test_an_unknown_rule_is_a_sentence(call: Call) -> None:
    done = call("lint", "--rules", "ACP-L999")
    assert done.code == exit_codes.USAGE
    assert "unknown rule ACP-L999" in done.err
    assert "did you mean unknown-mode?" in call("lint", "--rules", "unknow-mode").err
    assert "there is no rule ACP-L010 any more" in call("lint", "--rules", "ACP-L010").err


def test_no_file_is_a_sentence(call: Call) -> None:
    done = call("lint")
    assert done.code == exit_codes.USAGE
    assert "name a recording" in done.err


def test_a_dialect_is_recognised_and_told_of(call: Call, tmp_path: Path) -> None:
    talk = Talk()
    capabilities = {"readTextFile": True, "writeTextFile": True, "terminal": False}
    talk.ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
    file = write(tmp_path / "dialect.acp.ndjson", talk)
    assert "is in the dialect continuum, and was checked so" in call("lint", str(file)).err
    for options, is_found in (((), False), (("--dialect", "none"), True)):
        meant = call("lint", *options, "--format", "json", str(file))
        found = {each["rule"] for each in json.loads(meant.out)["findings"]}
        assert ("misplaced-capability" in found) is is_found


def test_frames_are_judged_by_their_lengths_where_the_dialect_writes_them(
    call: Call, tmp_path: Path
) -> None:
    talk = Talk()
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {}},
        {"id": 2, "method": "session/new", "params": {"working_dir": "/w"}},
        {"id": 2, "method": "bogus/x", "params": {}},
    ]
    body = b""
    for each in asked:
        raw = json.dumps({"jsonrpc": "2.0"} | each).encode()
        talk.send("client", body + b"Content-Length: %d" % len(raw), end=b"\r\n")
        talk.send("client", b"", end=b"\r\n")
        body = raw
    talk.send("client", body, end=b"")
    file = write(tmp_path / "dialect.acp.ndjson", talk)
    meant = call("lint", "--dialect", "openoxide", "--format", "json", str(file))
    told = {each["rule"]: each["frames"] for each in json.loads(meant.out)["findings"]}
    assert not {"content-length-header", "glued-messages"} & told.keys()
    assert told["reused-pending-id"] == [3, 5]
    wanted = ("--filter", "method == bogus/x", "--format", "json")
    filtered = json.loads(call("lint", "--dialect", "openoxide", *wanted, str(file)).out)
    assert "reused-pending-id" in {each["rule"] for each in filtered["findings"]}


def test_a_rule_that_could_not_be_judged_is_not_called_idle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = LintReport(applicable=frozenset({"not-json", "message-spans-lines", "invalid-utf8"}))
    report.exercised.add("invalid-utf8")
    report.failed["not-json"] = "ValueError: no"
    told = lint_json({"a": report}, {"a": []})
    assert (told["idle"], told["failed"]) == (
        ["message-spans-lines"],
        {"not-json": "ValueError: no"},
    )
    print_reports({"a": ShownReport(report=report, left_out={})}, is_all=False)
    ending = capsys.readouterr().out.splitlines()[-1]
    begin = f"1 of {len(rules())} rules applied to this recording; 1 had nothing to check, "
    assert ending.startswith(f"{begin}1 could not be checked, ")


def test_the_rules_that_applied_the_others_and_the_unstable_ones_are_all(
    call: Call, wrong: Path
) -> None:
    for options in ([], ["--unstable"]):
        ending = call("lint", *options, str(wrong)).out.splitlines()[-1]
        numbers = re.sub("--unstable|this recording", "", ending)
        applied, total, *others = map(int, re.findall(r"\d+", numbers))
        assert total == len(rules()) == applied + sum(others)
        assert ("--unstable" in ending) == (not options)


def test_several_files_end_with_their_sum_and_have_one_column(call: Call, wrong: Path) -> None:
    shown = call(
        "lint",
        str(wrong),
        str(RECORDINGS / "hello.acp.ndjson"),
        str(RECORDINGS / "reading/trouble.acp.ndjson"),
    ).out.splitlines()
    counts = [found.groups() for line in shown if (found := COUNTS.search(line))]
    *each, whole = [tuple(map(int, found)) for found in counts]
    assert len(each) == 3
    assert shown[-1].startswith("3 recordings: ")
    assert whole == tuple(map(sum, zip(*each, strict=True)))
    gaps = [found[1] for line in shown if (found := FIX.match(line))]
    assert (len(gaps) > 3, len(set(gaps))) == (True, 1)
