"""Folders and patterns wherever commands take a recording."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import RecordingError
from tests.console.conftest import Call

RECORDINGS = Path(__file__).parents[3] / "recordings"
A, B = "a.acp.ndjson", "b.acp.ndjson.gz"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two recordings, of which one is below it, and with what is none."""
    import gzip

    monkeypatch.chdir(tmp_path)
    found = tmp_path / "kept"
    (found / "more").mkdir(parents=True)
    (found / ".cache").mkdir()
    hello = (RECORDINGS / "hello.acp.ndjson").read_bytes()
    (found / A).write_bytes(hello)
    (found / "more" / B).write_bytes(gzip.compress(hello))
    (found / ".cache/old.acp.ndjson").write_bytes(hello)
    (found / "notes.txt").write_text("ghp_" + "a1B2c3D4e5F6" * 3)
    return found


def test_folders_and_patterns_name_their_recordings(folder: Path) -> None:
    both = [folder / A, folder / "more" / B]
    assert find_recordings([folder]) == find_recordings([folder, folder / A]) == both
    assert find_recordings([Path("kept/*")]) == [
        Path("kept", A),
        Path("kept/more", B),
        Path("kept/notes.txt"),
    ]
    odd = folder / "[1].acp.ndjson"
    shutil.copy(folder / A, odd)
    assert find_recordings([odd]) == [odd]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("kept/none", "cannot read kept/none: no such file or directory"),
        ("kept/*.har", "no file matches kept/*.har"),
        ("kept/**a", "cannot read kept/**a: Invalid pattern"),
        ("empty", r"no file named \*.acp.ndjson or .* is in empty or in folders below it"),
    ],
)
def test_an_error_says_what_was_looked_for(folder: Path, path: str, problem: str) -> None:
    (folder.parent / "empty").mkdir()
    with pytest.raises(
        RecordingError, match=problem.replace("kept/*", r"kept/\*").replace("**a", "*.a")
    ):
        find_recordings([Path(path)])


@pytest.mark.parametrize("words", [("lint",), ("snapshot", "--update"), ("test", "--update")])
def test_a_folder_is_each_of_its_recordings(
    words: tuple[str, ...], folder: Path, call: Call
) -> None:
    if words[0] == "test":
        call("snapshot", "--update", str(folder))
    done = call(*words, "kept")
    assert (done.code, A in done.out, B in done.out) == (exit_codes.DONE, True, True)
    assert "old.acp" not in done.out


@pytest.mark.parametrize(
    "words", [("show", "--json"), ("show", "--view", "waiting", "--json"), ("stats", "--json")]
)
def test_objects_of_several_recordings_name_their_file(
    words: tuple[str, ...], folder: Path, call: Call
) -> None:
    done = call(*words, "kept")
    files = {json.loads(line)["file"] for line in done.out.splitlines()}
    assert files == {f"kept/{A}", f"kept/more/{B}"}
    assert '"file"' not in call(*words, f"kept/{A}").out


def test_tables_of_several_recordings_have_headings(folder: Path, call: Call) -> None:
    one = call("show", f"kept/{A}").out
    assert call("show", "kept").out == f"==> kept/{A} <==\n{one}\n==> kept/more/{B} <==\n{one}"
    frames = call("show", "--count", f"kept/{A}").out
    assert call("show", "--count", "kept").out == f"kept/{A}: {frames}kept/more/{B}: {frames}"
    assert call("show", "--follow", "kept").code == exit_codes.USAGE


def test_copies_of_a_folder_go_into_a_folder(folder: Path, call: Call) -> None:
    (folder / "notes.txt").unlink()
    done = call("redact", "kept", "-o", "public")
    assert (done.code, done.out.count("\n")) == (exit_codes.DONE, 2)
    assert find_recordings([Path("public")]) == [Path("public", A), Path("public/more", B)]
    assert call("redact", "kept", "-o", f"kept/{A}").code == exit_codes.USAGE
    for name in ("one.ndjson", "more/two.log"):
        log = Path("logs", name)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
    assert call("import", "logs", "-o", "imported").code == exit_codes.DONE
    assert find_recordings([Path("imported")]) == [
        Path("imported/more/two.acp.ndjson"),
        Path("imported/one.acp.ndjson"),
    ]


def test_a_rule_must_find_something_in_one_recording_of_a_folder(folder: Path, call: Call) -> None:
    done = call("redact", "--rule", "github", "kept", "-o", "public")
    assert (done.code, done.err) == (
        exit_codes.USAGE,
        "error: the rule 'github' finds nothing in 2 recordings\n",
    )


def test_two_files_do_not_become_one(folder: Path, call: Call) -> None:
    for name in ("a.log", "a.har"):
        shutil.copy(folder / "notes.txt", folder / name)
    done = call("import", "kept/a.[lh]*", "-o", "out")
    assert done.code == exit_codes.USAGE
    assert "would both become out/a.acp.ndjson" in done.err


def test_every_file_of_a_folder_is_searched_for_secrets(folder: Path, call: Call) -> None:
    done = call("scan", "kept")
    assert done.code == exit_codes.FOUND
    assert "kept/notes.txt:1: github" in done.out


def test_folders_are_compared_by_name(folder: Path, call: Call) -> None:
    shutil.copytree(folder, "later")
    assert call("diff", "kept", "later").code == exit_codes.DONE
    assert call("diff", f"kept/{A}", "later").code == exit_codes.DONE
    shutil.copy(RECORDINGS / "edit.acp.ndjson", f"later/{A}")
    Path("later/more", B).unlink()
    done = call("diff", "kept", "later")
    assert done.code == exit_codes.FOUND
    assert f"+++ later/{A}" in done.out
    assert f"only in A: kept/more/{B}\n" in done.out
