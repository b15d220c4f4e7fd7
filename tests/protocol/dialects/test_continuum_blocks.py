"""Content blocks of Continuum Router beside the official ones."""

from __future__ import annotations

import json

import pytest

from acp_protocol.dialects.continuum import Continuum
from acp_protocol.jsonrpc import Json
from tests.protocol.dialects.examples import call, is_valid, said

BLOCKS = [
    ({"type": "text", "text": "a"}, {"type": "text", "text": "a"}),
    (
        {"type": "image", "data": "iVBORw0KGgo=", "mediaType": "image/png"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    ),
    (
        {"type": "resource", "uri": "file:///abs/project/a.md", "mediaType": "text/markdown"},
        {
            "type": "resource_link",
            "uri": "file:///abs/project/a.md",
            "name": "a.md",
            "mimeType": "text/markdown",
        },
    ),
    (
        {"type": "resource", "uri": "file:///abs/a%20b/"},
        {"type": "resource_link", "uri": "file:///abs/a%20b/", "name": "a b"},
    ),
]


@pytest.fixture
def dialect() -> Continuum:
    return Continuum("/abs/project")


@pytest.mark.parametrize(("theirs", "ours"), BLOCKS)
def test_a_block_is_read_and_written(dialect: Continuum, theirs: Json, ours: Json) -> None:
    asked = call("session/prompt", {"sessionId": "s1", "content": [theirs]}, id=1)
    official = call("session/prompt", {"sessionId": "s1", "prompt": [ours]}, id=1)
    (read,) = said(*dialect.read(asked, "client").forward)
    assert read == json.loads(official)
    assert is_valid(read)
    assert said(*dialect.write(official, "client")) == said(asked)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}},
    ],
)
def test_a_block_without_a_counterpart_passes(dialect: Continuum, block: Json) -> None:
    official = call("session/prompt", {"sessionId": "s1", "prompt": [block]}, id=1)
    assert said(*dialect.write(official, "client"))[0]["params"]["content"] == [block]
    assert dialect.read(official, "client").forward[0] is official
