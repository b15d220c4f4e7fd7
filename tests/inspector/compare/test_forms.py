"""The forms of values that each run has anew."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.compare.tolerances import TABLE, TOLERANCES, forms_of
from acp_inspector.compare.values import Form

IN_TEXTS = [form for form in forms_of(TOLERANCES) if form.pattern]
ASCII = st.characters(codec="ascii")


@pytest.mark.parametrize("form", IN_TEXTS, ids=lambda form: form.name)
@settings(max_examples=25)
@given(data=st.data())
def test_what_a_form_finds_fast_is_in_every_text_that_has_it(
    form: Form, data: st.DataObject
) -> None:
    pattern = re.compile(form.pattern, re.ASCII)
    text = data.draw(st.from_regex(pattern, alphabet=ASCII))
    assert form.near.search(text), text
    found = pattern.search(text)
    assert found is not None
    assert not form.new or re.search(form.new, found[0], re.ASCII), text


def test_names_are_unique() -> None:
    forms = [form.name for each in TABLE for form in each.forms]
    assert len(TOLERANCES) == len(TABLE)
    assert len({*forms}) == len(forms)
