"""Intercepts frames of a running proxy: breakpoints, held frames and their countdowns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import anyio.to_thread
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.highlight import highlight
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.render.values import format_number
from acp_console.state.intercept import HeldFrame, InterceptClient, InterceptState, encode_bytes
from acp_console.tui.commands import bindings
from acp_console.tui.filter_input import FilterInput
from acp_console.tui.intercept.screens import (
    AnswerScreen,
    ComposeScreen,
    DelayScreen,
    Edited,
    EditScreen,
    HandmadeResponse,
)
from acp_inspector.intercept.json_edit import NotEditableError, pretty
from acp_inspector.intercept.live_filter import compile_live
from acp_inspector.proxy.client import AttachError
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Json,
    Notification,
    Request,
    SuccessResponse,
)

EDITABLE: Final = 2**17
"""Bytes of a frame that can be edited on a screen; larger ones make typing slow."""
URGENT_BELOW_S: Final = 10.0
"""A countdown with fewer seconds left is shown as urgent."""
LOW_SCREEN_LINES: Final = 32
"""A screen with fewer lines counts as low."""
CELLS: Final = 10
"""Cells of a full countdown."""
MAX_HELD_CHARS: Final = 16_384
"""Characters of a held frame that are drawn."""
PARTS: Final = "#break-filter, #breakpoints, #rule-counts, #holds, #held-frame, #held-text"
"""Selectors of the pane's widgets."""
EMPTY: Final = """\
Nothing is held: there is no breakpoint yet.

 1  {write} a filter for frames to hold, and press Enter:
      method == session/prompt
      from == agent and method == session/request_permission
 2  The next matching frame is held for up to {limit:.0f} s, with all behind it.
 3  Release, edit, answer, delay or discard it with one key.

{leave}p holds every frame.  i sends a new frame to the client or the agent."""
WAITING: Final = """\
No frame is held. Frames that match a breakpoint wait here for up to {limit:.0f} s.

{leave}Delete removes the chosen breakpoint, or else the newest; {again} another."""
PAUSED: Final = """\
Every frame is held, in both directions. None has arrived yet; {end} stops holding."""
GONE: Final = """\
The proxy has ended or does not respond: nothing is held any more."""


class InterceptPane(Vertical):
    """Shows the frames that a proxy holds, and lets the user decide on them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("intercept")

    DEFAULT_CSS = """
    InterceptPane {
        height: 1fr;
        border: round $foreground 20%;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        padding: 0 1;
        #breakpoints {
            height: auto;
            max-height: 3;
            border: none;
            background: transparent;
            padding: 0;
            color: $text-muted;
        }
        #breakpoints:blur > .option-list--option-highlighted {
            background: transparent;
            color: $text-muted;
        }
        #rule-counts { height: auto; max-height: 2; color: $text-muted; }
        #holds { height: auto; max-height: 4; border: none; background: transparent; padding: 0; }
        #held-frame { height: 1fr; }
        #held-text { height: auto; }
    }
    InterceptPane:focus-within { height: 1.5fr; border: round $primary; }
    InterceptPane.-low:focus-within { height: 1fr; }
    """

    holds = getters.query_one("#holds", OptionList)
    points = getters.query_one("#breakpoints", OptionList)
    filter = getters.query_one("#break-filter", Input)

    def __init__(self, client: InterceptClient) -> None:
        super().__init__(id="intercept")
        self._client = client
        self._shown: InterceptState | None = None
        self._width = 0
        self._drawn: object = None
        self._shown_breakpoints: str | None = None
        self._offered: frozenset[str] | None = None
        self._known: dict[str, Json] = {}
        """Values to fill into a new frame: the session of the last held frame."""

    def compose(self) -> ComposeResult:
        yield FilterInput(
            "Break on frames such as: method == session/prompt",
            id="break-filter",
            compile=compile_live,
        )
        yield OptionList(id="breakpoints", compact=True, markup=False)
        yield Static(id="rule-counts", markup=False)
        yield OptionList(id="holds", compact=True, markup=False)
        with VerticalScroll(id="held-frame", can_focus=False):
            yield Static(id="held-text", markup=False)

    def on_mount(self) -> None:
        self.border_title = "Intercept"
        self.sync()

    def on_resize(self) -> None:
        """Use less of a low screen, to leave room for the traffic."""
        self.set_class(self.screen.size.height < LOW_SCREEN_LINES, "-low")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only possible commands, and no letter keys while the user types a filter."""
        del parameters
        return action not in _COMMANDS or action in self._possible()

    @property
    def _is_writing(self) -> bool:
        """Whether the user types into the filter, so that letters are not keys."""
        return bool(self.query("#break-filter")) and self.filter.has_focus

    def _possible(self) -> frozenset[str]:
        state, hold = self._shown, self._hold()
        if self._is_writing or state is None or state.presence == "gone":
            return frozenset()
        possible: set[str] = {*_ALWAYS, *(["clear"] if state.breakpoints else [])}
        if hold is not None:
            possible |= _HELD if isinstance(hold.message, Request) else _HELD - {"answer"}
        return frozenset(possible)

    def _offer(self) -> None:
        """Redraw the footer, but only if the offered keys changed: it is slow."""
        possible = self._possible()
        if possible != self._offered:
            self._offered = possible
            self.refresh_bindings()

    def sync(self) -> None:
        """Show the newest state and refusals; do nothing until all widgets are mounted."""
        while self._client.refusals:
            refusal = single_line(self._client.refusals.popleft(), 200)
            self.notify(refusal, severity="error", markup=False)
        state, width = self._client.state, self.size.width
        if state is self._shown and width == self._width:
            return
        # The widgets are mounted and removed one by one.
        if len(self.query(PARTS)) < PARTS.count("#"):
            return
        for hold in state.held_frames:
            match hold.message:
                case (
                    Request(params={"sessionId": str(session)})
                    | Notification(params={"sessionId": str(session)})
                ):
                    self._known["sessionId"] = session
                case _:
                    pass
        before, self._shown, self._width = self._shown, state, width
        self._show_breakpoints(state, before)
        self._show_holds(state, before)
        self._show_chosen()
        self._offer()

    @on(FilterInput.Confirmed)
    def set_breakpoint(self, event: FilterInput.Confirmed) -> None:
        if not event.filter.is_empty:
            self._client.send_command("break", filter=self.filter.value.strip())
            self.filter.value = ""
            self.holds.focus()

    @on(FilterInput.Left)
    def leave_filter(self) -> None:
        self.holds.focus()

    @on(OptionList.OptionHighlighted, "#holds")
    def show_other(self) -> None:
        self._show_chosen()
        self._offer()

    def on_descendant_focus(self) -> None:
        """Offer and show other keys while the user is typing."""
        self._show_chosen()
        self._show_countdown()
        self._offer()

    def on_descendant_blur(self) -> None:
        self._show_countdown()

    def focus_content(self) -> None:
        """Focus the held frames, or the input for breakpoints."""
        state = self._shown
        (self.holds if state and (state.held_frames or state.breakpoints) else self.filter).focus()

    def action_break(self) -> None:
        self.filter.focus()

    def action_release(self) -> None:
        self._do("release")

    def action_release_all(self) -> None:
        self._client.send_command("release_all")

    def action_discard(self) -> None:
        hold = self._hold()
        if hold is not None and isinstance(hold.message, SuccessResponse | ErrorResponse):
            self.notify(
                "That was a response: the requester keeps waiting for it", severity="warning"
            )
        self._do("discard")

    def action_lose(self) -> None:
        self._do("discard", silent=True)

    def action_duplicate(self) -> None:
        self._do("duplicate", times=2)

    def action_keep(self) -> None:
        self._client.send_command("keep")

    def action_pause(self) -> None:
        self._client.send_command("resume" if self._shown and self._shown.is_paused else "pause")

    def action_clear(self) -> None:
        points = self._shown.breakpoints if self._shown else ()
        if points:
            place = self.points.highlighted if self.points.has_focus else None
            self._client.send_command("clear", id=points[-1 if place is None else place][0])

    def action_delay(self) -> None:
        if (hold := self._hold()) is not None:
            self.app.push_screen(
                DelayScreen(hold.seq),
                self._decide(
                    lambda seconds: self._client.send_command("delay", id=hold.id, seconds=seconds)
                ),
            )

    def action_answer(self) -> None:
        hold = self._hold()
        if hold is None or not isinstance(hold.message, Request):
            return

        def answer(given: HandmadeResponse) -> None:
            self._client.send_command("answer", id=hold.id, **{given.kind: given.value})

        self.app.push_screen(AnswerScreen(self._client, hold, hold.message), self._decide(answer))

    def action_inject(self) -> None:
        self.app.push_screen(ComposeScreen(self._client, {**self._known}))

    @work(exclusive=True, group="edit")
    async def action_edit(self) -> None:
        hold = self._hold()
        if hold is None:
            return
        if hold.size > EDITABLE:
            self._refuse_edit(f"it has {format_number(hold.size)} bytes")
            return
        try:
            raw = await anyio.to_thread.run_sync(self._client.read_frame, hold)
            text = pretty(raw)
        except (AttachError, NotEditableError) as problem:
            self._refuse_edit(str(problem))
            return

        def edit(edited: Edited) -> None:
            self._client.send_command(
                "edit", id=hold.id, force=edited.is_forced, **encode_bytes(edited.raw)
            )

        self.app.push_screen(EditScreen(self._client, hold, text, raw), self._decide(edit))

    def _refuse_edit(self, reason: str) -> None:
        self.notify(
            f"This frame cannot be edited here: {single_line(reason, 120)}. "
            "Use acp-console attach --ask",
            severity="error",
            markup=False,
        )

    def _decide(self, action: Callable[[Any], object]) -> Callable[[Any], None]:
        """Return a callback that runs the action with a screen's result, unless it is None."""

        def decide(given: Any) -> None:
            if given is not None:
                action(given)

        return decide

    def _do(self, command: str, **members: object) -> None:
        if (hold := self._hold()) is not None:
            self._client.send_command(command, id=hold.id, **members)

    def _hold(self) -> HeldFrame | None:
        if self._shown is None or not self.query("#holds"):
            return None
        place = self.holds.highlighted
        holds = self._shown.held_frames
        return holds[place] if place is not None and place < len(holds) else None

    def _show_breakpoints(self, state: InterceptState, before: InterceptState | None) -> None:
        if before is None or state.breakpoints != before.breakpoints:
            self.points.clear_options()
            self.points.add_options(
                [Option(f"break on {single_line(text, 120)}") for _, text in state.breakpoints]
            )
            self.points.highlighted = len(state.breakpoints) - 1 if state.breakpoints else None
            self.points.display = bool(state.breakpoints)
        counts = [f"{single_line(name, 30)} ×{count}" for name, count in state.rule_counts.items()]
        parts = [
            *(["holding every frame"] if state.is_paused else []),
            *([f"rules and add-ons: {'  ·  '.join(counts)}"] if counts else []),
        ]
        shown_text = "\n".join(parts)
        if shown_text != self._shown_breakpoints:
            self._shown_breakpoints = shown_text
            line = self.query_one("#rule-counts", Static)
            line.update(shown_text)
            line.display = bool(shown_text)

    def _show_holds(self, state: InterceptState, before: InterceptState | None) -> None:
        ids = [hold.id for hold in state.held_frames]
        if before is None or ids != [hold.id for hold in before.held_frames]:
            chosen = self.holds.highlighted or 0
            self.holds.clear_options()
            self.holds.add_options([Option(self._line(hold, state)) for hold in state.held_frames])
            if ids:
                self.holds.highlighted = min(chosen, len(ids) - 1)
                if self.filter.has_focus and not self.filter.value:
                    # The user is not typing, and there is something to decide.
                    self.holds.focus()
        else:
            for place, hold in enumerate(state.held_frames):
                self.holds.replace_option_prompt_at_index(place, self._line(hold, state))
        self._show_countdown()

    def _show_countdown(self) -> None:
        """Show how long frames are held, and the key for more time if it works now."""
        holds = self._shown.held_frames if self._shown else ()
        least = min((hold.seconds_left for hold in holds), default=0.0)
        more = ", k for more" if self.has_focus_within and "keep" in self._possible() else ""
        self.border_subtitle = Content(
            f"{len(holds)} held · {least:.0f} s left{more} · F1 shows all keys" if holds else ""
        )

    def _line(self, hold: HeldFrame, state: InterceptState) -> Content:
        way = "client → agent" if hold.side == "client" else "agent → client"
        cells = min(max(round(hold.seconds_left / state.limit * CELLS), 0), CELLS)
        style = "bold $text-error" if hold.seconds_left < URGENT_BELOW_S else "$text-accent"
        behind = f"  +{hold.queued_behind} behind" if hold.queued_behind else ""
        start = f"  {way}  {hold.seq:>4}  "
        room = self.size.width - len(start) - len(behind) - CELLS - 7
        return Content.assemble(
            (f"{'▰' * cells}{'▱' * (CELLS - cells)} {hold.seconds_left:3.0f} s", style),
            start,
            single_line(_described(hold), max(room, 10)),
            (behind, "$text-warning"),
        )

    def _show_chosen(self) -> None:
        """Show the chosen frame, or a hint if there is none; only if it has changed."""
        state, hold = self._shown, self._hold()
        if state is None:
            return
        points = bool(state.breakpoints)
        writes = hold is None and self._is_writing
        about = (state.presence, state.is_paused, points, state.limit, writes)
        key = (hold.id if hold else None, *about)
        if key == self._drawn:
            return
        self._drawn = key
        text = self.query_one("#held-text", Static)
        text.update(_drawn(hold) if hold is not None else Content(_empty(state, writes)))


_ALWAYS: Final = frozenset({"break", "pause", "inject", "release_all"})
_HELD: Final = frozenset(
    {"release", "edit", "discard", "lose", "duplicate", "delay", "answer", "keep"}
)
_COMMANDS: Final = _ALWAYS | _HELD | {"clear"}


def _empty(state: InterceptState, writes: bool) -> str:
    """Return the hint for when no frame is held, with the keys that work now."""
    text = WAITING if state.breakpoints else EMPTY
    if state.presence == "gone" or state.is_paused:
        text = GONE if state.presence == "gone" else PAUSED
    words = _WRITING if writes else _READING
    return text.format(limit=state.limit, **words)


_WRITING: Final = {
    "write": "In the line above, write",
    "leave": "Esc leaves the line above; then:\n",
    "again": "the line takes",
    "end": "Esc, then p,",
}
_READING: Final = {"write": "b, then write", "leave": "", "again": "b writes", "end": "p"}


def _described(hold: HeldFrame) -> str:
    match hold.message:
        case Request(method=method):
            return f"request {method}"
        case Notification(method=method):
            return f"notification {method}"
        case SuccessResponse():
            return "result"
        case ErrorResponse(message=message):
            return f"error {message}"
        case _ if hold.is_whole:
            return hold.raw.decode(errors="replace")
        case _:
            return f"{format_number(hold.size)} bytes, {hold.raw[:200].decode(errors='replace')}"


def _drawn(hold: HeldFrame) -> Content:
    try:
        text = pretty(hold.raw) if hold.is_whole else hold.raw.decode(errors="replace")
    except NotEditableError:
        text = hold.raw.decode(errors="backslashreplace")
    more = "" if hold.is_whole else f"\n… {format_number(hold.size)} bytes in all"
    return highlight(escape_controls(text[:MAX_HELD_CHARS]), language="json") + Content(more)
