"""The line of keys at the bottom of a screen."""

from __future__ import annotations

from typing import Any, Final

from textual.app import ComposeResult
from textual.widgets import Footer

BACK: Final = frozenset({"back", "leave", "screen.traffic"})
"""Actions that lead back."""


class KeyFooter(Footer):
    """Shows the keys that fit whole, in any case help and the way back, which is last."""

    def compose(self) -> ComposeResult:
        # Their type is not public.
        every: list[Any] = [key for key in super().compose() if not self._is_typed(key)]
        keys = sorted(every, key=lambda key: key.action in BACK)
        # Two spaces around the key, one behind the title.
        room = self.size.width
        fitting: list[Any] = []
        for key in sorted(keys, key=_order):
            room -= len(key.key_display) + len(key.description) + 3
            if key.has_class("-command-palette"):
                # A border and a space.
                room -= 2
            else:
                # It is bound to this later; until then it would be styled as a compact key.
                key.set_reactive(type(key).compact, self.compact)
            if room >= 0:
                fitting.append(key)
        yield from (key for key in keys if key in fitting)

    def _is_typed(self, key: Any) -> bool:
        """Return whether a key is text where the focus is; Textual does not know it of a slash."""
        focused = self.screen.focused
        return (
            getattr(key, "key", "") == "slash"
            and focused is not None
            and focused.check_consume_key("slash", "/")
        )

    def on_resize(self) -> None:
        self.refresh(recompose=True)


def _order(key: Any) -> int:
    if key.has_class("-command-palette"):
        return 0
    return 1 if key.action in {"help", *BACK} else 2
