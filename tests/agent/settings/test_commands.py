"""`acp-agent config` and `acp-agent agent-json`, as they are called."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest

from acp_agent.door.config_commands import run_command
from tests.agent.test_cli import ran


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the user's own configuration, where nothing is yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "acp-console" / "acp-agent.toml"


def test_what_init_has_begun_is_read_from_then_on(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["config", "init"]) == 0
    assert capsys.readouterr().out == f"{own}\n"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    own.write_text(own.read_text().replace('#level = "warning"', 'level = "info"'))
    assert run_command(["config", "show"]) == 0
    shown = capsys.readouterr().out
    assert tomllib.loads(shown)["log"]["level"] == "info"
    assert f'level = "info"  # {own}:' in shown


def test_init_writes_over_nothing_unless_it_is_told_to(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own.parent.mkdir()
    own.write_text("mine")
    assert run_command(["config", "init"]) == 2
    assert "--force" in capsys.readouterr().err
    assert own.read_text() == "mine"
    assert run_command(["config", "init", "--force"]) == 0
    assert own.read_text() != "mine"


def test_init_can_write_to_stdout(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["config", "init", "-"]) == 0
    assert "[sessions]" in capsys.readouterr().out
    assert not own.exists()


def test_show_takes_the_flags_of_the_agent(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["config", "show", "--format", "json", "--model", "ollama:x", "--unstable"]
    assert run_command(arguments) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["model.name"] == {"value": "ollama:x", "from": "--model"}
    assert settings["protocol.unstable"] == {"value": True, "from": "--unstable"}


def test_show_without_a_configuration_shows_what_is_by_itself(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_AGENT_LOG_LEVEL", "info")
    own.parent.mkdir()
    own.write_text("no toml")
    assert run_command(["config", "show", "--no-config"]) == 0
    assert 'level = "warning"  # default' in capsys.readouterr().out


def test_check_tells_all_that_is_wrong(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("x.toml")
    path.write_text("[sessions]\nmax_concurrent = 0\n[limits]\nrequest = 1\n")
    assert run_command(["config", "check", "x.toml"]) == 1
    assert capsys.readouterr().out == (
        "x.toml:2: sessions.max_concurrent: must be a whole number of at least 1\n"
        "x.toml:4: limits.request: unknown key; did you mean limits.requests?\n"
    )


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("enabled = true", 0, "x.toml: valid\n"),
        ("enabled = false", 1, "x.toml:1: enabled is false: the agent is disabled\n"),
        ("[", 1, "x.toml:1: "),
        ("model = {name = 'openai:x', thinking = 2000}", 1, "x.toml: OpenAI takes an effort"),
    ],
)
def test_check_says_whether_a_file_can_be_used(
    own: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, said: str
) -> None:
    Path("x.toml").write_text(text)
    assert run_command(["config", "check", "x.toml"]) == code
    assert capsys.readouterr().out.startswith(said)


def test_check_takes_the_file_that_is_read(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["config", "check"]) == 2
    assert capsys.readouterr().err == f"error: {own}: there is no such file\n"
    own.parent.mkdir()
    own.write_text("")
    assert run_command(["config", "check"]) == 0
    assert capsys.readouterr().out == f"{own}: valid\n"


def test_agent_json_has_only_options_that_change_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_command(["agent-json", "--help"])
    options = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert options == {"--config", "--no-config", "--model", "--images"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["config", "chek"], "hint: did you mean check?"),
        (["config", "show", "--formt", "json"], "unknown option --formt"),
    ],
)
def test_a_mistyped_word_is_told_in_two_lines(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ending:
        run_command(words)
    shown = capsys.readouterr().err
    assert (ending.value.code, shown.count("\n")) == (2, 2)
    assert said in shown


def test_check_knows_a_file_that_is_not_there(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["config", "check", "missing.toml"]) == 2
    assert capsys.readouterr().err == "error: missing.toml: there is no such file\n"


def test_what_means_nothing_is_told_on_stderr(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.yaml").write_text("acp:\n  capabilities:\n    audio: true\n")
    assert run_command(["config", "check", "x.yaml"]) == 0
    told = capsys.readouterr()
    assert told.out == "x.yaml: valid\n"
    assert "x.yaml:3: capabilities.audio has no effect" in told.err


def test_check_tells_of_variables_that_set_nothing(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_AGENT_BOGUS", "1")
    monkeypatch.setenv("ACP_AGENT_LOG_LEVEL", "of no matter")
    Path("x.toml").write_text("")
    assert run_command(["config", "check", "x.toml"]) == 0
    assert capsys.readouterr().err == "warning: ACP_AGENT_BOGUS sets nothing\n"


def test_agent_json_is_told_as_configured(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.toml").write_text("agent.name = 'Mine'")
    assert run_command(["agent-json", "--config", "x.toml"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "Mine"


def test_the_command_leads_there() -> None:
    done = ran("config", "init", "-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"[sessions]" in done.stdout
    assert ran("config").returncode == 2
