"""The token, and who is told of it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from acp_agent.admin.ticket import random_token, ticket, token_of
from acp_agent.models.services import SettingsError


def test_a_token_that_was_set_counts() -> None:
    assert token_of("ADMIN", {"ADMIN": " 0123456789abcdef\n"}) == "0123456789abcdef"
    assert token_of("ADMIN", {}) is None
    assert token_of("ADMIN", {"ADMIN": " "}) is None


@pytest.mark.parametrize("token", ["short", "0123456789 abcdef", "0123456789abcdé!"])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused(token: str) -> None:
    with pytest.raises(SettingsError, match="ADMIN must hold at least 16") as refused:
        token_of("ADMIN", {"ADMIN": token})
    assert token not in str(refused.value)


def test_one_that_is_made_up_is_another_each_time() -> None:
    assert len({random_token() for _ in range(100)}) == 100
    assert len(random_token()) >= 43


def test_it_is_told_to_its_user_alone_and_only_for_as_long_as_it_holds(tmp_path: Path) -> None:
    with ticket("http://x", "t", {"XDG_RUNTIME_DIR": str(tmp_path)}) as path:
        assert path.is_relative_to(tmp_path)
        assert json.loads(path.read_text()) == {"address": "http://x", "token": "t"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("environment", [{}, {"XDG_RUNTIME_DIR": "/missing"}])
def test_without_a_runtime_directory_it_lies_with_the_temporary_ones(
    environment: dict[str, str],
) -> None:
    with ticket("http://x", "t", environment) as path:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()
