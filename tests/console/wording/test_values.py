"""Values as a person reads them."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.tui.traffic.detail import pretty_json
from acp_console.wording.capabilities import capability_cells
from acp_console.wording.comparison import value_text
from acp_console.wording.events import event_text
from acp_console.wording.transcript import change_lines
from acp_console.wording.values import (
    decoded_size,
    format_number,
    format_offset,
    format_seconds,
    plural,
    sender,
)
from acp_inspector.journal import JournalEvent
from acp_inspector.lint.context import quoted
from acp_inspector.views.capabilities import Capability
from acp_inspector.views.state_diff import ItemChanged
from acp_protocol.json_text import json_text


def test_thousands_are_separated_and_counts_get_their_word() -> None:
    assert format_number(1_234_567) == "1 234 567"
    assert format_number(2863.84, 1) == "2 863.8"
    assert [plural(count, "wait") for count in (0, 1, 2000)] == ["0 waits", "1 wait", "2 000 waits"]


def test_arrow_leads_from_the_sender_as_between_the_lanes_of_a_screen() -> None:
    assert [sender(side) for side in ("client", "agent", "", None)] == [
        "client →",
        "← agent",
        "·",
        "·",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, ""),
        (0.0, "0.0 ms"),
        (0.0123, "12.3 ms"),
        (0.09996, "100 ms"),
        (0.315, "315 ms"),
        (0.99951, "1.00 s"),
        (7.567, "7.57 s"),
        (9.996, "10.0 s"),
        (59.949, "59.9 s"),
        (59.95, "0:01:00"),
        (3725.4, "1:02:05"),
        (-0.2, "-200 ms"),
    ],
)
def test_a_duration_is_written_in_one_way_whatever_its_size(
    seconds: float | None, shown: str
) -> None:
    assert format_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "wide", "narrow"),
    [
        (0.0, "0.000", "0.000"),
        (16.9, "16.900", "16.900"),
        (59.9996, "1:00.000", "1:00.00"),
        (754.25, "12:34.250", "12:34.2"),
        (18991.526, "5:16:31.5", "5:16:32"),
        (363_599.5, "101:00:00", "101:00:00"),
    ],
)
def test_a_time_in_a_recording_is_as_exact_as_its_column_allows(
    seconds: float, wide: str, narrow: str
) -> None:
    assert (format_offset(seconds, 9), format_offset(seconds, 7)) == (wide, narrow)


@pytest.mark.parametrize("is_list", [True, False])
def test_json_is_written_however_deeply_it_is_nested(is_list: bool) -> None:
    value: Any = json.loads('{"a": [], "b": [1, {}], "ü": null}')
    expected = json.dumps(value, ensure_ascii=False)
    for _ in range(3000):
        value = [value] if is_list else {"x": value}
        expected = f"[{expected}]" if is_list else f'{{"x": {expected}}}'
    assert json_text(value, indent=2) == expected


@given(st.binary(max_size=20))
def test_the_size_of_a_base64_text_is_that_of_its_bytes(content: bytes) -> None:
    assert decoded_size(b64encode(content).decode()) == len(content)


def test_a_value_is_shown_however_deeply_it_is_nested() -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    changed = ItemChanged("s1", "call c", "rawInput", deep, deep)
    shown = [
        *change_lines(changed),
        event_text(JournalEvent(1, 0.0, "unheard-of", {"value": deep})),
        *capability_cells(Capability("agent", "x", claim=deep)),
        value_text(deep),
        quoted(deep),
        pretty_json(deep),
    ]
    assert sum("[[[[" in each for each in shown) == 6
