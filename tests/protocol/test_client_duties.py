"""What every client of ours owes an agent: files, the option of a permission, terminals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_protocol.client_duties import (
    exit_result,
    find_option,
    output_result,
    permission_options,
    permission_result,
    read_file,
    write_file,
)
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import ExitStatus
from acp_protocol.jsonrpc import INVALID_PARAMS, NOT_PERMITTED, RESOURCE_NOT_FOUND, Json
from acp_protocol.schema.validate import validate_result


@pytest.fixture
def files(tmp_path: Path) -> SandboxedFiles:
    (tmp_path / "notes.txt").write_bytes("a\x0cb\u2028c\rd\ntwo\nthree".encode())
    return SandboxedFiles([tmp_path])


def test_a_file_is_read_by_lines(files: SandboxedFiles, tmp_path: Path) -> None:
    asked: dict[str, Json] = {"path": str(tmp_path / "notes.txt")}
    assert read_file(files, {**asked, "limit": 1}) == {"content": "a\x0cb\u2028c\rd\n"}
    assert read_file(files, {**asked, "line": 2}) == {"content": "two\nthree"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("none.txt", RESOURCE_NOT_FOUND),
        ("../other.txt", INVALID_PARAMS),
        ("", INVALID_PARAMS),
        (None, INVALID_PARAMS),
    ],
)
def test_a_file_that_is_missing_is_another_error_than_one_that_is_refused(
    files: SandboxedFiles, tmp_path: Path, path: str | None, code: int
) -> None:
    asked: dict[str, Json] = {"path": path if path is None else f"{tmp_path}/{path}"}
    with pytest.raises(RequestFailedError) as refused:
        read_file(files, asked)
    assert refused.value.code == code
    if path:
        data = {"uri": f"file://{asked['path']}"}
        forbidden = {"reason": NOT_PERMITTED} if path.startswith("..") else {}
        assert refused.value.data == data | forbidden


@pytest.mark.parametrize("content", [None, 1, ["text"]])
def test_what_is_no_text_is_not_written(
    files: SandboxedFiles, tmp_path: Path, content: Json
) -> None:
    target = tmp_path / "new.txt"
    with pytest.raises(RequestFailedError, match=r"params\.content") as refused:
        write_file(files, {"path": str(target), "content": content})
    assert refused.value.code == INVALID_PARAMS
    assert not target.exists()
    assert write_file(files, {"path": str(target), "content": "text"}) == {}
    assert target.read_text() == "text"


def option(kind: Any, id_: Any = None, name: Any = "Name") -> Json:
    return {"optionId": kind if id_ is None else id_, "name": name, "kind": kind}


@pytest.mark.parametrize(
    ("kinds", "verdict", "expected"),
    [
        (["allow_always", "allow_once", "reject_once"], "allow", "allow_once"),
        (["reject_once", "allow_always"], "allow", "allow_always"),
        (["allow_once", "reject_always"], "reject", "reject_always"),
        (["allow_forever", "reject_once"], "allow", None),
        ([], "reject", None),
    ],
)
def test_once_comes_before_always(kinds: list[str], verdict: Any, expected: str | None) -> None:
    found = find_option(permission_options({"options": list(map(option, kinds))}), verdict)
    assert (found and found.id) == expected


def test_the_first_of_two_options_of_a_kind_is_chosen() -> None:
    params: Json = {"options": [option("allow_once", "a"), option("allow_once", "b")]}
    found = find_option(permission_options(params), "allow")
    assert found is not None
    assert found.id == "a"


@pytest.mark.parametrize(
    "options",
    [None, {}, "allow_once", [1, None, option(1), option("allow_once", 1), option("", name=None)]],
)
def test_what_is_no_option_is_not_chosen(options: Json) -> None:
    assert permission_options({"options": options}) == ()


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("session/request_permission", permission_result("once")),
        ("session/request_permission", permission_result(None)),
        ("terminal/output", output_result("text", None)),
        ("terminal/output", output_result("text", ExitStatus(None, "SIGKILL"), is_cut=True)),
        ("terminal/wait_for_exit", exit_result(ExitStatus(0, None))),
    ],
)
def test_results_are_those_of_the_schema(method: str, result: Json) -> None:
    assert validate_result(method, result) == ()
