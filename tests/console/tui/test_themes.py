"""Text of the screens can be read in every theme."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from acp_console.cli.errors import UsageError
from acp_console.cli.group import run_words
from acp_console.kept.preferences import PreferenceStore
from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.help import HelpScreen
from acp_console.tui.themes import (
    BACKGROUNDS,
    DEFAULT_THEME,
    HUES,
    MEANINGS,
    READABLE,
    READABLE_DISABLED,
    THEMES,
    contrast,
    with_meanings,
)

pytestmark = pytest.mark.long

RECORDINGS = Path(__file__).parents[3] / "recordings"
ALL = [*THEMES, *BUILTIN_THEMES.values()]
# The terminal decides what its sixteen colours look like.
IN_OWN_COLORS = [theme for theme in ALL if not theme.ansi]
ON_BACKGROUNDS = ["foreground", "text-muted", *(f"text-{hue}" for hue in HUES), *MEANINGS]
PAIRS = [
    *((text, back) for text in ON_BACKGROUNDS for back in BACKGROUNDS),
    *(("text", back) for back in BACKGROUNDS),
    *(
        ("diff-text", back)
        for back in ("diff-added", "diff-removed", "diff-added-word", "diff-removed-word")
    ),
    ("foreground", "selection"),
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("footer-foreground", "footer-background"),
    ("footer-key-foreground", "footer-background"),
    ("footer-description-foreground", "footer-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("button-foreground", "button"),
    ("button-color-foreground", "warning"),
]


def variables_of(theme: Theme) -> dict[str, str]:
    return with_meanings({**theme.to_color_system().generate(), **theme.variables})


def contrast_of(variables: dict[str, str], text: str, back: str) -> float:
    behind = Color.parse(variables[back])
    auto = re.fullmatch(r"auto (\d+)%", variables[text])
    color = behind.get_contrast_text(int(auto[1]) / 100) if auto else Color.parse(variables[text])
    return contrast(behind + color, behind)


@pytest.mark.parametrize("theme", IN_OWN_COLORS, ids=lambda theme: theme.name)
def test_text_of_every_theme_can_be_read_on_every_background(theme: Theme) -> None:
    variables = variables_of(theme)
    unreadable = [
        (text, back, round(contrast_of(variables, text, back), 2))
        for text, back in PAIRS
        if contrast_of(variables, text, back) < READABLE
    ]
    assert unreadable == []


@pytest.mark.parametrize("theme", IN_OWN_COLORS, ids=lambda theme: theme.name)
def test_disabled_text_of_every_theme_can_be_read(theme: Theme) -> None:
    variables = variables_of(theme)
    for back in BACKGROUNDS:
        assert contrast_of(variables, "text-disabled", back) >= READABLE_DISABLED


def test_every_theme_names_the_same_colors() -> None:
    names = set(variables_of(THEMES[0]))
    own = {*MEANINGS, *BACKGROUNDS, "selection", "diff-text", "diff-added-word"}
    for theme in ALL:
        assert own <= set(variables_of(theme)), theme.name
    assert own <= names


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(Color.parse("#000000"), Color.parse("#ffffff")) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), Color.parse("#ffffff")) == pytest.approx(4.48, abs=0.01)


async def test_theme_that_is_chosen_is_kept_for_the_next_run(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path / "preferences.json")
    app = ConsoleApp(cwd=tmp_path, preferences=store)
    assert app.theme == DEFAULT_THEME
    async with app.run_test() as pilot:
        app.theme = "acp-light"
        await pilot.pause()
    assert ConsoleApp(cwd=tmp_path, preferences=store).theme == "acp-light"
    assert ConsoleApp(cwd=tmp_path, preferences=store, theme="nord").theme == "nord"


async def test_screen_shines_through_beside_a_dialog(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        assert app.screen.styles.background.a < 1


async def test_all_that_the_screens_draw_can_be_read_in_each_theme(tmp_path: Path) -> None:
    app = ConsoleApp(
        cwd=tmp_path, watch=[FileSource(RECORDINGS / "reading" / "trouble.acp.ndjson")]
    )
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.pause()
        for name in ("acp-dark", "acp-light", "acp-colorblind", "solarized-dark"):
            app.theme = name
            await pilot.pause()
            unreadable = unreadable_of(app)
            for key in ("5", "6", "7", "8", "9", "0"):
                await pilot.press(key)
                await pilot.pause()
                unreadable |= unreadable_of(app)
            assert unreadable == set(), name
            await pilot.press("escape")


def unreadable_of(app: ConsoleApp) -> set[tuple[str, str, str]]:
    """Return text of the screen that cannot be read, with its colours."""
    found: set[tuple[str, str, str]] = set()
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if not any(each.isalnum() for each in text) or style is None:
                continue
            if style.color is None or style.bgcolor is None or style.dim:
                found.add((text, str(style), "no colour"))
                continue
            fore, back = (Color.from_rich_color(each) for each in (style.color, style.bgcolor))
            if contrast(fore, back) < READABLE:
                found.add((text, fore.hex, back.hex))
    return found


async def test_no_color_leaves_grey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ConsoleApp(cwd=tmp_path)
    async with app.run_test():
        picture = app.export_screenshot()
    body = picture.split("</style>")[1]
    drawn = re.findall(r"\.r\d+ \{ fill: #(..)(..)(..)", picture)
    drawn += re.findall(r'<rect fill="#(..)(..)(..)" x=', body)
    assert drawn
    assert all(red == green == blue for red, green, blue in drawn)


@pytest.mark.parametrize(
    "words", [["--theme", "acp-lite"], ["inspect", "--theme", "acp-lite", "x"]]
)
def test_unknown_theme_is_refused_with_the_one_probably_meant(words: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        run_words(words, is_debug=False)
    assert refused.value.hint == "did you mean acp-light?"
