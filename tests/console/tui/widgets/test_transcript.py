"""The transcript draws what is visible, follows the end, folds, selects, searches and jumps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

import pytest
from textual.app import App, ComposeResult
from textual.events import Key
from textual.geometry import Region

from acp_console.agents.session_options import SessionOption
from acp_console.chat.alarms import unasked_alarm
from acp_console.tui.transcript.cards import ToolCard, card_of
from acp_console.tui.transcript.rows import Look
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.session.items import (
    AgentMessage,
    Item,
    Notice,
    PermissionRequest,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_protocol.jsonrpc import Json
from tests.console.tui.conftest import say, settled, until

LOOK = Look.from_theme({}, has_colors=False)


def prompt(text: str) -> UserMessage:
    item = UserMessage("u")
    item.replace([{"type": "text", "text": text}], 1)
    return item


def message(*texts: str) -> AgentMessage:
    item = AgentMessage("m")
    for text in texts:
        item.add({"type": "text", "text": text}, 1)
    return item


def call(number: int, status: str = "completed", output: str = "") -> ToolCallItem:
    item = ToolCallItem(f"call-{number}", n=1)
    item.change(1, title=f"Call {number}", status=status)
    if output:
        item.add({"type": "content", "content": {"type": "text", "text": output}}, 1)
    return item


class TranscriptApp(App[None]):
    """An app with a transcript; keeps what was copied and typed in it."""

    def __init__(self, *items: Item) -> None:
        super().__init__()
        self._items = items
        self.copied: list[str] = []
        self.typed: list[str] = []
        self.not_found = 0

    def compose(self) -> ComposeResult:
        yield TranscriptView("welcome")

    def on_mount(self) -> None:
        self.view.sync(self._items)

    @property
    def view(self) -> TranscriptView:
        return self.query_one(TranscriptView)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    def on_transcript_view_letter_typed(self, event: TranscriptView.LetterTyped) -> None:
        self.typed.append(event.character)

    def bell(self) -> None:
        self.not_found += 1


def lines(app: TranscriptApp) -> list[str]:
    return [line.rstrip("█ ").strip("▌ ") for line in say(app).splitlines()]


def close(shown: Sequence[str]) -> list[str]:
    """Return lines without the room between a title and what stands at the end of its row."""
    return [re.sub(" {3,}", "  ", line) for line in shown]


def numbered(count: int) -> AgentMessage:
    return message("".join(f"line {number}\n\n" for number in range(count)))


async def test_the_end_is_followed_while_text_comes() -> None:
    item = message("begin\n\n")
    app = TranscriptApp(prompt("hello"), item)
    async with app.run_test(size=(60, 10)) as pilot:
        for number in range(40):
            item.add({"type": "text", "text": f"line {number}\n\n"}, 1)
            app.view.sync([item])
        await until(pilot, lambda: "line 39" in lines(app))
        assert "begin" not in lines(app)


async def test_what_one_reads_stands_still_while_text_comes() -> None:
    item = numbered(60)
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "line 59" in lines(app))
        app.view.focus()
        await pilot.press("pageup", "pageup")
        before = lines(app)
        item.add({"type": "text", "text": "much more\n\n" * 100}, 1)
        app.view.sync([item])
        await pilot.pause(0.1)
        assert lines(app) == before
        await pilot.press("end")
        await until(pilot, lambda: "much more" in lines(app))
        assert app.view.is_following


async def test_scrolling_up_by_rows_and_down_again_shows_every_row_once() -> None:
    app = TranscriptApp(prompt("go"), numbered(30), call(1, output="out"), message("the end"))
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "the end" in lines(app))
        seen = [line for line in lines(app) if line]
        for _ in range(80):
            app.view.scroll_rows(-1)
        assert "go" in lines(app)[0]
        found: list[str] = []
        for _ in range(90):
            top = lines(app)[0]
            found.append(top)
            if app.view.is_following:
                break
            app.view.scroll_rows(1)
        shown = [line for line in found if line.startswith("line")]
        assert shown == [f"line {number}" for number in range(len(shown))]
        assert [line for line in lines(app) if line] == seen


async def test_a_call_is_one_line_until_it_is_unfolded() -> None:
    app = TranscriptApp(call(1, output="first\nsecond"), call(2), message("after"))
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "after" in lines(app))
        assert "second" not in say(app)
        assert lines(app)[0].startswith("✓ Call 1")
        assert lines(app)[1].startswith("✓ Call 2")
        await pilot.click(TranscriptView, offset=(4, 0))
        await until(pilot, lambda: "│ second" in lines(app))
        app.view.focus()
        app.view.cursor = 0
        await pilot.press("enter")
        await until(pilot, lambda: "second" not in say(app))


async def test_both_sides_of_a_change_stand_beside_each_other_on_demand() -> None:
    item = call(1)
    old, new = "same\ntwo words\nend\n", "same\ntwo other words\nend\nmore\n"
    item.add({"type": "diff", "path": "/w/a.py", "oldText": old, "newText": new}, 1)
    app = TranscriptApp(item)
    async with app.run_test(size=(100, 16)) as pilot:
        app.view.focus()
        app.view.cursor = 0
        await pilot.press("enter")
        await until(pilot, lambda: "- two words" in say(app))
        assert not any("- two words" in line and "other" in line for line in lines(app))
        await pilot.press("d")
        await until(
            pilot,
            lambda: any("- two words" in each and "+ two other" in each for each in lines(app)),
        )
        assert any(each.count("end") == 2 for each in lines(app))
        await pilot.press("d")
        await until(
            pilot, lambda: not any("+ two other" in each and "- " in each for each in lines(app))
        )


async def test_code_in_a_card_keeps_its_gutter() -> None:
    item = call(1, "failed", "```console\n$ one\n$ two\n```")
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "│ ▏ $ two" in lines(app))
        assert "│ ▏ $ one" in lines(app)


@pytest.mark.parametrize("language", ["console", "ansi", ""])
async def test_colours_in_a_block_of_output_are_colours(language: str) -> None:
    item = call(1, "failed", f"```{language}\nplain \x1b[31mred\x1b[0m\n```")
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "│ ▏ plain red" in lines(app))
        rows = ToolCard(item).rows(1, 60, app.view.look)
        [red] = [style for text, style in rows[0].runs if text == "red"]
        assert red.color is not None
        shade = red.color.get_truecolor()
        assert shade.red > max(shade.green, shade.blue)


async def test_escape_sequences_in_source_code_are_shown() -> None:
    app = TranscriptApp(call(1, "failed", "```python\nx = '\x1b[31m'\n```"))
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "│ ▏ x = '␛[31m'" in lines(app))


LINK: Json = {"type": "resource_link", "name": "notes", "uri": "file:///w/notes"}


def mixed(item: AgentMessage | UserMessage | Thought) -> None:
    image: Json = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    for text, block in (("Here is a picture:", image), ("That is **all**.", LINK)):
        item.add({"type": "text", "text": text}, 1)
        item.add(block, 1)
    item.add(LINK, 1)
    item.add({"type": "text", "text": "\n\n- the\n- end"}, 1)


MIXED = [
    *("Here is a picture:", "[image · image/png · 3 bytes]", "That is all."),
    *("[resource_link · notes]", "[resource_link · notes]", "• the", "• end"),
]


async def test_content_that_is_no_text_stands_where_it_was_sent() -> None:
    item = AgentMessage("m")
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 14)) as pilot:
        mixed(item)
        app.view.sync([item])
        await until(pilot, lambda: [line for line in lines(app) if line] == MIXED)


@pytest.mark.parametrize("is_grown", [False, True])
def test_blocks_stand_in_their_places_however_a_message_has_come(is_grown: bool) -> None:
    item = AgentMessage("m")
    card = card_of(item)
    mixed(item)
    if not is_grown:
        card = card_of(item)
    card.refresh()
    shown = [row.text for part in range(card.part_count) for row in card.rows(part, 60, LOOK)]
    assert [line for line in shown if line] == [each.lstrip("• ") for each in MIXED]


async def test_files_in_a_prompt_stand_where_they_were_sent() -> None:
    item = UserMessage("u")
    mixed(item)
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 14)) as pilot:
        await until(pilot, lambda: "▍ - end" in lines(app))
        shown = [line.removeprefix("▍ ") for line in lines(app) if line.removeprefix("▍ ")]
        assert [line.strip("-• ").replace("**", "") for line in shown] == [
            line.strip("• ") for line in MIXED
        ]


async def test_a_running_call_shows_its_last_lines_and_a_failed_one_all() -> None:
    output = "\n".join(f"out {number}" for number in range(9))
    app = TranscriptApp(call(1, "in_progress", output), call(2, "failed", output))
    async with app.run_test(size=(60, 20)) as pilot:
        await until(pilot, lambda: "│ out 0" in lines(app))
        begin = lines(app).index("│ out 0")
        assert lines(app)[begin - 5 : begin - 1] == ["│ out 6", "│ out 7", "│ out 8", ""]
        assert lines(app)[begin + 8] == "│ out 8"


async def test_a_long_title_is_whole_once_the_call_is_unfolded() -> None:
    item = call(1)
    item.change(1, title="echo " + "a" * 60 + " && rm notes.txt\nls")
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "✓ echo" in say(app))
        assert "rm notes.txt" not in say(app)
        await pilot.click(TranscriptView, offset=(4, 0))
        await until(pilot, lambda: "rm notes.txt" in say(app))
        assert any(line.startswith("ls") for line in lines(app))


def test_what_a_call_gave_stands_below_a_title_that_leaves_no_room() -> None:
    card, look = ToolCard(call(1, "failed", "1 failed")), Look.from_theme({}, has_colors=False)
    for width, heads in (
        (30, ["Call 1  1 failed · 1 line ▾"]),
        (24, ["Call 1", "1 failed · 1 line ▾"]),
    ):
        assert [row.text for row in card.rows(0, width, look)] == heads


async def test_a_title_that_is_but_a_name_is_followed_by_what_the_call_touches() -> None:
    named, titled = call(1), call(2)
    for item, title in ((named, "execute"), (titled, "Run the tests")):
        item.change(1, title=title, kind="execute", raw_input={"cwd": "/w", "command": "pytest"})
    app = TranscriptApp(named, titled)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "✓ execute  pytest  ▸" in close(lines(app)))
        assert "✓ Run the tests  ▸" in close(lines(app))


def test_the_place_of_a_call_has_its_line_unless_the_title_says_it() -> None:
    item = call(1)
    for title, line in (("Read a2.py", 2), ("Read a.py", 42), ("Read 42 to 50", 42)):
        item.change(1, title=title, locations=[{"path": "/w/a.py", "line": line}])
        [head] = ToolCard(item).rows(0, 60, Look.from_theme({}, has_colors=False))
        assert (f"{title}  :{line}" in head.text) == ("to" not in title)


async def test_a_call_that_the_user_rejected_says_so() -> None:
    item = call(1, "pending")
    options: list[Json] = [
        {"optionId": "yes", "kind": "allow_once"},
        {"optionId": "no", "kind": "reject_once"},
    ]
    item.add_permission(PermissionRequest(1, options, {"outcome": "selected", "optionId": "no"}), 1)
    withdrawn = call(2, "in_progress")
    withdrawn.add_permission(PermissionRequest(2, options, {"outcome": "cancelled"}), 1)
    allowed = call(3, "pending")
    outcome: Json = {"outcome": "selected", "optionId": "yes"}
    allowed.add_permission(PermissionRequest(3, options, outcome), 1)
    app = TranscriptApp(item, withdrawn, allowed)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "✗ Call 1  rejected" in close(lines(app)))
        assert close(lines(app))[1:3] == ["◌ Call 2  cancelled", "○ Call 3  pending"]


async def test_the_path_of_a_change_is_shown_once_and_a_change_has_no_last_lines() -> None:
    raw: Json = {"path": "/w/a.py", "cwd": "/w"}
    diff: Json = {"type": "diff", "path": "/w/a.py", "oldText": "old", "newText": "new"}
    items = [call(1, "in_progress"), call(2, "failed")]
    for item in items:
        item.change(1, raw_input=raw)
        item.add(diff, 1)
    app = TranscriptApp(*items)
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "│ 1 + new" in lines(app))
        assert close(lines(app))[:2] == ["◐ Call 1  +1 −1 · running ▸", ""]
        assert [line for line in lines(app) if "/w" in line] == ["│ cwd: /w", "│ /w/a.py"]


async def test_a_thought_is_one_line_until_it_is_unfolded() -> None:
    item = Thought("t")
    item.add({"type": "text", "text": "**first** `thought`\n\nsecond **thought**"}, 1)
    app = TranscriptApp(item)
    async with app.run_test(size=(60, 8)) as pilot:
        await until(pilot, lambda: "▸ Thought  first thought second thought" in say(app))
        await pilot.click(TranscriptView, offset=(3, 0))
        await until(pilot, lambda: "second thought" in lines(app))


async def test_a_search_goes_to_the_text_and_on_to_the_one_before() -> None:
    items = [message(f"needle {number}\n\n" + "hay\n\n" * 20) for number in range(4)]
    app = TranscriptApp(*items)
    async with app.run_test(size=(60, 10)) as pilot:
        await until(pilot, lambda: "hay" in lines(app))
        assert app.view.search("NEEDLE")
        await until(pilot, lambda: "needle 3" in lines(app))
        app.view.focus()
        await pilot.press("n")
        await until(pilot, lambda: "needle 2" in lines(app))
        await pilot.press("n", "N")
        await until(pilot, lambda: "needle 2" in lines(app))
        await pilot.press("N", "N")
        await until(pilot, lambda: "needle 0" in lines(app))
        assert not app.view.search("nowhere")


async def test_notices_stand_together_and_an_alarm_has_its_sign_and_colour() -> None:
    option = SessionOption("mode", "mode", (("yolo", "YOLO"),), "yolo", "session/set_mode")
    notices = [Notice("a", "mode: Ask"), Notice("b", "mode: YOLO"), unasked_alarm(option)]
    app = TranscriptApp(prompt("hi"), *notices, message("ok"))
    async with app.run_test(size=(80, 12)) as pilot:
        await settled(pilot)
        alarm = "⚠ mode YOLO: this agent does not ask before it acts"
        shown = [line.strip() for line in lines(app)]
        assert shown[:7] == ["▍ hi", "", "· mode: Ask", "· mode: YOLO", alarm, "", "ok"]
    card = card_of(notices[-1])
    look = Look.from_theme(app.theme_variables)
    assert card.rows(0, 80, look)[0].runs[0][1] == look.warning


async def test_keys_jump_to_prompts_errors_and_permissions() -> None:
    asked = call(1)
    asked.add_permission(PermissionRequest(1, []), 1)
    filler = [numbered(20) for _ in range(3)]
    items = [prompt("first"), filler[0], asked, filler[1], prompt("second"), filler[2]]
    app = TranscriptApp(*items, TurnEnd("e", error="broken"), numbered(20))
    async with app.run_test(size=(60, 10)) as pilot:
        await until(pilot, lambda: "line 19" in lines(app))
        app.view.focus()
        for key, text in (("e", "✗ turn failed: broken"), ("p", "▍ second"), ("p", "▍ first")):
            await pilot.press(key)
            await until(pilot, lambda text=text: text in lines(app))
        await pilot.press("A")
        await until(pilot, lambda: any("Call 1" in line for line in lines(app)))
        await pilot.press("p", "p")
        await until(pilot, lambda: app.not_found == 1)


async def test_letters_that_are_no_commands_are_passed_on() -> None:
    app = TranscriptApp(message("text"))
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.focus()
        await pilot.press("h", "j", "!")
        await until(pilot, lambda: app.typed == ["h", "!"])


async def test_letters_of_a_prompt_keep_their_order_also_after_one_that_may_be_a_command() -> None:
    app = TranscriptApp(message("text"))
    async with app.run_test(size=(40, 10)) as pilot:
        app.view.focus()
        await pilot.pause()
        for letter in "sh":
            # As a terminal sends them in one burst.
            app.post_message(Key(letter, letter))
        await until(pilot, lambda: len(app.typed) == 2)
        assert app.typed == ["s", "h"]


async def test_a_selection_copies_the_text_without_bars_and_joins_wrapped_lines() -> None:
    long = "one two three four five six seven eight nine ten eleven twelve"
    app = TranscriptApp(prompt(long))
    async with app.run_test(size=(40, 8)) as pilot:
        await until(pilot, lambda: "▍ one" in say(app))
        await pilot.mouse_down(TranscriptView, offset=(0, 0))
        await pilot.hover(TranscriptView, offset=(38, 2))
        await pilot.mouse_up(TranscriptView, offset=(38, 2))
        assert app.view.selected_text() == long
        app.view.focus()
        await pilot.press("y")
        await until(pilot, lambda: app.copied == [long])


async def test_blocks_that_are_wholly_selected_are_copied_as_markdown() -> None:
    app = TranscriptApp(message("first\n\n**second** `x`\n\n- item\n\nlast\n"))
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "last" in lines(app))
        await pilot.mouse_down(TranscriptView, offset=(2, 0))
        await pilot.hover(TranscriptView, offset=(20, 6))
        await pilot.mouse_up(TranscriptView, offset=(20, 6))
        assert app.view.selected_text() == "first\n**second** `x`\n\n- item\n\nlast"


async def test_the_whole_transcript_is_there_after_a_resize() -> None:
    app = TranscriptApp(prompt("go"), numbered(30), *(call(n) for n in range(50)), message("end"))
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "end" in lines(app))
        await pilot.resize_terminal(30, 9)
        await until(pilot, lambda: "end" in lines(app))
        app.view.action_top()
        await until(pilot, lambda: "▍ go" in lines(app))


async def test_only_visible_calls_are_rendered() -> None:
    rendered: list[int] = []

    class Watched(ToolCallItem):
        @property
        def content(self) -> list[object]:  # pyright: ignore[reportIncompatibleMethodOverride]
            rendered.append(1)
            return super().content  # pyright: ignore[reportReturnType]

    items = [Watched(f"c{number}") for number in range(5000)]
    app = TranscriptApp(*items)
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: any("c4999" in line for line in lines(app)))
    assert len(rendered) < 300


async def test_another_theme_repaints_all_of_it() -> None:
    app = TranscriptApp(prompt("hello"))
    async with app.run_test(size=(40, 10)) as pilot:
        app.theme = "textual-dark"
        await until(pilot, lambda: "hello" in say(app))
        app.theme = "textual-light"
        await pilot.pause()
        await until(pilot, lambda: "hello" in say(app))
        background = app.view.rich_style.bgcolor
        for y in range(10):
            assert {each.style.bgcolor for each in app.view.render_line(y) if each.style} == {
                background
            }


async def test_what_is_searched_is_marked_in_text_of_any_script() -> None:
    app = TranscriptApp(message("größer — a needle in 干草"))
    async with app.run_test(size=(60, 10)) as pilot:
        await until(pilot, lambda: "needle" in say(app))
        app.view.search("needle")
        await pilot.pause()
        marked = [
            text
            for strip in app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] - no other way
            for text, style, _ in strip
            if style is not None and style.reverse
        ]
        assert marked == ["needle"]


async def test_output_has_no_colors_where_the_user_wants_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TranscriptApp(call(1, "failed", output="\x1b[31mred\x1b[0m"))
    async with app.run_test(size=(60, 10)) as pilot:
        await until(pilot, lambda: "red" in say(app))
        colors = {
            color.get_truecolor()
            for y in range(10)
            for segment in app.view.render_line(y)
            if segment.style is not None
            for color in (segment.style.color, segment.style.bgcolor)
            if color is not None
        }
        assert colors
        assert all(red == green == blue for red, green, blue in colors)


async def test_what_fits_has_no_scrollbar_after_the_height_has_changed() -> None:
    # Lines of a paragraph are joined, which an estimate of its rows cannot know.
    app = TranscriptApp(message("word\n" * 30))
    async with app.run_test(size=(200, 24)) as pilot:
        await until(pilot, lambda: "word" in say(app))
        await pilot.resize_terminal(200, 10)
        assert "word" in say(app)
        await settled(pilot)
        assert "█" not in say(app)


def test_each_card_of_a_call_shows_what_the_call_is_now() -> None:
    call = ToolCallItem("a")
    call.change(1, title="Run", raw_input={"command": "ls"})
    ask = PermissionRequest(1, [])
    call.add_permission(ask, 1)
    shown = ToolCard(call, decides=True)
    shown.refresh()
    assert [piece.text for piece in shown.pieces] == ["command: ls"]
    call.change(2, raw_input={"command": "rm -r /"})
    other = ToolCard(call, decides=True)
    other.refresh()
    assert [piece.text for piece in other.pieces] == ["command: rm -r /"]


async def test_a_row_that_has_changed_is_drawn_where_it_stands_also_below_padding() -> None:
    changed: list[Region] = []

    class Watched(TranscriptView):
        def refresh(self, *regions: Region, **options: bool) -> Self:
            changed.extend(regions)
            return super().refresh(*regions, **options)

    class PaddedApp(TranscriptApp):
        CSS = "TranscriptView { padding: 1 0 0 0; }"

        def compose(self) -> ComposeResult:
            yield Watched("welcome")

    app = PaddedApp()
    async with app.run_test(size=(60, 12)) as pilot:
        await settled(pilot)
        row = next(y for y, line in enumerate(say(app).splitlines()) if "welcome" in line)
        changed.clear()
        app.view.sync([message("hello")])
        await until(pilot, lambda: changed)
        # Textual takes regions to be inside of the padding.
        inside = app.view.content_offset
        assert [region.translate(inside).y for region in changed] == [row - app.view.region.y]


async def test_the_cursor_stays_on_cards_that_can_be_seen() -> None:
    app = TranscriptApp(prompt("go"), message("done"), TurnEnd("end", "end_turn"))
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "done" in lines(app))
        app.view.focus()
        await pilot.press("j", "j", "j", "y")
        await until(pilot, lambda: app.copied)
        assert app.copied == ["done"]
        await pilot.press("k", "k", "k", "y")
        await until(pilot, lambda: len(app.copied) == 2)
        assert app.copied[1] == "go"


async def test_the_cursor_goes_to_the_beginning_and_the_end_with_the_view() -> None:
    app = TranscriptApp(*(message(f"number {n}") for n in range(30)))
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "number 29" in lines(app))
        app.view.focus()
        for keys, text in (("gy", "number 0"), ("jy", "number 1"), ("Gy", "number 29")):
            await pilot.press(*keys)
            await until(pilot, lambda text=text: app.copied[-1:] == [text])
