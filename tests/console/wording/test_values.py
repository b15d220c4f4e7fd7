"""Values as a person reads them."""

from __future__ import annotations

from acp_console.wording.values import format_number, plural, sender


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
