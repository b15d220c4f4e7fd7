"""Keys that were typed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.models.factory import Keyring, keyring
from acp_agent.settings.providers import SettingsError


def test_keys_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    ring = keyring({"XDG_CONFIG_HOME": str(tmp_path / "new")})
    assert ring.get("openai") is None
    ring.remove("openai")
    ring.put("openai", "first")
    ring.put("anthropic", "other")
    ring.put("openai", "second")
    assert (ring.get("openai"), ring.get("anthropic")) == ("second", "other")
    assert ring.path.stat().st_mode & 0o777 == 0o600
    assert ring.path.parent.stat().st_mode & 0o777 == 0o700
    ring.remove("openai")
    assert (ring.get("openai"), ring.get("anthropic")) == (None, "other")
    assert [path.name for path in ring.path.parent.iterdir()] == [ring.path.name]


@pytest.mark.parametrize("held", ["", "[]", "nonsense", '"key"', "[" * 100_000])
def test_what_is_no_keyring_is_left_as_it_is(tmp_path: Path, held: str) -> None:
    ring = Keyring(tmp_path / "keys.json")
    ring.path.write_text(held)
    for attempt in (lambda: ring.get("openai"), lambda: ring.put("openai", "x")):
        with pytest.raises(SettingsError, match=r"keys\.json cannot be read"):
            attempt()
    assert ring.path.read_text() == held


def test_what_is_no_text_is_no_key(tmp_path: Path) -> None:
    ring = Keyring(tmp_path / "keys.json")
    ring.path.write_text('{"openai": 1, "anthropic": ""}')
    assert (ring.get("openai"), ring.get("anthropic")) == (None, None)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="file"):
        Keyring(tmp_path / "file" / "keys.json").put("openai", "x")
