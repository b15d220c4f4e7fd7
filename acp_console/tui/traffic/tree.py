"""A JSON value as a tree; only expanded nodes are built."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, cast

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from acp_console.tui.cursor_list import foreground_style
from acp_console.wording.values import format_number
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

Step: TypeAlias = str | int

MEMBERS_PER_PAGE: Final = 200
"""Members that are shown at once; the node behind them shows as many more."""
MAX_KEY_CHARS: Final = 60
MIN_VALUE_CHARS: Final = 20
"""Characters of a value that are shown at least; where there is less room, its note is shorter."""
MAX_EXPANDED_LINES: Final = 24
"""Most lines that are expanded at first."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its path; `begin`: the first member that is not shown yet."""

    path: tuple[Step, ...]
    value: Json
    begin: int = 0

    @property
    def is_rest(self) -> bool:
        """Whether it is a placeholder for members that are not shown yet."""
        return self.begin > 0

    def __str__(self) -> str:
        parts = (
            f"[{step}]"
            if isinstance(step, int)
            else f".{step}"
            if _NAME.fullmatch(step)
            else f"[{json.dumps(step, ensure_ascii=False)}]"
            for step in self.path
        )
        return "$" + "".join(parts)


class JsonTree(Tree[JsonNode]):
    """Shows one value."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "json-tree--key",
        "json-tree--string",
        "json-tree--number",
        "json-tree--note",
    }
    DEFAULT_CSS = """
    JsonTree {
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        &> .json-tree--key {
            color: $text-accent;
        }
        &> .json-tree--string {
            color: $text-success;
        }
        &> .json-tree--number {
            color: $text-warning;
        }
        &> .json-tree--note {
            color: $text-muted;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "unfold", "Unfold", show=False),
        Binding("left", "fold", "Fold", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__("", id=id)
        self.show_root = False
        self.guide_depth = 2

    def show(self, value: Json) -> None:
        self.clear()
        self.root.data = JsonNode((), value)
        self._grow(self.root)
        if not self.root.children:
            self.root.add_leaf("", self.root.data)
        self.root.expand()
        waiting = deque(self.root.children)
        lines = len(waiting)
        while waiting:
            node = waiting.popleft()
            size = _size(node.data.value) if node.data and not node.data.is_rest else 0
            if size and lines + size <= MAX_EXPANDED_LINES:
                self._grow(node)
                node.expand()
                lines += size
                waiting.extend(node.children)
        self.cursor_line = 0
        self.scroll_to(y=0, animate=False, force=True)

    def action_unfold(self) -> None:
        if self.cursor_node is not None:
            self.cursor_node.expand()

    def action_fold(self) -> None:
        node = self.cursor_node
        if node is not None and node.is_expanded and node.children:
            node.collapse()
        else:
            self.action_cursor_parent()

    @property
    def place(self) -> JsonNode | None:
        """The node under the cursor."""
        node = self.cursor_node
        return node.data if node is not None and self.root.children else None

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[JsonNode]) -> None:
        event.stop()
        self._grow(event.node)

    def on_tree_node_selected(self, event: Tree.NodeSelected[JsonNode]) -> None:
        """Replace the placeholder node by more members."""
        event.stop()
        node = event.node
        if node.data is not None and node.data.is_rest and node.parent is not None:
            parent, rest = node.parent, node.data
            node.remove()
            self._add(parent, rest)

    def render_label(self, node: TreeNode[JsonNode], base_style: Style, style: Style) -> Text:
        place = node.data
        if place is None:
            return Text("")
        if place.is_rest:
            left = _size(place.value) - place.begin
            return Text(
                f"  … {format_number(left)} more: Enter shows them",
                base_style + self._style("note"),
            )
        signs = ("▼ " if node.is_expanded else "▶ ") if node.allow_expand else "  "
        text = Text(signs, style=base_style)
        if place.path:
            text.append(single_line(str(place.path[-1]), MAX_KEY_CHARS), self._style("key"))
            text.append(": ")
        indent = (len(place.path) - 1) * self.guide_depth
        text.append_text(self._value(place.value, self.size.width - indent - text.cell_len - 1))
        text.stylize(style)
        return text

    def _value(self, value: Json, room: int) -> Text:
        """Return a value in at most `room` columns, with its length if it is cut."""
        room = max(room, MIN_VALUE_CHARS)
        if isinstance(value, dict | list):
            count = len(cast("list[Json]", value))
            signs = "{}" if isinstance(value, dict) else "[]"
            return Text(f"{signs[0]}{format_number(count)}{signs[1]}", self._style("note"))
        if not isinstance(value, str):
            return Text(single_line(json.dumps(value), room), self._style("number"))
        whole = f'"{single_line(value, room)}"'
        if len(value) <= room and cell_len(whole) <= room:
            return Text(whole, self._style("string"))
        length = format_number(len(value))
        notes = (
            f"  {length} characters, v shows all",
            f"  {length}, v shows all",
            f"  {length}",
            "",
        )
        note = next((each for each in notes if room - len(each) >= MIN_VALUE_CHARS), "")
        shown = set_cell_size(single_line(value, room), room - len(note) - 3).rstrip()
        text = Text(f'"{shown.removesuffix("…")}…"', self._style("string"))
        text.append(note, self._style("note"))
        return text

    def _style(self, name: str) -> Style:
        return foreground_style(self, f"json-tree--{name}")

    def _grow(self, node: TreeNode[JsonNode]) -> None:
        if node.data is not None and not node.children:
            self._add(node, node.data)

    def _add(self, node: TreeNode[JsonNode], place: JsonNode) -> None:
        for at, (step, value) in enumerate(_members(place.value)):
            if at < place.begin:
                continue
            if at >= place.begin + MEMBERS_PER_PAGE:
                node.add_leaf("", JsonNode(place.path, place.value, at))
                return
            inner = JsonNode((*place.path, step), value)
            node.add("", inner, allow_expand=_size(value) > 0)


def _size(value: Json) -> int:
    return len(cast("list[Json]", value)) if isinstance(value, dict | list) else 0


def _members(value: Json) -> Iterator[tuple[Step, Json]]:
    if isinstance(value, dict):
        yield from cast("dict[str, Json]", value).items()
    elif isinstance(value, list):
        yield from enumerate(cast("list[Json]", value))
