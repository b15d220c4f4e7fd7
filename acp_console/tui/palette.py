"""The command palette: the commands of the current screen and of its visible panes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.widget import Widget

from acp_console.tui.commands import COMMANDS, Command, Scope

Node: TypeAlias = Widget | App[Any]

_COMMANDS: Final = {command.id: command for command in COMMANDS}
_PREFIXES: Final[dict[Scope, str]] = {
    "traffic": "Traffic",
    "intercept": "Paused",
    "breakpoints": "Breakpoints",
    "inspection": "Analysis",
    "analysis": "Analysis",
    "findings": "Analysis",
    "waterfall": "Analysis",
    "statistics": "Analysis",
    "capabilities": "Analysis",
    "compare": "Compare",
}


class CommandProvider(Provider):
    """Offers the commands of the app, of the current screen and of its visible widgets."""

    async def startup(self) -> None:
        self._available = [
            (f"{prefix}: {command.title}" if prefix else command.title, node, command)
            for node, command in self.available()
            for prefix in [_PREFIXES.get(command.scope)]
        ]

    async def discover(self) -> Hits:
        for title, node, command in self._available:
            run = partial(node.run_action, command.action)
            yield DiscoveryHit(title, run, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, node, command in self._available:
            if (score := matcher.match(f"{title} {command.help}")) > 0:
                run = partial(node.run_action, command.action)
                yield Hit(score, matcher.highlight(title), run, help=command.help)

    def available(self) -> Iterator[tuple[Node, Command]]:
        """Yield the commands that are possible now, each with the node that runs it."""
        for node in (self.app, self.screen, *self.screen.query("*")):
            commands = commands_of(type(node))
            parts = (each for each in node.ancestors_with_self if isinstance(each, Widget))
            if commands and all(each.display for each in parts):
                for command in commands:
                    _, name, parameters = parse(command.action)
                    if node.check_action(name, parameters) is not False:
                        yield node, command


def commands_of(kind: type[DOMNode]) -> list[Command]:
    ids = [
        binding.id or ""
        for each in kind.__mro__
        for binding in each.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding)
    ]
    return [_COMMANDS[each] for each in ids if each in _COMMANDS]
