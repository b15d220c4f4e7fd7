"""The sets of words that the code asks about have words of the schemas only."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from acp_protocol.schema import vocabulary
from acp_protocol.schema.methods import METHODS

KNOWN_METHODS = {each.name for each in METHODS}


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (vocabulary.CREATING, KNOWN_METHODS),
        (vocabulary.RESTORING, KNOWN_METHODS),
        (vocabulary.OPENING, KNOWN_METHODS),
        (vocabulary.CANCELLING, KNOWN_METHODS),
    ],
)
def test_a_set_has_words_of_the_schemas_only(
    words: Collection[object], known: Collection[object]
) -> None:
    assert words
    assert set(words) <= set(known)
