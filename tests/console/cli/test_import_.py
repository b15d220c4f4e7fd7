"""`import` as a person calls it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.main import run
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Call

SAMPLES = Path(__file__).parents[2] / "inspector/importers/samples"


def test_it_says_what_it_recognised_and_what_it_guessed(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "out.acp.ndjson"
    done = call("import", str(SAMPLES / "plain.ndjson"), "-o", str(out))
    assert done.code == exit_codes.DONE
    assert done.out == f"{out}: 9 frames from plain messages, one a line\n"
    told = done.err.splitlines()
    assert "note: the sender of each message is guessed from methods and open requests" in told
    assert "warning: 1 line could not be read; kept as text" in told
    assert sum("guessed for 1 frame:" in line for line in told) == 3
    assert len(read_recording(out).frames) == 9


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_what_was_imported_can_be_shown(call: Call, tmp_path: Path, sample: str) -> None:
    out = tmp_path / "out.acp.ndjson"
    assert call("import", str(SAMPLES / sample), "-o", str(out)).code == exit_codes.DONE
    shown = call("show", "--count", str(out))
    assert (shown.code, shown.err) == (exit_codes.DONE, "")
    assert int(shown.out) >= 3


def test_what_was_left_out_is_told(call: Call, tmp_path: Path) -> None:
    done = call("import", str(SAMPLES / "trace.jsons"), "-o", str(tmp_path / "out"))
    assert "left out: messages between the conductor's parts (2)" in done.err


def test_the_format_can_be_named(call: Call, tmp_path: Path) -> None:
    sample, out = str(SAMPLES / "plain.ndjson"), str(tmp_path / "out")
    assert "from journal of acpx" in call("import", sample, "-o", out, "--as", "acpx").out
    assert call("import", sample, "-o", out, "--as", "nope").code == exit_codes.USAGE


def test_what_is_not_known_is_refused_in_one_sentence(call: Call, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_text("hello\n")
    done = call("import", str(source), "-o", str(out))
    assert (done.code, done.out, done.err.count("\n")) == (exit_codes.USAGE, "", 1)
    assert all(name in done.err for name in ("zed", "log", "acp.el", "acpx", "ndjson"))
    assert not out.exists()


@pytest.mark.parametrize("name", ["zed", "acp.el", "ndjson"])
def test_what_is_called_what_it_is_not_is_refused(call: Call, tmp_path: Path, name: str) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_text("hello\n")
    done = call("import", "--as", name, str(source), "-o", str(out))
    assert (done.code, done.out, done.err.count("\n")) == (exit_codes.USAGE, "", 1)
    assert "no message can be read in it" in done.err
    assert not out.exists()


def test_an_empty_file_is_said_to_be_empty(call: Call, tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    done = call("import", str(tmp_path / "in"), "-o", str(tmp_path / "out"))
    assert done.code == exit_codes.USAGE
    assert done.err == f"error: cannot import {tmp_path / 'in'}: it is empty\n"


def test_nothing_is_overwritten_unless_that_is_said(call: Call, tmp_path: Path) -> None:
    sample, out = str(SAMPLES / "zed.json"), tmp_path / "out"
    out.write_text("precious")
    assert call("import", sample, "-o", str(out)).code == exit_codes.USAGE
    assert out.read_text() == "precious"
    assert call("import", "--overwrite", sample, "-o", str(out)).code == exit_codes.DONE


def spoken(path: Path) -> dict[str, bytes]:
    """Return what each side says in a capture, to the byte."""
    said = {"c2a": b"", "a2c": b"", "stderr": b""}
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        raw = base64.b64decode(row["b64"]) if "b64" in row else row["line"].encode()
        said[row["dir"]] += raw + (b"" if row.get("noeol") else b"\n")
    return said


def told(capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> bytes:
    """Call the command line, which must have nothing to complain of; return its stdout."""
    with pytest.raises(SystemExit) as ending:
        run(words)
    shown = capsysbinary.readouterr()
    assert (ending.value.code, b"Traceback" in shown.err) == (exit_codes.DONE, False), words
    return shown.out


def test_real_traffic_is_imported_and_shown_to_the_byte(
    shared: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    files = sorted((shared / "traffic").glob("*.ndjson"))
    assert len(files) >= 19
    for path in files:
        out = str(tmp_path / f"{path.stem}.acp.ndjson")
        told(capsysbinary, "import", str(path), "-o", out)
        said = spoken(path)
        for side, key in (("client", "c2a"), ("agent", "a2c")):
            only = ("--filter", f"from == {side}")
            assert told(capsysbinary, "show", out, *only, "--format", "raw") == said[key], out
        rows = told(capsysbinary, "show", out, "--format", "json").splitlines()
        shown = [json.loads(row) for row in rows]
        assert sum(row["from"] == "client" for row in shown) == said["c2a"].count(b"\n"), out
        table = told(capsysbinary, "show", out)
        assert b"\x1b" not in table
        assert len(table.splitlines()) >= len(shown)
