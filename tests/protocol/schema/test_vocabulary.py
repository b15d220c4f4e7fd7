"""The sets of words that the code asks about have words of the schemas only."""

from __future__ import annotations

from collections.abc import Collection
from types import ModuleType
from typing import get_args

import pytest

from acp_protocol.schema import v1, v2, vocabulary
from acp_protocol.schema.constraints import ELSE
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.words import TOOL_CALL_STATUSES, TOOL_KINDS, UPDATE_KINDS

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
        (vocabulary.PROMPT_CAPABILITIES.values(), v1.PromptCapabilities.__annotations__),
        (vocabulary.PROMPT_CAPABILITIES.values(), v2.PromptCapabilities.__annotations__),
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


@pytest.mark.parametrize("version", [1, 2])
def test_each_status_that_ends_a_call_is_final(version: int) -> None:
    goes_on = {"pending", "in_progress", "paused"}
    assert set(TOOL_CALL_STATUSES[version]) - goes_on <= vocabulary.FINAL_STATUSES
    assert not vocabulary.FINAL_STATUSES & goes_on


@pytest.mark.parametrize("version", [1, 2])
def test_each_kind_of_call_has_an_effect_or_none_or_is_other(version: int) -> None:
    kinds = vocabulary.EFFECT_KINDS | vocabulary.HARMLESS_KINDS | {"other"}
    assert kinds == set(TOOL_KINDS[version])
    assert not vocabulary.EFFECT_KINDS & vocabulary.HARMLESS_KINDS


@pytest.mark.parametrize("module", [v1, v2])
def test_the_kinds_of_content_blocks_are_those_of_the_schemas(module: ModuleType) -> None:
    _, discriminator = get_args(module.ContentBlock)
    assert set(discriminator.values) - {ELSE} == vocabulary.BLOCK_KINDS
