"""`scan` as a person, or a hook, calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Call

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    path = tmp_path / "leaky.txt"
    path.write_text(f"fine\nhere \x1b[31m{KEY}\x1b[0m and password: hunter22x\n")
    return path


def test_leftover_secrets_are_reported_but_not_shown(call: Call, leaky: Path) -> None:
    done = call("scan", str(leaky))
    assert done.code == exit_codes.FOUND
    first, second = done.out.splitlines()
    assert first.startswith(f"{leaky}:2: anthropic: ")
    assert second.startswith(f"{leaky}:2: assignment: ")
    assert KEY not in done.out
    assert "hunter22x" not in done.out
    assert "«secret:1»" in first
    assert done.out.replace("\n", "").isprintable()


def test_json_output_has_file_line_rule_and_excerpt(call: Call, leaky: Path) -> None:
    done = call("scan", "--format", "json", str(leaky))
    told = json.loads(done.out)
    assert done.code == exit_codes.FOUND
    assert told["counts"] == {"anthropic": 1, "assignment": 1}
    assert [set(found) for found in told["findings"]] == [{"file", "line", "rule", "excerpt"}] * 2
    assert (told["findings"][0]["file"], told["findings"][0]["line"]) == (str(leaky), 2)
    assert KEY not in done.out


def test_a_clean_file_is_reported_as_clean(call: Call, tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    clean.write_text("nothing here\n")
    done = call("scan", str(clean), str(tmp_path))
    assert (done.code, done.out) == (exit_codes.DONE, "")
    assert done.err == "note: no secret found in 1 file\n"
    done = call("scan", "--format", "json", str(clean))
    assert (done.code, json.loads(done.out)) == (
        exit_codes.DONE,
        {"v": 1, "findings": [], "counts": {}},
    )


def test_a_file_that_cannot_be_read_is_no_clean_file(call: Call, tmp_path: Path) -> None:
    done = call("scan", str(tmp_path / "missing"))
    assert done.code == exit_codes.USAGE
    assert "cannot read" in done.err


def test_without_a_file_the_usage_is_shown(call: Call) -> None:
    assert call("scan").code == exit_codes.USAGE
