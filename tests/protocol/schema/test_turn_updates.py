"""Which user messages of an agent repeat the prompt."""

from __future__ import annotations

import pytest

from acp_protocol.schema.turn_updates import is_echo


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        ("list the files", "list the files", True),
        ("list the files", "list the", True),
        ("list the files", "<user>\nlist the files\n</user>", True),
        ("hi", "hi!", True),
        ("hi", "What is this?", False),
        ("a", "say", False),
        ("go on", "cargo once", False),
        ("list the files", "delete them", False),
        ("", "delete them", False),
    ],
)
def test_a_short_prompt_is_not_repeated_by_a_part_of_a_word(
    prompt: str, text: str, expected: bool
) -> None:
    blocks = [{"type": "text", "text": prompt}]
    assert is_echo(blocks, {"type": "text", "text": text}) is expected


def test_content_that_is_no_text_is_an_echo_by_its_type() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert is_echo([image], image)
    assert not is_echo([{"type": "text", "text": "hi"}], image)
