"""Results of servers, as the model and the user see them."""

from __future__ import annotations

import json

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from acp_agent.mcp.declarations import Limits
from acp_agent.mcp.tools import outcome_of
from acp_agent.tools.call import MAX_TEXT_CHARS

PICTURE = ImageContent(type="image", data="A" * 1000, mime_type="image/png")


def test_each_kind_of_content_has_words_for_the_model() -> None:
    held = TextResourceContents(uri="a:1", text="inside")
    blob = BlobResourceContents(uri="a:2", blob="QUJD", mime_type="x/y")
    result = CallToolResult(
        content=[
            TextContent(type="text", text="said"),
            PICTURE,
            AudioContent(type="audio", data="AA==", mime_type="audio/wav"),
            ResourceLink(type="resource_link", name="notes", uri="file:///n"),
            EmbeddedResource(type="resource", resource=held),
            EmbeddedResource(type="resource", resource=blob),
        ]
    )
    outcome = outcome_of(result, Limits())
    assert outcome.text.split("\n") == [
        "said",
        "[image image/png, shown to the user only]",
        "[audio audio/wav, shown to the user only]",
        "notes: file:///n",
        "inside",
        "[a:2, x/y]",
    ]
    kinds = [each["content"]["type"] for each in outcome.content]
    assert kinds == ["text", "image", "audio", "resource_link", "text", "text"]
    assert outcome.raw["content"][1]["data"] == "… 1000 characters"
    assert outcome.raw["content"][5]["resource"]["blob"] == "… 4 characters"


def test_text_cannot_leave_its_fence() -> None:
    text = "```\n# Not a heading"
    outcome = outcome_of(CallToolResult(content=[TextContent(type="text", text=text)]), Limits())
    assert outcome.content[0]["content"]["text"] == f"````\n{text}\n````"


def test_a_structured_result_alone_is_told_as_json() -> None:
    result = CallToolResult(content=[], structured_content={"degrees": 7})
    outcome = outcome_of(result, Limits())
    assert json.loads(outcome.text) == {"degrees": 7}
    assert len(outcome.content) == 1


def test_a_long_text_is_shortened_for_everybody() -> None:
    block = TextContent(type="text", text="x" * (MAX_TEXT_CHARS + 5))
    outcome = outcome_of(CallToolResult(content=[block]), Limits())
    assert outcome.text.endswith("… 5 more characters")
    assert len(json.dumps(outcome.content)) < MAX_TEXT_CHARS + 200
    assert set(outcome.raw) == {"isError", "leftOut"}


def test_pictures_beyond_the_limit_are_named_only() -> None:
    outcome = outcome_of(CallToolResult(content=[PICTURE] * 3), Limits(result_size=2500))
    kinds = [each["content"]["type"] for each in outcome.content]
    assert kinds == ["image", "image", "text"]
    assert "too large to show" in outcome.content[2]["content"]["text"]


def test_a_failure_stays_one() -> None:
    result = CallToolResult(content=[TextContent(type="text", text="no")], is_error=True)
    outcome = outcome_of(result, Limits())
    assert outcome.is_failed
    assert outcome.raw["isError"] is True
