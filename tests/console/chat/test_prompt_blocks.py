"""The content blocks of a prompt that mentions files."""

from __future__ import annotations

import os
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.chat.prompt_blocks import MAX_TEXT, PromptAbilities, prompt_blocks
from acp_protocol.json_values import get, get_string, get_text
from acp_protocol.jsonrpc import Json

ALL = PromptAbilities(
    {"promptCapabilities": {"image": True, "audio": True, "embeddedContext": True}}, 1
)
NONE = PromptAbilities({}, 1)


def kinds(blocks: list[Json]) -> list[str | None]:
    return [get_text(block, "type") for block in blocks]


def test_a_mentioned_file_is_embedded_where_the_agent_takes_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    blocks = prompt_blocks("look at @notes.txt, please", tmp_path, ALL)
    assert blocks[0] == {"type": "text", "text": "look at @notes.txt, please"}
    assert get(get(blocks[1], "resource"), "text") == "hello"
    linked = prompt_blocks("look at @notes.txt", tmp_path, NONE)
    assert kinds(linked) == ["text", "resource_link"]
    assert get(linked[1], "uri") == f"file://{tmp_path}/notes.txt"


def test_version_2_claims_by_objects() -> None:
    claimed = PromptAbilities({"session": {"prompt": {"image": {}, "audio": None}}}, 2).claimed
    assert claimed == {"image"}


def test_an_image_is_sent_where_the_agent_takes_it(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"\x89PNG\0")
    blocks = prompt_blocks('see @"a b.png"', tmp_path, ALL)
    assert kinds(blocks) == ["text", "image"]
    assert b64decode(get_string(blocks[1], "data")) == b"\x89PNG\0"
    assert kinds(prompt_blocks('see @"a b.png"', tmp_path, NONE)) == ["text", "resource_link"]


@pytest.mark.parametrize("content", [b"\0binary", b"\xff\xfe", b"x" * (MAX_TEXT + 1)])
def test_what_is_no_short_text_is_linked(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "it.txt").write_bytes(content)
    assert kinds(prompt_blocks("@it.txt", tmp_path, ALL)) == ["text", "resource_link"]


def test_a_pipe_is_linked_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.png")
    assert kinds(prompt_blocks("@it.png", tmp_path, ALL)) == ["text", "resource_link"]


@pytest.mark.parametrize("text", ["@~nobody-at-all/notes", "@" + "x" * 300])
def test_what_cannot_be_a_path_is_only_text(tmp_path: Path, text: str) -> None:
    assert kinds(prompt_blocks(text, tmp_path, ALL)) == ["text"]


def test_a_directory_is_linked_and_an_address_or_an_unknown_name_is_only_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    blocks = prompt_blocks("@src me@example.org @nothing", tmp_path, ALL)
    assert kinds(blocks) == ["text", "resource_link"]


def test_files_come_once_even_if_mentioned_and_given(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    blocks = prompt_blocks("@notes.txt and @notes.txt.", tmp_path, ALL, [path])
    assert kinds(blocks) == ["text", "resource"]


@given(st.text(st.characters(exclude_characters="/~.", codec="utf-8")))
def test_any_text_stays_as_it_is(text: str) -> None:
    blocks = prompt_blocks(text, Path("/nowhere"), ALL)
    assert blocks == ([{"type": "text", "text": text}] if text else [])
