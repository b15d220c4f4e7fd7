"""The settings screen changes the configuration file, and nothing else in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.screen import Screen

from acp_console.kept.preferences import PreferenceStore
from acp_console.tui.app import ConsoleApp
from acp_console.tui.help import HelpScreen
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.settings import SettingsScreen
from acp_console.tui.themes import THEME_NAMES
from tests.console.tui.conftest import notices, place_of, say, until

WRITTEN = """# mine
[privacy]  # of all chats
journal = true  # a comment

[agents.mine]
command = ["run", "--acp"]
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the configuration would be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "acp-console" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


async def test_a_setting_is_changed_in_the_file_and_comments_stay(
    config: Path, workplace: Path
) -> None:
    config.write_text(WRITTEN)
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("alt+s")
        await until(pilot, lambda: "privacy.journal" in say(app))
        assert str(config.parent)[:20] in say(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "journal = false" in config.read_text())
        assert config.read_text() == WRITTEN.replace("= true ", "= false ")
        # Another choice: the one before the first is the last.
        await pilot.press("down", "space", "down", "down", "left", "escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert config.read_text().endswith('\n\n[notifications]\ndesktop = "off"\nbell = false\n')


async def test_a_setting_is_changed_by_mouse(config: Path, workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("alt+s")
        # All of it has room, and says what the chosen row is.
        await until(pilot, lambda: "e opens the file" in say(app))
        assert "The colours; 1 of" in say(app)
        assert await pilot.click("SettingsScreen OptionList", offset=(5, 1))
        await until(pilot, config.exists)
        assert config.read_text() == "[privacy]\njournal = false\n"


async def test_a_theme_is_seen_at_once_and_kept(
    config: Path, workplace: Path, tmp_path: Path
) -> None:
    store = PreferenceStore(tmp_path / "preferences")
    app = ConsoleApp(cwd=workplace, preferences=store)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("alt+s")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await pilot.press("right", "right", "left")
        await until(pilot, lambda: THEME_NAMES[1] in say(app))
        assert app.theme == THEME_NAMES[1]
        assert store.get().theme == THEME_NAMES[1]


async def test_what_is_wrong_in_the_file_is_shown_with_its_line_and_opens(
    config: Path, workplace: Path
) -> None:
    config.write_text("[privacy]\njurnal = false\n")
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("alt+s")
        await until(pilot, lambda: "config.toml:2" in say(app))
        assert "unknown key" in say(app)
        # A terminal of a test cannot be handed to another program.
        await pilot.press("e")
        await until(pilot, lambda: "did not work" in notices(app))


async def test_keys_of_the_configuration_count_and_are_shown(config: Path, workplace: Path) -> None:
    config.write_text('[keys]\n"console.help" = "f10"\n"console.hlp" = "f12"\n')
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "did you mean console.help?" in notices(app))
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "f10" in say(app)
        assert "f1 " not in say(app)


@pytest.mark.parametrize(("key", "overlay"), [("alt+s", SettingsScreen), ("f1", HelpScreen)])
async def test_a_click_beside_an_overlay_closes_it(
    config: Path, workplace: Path, key: str, overlay: type[Screen[None]]
) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, overlay) and "Esc closes" in say(app))
        # Its frame and its title belong to it.
        await pilot.click(offset=place_of(app, "Esc closes"))
        await pilot.pause()
        assert isinstance(app.screen, overlay)
        await pilot.click(offset=(0, 0))
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
    assert not config.exists()
