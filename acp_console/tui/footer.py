"""The line of keys at the bottom of a screen."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.widgets import Footer


class KeyFooter(Footer):
    """Shows the keys that fit whole, that of the help first; the palette's is at the edge."""

    def compose(self) -> ComposeResult:
        # Their type is not public.
        keys: list[Any] = sorted(super().compose(), key=_order)
        # Two spaces around the key, one behind the title, and a border at the edge.
        widths = [len(key.key_display) + len(key.description) + 3 for key in keys]
        room = self.size.width - 2
        for key, width in zip(keys, widths, strict=True):
            room -= width
            if room >= 0:
                yield key

    def on_resize(self) -> None:
        self.refresh(recompose=True)


def _order(key: Any) -> int:
    return 0 if key.has_class("-command-palette") else 1 if key.action == "help" else 2
