"""The first screen: the list of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.client.agents import DEMO_AGENT, AgentSpec
from acp_console.tui.commands import bindings
from acp_protocol.host.sanitize import single_line
from acp_protocol.version import SCHEMA_ID, VERSION

HINT = "Enter opens a chat. Any other agent: acp-console -- COMMAND"


class AgentFilter(Input):
    """The filter; it binds Enter itself, because the binding of `Input` hides the screen's."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Chat")]


class HomeScreen(Screen[None]):
    """Lists the agents; typing filters, Enter opens a chat."""

    CSS_PATH = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("home"),
        Binding("down", "cursor(1)", show=False),
        Binding("up", "cursor(-1)", show=False),
    ]

    filter = getters.query_one("#agent-filter", Input)
    options = getters.query_one("#agents", OptionList)

    @dataclass
    class AgentChosen(Message):
        """The user wants to chat with `agent`."""

        agent: AgentSpec

    def __init__(self, agents: Sequence[AgentSpec]) -> None:
        super().__init__()
        self._agents = tuple(agents)
        self._shown: list[AgentSpec] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="home"):
            yield Static(Content.styled("acp-console", "bold"), id="name", markup=False)
            yield Static("Chat with ACP agents and see every frame on the wire.", id="claim")
            yield AgentFilter(placeholder="Type to filter the agents", id="agent-filter")
            yield OptionList(id="agents", markup=False)
            yield Static("No agent matches. Esc clears the filter.", id="nothing")
            yield Static(HINT, id="hint", markup=False)
            yield Static(f"version {VERSION} · ACP schema {SCHEMA_ID}", id="versions", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.options.can_focus = False
        self._show("")
        self.filter.focus()

    @on(Input.Changed, "#agent-filter")
    def filter_agents(self, event: Input.Changed) -> None:
        self._show(event.value)

    @on(Input.Submitted, "#agent-filter")
    def choose(self) -> None:
        self.action_open()

    @on(OptionList.OptionSelected, "#agents")
    def choose_by_mouse(self, event: OptionList.OptionSelected) -> None:
        self.post_message(self.AgentChosen(self._shown[event.option_index]))

    def key_escape(self) -> None:
        self.filter.value = ""

    def action_cursor(self, step: int) -> None:
        if step > 0:
            self.options.action_cursor_down()
        else:
            self.options.action_cursor_up()

    def action_open(self) -> None:
        chosen = self.options.highlighted
        if chosen is not None and self._shown:
            self.post_message(self.AgentChosen(self._shown[chosen]))

    def _show(self, text: str) -> None:
        wanted = text.casefold()
        self._shown = [
            agent
            for agent in self._agents
            if wanted in f"{agent.name} {agent.title} {agent.description}".casefold()
        ]
        self.options.clear_options()
        self.options.add_options([Option(_line(agent)) for agent in self._shown])
        self.options.display = bool(self._shown)
        self.query_one("#nothing").display = not self._shown
        if self._shown:
            self.options.highlighted = 0


def _line(agent: AgentSpec) -> Content:
    mark = "embedded" if agent is DEMO_AGENT else "command"
    return Content.assemble(
        (single_line(agent.title, 40), "bold"),
        (f"  {mark}\n", "$text-accent"),
        (single_line(agent.description, 200), "$text-muted"),
    )
