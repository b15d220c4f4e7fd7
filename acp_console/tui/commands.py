"""Every command that has a key, in one table: the source of bindings, footer, palette and help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal, TypeAlias

from textual.binding import Binding, BindingType

Scope: TypeAlias = Literal[
    "everywhere",
    "home",
    "chat",
    "transcript",
    "watch",
    "traffic",
    "inspection",
    "traffic of a chat",
    "intercept",
    "breakpoints",
    "analysis",
    "findings",
    "waterfall",
    "statistics",
    "waiting",
    "capabilities",
    "compare",
]

SCOPES: Final[dict[Scope, str]] = {
    "everywhere": "Everywhere",
    "home": "First screen",
    "chat": "Chat",
    "transcript": "Chat: transcript",
    "watch": "Proxies and recordings",
    "traffic": "Traffic",
    "inspection": "Traffic: analysis",
    "traffic of a chat": "Traffic: in a chat",
    "intercept": "Traffic: paused messages",
    "breakpoints": "Breakpoints",
    "analysis": "Analysis",
    "findings": "Analysis: findings",
    "waterfall": "Analysis: waterfall",
    "statistics": "Analysis: statistics",
    "waiting": "Analysis: waiting",
    "capabilities": "Analysis: capabilities",
    "compare": "Compare",
}
"""The title of each scope."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the user can run by a key."""

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
        Command("console.help", "f1,question_mark", "help", "Help",
                "Show the keys of this screen; ? works too, except while you write"),
        Command("console.paused", "alt+p", "paused", "Paused",
                "Go to the message that a proxy has paused"),
        Command("console.quit", "ctrl+q", "quit", "Quit",
                "Quit; this also stops the agent of the chat"),
        Command("console.settings", "alt+s", "settings", "Settings",
                "Change the theme and other settings, or open their file", False),
    ),
    "home": (
        Command("home.open", "enter", "open", "Open",
                "Chat with the chosen agent, or look at the chosen traffic"),
    ),
    "chat": (
        Command("chat.traffic", "ctrl+t,f2", "traffic", "Traffic",
                "Show or hide the traffic next to the chat"),
        Command("chat.alone", "alt+w,f4", "alone", "Wide",
                "Switch between traffic alone and traffic next to the chat"),
        Command("chat.cancel", "escape", "cancel", "Stop", "Stop the running turn"),
        Command("chat.page_up", "pageup", "page(-1)", "Up", "Scroll the transcript up", False),
        Command("chat.page_down", "pagedown", "page(1)", "Down",
                "Scroll the transcript down", False),
        Command("chat.top", "ctrl+home", "transcript_top", "Top",
                "Go to the beginning of the transcript", False),
        Command("chat.end", "ctrl+end", "transcript_end", "End",
                "Go to the end of the transcript and follow it", False),
        Command("chat.search", "ctrl+f", "search", "Search", "Search the transcript", False),
        Command("chat.mode", "shift+tab", "mode_or_back", "Mode",
                "Switch to the agent's next mode, or go to the waiting request", False),
        Command("chat.options", "alt+o,f6", "options", "Options",
                "Choose mode, model and other options of the session", False),
        Command("chat.history", "ctrl+r", "history", "History",
                "Search earlier prompts", False),
        Command("chat.editor", "ctrl+g", "edit_outside", "Editor",
                "Write the prompt in $EDITOR", False),
        Command("chat.copy", "ctrl+c", "copy", "Copy",
                "Copy the selection; without one, stop the turn", False),
        Command("chat.save", "ctrl+s", "save", "Save",
                "Save or export the chat: as Markdown, HTML, text or a recording", False),
        Command("chat.restart", "alt+r,f5", "restart", "Restart", "Restart the agent", False),
        Command("chat.home", "ctrl+o,f3", "home", "Switch",
                "Go to the first screen, to other chats; this one keeps running"),
        Command("chat.new", "ctrl+n", "new", "New",
                "Open another session of the same agent", False),
        Command("chat.new_with", "alt+n", "new_with", "New with",
                "Open a session with other directories and MCP servers", False),
        Command("chat.sessions", "alt+l,f7", "sessions", "Sessions",
                "List the sessions that the agent keeps, and open one", False),
        Command("chat.fork", "alt+f,f8", "fork", "Fork",
                "Continue in a copy of this session", False),
        Command("chat.work", "alt+b,f9", "work", "Background",
                "List subagents and work in the background, to open or cancel it", False),
        Command("chat.rename", "alt+t,f10", "rename", "Rename",
                "Rename the session, if the agent supports it", False),
        Command("chat.account", "alt+a,f12", "account", "Account",
                "Show the agent's account; log in or out", False),
        Command("chat.next", "alt+down", "switch(1)", "Next chat",
                "Show the next open chat", False),
        Command("chat.before", "alt+up", "switch(-1)", "Previous chat",
                "Show the previous open chat", False),
        Command("chat.close", "ctrl+w", "close", "Close",
                "Close this chat; in the editor only while it is empty", False),
        Command("chat.sidebar", "ctrl+b", "sidebar", "Sidebar",
                "Show or hide chats, plan, context and files", False),
    ),
    "transcript": (
        Command("transcript.next", "j", "next_card(1)", "Next", "Go to the next card", False),
        Command("transcript.before", "k", "next_card(-1)", "Previous",
                "Go to the previous card", False),
        Command("transcript.fold", "enter", "fold", "Fold", "Fold or unfold the card"),
        Command("transcript.split", "d", "split", "Side by side",
                "Show changes side by side, or one below the other", False),
        Command("transcript.copy", "y", "copy", "Copy",
                "Copy the selection; without one, the card"),
        Command("transcript.attachments", "o", "attachments", "Attachments",
                "Save or open images, audio, resources and links of the card", False),
        Command("transcript.send", "s", "offer", "To the agent",
                "Put your command and its output into the prompt", False),
        Command("transcript.search", "slash", "screen.search", "Search", "Search the transcript"),
        Command("transcript.again", "n", "search_on(-1)", "Again",
                "Go to the previous match", False),
        Command("transcript.search_back", "N", "search_on(1)", "Back",
                "Go to the next match", False),
        Command("transcript.prompt", "p", "jump('prompt', -1)", "Prompt",
                "Go to the previous prompt", False),
        Command("transcript.next_prompt", "P", "jump('prompt', 1)", "Next prompt",
                "Go to the next prompt", False),
        Command("transcript.error", "e", "jump('error', -1)", "Error",
                "Go to the previous error", False),
        Command("transcript.next_error", "E", "jump('error', 1)", "Next error",
                "Go to the next error", False),
        Command("transcript.permission", "a", "jump('permission', -1)", "Asked",
                "Go to the previous permission request", False),
        Command("transcript.next_permission", "A", "jump('permission', 1)", "Next asked",
                "Go to the next permission request", False),
        Command("transcript.top", "g", "top", "Top", "Go to the beginning", False),
        Command("transcript.end", "G", "end", "End", "Go to the end and follow it", False),
        Command("transcript.leave", "escape", "screen.leave_transcript", "Write",
                "Go back to the editor"),
    ),
    "watch": (
        Command("watch.next", "f3", "next_source", "Next", "Show the next proxy or recording"),
        Command("watch.back", "q", "back", "Back", "Go back to the first screen"),
        Command("watch.view", "ctrl+t,f2", "view", "Talk",
                "Show the conversation, the traffic, or both"),
        Command("watch.save", "ctrl+s", "save", "Save",
                "Save or export rows: as a recording, Markdown, HTML or text", False),
        Command("watch.intercept", "B", "intercept", "Breakpoints",
                "List, add and remove breakpoints"),
    ),
    "traffic": (
        Command("frames.filter", "slash", "filter", "Filter", "Show only rows that match a filter"),
        Command("frames.unfilter", "escape", "unfilter", "All",
                "Stop a search, or clear the filter", False),
        Command("frames.follow", "f", "follow", "Follow", "Follow the newest row"),
        Command("frames.time", "T", "time", "Times",
                "Show times since the start, as clock times, or since the row above", False),
        Command("frames.taller", "plus", "share(5)", "More rows",
                "Give the rows more room, and the details less", False),
        Command("frames.shorter", "minus", "share(-5)", "Fewer rows",
                "Give the rows less room, and the details more", False),
        Command("frames.detail", "enter", "detail", "Look",
                "Unfold a run of updates or an array; otherwise go to the details", False),
        Command("frames.fold", "space", "fold", "Fold",
                "Fold or unfold a run of updates, or an array", False),
        Command("frames.tree", "1", "tab('tree')", "Tree", "Show the frame as a tree", False),
        Command("frames.raw", "2", "tab('raw')", "Raw", "Show its exact bytes", False),
        Command("frames.spelled", "3", "tab('pretty')", "Pretty", "Show its JSON indented", False),
        Command("frames.pair", "4", "tab('pair')", "Pair",
                "Show request and response side by side", False),
        Command("frames.edit", "o", "tab('edit')", "Original",
                "Compare an edited frame: as it arrived, and as it was sent", False),
        Command("frames.whole", "v", "whole", "Whole", "Show a shortened value in full", False),
        Command("frames.answer", "a", "jump", "Answer", "Jump to the response or request"),
        Command("frames.permission", "P", "permission", "Permission",
                "Jump to the tool call's permission, or back", False),
        Command("frames.error", "e", "trouble(True)", "Error", "Jump to the next error", False),
        Command("frames.error_before", "E", "trouble(False)", "Previous error",
                "Jump to the previous error", False),
        Command("frames.finding", "x", "go_to_finding(True)", "Finding",
                "Jump to the next row that breaks a rule", False),
        Command("frames.finding_before", "X", "go_to_finding(False)", "Previous finding",
                "Jump to the previous row that breaks a rule", False),
        Command("frames.mark", "m", "mark", "Mark", "Mark or unmark the row", False),
        Command("frames.comment", "M", "comment", "Comment",
                "Mark the row with a comment, or edit its comment", False),
        Command("frames.marks", "apostrophe", "list_marks", "Marks",
                "List the marks with their comments: go to one, edit or remove it", False),
        Command("frames.jump", "right_square_bracket", "choose_jump(True)", "Jump on",
                "Choose what to jump to: an error, finding, mark, turn or permission", False),
        Command("frames.jump_before", "left_square_bracket", "choose_jump(False)", "Jump back",
                "Choose what to jump back to: an error, finding, mark, turn or permission", False),
        Command("frames.next_mark", "n", "go_on(True)", "Again",
                "Repeat the last jump forwards; at first, go to the next mark", False),
        Command("frames.mark_before", "N", "go_on(False)", "Again back",
                "Repeat the last jump backwards; at first, go to the previous mark", False),
        Command("frames.compare", "D", "compare", "Compare with…",
                "Compare the traffic with another recording or chat, step by step", False),
        Command("frames.save", "ctrl+s", "save", "Save",
                "Save rows to a file, with or without secrets", False),
        Command("frames.resend", "s", "resend", "Resend",
                "Edit a copy of the frame, and send it to its receiver"),
        Command("frames.break", "b", "break", "Break", "Pause frames like this one"),
        Command("frames.inject", "i", "inject", "Inject",
                "Send a new frame to the client or the agent", False),
        Command("frames.pause", "p", "pause", "Pause all",
                "Start or stop pausing every frame", False),
        Command("frames.release", "R", "release_all", "Release all",
                "Release all paused frames", False),
        Command("frames.session", "S", "same('session')", "Session",
                "Show only the same session", False),
        Command("frames.tool", "t", "same('tool_call')", "Tool call",
                "Show only the same tool call", False),
        Command("frames.copy", "c", "copy('bytes')", "Copy", "Copy the exact bytes"),
        Command("frames.pretty", "C", "copy('JSON')", "Copy JSON",
                "Copy the frame as indented JSON", False),
        Command("frames.copy_as", "y", "choose_copy", "Copy as",
                "Copy bytes, JSON, a command, the path of the chosen value or a filter; or save",
                False),
        Command("frames.as_filter", "w", "copy('filter')", "Copy filter",
                "Copy a filter for rows like this one, or for the chosen value", False),
    ),
    "inspection": (
        Command("frames.findings", "5", "analyse('findings')", "Findings",
                "Show where the protocol is broken"),
        Command("frames.here", "6", "analyse('here')", "Here",
                "Show the conversation as of the chosen frame", False),
        Command("frames.waterfall", "7", "analyse('waterfall')", "Waterfall",
                "Show requests and responses over time", False),
        Command("frames.statistics", "8", "analyse('statistics')", "Statistics",
                "Show counts, sizes and times", False),
        Command("frames.waiting", "9", "analyse('waiting')", "Waiting",
                "Show who waits for whom", False),
        Command("frames.capabilities", "0", "analyse('capabilities')", "Capabilities",
                "Show which capabilities were claimed and used", False),
        Command("frames.wider", "less_than_sign", "split(-5)", "Wider",
                "Give the traffic more room, and the conversation less", False),
        Command("frames.narrower", "greater_than_sign", "split(5)", "Narrower",
                "Give the traffic less room, and the conversation more", False),
    ),
    "traffic of a chat": (
        Command("chat.back", "ctrl+t,f2", "screen.traffic", "Chat",
                "Go back to the chat; the traffic stays open"),
    ),
    "intercept": (
        Command("hold.release", "r", "release", "Release", "Send the frame unchanged"),
        Command("hold.edit", "e,enter", "edit", "Edit", "Change the frame, then send it"),
        Command("hold.answer", "a", "answer", "Answer",
                "Write the response to a request, and send that instead"),
        Command("hold.discard", "x", "discard", "Drop",
                "Drop the frame; a request gets an error response"),
        Command("hold.lose", "X", "lose", "Lose", "Drop the frame without a response", False),
        Command("hold.duplicate", "d", "duplicate", "Twice", "Send the frame twice", False),
        Command("hold.delay", "w", "delay", "Delay", "Send the frame after a delay", False),
        Command("hold.keep", "plus", "keep", "More time", "Restart the countdowns", False),
        Command("hold.send", "ctrl+s", "send", "Send", "Send what the editor shows"),
        Command("hold.force", "f8", "force", "Send as is",
                "Send the frame even if it is not valid", False),
        Command("hold.flaw", "f4", "flaw", "To the error", "Go to the syntax error", False),
        Command("hold.kind", "f5", "kind", "Answer instead",
                "Write a result, then an error, then the frame again", False),
    ),
    "breakpoints": (
        Command("points.write", "b", "write", "Add", "Add a breakpoint"),
        Command("points.clear", "delete", "clear", "Remove", "Remove the chosen breakpoint"),
        Command("points.clear_all", "D", "clear_all", "Remove all",
                "Remove all breakpoints, and release all paused frames"),
        Command("points.pause", "p", "pause", "Pause all", "Start or stop pausing every frame"),
        Command("points.leave", "escape", "leave", "Close", "Close the list; breakpoints stay"),
    ),
    "analysis": (
        Command("analysis.open", "enter", "open", "Frame", "Show the frame in the traffic"),
        Command("analysis.leave", "escape", "leave", "Traffic", "Go back to the traffic"),
        Command("analysis.before", "left", "step(-1)", "Before",
                "Show the state one row earlier", False),
        Command("analysis.after", "right", "step(1)", "After",
                "Show the state one row later", False),
        Command("analysis.portion", "p", "portion", "Stop/go", "Pause or continue the analysis"),
    ),
    "findings": (
        Command("findings.errors", "e", "severity('error')", "Errors", "Show or hide errors"),
        Command("findings.warnings", "w", "severity('warning')", "Warnings",
                "Show or hide warnings", False),
        Command("findings.infos", "i", "severity('info')", "Infos",
                "Show or hide infos", False),
        Command("findings.sort", "s", "sort", "Sort",
                "List findings by severity, or in the order of their frames"),
    ),
    "waterfall": (
        Command("waterfall.zoom", "z", "zoom", "Zoom",
                "Zoom in on the chosen row, or back out"),
    ),
    "statistics": (
        Command("statistics.by", "b", "by", "By", "Group by method, session or turn"),
        Command("statistics.sort", "s", "sort", "Sort",
                "Sort by a time, then by the next column; a click on its name sorts too"),
        Command("statistics.turn_round", "S", "turn_round", "Reverse",
                "Reverse the sort order", False),
    ),
    "waiting": (
        Command("waiting.last", "e", "last", "End",
                "Show who waits at the end, or now; press again for the chosen frame"),
    ),
    "capabilities": (
        Command("capabilities.every", "a", "every", "All",
                "Show or hide capabilities neither claimed nor used"),
    ),
    "compare": (
        Command("compare.whole", "enter", "whole", "Whole",
                "Show both messages in full, or unfold equal steps"),
        Command("compare.next", "n", "go_on(True)", "Next", "Go to the next difference"),
        Command("compare.before", "N", "go_on(False)", "Before", "Go to the previous difference"),
        Command("compare.fold", "space", "fold", "Fold", "Fold or unfold equal steps", False),
        Command("compare.split", "d", "split", "Side by side",
                "Show both messages side by side, or one below the other"),
        Command("compare.copy", "y", "copy", "Copy", "Copy the differences of the step"),
        Command("compare.back", "escape,q", "back", "Back",
                "Go back to the traffic, and stop a comparison that is running"),
    ),
}
# fmt: on

COMMANDS: Final = tuple(
    replace(command, scope=scope) for scope, commands in _TABLE.items() for command in commands
)

SIGNS: Final = (
    ("E W I", "A rule is broken here: error, warning, info; 5 shows which, x goes to the next"),
    ("e w i", "Helps to prove a finding in another row; x skips it"),
    ("◆", "Marked by you"),
    ("● ○ ┄", "Request, result, notification"),
    ("?", "Waiting for a person; in the line below the rows a grey background, ░"),
    ("⏸", "Paused by a breakpoint"),
    ("✗ ‖", "Not a valid message; stderr"),
)
"""The signs before the rows of the traffic, and their meanings."""

EDITOR_KEYS: Final = (
    ("enter", "Send the prompt"),
    ("! COMMAND", "Run a command of your own in a terminal; the agent does not see it"),
    ("\\!", "Begin a prompt with !"),
    ("!< TEXT", "Write a line to that command; without TEXT, end its input"),
    ("ctrl+j", "New line in the prompt"),
    ("up / down", "In an empty editor: the newest queued prompt, to change it, or earlier prompts"),
    ("1 … 9, enter", "Choose an answer; up, down, left and right move"),
    ("y a n w", "Permission: allow once, allow always, reject, reject and say why"),
    ("tab", "Next part of the screen; first the queued prompts"),
    ("enter, del", "On a queued prompt: put it back into the editor, or remove it"),
    ("ctrl+p", "Palette: all commands and themes"),
)
"""Keys that widgets of the chat handle themselves."""


PRIORITY: Final = ("f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "ctrl+t", "ctrl+o", "ctrl+n",
                   "ctrl+q", "alt+f", "alt+l", "alt+n", "alt+o", "alt+p", "alt+r", "alt+s",
                   "alt+w")  # fmt: skip
"""Keys that no widget may take, nor a dialog those of the app."""


def bindings(scope: Scope) -> list[BindingType]:
    """Return the bindings of the commands of a scope; the footer shows the first key of each."""
    return [
        Binding(
            ",".join(keys),
            command.action,
            command.title,
            tooltip=command.help,
            show=command.is_in_footer and not number,
            id=command.id,
            priority=is_priority,
        )
        for command in COMMANDS
        if command.scope == scope
        for number, (is_priority, keys) in enumerate(
            groupby(command.key.split(","), PRIORITY.__contains__)
        )
    ]
