"""The sets of words that the code asks about have words of the schemas only."""

from __future__ import annotations

from collections.abc import Collection
from types import ModuleType
from typing import get_args

import pytest

from acp_protocol.schema import v1, v2, vocabulary
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.words import UPDATE_KINDS

KNOWN_METHODS = {each.name for each in METHODS}
KNOWN_UPDATES = {kind for kinds in UPDATE_KINDS.values() for kind in kinds}


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (vocabulary.CREATING, KNOWN_METHODS),
        (vocabulary.RESTORING, KNOWN_METHODS),
        (vocabulary.OPENING, KNOWN_METHODS),
        (vocabulary.CLOSING, KNOWN_METHODS),
        (vocabulary.CANCELLING, KNOWN_METHODS),
        (vocabulary.USER_MESSAGES, KNOWN_UPDATES),
        (vocabulary.AGENT_CHUNKS, KNOWN_UPDATES),
        (vocabulary.MESSAGE_CHUNKS, KNOWN_UPDATES),
        (vocabulary.WHOLE_MESSAGES, KNOWN_UPDATES),
        (vocabulary.TEXT_CHUNKS, KNOWN_UPDATES),
        (vocabulary.CALL_UPDATES, KNOWN_UPDATES),
        (vocabulary.OUTPUT, KNOWN_UPDATES),
        (vocabulary.ASYNCHRONOUS, KNOWN_UPDATES),
        (vocabulary.REPLACING, KNOWN_UPDATES),
    ],
)
def test_a_set_has_words_of_the_schemas_only(
    words: Collection[object], known: Collection[object]
) -> None:
    assert words
    assert set(words) <= set(known)


@pytest.mark.parametrize(("version", "module"), [(1, v1), (2, v2)])
def test_each_version_gives_a_meaning_to_its_error_codes(version: int, module: ModuleType) -> None:
    codes, _ = get_args(module.ErrorCode)
    assert vocabulary.ERROR_CODES[version] == set(get_args(codes))
