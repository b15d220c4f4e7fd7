"""An input that completes the path that is typed."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.suggester import Suggester
from textual.widgets import Input


class PathSuggester(Suggester):
    """Suggests the first file or folder that begins with what is typed."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return `value` with the rest of a name."""
        return await to_thread.run_sync(completed_path, value)


def completed_path(value: str) -> str | None:
    """Return a path with the rest of the first name that begins so; None if there is none."""
    folder, slash, begin = value.rpartition("/")
    if not value:
        return None
    try:
        names = sorted(
            f"{path.name}/" if path.is_dir() else path.name
            for path in Path(f"{folder}{slash}" or ".").expanduser().iterdir()
            if path.name.startswith(begin) and (begin or not path.name.startswith("."))
        )
    except (OSError, RuntimeError):
        return None
    # A name may hold anything; what cannot be typed is not suggested.
    name = next((name for name in names if name.isprintable()), None)
    return None if name is None else f"{folder}{slash}{name}"


class PathInput(Input):
    """A line for a path; tab accepts what is suggested."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "accept", "Complete", show=False),
    ]

    def __init__(self, value: str = "", placeholder: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(value, placeholder, suggester=PathSuggester(), compact=True, id=id)

    def action_accept(self) -> None:
        """Accept the suggestion.

        Raises:
            SkipAction: there is none, so the key goes on to the next widget.
        """
        before = self.value
        self.action_end()
        self.action_cursor_right()
        if self.value == before:
            raise SkipAction
