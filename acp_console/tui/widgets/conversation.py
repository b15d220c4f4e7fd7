"""The conversation, from top to bottom; built from the items of a fold and built again at will."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.widgets import Static

from acp_console.tui.widgets.items import ItemView, view_of
from acp_console.tui.widgets.permission import PermissionPrompt, PermissionTiming
from acp_inspector.analysis.items import Item


class ConversationView(VerticalScroll):
    """Shows the items in their order, and keeps to the end unless the user scrolled away."""

    def __init__(
        self,
        welcome: str,
        *,
        timing: PermissionTiming | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id)
        self._timing = timing or PermissionTiming()
        self._views: dict[int, ItemView] = {}
        self._welcome = Static(welcome, id="welcome", markup=False)

    def on_mount(self) -> None:
        """Say what to do first, and follow the end."""
        self.mount(self._welcome)
        self.anchor()

    async def sync(self, items: Sequence[Item]) -> None:
        """Show new items and what changed about shown ones; each item once."""
        fresh: list[ItemView] = []
        for item in dict.fromkeys(items):
            view = self._views.get(id(item))
            if view is None:
                view = self._views[id(item)] = view_of(item, self._timing)
                fresh.append(view)
            elif view.is_mounted:
                await view.sync()
        if fresh:
            self._welcome.display = False
            await self.mount_all(fresh)
            for view in fresh:
                await view.sync()

    def open_prompt(self) -> PermissionPrompt | None:
        """Return the newest permission prompt that waits for an answer, if there is one."""
        prompts = self.query(PermissionPrompt)
        return prompts.last() if prompts else None

    async def close_prompts(self) -> None:
        """Remove all permission prompts: the agent that sent them is gone."""
        await self.query(PermissionPrompt).remove()
