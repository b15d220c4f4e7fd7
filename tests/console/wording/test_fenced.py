"""A text that is one fenced block."""

from __future__ import annotations

import pytest

from acp_console.wording.values import fenced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\nls\n```", ("sh", "ls")),
        ("```  sh \nls\n```\n", ("sh", "ls")),
        ("~~~~\n~~~\n~~~~", ("", "~~~")),
        ("```\n```", ("", "")),
        ("````\nls\n```", None),
        ("~~~~\nls\n~~~", None),
        ("ls", None),
        # Found in linear time, or the test would not end.
        ("```" + " " * 300_000, None),
        ("~" * 300_000, None),
        ("```" + "\t" * 300_000 + "\nls", None),
    ],
    ids=range(10),
)
def test_only_a_whole_block_is_taken_apart(text: str, expected: tuple[str, str] | None) -> None:
    assert fenced(text) == expected
