"""Formats are recognised by what stands in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.importers.formats import FORMATS, UnknownFormatError, detect_format, find_format

SAMPLES = Path(__file__).parent / "samples"
NAMES = {
    "acp-el.traffic": "acp.el",
    # What acpx keeps is plain, so that nothing in it tells its name.
    "acpx.stream.ndjson": "ndjson",
    "capture.ndjson": "capture",
    "devtools.json": "acp-devtools",
    "framed.stream": "content-length",
    "http.har": "har",
    "text.log": "log",
    "plain.ndjson": "ndjson",
    "trace.jsons": "conductor",
    "zed.json": "zed",
}


def test_every_sample_has_a_format_and_every_format_that_is_recognised_a_sample() -> None:
    assert sorted(path.name for path in SAMPLES.iterdir()) == sorted(NAMES)
    assert {each.name for each in FORMATS} == {*NAMES.values(), "acpx"}


@pytest.mark.parametrize("sample", NAMES)
def test_a_file_is_recognised_by_its_content(sample: str) -> None:
    assert detect_format((SAMPLES / sample).read_bytes()).name == NAMES[sample]


@pytest.mark.parametrize(
    "head", [b"", b"hello\n", b"[1, 2]", b"(a b)", b"{}", b'{"a":1}\n', b"\xff"]
)
def test_what_is_not_known_is_refused_with_what_is(head: bytes) -> None:
    with pytest.raises(UnknownFormatError, match=r"capture.*zed.*acpx"):
        detect_format(head)


def test_a_format_is_found_by_its_name() -> None:
    assert [find_format(each.name) for each in FORMATS] == list(FORMATS)
    with pytest.raises(UnknownFormatError, match="no format 'nope'"):
        find_format("nope")
