"""The traffic beside a chat."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from acp_console.tui.commands import bindings
from acp_console.tui.inspector_pane import InspectorPane


class ChatInspection(InspectorPane):
    """The traffic of a chat; the key that opened it also closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traffic of a chat")
