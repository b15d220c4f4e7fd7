"""The elements of a long list, however the file is cut into chunks."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.importers.json_exports import ArraySplitter

OBJECTS = st.lists(
    st.dictionaries(
        st.text(alphabet='a"[{}]\\\n#1='),
        st.recursive(
            st.none() | st.text(alphabet='b"[{}]\\é'), lambda inner: st.lists(inner), max_leaves=4
        ),
        max_size=3,
    )
)


@given(OBJECTS, st.integers(1, 40), st.booleans(), st.booleans())
def test_any_chunks_give_the_same_elements(
    objects: list[Any], size: int, is_deep: bool, is_pretty: bool
) -> None:
    whole: Any = {"a": [1], "b": {"c": 2}, "list": objects} if is_deep else objects
    text = json.dumps(whole, indent=2 if is_pretty else None).encode()
    found = ArraySplitter(
        io.BytesIO(text), opens=(b"[", b"{"), depth=2 if is_deep else 1, chunk_bytes=size
    )
    assert [json.loads(element) for element in found] == objects
    assert not found.is_cut


@given(st.integers(1, 8))
def test_labels_belong_to_the_element_behind_them(size: int) -> None:
    text = b"(#1=(a (b)) #2=x (c #3=(d)))"
    found = ArraySplitter(io.BytesIO(text), opens=(b"(", b"("), depth=1, chunk_bytes=size)
    assert list(found) == [b"#1=(a (b))", b"(c #3=(d))"]


def test_a_list_that_does_not_end_says_so() -> None:
    found = ArraySplitter(io.BytesIO(b'[{"a":1},{"b":'), opens=(b"[", b"{"), depth=1)
    assert list(found) == [b'{"a":1}']
    assert found.is_cut
