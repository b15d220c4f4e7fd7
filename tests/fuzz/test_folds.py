"""A peer's nonsense never loses what it said: every fold takes every JSON value in every field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from itertools import islice

import pytest

from tests.fuzz.folds import FOLDS, opening, said
from tests.fuzz.wrong_types import Case, cases
from tests.inspector.talks import chunk, frames

pytestmark = pytest.mark.long

PORTION = 300
"""Messages in one connection."""
STRIDE = 1 if "FUZZ_EXAMPLES" in os.environ else 101
"""Each such message is read; `make fuzz` takes all of them, which needs minutes."""
LINT_STRIDE = 5
"""Of those, because lint asks hundreds of rules about each."""


@cache
def some_cases(version: int) -> Sequence[Case]:
    return list(islice(cases(version), version, None, STRIDE))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", FOLDS)
def test_no_value_in_no_field_fails_a_fold(name: str, version: int) -> None:
    """Of all types of both versions, with all fields and with hardly any."""
    found = some_cases(version)[:: LINT_STRIDE if name == "lint" else 1]
    for at in range(0, len(found), PORTION):
        fold = FOLDS[name]()
        portion = found[at : at + PORTION]
        for frame in frames(*opening(version), *said(portion), chunk("after it")):
            try:
                fold(frame)
            except Exception as problem:
                problem.add_note(repr(frame.data))
                raise
