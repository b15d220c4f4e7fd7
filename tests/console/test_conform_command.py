"""`acp-console conform` with real processes: the demo agent, and our console as the client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

CONSOLE = (sys.executable, "-m", "acp_console")


def conform(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*CONSOLE, "conform", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_demo_agent_passes_cases_on_shared_and_own_processes() -> None:
    done = conform("demo", "--json", "--case", "session.new*", "--case", "cancel.ends-turn")
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert report["counts"]["fail"] == 0
    assert report["counts"]["pass"] > 5


def test_failed_case_exits_with_1_and_names_its_section(tmp_path: Path) -> None:
    silent = tmp_path / "silent.py"
    silent.write_text("import sys\nsys.stdin.read()\n")
    output = tmp_path / "report.xml"
    done = conform(
        *("--case", "initialize.responds", "--timeout", "500ms", "--format", "junit"),
        *("--output", str(output), "--", sys.executable, str(silent)),
    )
    assert done.returncode == 1, done.stderr
    case = ElementTree.fromstring(output.read_text()).find(".//testcase")
    assert case is not None
    assert case.find("failure") is not None


def test_console_is_judged_by_a_persona(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    persona = [*CONSOLE, "conform", "--side", "client", "--persona", "well-behaved", "--json"]
    command = [*CONSOLE, "exec", "hello", "--allow", "all", "--cwd", str(tmp_path), "--"]
    subprocess.run(
        [*command, *persona, "--report", str(report)],
        capture_output=True,
        check=False,
        timeout=120,
    )
    found = json.loads(report.read_text())
    failed = [each for each in found["cases"] if each["verdict"] == "fail"]
    assert not failed
    assert found["counts"]["pass"] > 40


def test_list_names_every_case_of_a_profile() -> None:
    done = conform("--list", "--json", "--profile", "v2")
    assert done.returncode == 0
    assert "prompt.message-id" in {each["id"] for each in json.loads(done.stdout)["cases"]}
