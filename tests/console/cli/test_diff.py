"""Two recordings compared on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.compare.tolerances import TOLERANCES
from acp_inspector.compare.tolerances import ToleranceName as Tolerance
from acp_inspector.recording.format import new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from tests.console.cli.conftest import on_terminal
from tests.console.cli.test_analysis_commands import SLOW, slow_recording
from tests.console.conftest import Call
from tests.inspector.compare.test_tolerances import CASES as TOLERANCE_CASES
from tests.inspector.talks import Said, chunk, frames, update

RECORDINGS = Path(__file__).parents[3] / "recordings"
EDIT, HELLO = str(RECORDINGS / "edit.acp.ndjson"), str(RECORDINGS / "hello.acp.ndjson")


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Write the recording of an edit whose user refuses."""
    path = tmp_path / "other.acp.ndjson"
    text = Path(EDIT).read_text()
    path.write_text(text.replace('"optionId":"allow"}}}', '"optionId":"\\u001b[2Jreject"}}}'))
    return str(path)


def chosen() -> int:
    """Return the number of the frame in which the user allows the edit."""
    frames = read_recording(Path(EDIT)).frames
    return next(each.seq for each in frames if b'"optionId":"allow"}}}' in each.data)


def test_the_same_is_no_difference(call: Call) -> None:
    done = call("diff", EDIT, EDIT)
    assert done.code == exit_codes.DONE
    assert re.fullmatch(r"no difference: (\d+) and \1 steps compared\n", done.out)


def test_a_difference_is_shown_with_its_frames_and_safe_to_show(call: Call, other: str) -> None:
    done = call("diff", EDIT, other)
    assert done.code == exit_codes.FOUND
    assert "response to session/request_permission at $.result.outcome.optionId, " in done.out
    assert f"frame {chosen()} and frame {chosen()}" in done.out
    assert done.out.replace("\n", "").isprintable()


def test_a_pipe_gets_whole_values(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "long.acp.ndjson"
    text = "word " * 200 + "end"
    path.write_text(
        Path(EDIT).read_text().replace('"optionId":"allow"}}}', f'"optionId":"{text}"}}}}}}')
    )
    assert f"    + {text}\n" in call("diff", EDIT, str(path)).out


def test_what_differs_in_its_order_alone_is_one_difference_that_says_so(
    call: Call, tmp_path: Path
) -> None:
    plan = update("plan", entries=[])
    both = (("a", [chunk("one"), plan]), ("b", [plan, chunk("one")]))
    paths = [written(tmp_path / f"{name}.acp.ndjson", *said) for name, said in both]
    done = call("diff", *paths)
    assert done.code == exit_codes.FOUND
    assert "~ agent: plan comes in another order, frame 2 and frame 1\n" in done.out
    assert done.out.endswith("1 difference: 2 and 2 steps compared\n")
    told = json.loads(call("diff", "--format", "json", *paths).out)
    assert told["counts"] == {"moved": 1}


def test_json_output_has_every_entry(call: Call, other: str) -> None:
    done = call("diff", "--format", "json", EDIT, other)
    told = json.loads(done.out)
    assert told["acp_diff"] == 1
    assert told["counts"] == {"changed": 1}
    (each,) = told["differences"]
    assert (each["left"], each["right"]) == ("allow", "\x1b[2Jreject")
    assert each["left_frames"] == each["right_frames"] == [chosen()]


def test_what_is_ignored_is_counted_and_no_difference(call: Call, other: str) -> None:
    place = "$.result.outcome.optionId"
    done = call("diff", "--ignore", place, EDIT, other)
    assert done.code == exit_codes.DONE
    assert f"--ignore {place}: applied 2 times" in done.err
    done = call("diff", "--ignore", "method == session/request_permission", EDIT, other)
    assert done.code == exit_codes.DONE


def test_an_ignore_whose_frames_another_one_ignores_is_no_mistake(call: Call, other: str) -> None:
    place = "$.result.outcome.optionId"
    done = call(
        "diff", "--ignore", "method == session/request_permission", "--ignore", place, EDIT, other
    )
    assert done.code == exit_codes.DONE
    assert f"--ignore {place}: not needed; another --ignore covers its frames\n" in done.err


def test_an_ignore_that_means_nothing_fails(call: Call) -> None:
    done = call("diff", "--ignore", "$.no.such.place", EDIT, EDIT)
    assert done.code == exit_codes.USAGE
    assert "nothing to ignore was found" in done.err


def test_an_invalid_expression_is_shown_with_its_position(call: Call) -> None:
    done = call("diff", "--ignore", "$.a ==", EDIT, EDIT)
    assert done.code == exit_codes.USAGE
    assert "--ignore:" in done.err
    assert "^" in done.err


def test_two_runs_of_different_things_differ_on_each_level(call: Call) -> None:
    for level in ("strict", "semantic", "shape"):
        assert call("diff", "--level", level, EDIT, HELLO).code == exit_codes.FOUND


def written(path: Path, *said: Said) -> str:
    writer = RecordingWriter(path, new_header(["agent"], Path("/project")))
    writer.write(frames(*said))
    writer.close()
    return str(path)


@pytest.mark.parametrize("name", sorted(TOLERANCES))
def test_each_tolerance_can_be_switched_off(call: Call, tmp_path: Path, name: Tolerance) -> None:
    left, right, _ = TOLERANCE_CASES[name]
    files = written(tmp_path / "a.acp.ndjson", *left), written(tmp_path / "b.acp.ndjson", *right)
    done = call("diff", *files)
    assert done.code == exit_codes.DONE, done.out
    others = [option for other in TOLERANCES - {name} for option in ("--strict", other)]
    assert call("diff", *others, *files).code == exit_codes.DONE
    for strict in (name, "all"):
        done = call("diff", "--strict", strict, *files)
        assert done.code == exit_codes.FOUND
        assert "tolerated" not in done.out


def test_what_was_tolerated_is_counted(call: Call, tmp_path: Path) -> None:
    left, right, _ = TOLERANCE_CASES["usage"]
    files = written(tmp_path / "a.acp.ndjson", *left), written(tmp_path / "b.acp.ndjson", *right)
    assert call("diff", *files).out.endswith("; tolerated: 1 usage number\n")
    assert json.loads(call("diff", "--json", *files).out)["tolerated"] == {"usage": 1}


@pytest.mark.parametrize(
    ("level", "same_text", "other_text"),
    [
        ("strict", exit_codes.FOUND, exit_codes.FOUND),
        ("semantic", exit_codes.DONE, exit_codes.FOUND),
        ("shape", exit_codes.DONE, exit_codes.DONE),
    ],
)
def test_a_level_decides_how_closely_two_texts_are_compared(
    call: Call, tmp_path: Path, level: str, same_text: int, other_text: int
) -> None:
    whole, cut, other = (
        written(tmp_path / f"{at}.acp.ndjson", *(chunk(text) for text in texts))
        for at, texts in enumerate((["one, two"], ["one, ", "two"], ["one, three"]))
    )
    assert call("diff", "--level", level, whole, whole).code == exit_codes.DONE
    assert call("diff", "--level", level, whole, cut).code == same_text
    assert call("diff", "--level", level, whole, other).code == other_text


def test_expected_differences_are_none_and_each_expectation_has_to_apply(
    call: Call, other: str, tmp_path: Path
) -> None:
    file = tmp_path / "edit.expect.toml"
    entry = '[[ignore]]\npath = "$.result.outcome.optionId"\nreason = "either"\n'
    file.write_text(entry)
    assert call("diff", EDIT, other).code == exit_codes.FOUND
    assert call("diff", "--expect", str(file), EDIT, other).code == exit_codes.DONE
    file.write_text(entry + '[[ignore]]\nfilter = "method == _never"\nreason = "x"\n')
    done = call("diff", "--expect", str(file), EDIT, other)
    assert done.code == exit_codes.USAGE
    assert "method == _never: never applied" in done.err


def test_a_file_that_is_none_is_a_wrong_file(call: Call, tmp_path: Path) -> None:
    done = call("diff", EDIT, str(tmp_path / "none"))
    assert done.code == exit_codes.USAGE


def test_two_turns_of_one_recording_can_be_compared(call: Call) -> None:
    turns = ("--only-left", "turn == 1", "--only-right", "turn == 2")
    done = call("diff", "--level", "shape", *turns, EDIT, EDIT)
    assert done.code == exit_codes.FOUND
    assert "+ agent: session/request_permission" in done.out
    assert call("diff", "--only-left", "turn ==", EDIT, EDIT).code == exit_codes.USAGE


@pytest.mark.long
@pytest.mark.parametrize("option", ["--ignore", "--only-left", "--only-right"])
def test_a_slow_pattern_is_warned_of(call: Call, tmp_path: Path, option: str) -> None:
    file = str(slow_recording(tmp_path))
    done = call("diff", option, SLOW, file, file)
    assert f"{option} {SLOW}: its pattern" in done.err


@pytest.mark.parametrize("option", ["--ignore", "--only-left", "--only-right"])
def test_fields_unknown_to_a_comparison_are_refused(call: Call, option: str) -> None:
    done = call("diff", option, "finding >= warning or held", EDIT, EDIT)
    assert done.code == exit_codes.USAGE
    assert f"{option}: not available here: `finding`, `held`" in done.err


def test_a_person_sees_differences_and_tables_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = Path(__file__).parents[3] / "recordings"
    files = [str(recordings / f"{name}.acp.ndjson") for name in ("hello", "edit")]
    shown = on_terminal("diff", *files).out
    assert re.search(r"\x1b\[1m--- .*hello\.acp\.ndjson\x1b\[0m", shown)
    assert re.search(r"\x1b\[32m\+ .*\x1b\[0m", shown)
    assert "\x1b[36mclient →" in on_terminal("stats", files[0]).out
    monkeypatch.setenv("NO_COLOR", "1")
    plain = on_terminal("diff", *files).out
    assert "\x1b[32m" not in plain
    assert re.sub(r"\x1b\[\d*m", "", plain) == re.sub(r"\x1b\[\d*m", "", shown)


def test_two_recordings_are_needed(call: Call) -> None:
    hint = "hint: e.g. acp-console diff before.acp.ndjson after.acp.ndjson\n"
    assert call("diff").err == f"error: missing A and B, the two recordings\n{hint}"
    assert call("diff", "x").err == f"error: missing B, the recording to compare A with\n{hint}"
