"""The directories of a session, as servers are told them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.mcp.connection import roots_of
from tests.agent.mcp.rooms import call, opened, scripted, weather
from tests.agent.mcp.test_process import ANSWERING

ASKING = f"""{ANSWERING}
def called(asked):
    while True:
        answer({{"id": "r"}}, method="roots/list")
        text = json.dumps(json.loads(sys.stdin.readline())["result"]["roots"])
        answer(asked, result={{"content": [{{"type": "text", "text": text}}]}})
        told = json.loads(sys.stdin.readline())
        assert told["method"] == "notifications/roots/list_changed", told
        asked = json.loads(sys.stdin.readline())
serve(one)
"""


def told(*directories: str) -> list[str]:
    roots = roots_of([Path(each) for each in directories])
    members = roots.model_dump(by_alias=True, mode="json", exclude_none=True)
    return [root["uri"] for root in members["roots"]]


def test_each_directory_is_told_once_and_in_order() -> None:
    assert told("/b", "/a", "/b") == ["file:///b", "file:///a"]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/", "file:///"),
        ("/a b/ü%20#?;x", "file:///a%20b/%C3%BC%2520%23%3F%3Bx"),
        ("/C:/a|b", "file:///C%3A/a%7Cb"),
        ("/~me/\\[x]", "file:///~me/%5C%5Bx%5D"),
        ("/a\udcff", "file:///a%FF"),
    ],
)
def test_a_path_is_escaped(path: str, uri: str) -> None:
    assert told(path) == [uri]


@given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1))
def test_any_name_can_be_read_out_of_its_address(name: str) -> None:
    path = os.path.normpath(f"/a/{name}/b")
    (uri,) = told(path)
    assert unquote_to_bytes(uri.removeprefix("file://")) == os.fsencode(path)


async def test_a_server_that_asks_is_told_and_hears_of_changes(tmp_path: Path) -> None:
    more = tmp_path / "a b"
    async with opened(tmp_path, scripted(ASKING), additional=[more]) as room:
        both = f'[{{"uri": "{tmp_path.as_uri()}"}}, {{"uri": "{tmp_path.as_uri()}/a%20b"}}]'
        assert (await call(room, "s__do")).text == both
        await room.move([tmp_path, more])
        await room.move([tmp_path])
        assert (await call(room, "s__do")).text == f'[{{"uri": "{tmp_path.as_uri()}"}}]'


async def test_a_server_of_the_sdk_that_asks_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        assert (await call(room, "w__roots")).text == tmp_path.as_uri()
        await room.move([tmp_path / "b"])
        assert (await call(room, "w__roots")).text == f"{tmp_path.as_uri()}/b"


async def test_a_server_that_asks_with_params_that_are_none_is_told(tmp_path: Path) -> None:
    code = ASKING.replace('method="roots/list"', 'method="roots/list", params=5')
    async with opened(tmp_path, scripted(code)) as room:
        assert tmp_path.as_uri() in (await call(room, "s__do")).text
