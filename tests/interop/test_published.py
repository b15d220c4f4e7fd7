"""What does not fit the published schemas is found, on either side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interop.published import misfits_in

HELLO = {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
TITLE = {"id": 2, "method": "session/set_title", "params": {"sessionId": "s", "title": "t"}}
WRONG: list[tuple[list[tuple[str, dict[str, Any]]], str]] = [
    ([("client", {**HELLO, "params": {"protocolVersion": "1"}})], "initialize Request"),
    ([("client", HELLO), ("agent", {"id": 1, "result": {}})], "initialize Response"),
    ([("agent", {"method": "session/update", "params": {}})], "session/update Notification"),
    ([("client", TITLE)], "session/set_title: no Request"),
    ([("client", {"method": "session/unheard_of"})], "session/unheard_of: no Notification"),
]


@pytest.mark.parametrize(("frames", "complaint"), WRONG)
def test_what_does_not_fit_is_named(
    frames: list[tuple[str, dict[str, Any]]], complaint: str, shared: Path
) -> None:
    found = misfits_in(frames, str(shared), 1, is_unstable=False)
    assert found
    assert found[0].startswith(complaint)


def test_what_fits_is_passed_over(shared: Path) -> None:
    answer = {"id": 1, "result": {"protocolVersion": 1}}
    own = {"method": "_acme/told", "params": {"any": None}}
    talk = [("client", HELLO), ("agent", answer), ("agent", own), ("client", TITLE)]
    assert misfits_in(talk, str(shared), 1, is_unstable=True) == []
