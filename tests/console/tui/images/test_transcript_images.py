"""The images of a conversation: decoded, kept for a time, and shown above their captions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import pytest

from acp_console.tui.images.decode import (
    DecodedImage,
    ImageError,
    Room,
    decode_image,
)
from acp_console.tui.images.drawing import Drawing
from acp_console.tui.images.images import Images
from acp_console.tui.images.kitty import PLACEHOLDER
from acp_console.tui.images.terminal import (
    Graphics,
    GraphicsProtocol,
)
from acp_console.wording.values import decoded_size
from acp_inspector.session.items import UserMessage
from acp_protocol.jsonrpc import Json
from tests.console.conftest import Agent
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import say, until
from tests.console.tui.images.samples import CELL, block, commands, encoded
from tests.console.tui.test_document import LOOK, document, texts


def images(
    protocol: GraphicsProtocol = "kitty", **options: Any
) -> tuple[Images, list[str], Callable[[], None]]:
    """Return images, what they write to the terminal, and what decodes all that is wanted."""
    written: list[str] = []
    made = Images(Graphics(protocol, CELL), written.append, lambda: None, **options)
    return made, written, lambda: anyio.run(made.decode_wanted)


@pytest.mark.parametrize("protocol", ["kitty", "sixel"])
def test_an_image_is_drawn_once_it_is_decoded(protocol: GraphicsProtocol) -> None:
    made, _, decode = images(protocol)
    changes: list[int] = []
    made.changed.add(lambda: changes.append(1))
    shown = block(encoded(40, 30))
    assert made.find(shown, 80) is None
    decode()
    found = made.find(shown, 80)
    assert isinstance(found, Drawing)
    assert (found.columns, found.rows, found.about) == (4, 2, "40 × 30")
    assert found.painter is not None
    assert changes == [1]
    blob: Json = {
        "type": "resource",
        "resource": {"mimeType": "image/png", "blob": encoded(40, 30)},
    }
    assert made.find(blob, 80) is found


def test_an_image_is_decoded_again_only_where_other_columns_make_another_size() -> None:
    decoded: list[int] = []

    def decode_image_once(data: str, room: Room) -> DecodedImage:
        decoded.append(room.columns)
        return decode_image(data, room)

    made, _, decode = images(decode=decode_image_once)
    shown = block(encoded(300, 200))
    sizes: list[tuple[int, int]] = []
    for width in (80, 50, 20, 30, 10, 80):
        before = made.find(shown, width)
        decode()
        found = made.find(shown, width)
        assert isinstance(found, Drawing)
        sizes.append((found.columns, found.rows))
        # Until it is decoded there are rows, but for the first time.
        assert (before is None) == (len(sizes) == 1)
    assert sizes == [(30, 10), (30, 10), (20, 7), (30, 10), (10, 4), (30, 10)]
    assert decoded == [60, 20, 10]


def test_an_image_that_is_drawn_anew_while_it_is_decoded_is_decoded_once() -> None:
    decoded: list[int] = []

    def decode_while_drawn(data: str, room: Room) -> DecodedImage:
        decoded.append(room.columns)
        if len(decoded) < 5:
            anyio.from_thread.run_sync(made.find, shown, 80)
        return decode_image(data, room)

    made, _, decode = images(decode=decode_while_drawn)
    shown = block(encoded(40, 30))
    made.find(shown, 80)
    decode()
    assert decoded == [60]


def test_an_image_that_rows_of_two_widths_want_is_sent_once() -> None:
    made, written, decode = images(max_kept=1)
    shown, other = block(encoded(40, 30)), block(encoded(10, 20))
    for each in (shown, other):
        made.find(each, 80)
        decode()
    # Its drawing is kept, but has to be decoded again, for both.
    found = made.find(shown, 80)
    assert isinstance(found, Drawing)
    assert made.find(shown, 50) is found
    decode()
    assert found.painter is not None
    sent = {keys["i"] for keys, _ in commands(found.painter.cells(0, 0, 1)) if "i" in keys}
    made.find(other, 80)
    decode()
    gone = {keys["i"] for keys, _ in commands("".join(written))}
    assert gone == sent


def test_what_is_no_image_is_not_drawn_and_what_is_not_taken_says_why() -> None:
    made, _, decode = images()
    assert made.find({"type": "resource_link", "uri": "file:///a.png"}, 80) is None
    assert made.find({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}, 80) is None
    assert (
        made.find({"type": "image", "mimeType": "image/png", "uri": "https://x/a.png"}, 80) is None
    )
    assert made.find(block("AAAA", "image/svg+xml"), 80) == "no PNG, JPEG, GIF or WebP image"
    assert made.find(block("AAAA"), 80) is None
    decode()
    assert made.find(block("AAAA"), 80) == "no PNG, JPEG, GIF or WebP image"


def test_decoding_that_takes_too_long_is_not_waited_for() -> None:
    release = Event()

    def decode_slowly(data: str, room: Room) -> DecodedImage:
        release.wait()
        raise ImageError("late")

    made, _, decode = images(decode=decode_slowly, timeout_s=0.01)
    made.find(block("AAAA"), 80)
    Thread(target=lambda: (anyio.run(anyio.sleep, 0.1), release.set()), daemon=True).start()
    decode()
    release.set()
    assert made.find(block("AAAA"), 80) == "decoding it takes too long"


def test_the_terminal_forgets_what_was_not_drawn_for_long_and_gets_it_again() -> None:
    made, written, decode = images(max_kept=2)
    shown = [block(encoded(10 * number, 20)) for number in (1, 2, 3)]
    drawings: list[Drawing] = []
    for each in shown:
        made.find(each, 80)
        decode()
        found = made.find(each, 80)
        assert isinstance(found, Drawing)
        assert found.painter is not None
        found.painter.cells(0, 0, 1)
        drawings.append(found)
        made.note_drawn(drawings[0])
    assert [each.painter is not None for each in drawings] == [True, False, True]
    assert [keys["a"] for keys, _ in commands("".join(written))] == ["d"]
    # Its rows stay while it is decoded again.
    assert made.find(shown[1], 80) is drawings[1]
    decode()
    assert drawings[1].painter is not None


def test_at_the_end_the_terminal_forgets_all_and_gets_what_is_drawn_later() -> None:
    made, _, decode = images()
    made.find(block(encoded(10, 20)), 80)
    decode()
    drawing = made.find(block(encoded(10, 20)), 80)
    assert isinstance(drawing, Drawing)
    assert drawing.painter is not None
    assert made.leave() == ""
    assert "a=t" in drawing.painter.cells(0, 0, 1)
    assert [keys["a"] for keys, _ in commands(made.leave())] == ["d"]
    assert made.leave() == ""
    assert "a=t" in drawing.painter.cells(0, 0, 1)


def test_a_cell_of_another_size_makes_other_drawings() -> None:
    made, _, decode = images("sixel")
    shown = block(encoded(40, 40))
    for cell, size in ((CELL, (4, 2)), ((20, 40), (2, 1))):
        made.fit(cell)
        made.find(shown, 80)
        decode()
        found = made.find(shown, 80)
        assert isinstance(found, Drawing)
        assert (found.columns, found.rows) == size


def test_the_rows_of_an_image_are_copied_as_its_caption() -> None:
    made, _, decode = images()
    data = encoded(40, 50)
    item = UserMessage("u")
    item.replace([{"type": "text", "text": "look"}, block(data), block("AAAA")], 1)
    shown = document(item, width=80)
    shown.look = replace(LOOK, images=made)
    caption = f"[image · image/png · {decoded_size(data)} bytes"
    bad = "[image · image/png · 3 bytes"
    assert texts(shown) == ["look", f"{caption}]", f"{bad}]"]
    decode()
    shown.forget_rows()
    caption, reason = f"{caption} · 40 × 50]", "not drawn: no PNG, JPEG, GIF or WebP image"
    assert texts(shown) == ["look", "", "", "", caption, f"{bad} · {reason}]"]
    assert shown.text_between((0, 0, 1, 0), (0, 0, 4, 80)) == caption
    assert shown.text_between((0, 0, 0, 0), (0, 0, 4, 80)) == f"look\n{caption}"


SHOWS: str = """
prompt = hear_prompt()
image = {"type": "image", "mimeType": "image/png", "data": DATA}
update("agent_message_chunk", content={"type": "text", "text": "Here:"})
update("agent_message_chunk", content=image)
update("tool_call", toolCallId="t", title="Draw", status="failed",
       content=[{"type": "content", "content": image}])
end(prompt)
hear("never")
"""


async def test_images_of_messages_and_calls_reach_the_terminal_and_no_picture_of_the_screen(
    workplace: Path, agent: Agent
) -> None:
    data = encoded(40, 50)
    talk = agent(SHOWS.replace("DATA", repr(data)))
    graphics = Graphics("kitty", CELL)
    async with open_chat(workplace, talk, size=(100, 30), graphics=graphics) as (app, pilot):
        await pilot.press(*"draw", "enter")
        await until(pilot, lambda: say(app).count("· 40 × 50]") == 2)
        view = chat_of(app).conversation
        drawn = "".join(strip.render(app.console) for strip in view.render_lines(view.region))
        assert drawn.count(PLACEHOLDER) == 2 * 4 * 3
        assert [keys["a"] for keys, _ in commands(drawn) if "a" in keys] == ["t", "p"]
        assert PLACEHOLDER not in say(app) + app.export_screenshot()
        # What is below a dialog is blank.
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not view.screen)
        assert PLACEHOLDER not in "".join(
            strip.render(app.console)
            for strip in app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] - no other way
        )
        assert app.images is not None
        assert [keys["a"] for keys, _ in commands(app.images.leave())] == ["d"]
