"""The table of methods."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_protocol.schema.methods import find_method, methods


def test_a_row_tells_who_sends_what_and_what_allows_it() -> None:
    row = find_method("fs/read_text_file")
    assert row is not None
    assert (row.sent_by, row.kind) == ("agent", "request")
    assert (row.params, row.result) == ("ReadTextFileRequest", "ReadTextFileResponse")
    assert row.gate == "clientCapabilities.fs.readTextFile"
    assert row.is_stable


@pytest.mark.parametrize(
    ("name", "sent_by", "kind", "stable"),
    [
        ("initialize", "client", "request", True),
        ("session/cancel", "client", "notification", True),
        ("session/update", "agent", "notification", True),
        ("session/fork", "client", "request", False),
        ("$/cancel_request", "either", "notification", True),
    ],
)
def test_sides_and_kinds_are_those_of_the_protocol(
    name: str, sent_by: str, kind: str, stable: bool
) -> None:
    row = find_method(name)
    assert row is not None
    assert (row.sent_by, row.kind, row.is_stable) == (sent_by, kind, stable)


@pytest.mark.parametrize("name", ["_mine", "nes/start", "session/promptt", ""])
def test_what_is_not_in_the_schema_is_not_in_the_table(name: str) -> None:
    assert find_method(name) is None


def test_a_version_that_is_not_built_in_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="version 7"):
        methods(7)


def test_every_request_has_a_result_and_no_notification_has_one() -> None:
    for row in methods():
        assert (row.result is not None) == (row.kind == "request"), row.name


def test_every_method_of_the_published_schema_stands_in_the_table(shared: Path) -> None:
    text = (shared / "acp-schema" / "v1" / "schema.unstable.json").read_text()
    published = {d["x-method"] for d in json.loads(text)["$defs"].values() if "x-method" in d}
    assert {row.name for row in methods()} == published
