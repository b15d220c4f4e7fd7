"""The traffic beside a chat, and the chat as it was at the cursor of the traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.past import PastStates
from acp_console.kept.preferences import PaneLayout
from acp_console.tui.chat.sidebar import PastTalk

if TYPE_CHECKING:
    from acp_console.traffic.marks import NotesFile
    from acp_console.tui.inspector_pane import InspectorPane
    from acp_console.tui.talk_pane import TalkPane


class TrafficSide:
    """What of the traffic a chat shows; its parts are made when the user first wants them."""

    def __init__(self, screen: Screen[None], chat: ChatSession, layout: PaneLayout) -> None:
        self._screen = screen
        self._chat = chat
        self._layout = layout
        self._parts: tuple[InspectorPane, TalkPane] | None = None

    @property
    def pane(self) -> InspectorPane:
        """The traffic, once it was opened."""
        assert self._parts is not None
        return self._parts[0]

    @property
    def is_shown(self) -> bool:
        return self._parts is not None and self.pane.display

    @property
    def has_focus(self) -> bool:
        return self.is_shown and self.pane.has_focus_within

    async def prepare(self) -> None:
        """Make its parts, out of sight, and let them read what was said."""
        if self._parts is None:
            await self._mount()
        if not self.is_shown:
            self._feed()
            self.pane.traffic.read_ahead()

    def show(self, is_shown: bool) -> None:
        """Show or hide it, once it is prepared; where it is shown, it has the next key."""
        self.pane.display = is_shown
        if is_shown:
            # Keys that are on their way must not reach the editor: at once, not by a message.
            self._screen.set_focus(self.pane.content)
        self.rewind()

    async def _mount(self) -> None:
        # It takes time to import, and many chats do without.
        from acp_console.tui.inspector_pane import ChatInspection
        from acp_console.tui.talk_pane import TalkPane
        from acp_inspector.filter.entries import EntryList

        journal = self._chat.journal
        pane = ChatInspection(
            EntryList(),
            now=self._chat.now,
            began=lambda: journal.created,
            notes=self._notes,
            layout=self._layout,
            beside=lambda: self._screen.query_one("#talk"),
            id="inspection",
        )
        pane.display = False
        rewound = TalkPane(pane, can_focus=False, past=PastStates(), id="rewound")
        rewound.display = False
        await self._screen.query_one("#panes").mount(pane)
        await self._screen.query_one("#talk").mount(rewound, after="#conversation")
        # From now on it is fed: all of its parts are there.
        self._parts = pane, rewound

    def _notes(self) -> list[NotesFile]:
        """Return where marks of the traffic are kept: beside each recording of it."""
        from acp_console.traffic.marks import NotesFile

        return [
            NotesFile(each.path, after=each.after, offset=each.offset)
            for each in self._chat.agent.recorded
        ]

    def feed(self) -> None:
        """Pass on what was said since the last time, while it is shown."""
        if self.is_shown:
            self._feed()

    def _feed(self) -> None:
        entries = self._chat.journal.entries
        self.pane.extend(entries[self.pane.count : self._chat.entries_read])

    @property
    def past(self) -> PastTalk | None:
        """The conversation at the cursor of the traffic, while that is shown."""
        if (
            self._parts is None
            or not self._parts[1].display
            or (n := self._parts[1].moment) is None
        ):
            return None
        return PastTalk(n, self._parts[1].state)

    def rewind(self) -> None:
        """Show the conversation at the cursor of the traffic, while that has the focus."""
        if not self._screen.is_attached or not self._screen.is_mounted:
            return
        is_past = self.has_focus and self.pane.traffic.table.chosen is not None
        self._screen.query_one("#conversation").display = not is_past
        if self._parts is not None:
            rewound = self._parts[1]
            rewound.display = is_past
            if is_past:
                rewound.look()
