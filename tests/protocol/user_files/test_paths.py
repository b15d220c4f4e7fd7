"""Which file is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_protocol.user_files.paths import ConfigPathError, config_directory, config_file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "acp-console").mkdir()
    return tmp_path


def test_nothing_is_read_where_nothing_is(tmp_path: Path) -> None:
    assert config_file(None, {"XDG_CONFIG_HOME": str(tmp_path)}) is None


def test_a_flag_goes_before_a_variable_and_both_before_the_user_s_own(home: Path) -> None:
    own = home / "acp-console" / "acp-agent.toml"
    own.touch()
    environment = {"XDG_CONFIG_HOME": str(home)}
    assert config_file(None, environment) == own
    environment["ACP_AGENT_CONFIG"] = "/named"
    assert config_file(None, environment) == Path("/named")
    assert config_file(Path("/flag"), environment) == Path("/flag")


def test_the_own_file_may_be_yaml(home: Path) -> None:
    own = home / "acp-console" / "acp-agent.yaml"
    own.touch()
    assert config_file(None, {"XDG_CONFIG_HOME": str(home)}) == own


def test_of_two_files_none_is_guessed(home: Path) -> None:
    for name in ("acp-agent.toml", "acp-agent.yaml"):
        (home / "acp-console" / name).touch()
    with pytest.raises(ConfigPathError, match="remove one of them"):
        config_file(None, {"XDG_CONFIG_HOME": str(home)})


def test_without_a_home_the_agent_still_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "expanduser", _homeless)
    assert config_file(None, {}) is None
    for named, environment in ((Path("~/x"), {}), (None, {"ACP_AGENT_CONFIG": "~/x"})):
        with pytest.raises(ConfigPathError, match="there is no such home directory"):
            config_file(named, environment)


def _homeless(path: Path) -> Path:
    raise RuntimeError(f"no home for {path}")


def test_a_place_that_cannot_be_looked_at_has_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "stat", refuse)
    assert config_file(None, {"XDG_CONFIG_HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("told", ["", ".", "config"])
def test_a_project_s_own_file_is_never_found(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative directory would be one of the project that the agent works in."""
    monkeypatch.chdir(tmp_path)
    for folder in ("acp-console", "config/acp-console", "."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "acp-agent.toml").touch()
    assert config_file(None, {"XDG_CONFIG_HOME": told}) is None
    assert config_directory({"XDG_CONFIG_HOME": told}) == Path.home() / ".config/acp-console"
