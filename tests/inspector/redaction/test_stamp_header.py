"""The header says which rules were applied, and is the same otherwise."""

from __future__ import annotations

import json

import pytest

from acp_inspector.redaction.files import stamp_header


@pytest.mark.parametrize(
    ("line", "stamped"),
    [
        ('{"acp_recording":1}\n', '{"acp_recording":1,"redacted":["jwt","key"]}\n'),
        (
            '{ "acp_recording" : 1 , "env" : [ ] , "x":1.50}\r\n',
            '{ "acp_recording" : 1 , "env" : [ ],"redacted":["jwt","key"] , "x":1.50}\r\n',
        ),
        (
            '{"acp_recording":1,"redacted":["entropy","mine","key"],"meta":{}}',
            '{"acp_recording":1,"redacted":["jwt","key","entropy","mine"],"meta":{}}',
        ),
        ('{"acp_recording":1,"redacted":null}', '{"acp_recording":1,"redacted":["jwt","key"]}'),
    ],
)
def test_the_rules_are_named_once_in_the_order_of_the_table(line: str, stamped: str) -> None:
    assert stamp_header(line, ("jwt", "key")) == stamped
    assert stamp_header(stamped, ("jwt", "key")) == stamped
    assert json.loads(stamped)
