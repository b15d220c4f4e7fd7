"""Every command that has a key, in one table: the source of bindings, footer, palette and help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from textual.binding import Binding, BindingType

Scope: TypeAlias = Literal[
    "everywhere",
    "home",
    "chat",
    "watch",
    "traffic",
    "inspection",
    "traffic of a chat",
    "intercept",
    "analysis",
    "findings",
    "waterfall",
    "statistics",
    "capabilities",
]

SCOPES: Final[dict[Scope, str]] = {
    "everywhere": "Everywhere",
    "home": "List of agents",
    "chat": "Chat",
    "watch": "Proxies and recordings",
    "traffic": "Traffic",
    "inspection": "Traffic: analysis",
    "traffic of a chat": "Traffic: in a chat",
    "intercept": "Intercept",
    "analysis": "Analysis",
    "findings": "Analysis: findings",
    "waterfall": "Analysis: waterfall",
    "statistics": "Analysis: statistics",
    "capabilities": "Analysis: capabilities",
}
"""Where a command is possible, by its name on screens."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the user."""

    id: str
    key: str
    action: str
    title: str
    """A word or two, for the footer and the palette."""
    help: str
    is_in_footer: bool = True
    scope: Scope = "everywhere"


# fmt: off
_TABLE: Final[dict[Scope, tuple[Command, ...]]] = {
    "everywhere": (
        Command("console.help", "f1", "help", "Help", "Explain this screen"),
        Command("console.quit", "ctrl+q", "quit", "Quit", "Leave; an agent of this chat ends"),
    ),
    "home": (
        Command("home.open", "enter", "open", "Chat", "Chat with the chosen agent"),
    ),
    "chat": (
        Command("chat.traffic", "f2", "traffic", "Traffic", "Show or hide the frames beside it"),
        Command("chat.alone", "f4", "alone", "Wide",
                "Show the traffic over the whole width, or the chat beside it"),
        Command("chat.cancel", "escape", "cancel", "Stop", "Stop the running turn"),
        Command("chat.restart", "f5", "restart", "Restart", "Start the agent anew", False),
        Command("chat.home", "f3", "home", "Agents", "Leave for the list of agents"),
    ),
    "watch": (
        Command("watch.next", "f3", "next_source", "Next", "Look at the next proxy or recording"),
        Command("watch.intercept", "f2", "intercept", "Intercept", "Hold and change frames"),
    ),
    "traffic": (
        Command("frames.filter", "slash", "filter", "Filter", "Show only what a filter means"),
        Command("frames.unfilter", "escape", "unfilter", "All",
                "Stop a search; show everything", False),
        Command("frames.follow", "f", "follow", "Follow", "Keep the newest row in sight"),
        Command("frames.detail", "enter", "detail", "Look", "Go to what the row holds", False),
        Command("frames.tree", "1", "tab('tree')", "Tree", "Look at it as a tree", False),
        Command("frames.raw", "2", "tab('raw')", "Raw", "Look at its exact bytes", False),
        Command("frames.spelled", "3", "tab('pretty')", "Pretty", "Look at it spelled out", False),
        Command("frames.pair", "4", "tab('pair')", "Pair",
                "Look at request and response side by side", False),
        Command("frames.whole", "v", "whole", "Whole", "Show all of what is shortened", False),
        Command("frames.answer", "a", "jump", "Answer", "Jump to the answer or question"),
        Command("frames.permission", "P", "permission", "Permission",
                "Jump to the tool call's permission, or back", False),
        Command("frames.error", "e", "trouble(True)", "Error", "Jump to the next error", False),
        Command("frames.error_before", "E", "trouble(False)", "Error before",
                "Jump to the error before", False),
        Command("frames.finding", "x", "go_to_finding(True)", "Finding",
                "Jump to the next row that lint has found something about", False),
        Command("frames.finding_before", "X", "go_to_finding(False)", "Finding before",
                "Jump to the one before", False),
        Command("frames.mark", "m", "mark", "Mark", "Mark the row, or no longer", False),
        Command("frames.next_mark", "n", "go_to_mark(True)", "Next",
                "Jump to the next mark", False),
        Command("frames.mark_before", "N", "go_to_mark(False)", "Before",
                "Jump to the mark before", False),
        Command("frames.session", "s", "same('session')", "Session",
                "Show only the same session", False),
        Command("frames.tool", "t", "same('tool_call')", "Tool call",
                "Show only the same tool call", False),
        Command("frames.copy", "c", "copy('raw')", "Copy", "Copy the exact bytes"),
        Command("frames.pretty", "C", "copy('pretty')", "Copy JSON", "Copy it spelled out", False),
        Command("frames.path", "y", "copy('path')", "Copy path",
                "Copy the path of the place in the tree", False),
        Command("frames.as_filter", "w", "copy('filter')", "Copy filter",
                "Copy a filter for such rows, or for the place in the tree", False),
    ),
    "inspection": (
        Command("frames.findings", "5", "analyse('findings')", "Findings",
                "Look at what breaks the protocol"),
        Command("frames.here", "6", "analyse('here')", "Here",
                "Look at the conversation as it was at the chosen frame", False),
        Command("frames.waterfall", "7", "analyse('waterfall')", "Waterfall",
                "Look at questions and answers over time", False),
        Command("frames.statistics", "8", "analyse('statistics')", "Statistics",
                "Look at counts, sizes and times", False),
        Command("frames.waiting", "9", "analyse('waiting')", "Waiting",
                "Look at who waits for whom", False),
        Command("frames.capabilities", "0", "analyse('capabilities')", "Capabilities",
                "Look at what was claimed, and what was used", False),
    ),
    "traffic of a chat": (
        Command("chat.back", "f2", "screen.traffic", "Chat",
                "Back to the chat; the traffic stays as it is"),
    ),
    "intercept": (
        Command("hold.release", "r", "release", "Release", "Let the frame go as it is"),
        Command("hold.edit", "e", "edit", "Edit", "Change the frame, then send it"),
        Command("hold.discard", "x", "discard", "Discard",
                "Drop the frame; a request gets an error response"),
        Command("hold.answer", "a", "answer", "Answer", "Answer a request by hand"),
        Command("hold.delay", "w", "delay", "Delay", "Send it after a delay", False),
        Command("hold.duplicate", "d", "duplicate", "Twice", "Send it twice", False),
        Command("hold.keep", "k", "keep", "Keep", "More time: the countdowns begin anew", False),
        Command("hold.lose", "X", "lose", "Lose", "Drop the frame without a response", False),
        Command("hold.all", "R", "release_all", "All", "Release everything"),
        Command("hold.break", "b", "break", "Break", "Write which frames to hold", False),
        Command("hold.pause", "p", "pause", "Pause", "Hold everything, or no longer"),
        Command("hold.inject", "i", "inject", "Inject", "Send a frame of your own to a side"),
        Command("hold.clear", "delete", "clear", "Clear", "Take the newest breakpoint away", False),
        Command("hold.close", "f2", "screen.intercept", "Close",
                "Release what is held, remove the breakpoints, and close this"),
    ),
    "analysis": (
        Command("analysis.open", "enter", "open", "Frame", "Show it in the traffic"),
        Command("analysis.leave", "escape", "leave", "Traffic", "Back to the traffic"),
        Command("analysis.before", "left", "step(-1)", "Before",
                "Look at how it was a row before", False),
        Command("analysis.after", "right", "step(1)", "After",
                "Look at how it was a row later", False),
        Command("analysis.portion", "p", "portion", "Stop/go", "Read no further, or go on reading"),
    ),
    "findings": (
        Command("findings.errors", "e", "severity('error')", "Errors", "Show errors, or hide them"),
        Command("findings.warnings", "w", "severity('warning')", "Warnings",
                "Show warnings, or hide them", False),
        Command("findings.infos", "i", "severity('info')", "Infos",
                "Show infos, or hide them", False),
    ),
    "waterfall": (
        Command("waterfall.zoom", "z", "zoom", "Zoom",
                "Zoom into what the line shows, or back to everything"),
    ),
    "statistics": (
        Command("statistics.by", "b", "by", "By", "Count by method, by session, by turn"),
    ),
    "capabilities": (
        Command("capabilities.every", "a", "every", "All",
                "Show also what was neither claimed nor used, or not"),
    ),
}
# fmt: on

COMMANDS: Final = tuple(
    replace(command, scope=scope) for scope, commands in _TABLE.items() for command in commands
)

SIGNS: Final = (
    ("E W I", "A rule was broken here: error, warning, info; 5 tells which"),
    ("e w i", "Helps to prove that one was broken elsewhere"),
    ("◆", "Marked by you"),
    ("→ ← ·", "From the client, from the agent, from neither"),
    ("? = !", "Request, result, error"),
    ("✗ ‖", "No message or not readable; stderr"),
)
"""What precedes the rows of the traffic, and what each means."""

EDITOR_KEYS: Final = (
    ("enter", "Send the prompt"),
    ("ctrl+j", "New line in the prompt"),
    ("up / down", "Earlier prompts, in an empty editor"),
    ("1 … 9", "Answer a permission prompt"),
    ("tab", "Next part of the screen"),
    ("ctrl+p", "Palette: every command, and the themes"),
)
"""What the parts of the chat do by themselves."""


def bindings(scope: Scope) -> list[BindingType]:
    return [
        Binding(
            command.key,
            command.action,
            command.title,
            tooltip=command.help,
            show=command.is_in_footer,
            id=command.id,
            priority=command.key.startswith(("f1", "f2", "f3", "f4", "f5")),
        )
        for command in COMMANDS
        if command.scope == scope
    ]
