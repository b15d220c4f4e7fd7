"""Talks in which agents read and write files through their client."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps


def read(talk: Talk, path: str = f"{CWD}/a.py", **members: Any) -> Call:
    """Open a session, and read a file in its turn."""
    talk.open()
    talk.prompt()
    params = {"sessionId": "s1", "path": path} | members
    return talk.ask("fs/read_text_file", params, side="agent")


def write(talk: Talk, path: str = f"{CWD}/a.py") -> Call:
    """Open a session, and write a file in its turn."""
    talk.open()
    talk.prompt()
    params = {"sessionId": "s1", "path": path, "content": "a = 1\n"}
    return talk.ask("fs/write_text_file", params, side="agent")


def claimed(talk: Talk, method: str, **fs: Any) -> None:
    """Ask a client that claims this for a file."""
    talk.initialize({"fs": fs})
    talk.new_session()
    talk.prompt()
    params = {"sessionId": "s1", "path": f"{CWD}/a.py", "content": ""}
    if method == "fs/read_text_file":
        del params["content"]
    talk.answer(talk.ask(method, params, side="agent"), content="")


@breaks("undeclared-file-read")
def a_file_is_read_through_a_client_that_writes(talk: Talk) -> None:
    claimed(talk, "fs/read_text_file", writeTextFile=True)


@breaks("undeclared-file-read")
def a_file_is_read_through_a_client_that_claims_an_object(talk: Talk) -> None:
    claimed(talk, "fs/read_text_file", readTextFile={})


@keeps("undeclared-file-read")
def a_file_is_read_through_a_client_that_reads(talk: Talk) -> None:
    claimed(talk, "fs/read_text_file", readTextFile=True, writeTextFile=False)


@breaks("undeclared-file-write")
def a_file_is_written_through_a_client_that_reads(talk: Talk) -> None:
    claimed(talk, "fs/write_text_file", readTextFile=True)


@keeps("undeclared-file-write")
def a_file_is_written_through_a_client_that_writes(talk: Talk) -> None:
    claimed(talk, "fs/write_text_file", writeTextFile=True)


@breaks("relative-file-path")
def a_path_is_relative(talk: Talk) -> None:
    talk.answer(read(talk, "./a.py"), content="")


@breaks("relative-file-path")
def a_path_begins_at_home(talk: Talk) -> None:
    talk.answer(write(talk, "~/a.py"))


@keeps("relative-file-path")
def a_path_is_of_windows(talk: Talk) -> None:
    talk.answer(read(talk, "C:\\work\\a.py"), content="")


@breaks("line-below-one")
def a_line_is_0(talk: Talk) -> None:
    talk.answer(read(talk, line=0), content="")


@keeps("line-below-one")
def a_line_is_1(talk: Talk) -> None:
    talk.answer(read(talk, line=1, limit=None), content="")


@breaks("limit-below-one")
def a_limit_is_0(talk: Talk) -> None:
    talk.answer(read(talk, limit=0), content="")


@keeps("limit-below-one")
def a_limit_is_1(talk: Talk) -> None:
    talk.answer(read(talk, limit=1), content="a = 1")


@breaks("missing-file-content")
def a_result_has_no_content(talk: Talk) -> None:
    talk.answer(read(talk), text="a = 1")


@breaks("missing-file-content")
def a_result_has_blocks_as_content(talk: Talk) -> None:
    talk.answer(read(talk), content=[{"type": "text", "text": "a = 1"}])


@keeps("missing-file-content")
def a_file_is_empty(talk: Talk) -> None:
    talk.answer(read(talk), content="")


@breaks("too-many-lines")
def three_lines_are_returned_for_two(talk: Talk) -> None:
    talk.answer(read(talk, limit=2), content="a\nb\nc")


@keeps("too-many-lines")
def two_lines_are_returned_with_their_ends(talk: Talk) -> None:
    talk.answer(read(talk, limit=2), content="a\nb\n")


@breaks("write-refused-as-missing")
def a_missing_file_is_not_written(talk: Talk) -> None:
    talk.refuse(write(talk), -32002, "Resource not found")


@keeps("write-refused-as-missing")
def a_file_may_not_be_written(talk: Talk) -> None:
    talk.refuse(write(talk), -32603, "The file is read-only.")


@breaks("path-outside-roots")
def a_file_lies_beside_the_session(talk: Talk) -> None:
    talk.answer(read(talk, f"{CWD}-old/a.py"), content="")


@breaks("path-outside-roots")
def a_file_lies_above_the_session(talk: Talk) -> None:
    talk.answer(write(talk, f"{CWD}/../a.py"))


@keeps("path-outside-roots")
def a_file_lies_in_an_additional_directory(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/new", cwd=CWD, mcpServers=[], additionalDirectories=["/srv/lib"])
    talk.answer(call, sessionId="s1")
    talk.prompt()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path="/srv/lib/a.py")
    talk.answer(call, content="")


@keeps("path-outside-roots")
def a_file_lies_behind_a_link(talk: Talk) -> None:
    talk.answer(read(talk, f"/private{CWD}/src/a.py"), content="")


@breaks("file-uri-as-path")
def a_path_is_a_uri(talk: Talk) -> None:
    talk.answer(read(talk, f"file://{CWD}/a.py"), content="")


@keeps("file-uri-as-path")
def a_path_has_a_colon(talk: Talk) -> None:
    talk.answer(read(talk, f"{CWD}/file:a.py"), content="")


@breaks("path-outside-roots")
def a_directory_only_shares_its_last_name(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"/{PurePath(CWD).name}/x.txt")


@keeps("path-outside-roots")
def a_directory_is_reached_by_another_way(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"/private{CWD}/x.txt")
    talk.answer(call, content="x")
