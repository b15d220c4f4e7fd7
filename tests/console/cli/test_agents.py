from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.console.conftest import Agent, Call

Install = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with directories of its own, and a PATH with nothing but agents of the test."""
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "config/acp-console").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def install(home: Path, agent: Agent) -> Install:
    """Install a program that does what the script of an agent says."""

    def install_now(name: str, script: str) -> Path:
        path = agent(script)[-1]
        program = home / "bin" / name
        program.write_text(f"#!{sys.executable} -IS\n{Path(path).read_text()}")
        program.chmod(0o755)
        return program

    return install_now


@pytest.fixture
def configure(home: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = home / "config/acp-console/config.toml"
        path.write_text(text)
        return path

    return write


HELLO = "prompt = hear_prompt()\nsay('hi from ' + ' '.join(sys.argv[1:]))\nend(prompt)"


def test_agents_are_listed_for_people_and_for_programs(call: Call, install: Install) -> None:
    install("goose", HELLO)
    lines = call("agents").out.splitlines()
    assert lines[1].startswith("demo ")
    assert lines[2].split()[:3] == ["goose", "Goose", "found"]
    listed = [json.loads(line) for line in call("agents", "--json").out.splitlines()]
    assert listed[0]["command"] == [sys.executable, "-m", "acp_agent", "--no-config"]
    assert listed[1]["program"].endswith("bin/goose")
    assert (listed[1]["state"], listed[1]["confirmed"]) == ("ready", False)


def test_a_command_of_the_catalogue_is_not_run_before_the_user_has_confirmed_it(
    call: Call, install: Install, home: Path
) -> None:
    install("goose", f"open({str(home / 'ran')!r}, 'w')")
    refused = call("exec", "goose", "hello")
    assert refused.code == 2
    assert "goose acp" in refused.err
    assert "acp-console agents add goose -- goose acp" in refused.err
    assert not (home / "ran").exists()


def test_an_agent_that_is_not_installed_says_what_installs_it(call: Call) -> None:
    missing = call("exec", "kimi", "hello")
    assert missing.code == 3
    assert "uv tool install kimi-cli" in missing.err


def test_an_own_agent_runs_with_its_command_variables_and_directory(
    call: Call, install: Install, configure: Callable[[str], Path], home: Path
) -> None:
    install("mine", "import os\n" + HELLO.replace("sys.argv[1:]", "[os.environ['A'], os.getcwd()]"))
    (home / "work").mkdir()
    configure(
        "[agents.own]\ncommand = ['mine', '--acp']\nenv = { A = 'b' }\n"
        f"cwd = {str(home / 'work')!r}\n"
    )
    done = call("exec", "--format", "quiet", "own", "hello")
    assert done.out == f"hi from b {home / 'work'}\n"


def test_a_mistake_in_the_configuration_is_reported_with_its_line(
    call: Call, configure: Callable[[str], Path]
) -> None:
    path = configure("\n[agents.own]\ncomand = ['x']\n")
    done = call("agents")
    assert done.code == 2
    assert f"{path}:3: agents.own.comand: unknown key; did you mean command?" in done.err


MODES = """
greet()
modes = {"currentModeId": "code", "availableModes": [
    {"id": each, "name": each} for each in ("code", "auto", "plan")]}
model = {"id": "model", "name": "Model", "type": "select", "category": "model",
         "currentValue": "small", "options": [
             {"value": "small", "name": "small"}, {"value": "large", "name": "large"}]}
tell(id=hear("session/new")["id"],
     result={"sessionId": "s1", "modes": modes, "configOptions": [model]})
chosen = []
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params")
    if message["method"] == "session/prompt":
        break
    chosen.append(params.get("modeId") or params.get("value"))
    tell(id=message["id"], result={"configOptions": [model]})
say(" ".join(chosen))
end(message)
"""


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--allow", "edits"], "auto large"),
        (["--allow", "edits", "--mode", "code"], "auto large code"),
        (["--allow", "reads"], "large plan"),
    ],
)
def test_exec_sets_what_is_configured_unless_that_allows_more_than_it_may(
    call: Call,
    install: Install,
    configure: Callable[[str], Path],
    options: list[str],
    chosen: str,
) -> None:
    install("mine", MODES)
    configure("[agents.own]\ncommand = ['mine']\nmode = 'auto'\noptions = { model = 'large' }\n")
    done = call("exec", "--format", "quiet", *options, "own", "hello")
    assert done.out == f"{chosen}\n"
