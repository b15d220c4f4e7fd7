"""The deeds of the traffic in the palette."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from acp_console.tui.commands import COMMANDS, Command
from acp_console.tui.widgets.traffic import TrafficPane


class TrafficDeeds(Provider):
    """Offers what keys do to the rows, where there are rows."""

    async def discover(self) -> Hits:
        """Yield every deed."""
        for pane, command in self._deeds():
            deed = partial(pane.run_action, command.action)
            yield DiscoveryHit(_title(command), deed, help=command.help)

    async def search(self, query: str) -> Hits:
        """Yield the deeds that fit what is typed."""
        matcher = self.matcher(query)
        for pane, command in self._deeds():
            title = _title(command)
            if (score := matcher.match(f"{title} {command.help}")) > 0:
                deed = partial(pane.run_action, command.action)
                yield Hit(score, matcher.highlight(title), deed, help=command.help)

    def _deeds(self) -> Iterator[tuple[TrafficPane, Command]]:
        for pane in self.screen.query(TrafficPane):
            yield from ((pane, each) for each in COMMANDS if each.scope == "traffic")


def _title(command: Command) -> str:
    return f"Traffic: {command.title}"
