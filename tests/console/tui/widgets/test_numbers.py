"""Numbers as a person reads them."""

from __future__ import annotations

from acp_console.tui.widgets.numbers import many, number


def test_thousands_are_kept_apart_and_things_are_counted() -> None:
    assert number(1_234_567) == "1 234 567"
    assert number(2863.84, 1) == "2 863.8"
    assert [many(count, "wait") for count in (0, 1, 2000)] == ["0 waits", "1 wait", "2 000 waits"]
