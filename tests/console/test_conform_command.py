"""`acp-console conform` with real agents, and with our console as the client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Agent, Call
from tests.console.strangers import ECHO
from tests.warm import WARM

ROOT = Path(__file__).parent.parent.parent
PEERS = ROOT / "tests/protocol/dialects/peers"
CONSOLE = (*WARM, "-m", "acp_console")
AGENT = (*WARM, "-m", "acp_agent", "--no-config")


def conform(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*CONSOLE, "conform", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT
    )


def test_demo_agent_passes_cases_on_shared_and_own_processes() -> None:
    cases = ("--case", "session.new*", "--case", "cancel.ends-turn")
    done = conform("--json", *cases, "--", *AGENT)
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert report["counts"]["fail"] == 0
    assert report["counts"]["pass"] > 5


HELLO = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
"""An agent that responds to everything as to initialize."""


def test_failed_case_exits_with_1_and_names_its_section(call: Call, tmp_path: Path) -> None:
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    output = tmp_path / "report.xml"
    done = call(
        "conform",
        *("--case", "session.new", "--format", "junit"),
        *("--output", str(output), "--", sys.executable, str(hello)),
    )
    assert done.code == 1, done.err
    case = ElementTree.fromstring(output.read_text()).find(".//testcase")
    assert case is not None
    assert case.find("failure") is not None


def test_case_that_is_not_reached_is_no_failure(call: Call, tmp_path: Path) -> None:
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    cases = ("--case", "permission.allowed", "--case", "initialize.responds")
    done = call("conform", *cases, "--", sys.executable, str(hello))
    assert done.code == exit_codes.DONE
    assert done.out.endswith("1 passed, 0 failed, 0 not offered, 1 not reached\n")


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_run_in_which_nothing_could_be_tried_is_not_green(
    call: Call, tmp_path: Path, format_: str
) -> None:
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    words = ("conform", "--case", "permission.allowed", "--format", format_)
    done = call(*words, "--", sys.executable, str(hello))
    assert done.code == exit_codes.NOTHING
    if format_ == "json":
        assert json.loads(done.out)["passed"] is False
    else:
        assert "1 not reached; nothing was shown" in done.out


def test_client_that_reaches_no_case_is_not_green(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = ["conform", "client", "--case", "permission.*", "--report", str(report)]
    done = subprocess.run(
        [*CONSOLE, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == exit_codes.NOTHING
    assert json.loads(report.read_text())["passed"] is False


@pytest.mark.parametrize("version", ["1", "2"])
def test_console_is_judged_by_a_persona(version: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    persona = [*CONSOLE, "conform", "client", "--persona", "well-behaved", "--json"]
    options = ["--allow", "all", "--cwd", str(tmp_path), "--protocol", version, "--"]
    subprocess.run(
        [
            *CONSOLE,
            "exec",
            "hello",
            *options,
            *persona,
            "--profile",
            f"v{version}",
            "--report",
            str(report),
        ],
        capture_output=True,
        check=False,
        timeout=120,
    )
    found = json.loads(report.read_text())
    failed = [each for each in found["cases"] if each["verdict"] == "fail"]
    assert not failed
    assert found["counts"]["pass"] > 40


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide", "v2-batch"])
def test_console_is_judged_in_a_dialect(dialect: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    persona = ["conform", "client", "--dialect", dialect, "--json", "--report", str(report)]
    options = ["--allow", "all", "--cwd", str(tmp_path), "--dialect", dialect]
    done = subprocess.run(
        [*CONSOLE, "exec", "hello", *options, "--", *CONSOLE, *persona],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    verdicts = {each["id"]: each["verdict"] for each in found["cases"]}
    assert "fail" not in verdicts.values()
    assert found["counts"]["pass"] > 40
    has_batches = dialect == "v2-batch"
    assert verdicts.get("batch.permission") == ("pass" if has_batches else None)
    assert (found["profile"], "hostile.array" in verdicts) == ("v2" if has_batches else "v1", False)


@pytest.mark.parametrize("side", ["agent", "client"])
def test_arrays_have_cases_only_in_the_dialect_that_has_them(call: Call, side: str) -> None:
    """The dialect chooses version 2 by itself; another version is an error."""
    listed = call("conform", side, "--dialect", "v2-batch", "--list")
    assert listed.out.count("\nbatch.") + listed.out.startswith("batch.") >= 10
    assert "\nbatch." not in call("conform", side, "--profile", "v2", "--list").out
    wrong = call("conform", side, "--dialect", "v2-batch", "--profile", "v1", "--list")
    assert (wrong.code, "add --profile v2" in wrong.err) == (exit_codes.USAGE, True)


def test_agents_of_the_draft_pass_the_cases_of_its_page() -> None:
    script = PEERS.relative_to(ROOT) / "batch_agent.py"
    for agent in ([sys.executable, str(script)], [*AGENT, "--dialect", "v2-batch"]):
        done = conform("--dialect", "v2-batch", "--json", "--case", "batch.*", "--", *agent)
        report = json.loads(done.stdout)
        assert {each["verdict"] for each in report["cases"]} == {"pass"}, done.stdout


def test_list_names_every_case_of_a_profile(call: Call) -> None:
    done = call("conform", "--list", "--json", "--profile", "v2")
    assert done.code == 0
    assert "prompt.message-id" in {each["id"] for each in json.loads(done.out)["cases"]}


@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide", "v2-batch"])
def test_agent_of_a_dialect_is_judged_in_its_own_words(name: str) -> None:
    # The path is relative: agents are started elsewhere.
    script = PEERS.relative_to(ROOT) / f"{name.removeprefix('v2-')}_agent.py"
    profile = ("--profile", "v2") if name == "v2-batch" else ()
    done = conform(
        *("--dialect", name, *profile, "--json", "--case", "initialize.responds"),
        *("--case", "session.new", "--case", "prompt.ends", "--case", "prompt.message-id"),
        *("--", sys.executable, str(script)),
    )
    report = json.loads(done.stdout)
    verdicts = {each["id"]: each["verdict"] for each in report["cases"]}
    assert verdicts == dict.fromkeys(
        ("initialize.responds", "session.new", "prompt.ends"), "pass"
    ), done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide"])
def test_our_agent_passes_every_case_of_a_dialect(name: str) -> None:
    cases = [f"--case={each}.*" for each in ("session", "load", "permission", "prompt", "modes")]
    agent = [*AGENT, "--dialect", name]
    done = conform("--dialect", name, "--json", "--timeout", "60", *cases, "--", *agent)
    report = json.loads(done.stdout)
    failed = [(each["id"], each["reason"]) for each in report["cases"] if each["verdict"] == "fail"]
    assert not failed
    assert report["counts"]["pass"] > 20


def test_silent_agent_shows_its_stderr(tmp_path: Path) -> None:
    silent = tmp_path / "silent.py"
    silent.write_text("import sys\nprint('no \\33key', file=sys.stderr)\nsys.stdin.read()\n")
    done = conform("--timeout", "500ms", "--", sys.executable, str(silent))
    assert done.returncode == 124
    assert "error: initialize took longer than 2 s; the end of its stderr:" in done.stderr
    assert "| no ␛key" in done.stderr


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("--case session.new --case sesion.nwe", "no case matches 'sesion.nwe'", "session.new"),
        ("--persona hostile", "unknown option --persona", "acp-console conform client"),
        ("--case prompt.message-id", "v1 has no case that matches", "--list"),
    ],
)
def test_what_has_no_effect_is_wrong_usage(call: Call, words: str, error: str, hint: str) -> None:
    done = call("conform", *words.split(), "demo")
    assert done.code == 2
    assert error in done.err
    assert hint in done.err


@pytest.mark.parametrize(
    ("name", "start"), [("r.xml", "<?xml"), ("r.HTML", "<!doctype html>"), ("r.json", '{"v":')]
)
def test_name_of_the_report_gives_its_format(
    call: Call, tmp_path: Path, name: str, start: str
) -> None:
    report = tmp_path / name
    done = call("conform", "--case", "session.new", "--report", str(report), "--", *AGENT)
    assert report.read_text().startswith(start)
    assert done.err == "ACP v1 agent: 1 passed, 0 failed, 0 not offered, 0 not reached\n"


def test_format_takes_precedence_over_the_name_of_the_report(call: Call, tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    call("conform", "--case", "session.new", "--report", str(report), "--format", "text", "demo")
    assert report.read_text().startswith("acp-agent, ACP v1")


def test_login_that_the_agent_does_not_offer_is_refused(call: Call, tmp_path: Path) -> None:
    hello = tmp_path / "hello.py"
    hello.write_text(HELLO)
    done = call("conform", "--auth", "nope", "--", sys.executable, str(hello))
    assert done.code == 2
    assert "the agent offers no login method 'nope'" in done.err
    assert "hint: it offers none" in done.err


@pytest.mark.parametrize("name", ["continuum", "acpex", "openoxide"])
def test_a_dialect_that_the_agent_shows_is_that_of_the_cases(call: Call, name: str) -> None:
    words = ("conform", "--case", "initialize.*", "--case", "session.new", "--json", "--")
    done = call(*words, sys.executable, str(PEERS / f"{name}_agent.py"))
    assert f" speaks {name}: judged in it" in done.err
    report = json.loads(done.out)
    assert (report["counts"]["fail"], done.code) == (0, exit_codes.DONE)
    assert report["counts"]["pass"] > 2


def test_a_login_of_a_dialect_has_the_data_of_the_user(call: Call) -> None:
    agent = ("--", sys.executable, str(PEERS / "acpex_agent.py"))
    words = ("conform", "--case", "prompt.ends", "--auth")
    assert "1 passed" in call(*words, "api_key=right", *agent).out
    assert "1 not reached" in call(*words, "api_key=wrong", *agent).out
    done = call("conform", "--case", "prompt.ends", "--auth", "stub=x", "demo")
    assert (done.code, "ACP has no place for a token" in done.err) == (exit_codes.USAGE, True)


def test_the_secret_of_a_login_is_in_no_report(agent: Agent, call: Call) -> None:
    login = 'key={"token": "s3cr3t-0123456789", "name": "me"}'
    words = ("--case", "authentication.login", "--dialect", "continuum", "--auth", login, "--json")
    done = call("conform", *words, "--", *agent(ECHO.replace("CODE", "-32602")))
    assert "bad: " in done.out
    assert "s3cr3t" not in done.out + done.err


def test_dialect_of_another_version_is_refused(call: Call) -> None:
    done = call("conform", "demo", "--dialect", "acpex", "--profile", "v2")
    assert done.code == 2
    assert "add --profile v1" in done.err


def test_agent_that_does_not_start_shows_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module_at_all\n")
    done = conform("--case", "session.new*", "--", sys.executable, str(broken))
    assert done.returncode == 3
    assert not done.stdout
    assert "error: the agent exited with code 1; the end of its stderr:" in done.stderr
    assert "No module named 'no_such_module_at_all'" in done.stderr


def test_word_agent_may_stand_there_and_be_left_out(call: Call) -> None:
    named = call("conform", "agent", "--list", "--case", "session.new")
    assert named.out == call("conform", "--list", "--case", "session.new").out
    assert named.out.endswith("\n1 cases\n")
    assert "missing AGENT" in call("conform").err


def test_client_takes_no_agent(call: Call) -> None:
    for words in (["demo"], ["--", "my-agent"]):
        done = call("conform", "client", *words)
        assert (done.code, done.out) == (2, "")
        assert "unexpected extra argument" in done.err
