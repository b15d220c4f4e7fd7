"""The command palette: what the current screen and its visible panes can do, with keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from rich.cells import cell_len, set_cell_size
from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.types import IgnoreReturnCallbackType
from textual.widget import Widget

from acp_console.tui.commands import COMMANDS, SCOPES, Command, Scope
from acp_console.tui.themes import ThemedApp

Node: TypeAlias = Widget | App[Any]


KEYS: Final = 12
"""Columns of the keys."""
WIDTH: Final = 90
"""Columns of the palette, at most; `app.tcss` has them too."""
MARGIN: Final = 6
"""Columns beside a line: its padding, and the scroll bar."""
MIN_ACTION: Final = 12
"""Columns of what a command does, at least."""


@dataclass(frozen=True, slots=True)
class PaletteLine:
    """A command, as the palette lists it."""

    group: str
    action: str
    """What it does, in a few words."""
    run: IgnoreReturnCallbackType
    key: str = ""
    title: str = ""
    """Its word in the footer, to be found by."""

    @property
    def text(self) -> str:
        return f"{self.action}  {self.group} {self.title}"

    def shown(self, action: Content, width: int) -> Content:
        """Return the line: its keys, what it does, and at its end where it belongs."""
        keys = set_cell_size(self.key, max(KEYS, cell_len(self.key) + 1))
        room = max(width - cell_len(keys) - cell_len(self.group) - 2, MIN_ACTION)
        action = action.truncate(room, ellipsis=True).pad_right(max(room - action.cell_length, 0))
        return Content.assemble((keys, "$text-accent"), action, (f"  {self.group}", "$text-muted"))

    def rank(self, words: Sequence[str]) -> int:
        """Return how well it fits the words that are sought; 0: one of them is missing."""
        action, text = self.action.casefold(), self.text.casefold()
        if not all(_begins_a_word(word, text) for word in words):
            return 0
        whole = " ".join(words)
        found = (action.startswith(whole), whole in action,
                 all(_begins_a_word(word, action) for word in words))  # fmt: skip
        return 4 - found.index(True) if True in found else 1

    def highlighted(self, words: Sequence[str]) -> Content:
        """Return what it does, with the words that are sought."""
        shown = Content(self.action)
        for word in words:
            if (found := re.search(_word(word), self.action, re.IGNORECASE)) is not None:
                shown = shown.stylize("bold underline", *found.span())
        return shown


def _word(word: str) -> str:
    return rf"(?<!\w){re.escape(word)}"


def _begins_a_word(word: str, text: str) -> bool:
    return re.search(_word(word), text) is not None


_COMMANDS: Final = {command.id: command for command in COMMANDS}
_GROUPS: Final[dict[Scope, str]] = {
    "traffic": "Traffic",
    "intercept": "Paused",
    "breakpoints": "Breakpoints",
    "inspection": "Analysis",
    "analysis": "Analysis",
    "findings": "Analysis",
    "waterfall": "Analysis",
    "statistics": "Analysis",
    "waiting": "Analysis",
    "capabilities": "Analysis",
    "compare": "Compare",
}


class CommandProvider(Provider):
    """Offers the commands of the current screen, of its visible widgets and of the app."""

    async def startup(self) -> None:
        keys: Mapping[str, str] = self.app.keys if isinstance(self.app, ThemedApp) else {}
        self._lines = [
            PaletteLine(
                _GROUPS.get(command.scope, SCOPES[command.scope]),
                command.help,
                partial(node.run_action, command.action),
                " ".join(
                    self.app.get_key_display(Binding(key, ""))
                    for key in keys.get(command.id, command.key).split(",")
                ),
                command.title,
            )
            for node, command in self.available()
        ]
        # What belongs to no screen comes last.
        self._lines.sort(key=lambda line: line.group == SCOPES["everywhere"])
        self._lines += [
            PaletteLine(SCOPES["everywhere"], each.help, each.callback, title=each.title)
            for each in self.app.get_system_commands(self.screen)
        ]

    async def discover(self) -> Hits:
        for line in self._lines:
            yield DiscoveryHit(line.shown(Content(line.action), self._width), line.run, line.text)

    async def search(self, query: str) -> Hits:
        words = query.casefold().split()
        for line in self._lines:
            if rank := line.rank(words):
                shown = line.shown(line.highlighted(words), self._width)
                yield Hit(rank, shown, line.run, line.text)

    @property
    def _width(self) -> int:
        """Columns of a line."""
        return min(self.app.size.width, WIDTH) - MARGIN

    def available(self) -> Iterator[tuple[Node, Command]]:
        """Yield the commands that are possible now, each with the node that runs it."""
        for node in (self.app, self.screen, *self.screen.query("*")):
            commands = commands_of(type(node))
            parts = (each for each in node.ancestors_with_self if isinstance(each, Widget))
            if commands and all(each.display for each in parts):
                for command in commands:
                    destination, name, parameters = parse(command.action)
                    target = self.screen if destination == "screen" else node
                    if target.check_action(name, parameters) is not False:
                        yield node, command


def commands_of(kind: type[DOMNode]) -> list[Command]:
    ids = [
        binding.id or ""
        for each in kind.__mro__
        for binding in each.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding)
    ]
    # Keys of one command may have bindings of their own.
    return [_COMMANDS[each] for each in dict.fromkeys(ids) if each in _COMMANDS]
