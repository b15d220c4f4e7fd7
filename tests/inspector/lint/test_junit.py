"""What JUnit's XML can hold, whatever came over the wire."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.lint.engine import lint
from acp_inspector.lint.junit import junit
from tests.inspector.lint.talk import Talk


@given(st.binary(max_size=40))
def test_any_bytes_give_a_document(raw: bytes) -> None:
    talk = Talk()
    talk.send("agent", raw.replace(b"\n", b""))
    said = junit({"a\x00b": lint(talk.entries)}, lambda finding: finding.severity == "error")
    assert ElementTree.fromstring(said).tag == "testsuites"
