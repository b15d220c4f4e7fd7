"""Every deed that has a key, in one table: bindings, footer, palette and help are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from textual.binding import Binding, BindingType

Scope: TypeAlias = Literal["everywhere", "home", "chat", "watch", "traffic", "intercept"]

SCOPES: Final[dict[Scope, str]] = {
    "everywhere": "Everywhere",
    "home": "List of agents",
    "chat": "Chat",
    "watch": "Proxies and recordings",
    "traffic": "Traffic",
    "intercept": "Intercept",
}
"""Where a deed is possible, as it is called on screens."""


@dataclass(frozen=True, slots=True)
class Command:
    """One deed."""

    id: str
    key: str
    action: str
    title: str
    """A word or two, for the footer and the palette."""
    help: str
    scope: Scope
    is_in_footer: bool = True


COMMANDS: Final = (
    Command("console.help", "f1", "help", "Help", "Explain this screen", "everywhere"),
    Command(
        "console.quit", "ctrl+q", "quit", "Quit", "Leave; an agent of this chat ends", "everywhere"
    ),
    Command("home.open", "enter", "open", "Chat", "Chat with the chosen agent", "home"),
    Command(
        "chat.traffic", "f2", "traffic", "Traffic", "Show or hide the frames beside it", "chat"
    ),
    Command("chat.cancel", "escape", "cancel", "Stop", "Stop the running turn", "chat"),
    Command("chat.restart", "f5", "restart", "Restart", "Start the agent anew", "chat", False),
    Command("chat.home", "f3", "home", "Agents", "Leave for the list of agents", "chat"),
    Command(
        "watch.next", "f3", "next_source", "Next", "Look at the next proxy or recording", "watch"
    ),
    Command("frames.copy", "c", "copy", "Copy", "Copy the frame's exact bytes", "traffic"),
    Command("frames.follow", "f", "follow", "Follow", "Keep the newest frame in sight", "traffic"),
    Command(
        "frames.filter", "slash", "filter", "Filter", "Show frames that hold a text", "traffic"
    ),
    Command("watch.intercept", "f2", "intercept", "Intercept", "Hold and change frames", "watch"),
    Command("hold.release", "r", "release", "Release", "Let the frame go as it is", "intercept"),
    Command("hold.edit", "e", "edit", "Edit", "Change the frame, then let it go", "intercept"),
    Command("hold.discard", "x", "discard", "Discard", "The frame never leaves", "intercept"),
    Command("hold.duplicate", "d", "duplicate", "Twice", "Let it leave twice", "intercept"),
    Command("hold.all", "R", "release_all", "All", "Release everything", "intercept"),
    Command("hold.pause", "p", "pause", "Pause", "Hold everything, or no longer", "intercept"),
    Command("hold.clear", "delete", "clear", "Clear", "Take a breakpoint away", "intercept"),
    Command("frames.answer", "a", "jump", "Answer", "Jump to the answer or question", "traffic"),
)

EDITOR_KEYS: Final = (
    ("enter", "Send the prompt"),
    ("ctrl+j", "New line in the prompt"),
    ("up / down", "Earlier prompts, in an empty editor"),
    ("1 … 9", "Answer a permission prompt"),
    ("tab", "Next part of the screen"),
    ("ctrl+p", "Palette: every deed, and the themes"),
)
"""What the parts of the chat do by themselves."""


def bindings(scope: Scope) -> list[BindingType]:
    """Return the bindings of a scope."""
    return [
        Binding(
            command.key,
            command.action,
            command.title,
            tooltip=command.help,
            show=command.is_in_footer,
            id=command.id,
            priority=command.key.startswith(("f1", "f2", "f3", "f5")),
        )
        for command in COMMANDS
        if command.scope == scope
    ]
