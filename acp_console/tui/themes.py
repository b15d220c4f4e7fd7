"""Themes, and the colours of the screens by what they are for.

Every theme gets all of them, Textual's own too, and each text can be read on each background.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from textual.app import App, ReturnType
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from acp_console.tui.images.images import Images

DEFAULT_THEME: Final = "acp-dark"
THEMES: Final = (
    Theme(
        name="acp-dark",
        primary="#7AA2F7",
        secondary="#5B8DB8",
        accent="#E0B25C",
        success="#8CC570",
        warning="#E8B04A",
        error="#F07178",
        foreground="#D8DCE4",
        background="#14171D",
        surface="#1B1F27",
        panel="#232833",
    ),
    Theme(
        name="acp-light",
        primary="#2456B8",
        secondary="#3D6E99",
        accent="#8A5300",
        success="#2B6B1F",
        warning="#855800",
        error="#B3202C",
        foreground="#1F2430",
        background="#FAFAF7",
        surface="#F1F1EC",
        panel="#E6E7E2",
        dark=False,
    ),
    # Blue for good, orange for bad, yellow between: distinct for all common kinds of sight.
    Theme(
        name="acp-colorblind",
        primary="#9DB4D6",
        secondary="#7C93B5",
        accent="#DDA3C8",
        success="#56B4E9",
        warning="#F0E442",
        error="#FF8F3F",
        foreground="#DEDEDE",
        background="#141414",
        surface="#1C1C1C",
        panel="#272727",
    ),
    Theme(
        name="acp-colorblind-light",
        primary="#3A5680",
        secondary="#56708F",
        accent="#8B3D70",
        success="#005A92",
        warning="#6B5C00",
        error="#A34100",
        foreground="#202020",
        background="#FAFAFA",
        surface="#F0F0F0",
        panel="#E4E4E4",
        dark=False,
    ),
)
"""Our own themes."""
THEME_NAMES: Final = (*(theme.name for theme in THEMES), *BUILTIN_THEMES)

READABLE: Final = 4.5
"""The least contrast of text, as WCAG 2 measures it; disabled text has `READABLE_DISABLED`."""
READABLE_DISABLED: Final = 3.0
BACKGROUNDS: Final = ("background", "surface", "panel", "button", "cursor-line")
"""What text may stand on."""
HUES: Final = ("primary", "secondary", "success", "warning", "error", "accent")
MEANINGS: Final = {
    "client": "text-accent",
    "agent": "foreground",
    "heading": "text-primary",
    "code": "text-accent",
    "link": "text-primary",
    "user-bar": "text-primary",
    "thought": "text-muted",
    "tool-pending": "text-muted",
    "tool-running": "text-warning",
    "tool-done": "text-success",
    "tool-failed": "text-error",
    "permission-border": "text-warning",
    "permission-allow": "text-success",
    "permission-reject": "text-error",
    "json-key": "text-accent",
    "json-string": "text-success",
    "json-number": "text-warning",
}
"""Names of our own for colours of text, so that a screen says what it means."""


class ThemedApp(App[ReturnType]):
    """An app in one of the themes."""

    keys: Mapping[str, str] = {}
    """Keys of commands that the user has changed, by the commands' ids."""
    images: Images | None = None
    """What draws images; None: the terminal shows none."""

    def __init__(self, theme: str = DEFAULT_THEME) -> None:
        super().__init__()
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme

    def get_css_variables(self) -> dict[str, str]:
        self.theme_variables = with_meanings(super().get_css_variables())
        return self.theme_variables


def with_meanings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a theme with all text readable, and with names of our own."""
    if Color.parse(variables["background"]).ansi is not None:
        return _with_ansi_meanings(variables)
    back = Color.parse(variables["background"])
    surface = back + Color.parse(variables["surface"])
    panel = back + Color.parse(variables["panel"])
    button = surface + Color.parse(variables["boost"])
    fore = readable(Color.parse(variables["foreground"]), [back, surface, panel, button])
    primary = Color.parse(variables["primary"])
    line = _tinted(back, primary, 0.22, fore)
    backs = [back, surface, panel, button, line]
    result = {
        **variables,
        "foreground": fore.hex,
        "button": button.hex,
        "cursor-line": line.hex,
        "selection": _tinted(back, primary, 0.4, fore).hex,
        "text-muted": readable(back.blend(fore, 0.6), backs).hex,
        "text-disabled": readable(back.blend(fore, 0.4), backs, READABLE_DISABLED).hex,
        "diff-text": fore.hex,
    }
    for hue in HUES:
        result[f"text-{hue}"] = readable(Color.parse(variables[hue]), backs).hex
    for name, hue in (("added", "success"), ("removed", "error")):
        color = Color.parse(variables[hue])
        result[f"diff-{name}"] = _tinted(back, color, 0.16, fore).hex
        result[f"diff-{name}-word"] = _tinted(back, color, 0.38, fore).hex
    result |= {name: result[color] for name, color in MEANINGS.items()}
    # What Textual's widgets draw.
    result |= {
        "primary-muted": line.hex,
        "foreground-muted": result["text-muted"],
        "foreground-disabled": result["text-disabled"],
        "block-cursor-foreground": fore.hex,
        "block-cursor-background": line.hex,
        "block-cursor-blurred-foreground": fore.hex,
        "block-cursor-blurred-background": panel.hex,
        "block-hover-background": panel.hex,
        "button-foreground": fore.hex,
        "button-color-foreground": "auto 100%",
        "footer-foreground": fore.hex,
        "footer-background": panel.hex,
        "footer-key-foreground": result["text-accent"],
        "footer-description-foreground": fore.hex,
        "input-cursor-foreground": back.hex,
        "input-cursor-background": fore.hex,
        "input-selection-background": result["selection"],
        "input-selection-foreground": fore.hex,
        "scrollbar": back.blend(fore, 0.3).hex,
        "scrollbar-hover": back.blend(fore, 0.45).hex,
        "scrollbar-active": back.blend(fore, 0.6).hex,
        "scrollbar-background": back.hex,
        "scrollbar-background-hover": back.hex,
        "scrollbar-background-active": back.hex,
        "scrollbar-corner-color": back.hex,
        "link-color": result["text-primary"],
        "link-color-hover": pole(primary).hex,
    }
    return result


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two opaque colours, from 1 to 21, as WCAG 2 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def pole(back: Color) -> Color:
    """Return black or white, whichever can be read better."""
    return max(Color(0, 0, 0), Color(255, 255, 255), key=lambda each: contrast(each, back))


def readable(color: Color, backs: Iterable[Color], least: float = READABLE) -> Color:
    """Move a color towards black or white until it can be read on all backgrounds."""
    backs = list(backs)
    end = pole(backs[0])
    steps = (color.blend(end, step / 20) for step in range(21))
    return next(
        (each for each in steps if min(contrast(each, back) for back in backs) >= least), end
    )


def _tinted(back: Color, tint: Color, share: float, fore: Color) -> Color:
    """Tint a background, but no more than text in the foreground can bear."""
    end = pole(back)
    while share > 0.02:
        mixed = back.blend(tint, share)
        # Text of other colours stands there too, and has to find a shade of its own.
        if contrast(fore, mixed) >= READABLE and contrast(end, mixed) >= READABLE + 1:
            return mixed
        share -= 0.02
    return back


def _luminance(color: Color) -> float:
    parts = (each / 255 for each in (color.r, color.g, color.b))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _with_ansi_meanings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return names for the sixteen colours of the terminal, whose contrast is the user's."""
    result = {
        **variables,
        "button": "transparent",
        "cursor-line": "ansi_blue",
        "primary-muted": "ansi_blue",
        "selection": "ansi_blue",
        "diff-text": "ansi_black",
        "diff-added": "ansi_green",
        "diff-removed": "ansi_red",
        "diff-added-word": "ansi_bright_green",
        "diff-removed-word": "ansi_bright_red",
    }
    return result | {name: result[color] for name, color in MEANINGS.items()}
