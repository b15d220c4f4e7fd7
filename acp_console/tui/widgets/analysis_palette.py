"""The tabs of the analysis in the palette, and what can be done in the one that is open."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.widget import Widget

from acp_console.tui.commands import COMMANDS, Command
from acp_console.tui.widgets.analysis import AnalysisPane
from acp_console.tui.widgets.inspection import Inspection


class AnalysisDeeds(Provider):
    """Offers the tabs, and the deeds of the open one."""

    async def discover(self) -> Hits:
        """Yield every deed."""
        for place, command in self._deeds():
            deed = partial(place.run_action, command.action)
            yield DiscoveryHit(_title(command), deed, help=command.help)

    async def search(self, query: str) -> Hits:
        """Yield the deeds that fit what is typed."""
        matcher = self.matcher(query)
        for place, command in self._deeds():
            title = _title(command)
            if (score := matcher.match(f"{title} {command.help}")) > 0:
                deed = partial(place.run_action, command.action)
                yield Hit(score, matcher.highlight(title), deed, help=command.help)

    def _deeds(self) -> Iterator[tuple[Widget, Command]]:
        for each in COMMANDS:
            if each.scope == "inspection":
                yield from ((place, each) for place in self.screen.query(Inspection))
        for pane in self.screen.query(AnalysisPane):
            if pane.display:
                scopes = {"analysis": pane, pane.open_name: pane.open}
                yield from ((scopes[each.scope], each) for each in COMMANDS if each.scope in scopes)


def _title(command: Command) -> str:
    return f"Analysis: {command.title}"
