"""The rows of a conversation are found, searched, folded and copied without a widget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from acp_console.tui.transcript.document import Document
from acp_console.tui.transcript.rows import Look
from acp_inspector.session.items import Item, UserMessage
from acp_protocol.jsonrpc import Json
from tests.console.tui.widgets.test_transcript import call, message, prompt

LOOK = Look.from_theme({}, has_colors=False)
OUTPUT = "\n".join(f"line {number}" for number in range(9))
ITEMS = (prompt("go"), message("one\n\ntwo\n"), call(1, output=OUTPUT), call(2), message("end"))


def document(*items: Item, width: int = 40) -> Document:
    made = Document()
    made.look, made.width = LOOK, width
    made.sync(items)
    made.refresh()
    return made


def texts(made: Document, height: int = 1000) -> list[str]:
    return [row.text for _, row in made.from_place((0, 0, 0), height)]


def test_from_the_start_and_from_the_end_the_rows_are_the_same() -> None:
    made = document(*ITEMS)
    assert made.from_place((0, 0, 0), 1000) == made.from_end(1000)
    assert made.from_end(2) == made.from_end(1000)[-2:]


def test_an_unfolded_card_has_its_rows_between_those_of_its_neighbours() -> None:
    made = document(*ITEMS)
    folded = texts(made)
    assert made.toggle(2)
    unfolded = texts(made)
    assert any("line 4" in text for text in unfolded)
    assert unfolded[0] == folded[0]
    assert unfolded[-1] == folded[-1]
    assert made.heights.total == len(unfolded)
    assert made.toggle(2)
    assert texts(made) == folded
    assert made.heights.total == len(folded)


@given(st.data())
def test_a_place_is_found_again_by_the_rows_before_it_and_by_moving(data: st.DataObject) -> None:
    made = document(*ITEMS)
    made.toggle(2)
    places = [place for place, _ in made.from_place((0, 0, 0), 1000)]
    one, other = (data.draw(st.integers(0, len(places) - 1)) for _ in range(2))
    assert made.rows_before(places[one]) == one
    assert made.place_at(one) == places[one]
    assert made.moved(places[one], other - one) == places[other]


def test_other_states_of_the_items_keep_what_is_folded_and_tell_the_new_places() -> None:
    made = document(*ITEMS)
    made.toggle(2)
    assert made.replace([prompt("go"), call(1, output=OUTPUT)], is_revised=True) == {0: 0, 2: 1}
    made.refresh()
    assert any("line 4" in text for text in texts(made))


def test_search_and_jumps_name_the_next_part_and_the_next_card() -> None:
    made = document(*ITEMS)
    assert made.parts_with("TWO") == [(1, 1)]
    assert made.parts_with("three") == []
    assert [made.next_of("call", start, 1) for start in (0, 2, 3)] == [2, 3, None]


def test_empty_rows_of_a_prompt_are_kept_but_after_an_image() -> None:
    item, chip = UserMessage("u"), "[image · image/png · 3 bytes]"
    image: Json = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    before, after = ({"type": "text", "text": each} for each in ("\nsee", "\n\nhere"))
    item.replace([before, image, after, image], 1)
    assert texts(document(item)) == ["", "see", chip, "here", chip]


def test_copying_leaves_the_rows_as_they_are_drawn() -> None:
    made = document(message("some words that take more than a row of this width"), width=20)
    base = Style(bgcolor="blue")
    places = made.from_end(10)
    before = [list(row.strip(20, base)) for _, row in places]
    for _, row in places:
        row.strips.clear()
    copied = made.text_between((*places[0][0], 0), (*places[-1][0], 20))
    assert copied == "some words that take more than a row of this width"
    assert [list(row.strip(20, base)) for _, row in places] == before
