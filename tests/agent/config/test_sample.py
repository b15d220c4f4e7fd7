"""The file that a configuration begins with."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from acp_agent.config.documents import ConfigurationError
from acp_agent.config.keys import KEYS
from acp_agent.config.layers import read_layers
from acp_agent.config.sample import sample, write_sample


def test_as_it_is_it_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "acp-agent.toml"
    write_sample(path, is_forced=False)
    assert read_layers(path, {}, {}).settings == {}


def test_every_line_can_be_put_to_use(tmp_path: Path) -> None:
    """Comments have a space behind their sign, and settings have none."""
    path = tmp_path / "acp-agent.toml"
    path.write_text(re.sub(r"^#(?! )", "", sample(), flags=re.MULTILINE))
    found = read_layers(path, {}, {})
    left_out = {"enabled", "transport.stdio.enabled", "model.service"}
    assert set(found.settings) == {key.path for key in KEYS} - left_out
    assert len(found.others) == 1


def test_it_is_for_its_owner_alone_and_so_is_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "new" / "acp-agent.toml"
    write_sample(path, is_forced=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["acp-agent.toml"]


def test_what_is_there_is_written_over_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "acp-agent.toml"
    path.write_text("mine")
    with pytest.raises(ConfigurationError, match="exists; --force writes over it"):
        write_sample(path, is_forced=False)
    assert path.read_text() == "mine"
    write_sample(path, is_forced=True)
    assert path.read_text() == sample()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    path = tmp_path / "acp-agent.toml"
    path.symlink_to("other")
    with pytest.raises(ConfigurationError, match="exists"):
        write_sample(path, is_forced=False)
    write_sample(path, is_forced=True)
    assert (tmp_path / "other").read_text() == "mine"


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_sample(tmp_path / "file" / "acp-agent.toml", is_forced=False)
