"""Files that an agent reads and writes through its client, in version 1.

Source: ACP version 1, "File System".
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema, valid
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, fix
from acp_inspector.lint.text_checks import is_absolute, is_inside, may_be_same, normalized
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import RESOURCE_NOT_FOUND, Json

rule = LintSubject("files", page="file-system.mdx", version=1)

READ: Final = "fs/read_text_file"
WRITE: Final = "fs/write_text_file"
MACOS_PREFIX: Final = "/private/"
"""Where `/tmp`, `/var` and `/etc` lead to on macOS."""


@rule.error(240, "must", "agent", on.request(READ))
@fix("Read files through the client only where it claims that.")
@checked_by(claimed, v1="fs.readTextFile", by="client")
def undeclared_file_read() -> None:
    """`fs/read_text_file` only with `fs.readTextFile: true`."""


@rule.error(241, "must", "agent", on.request(WRITE))
@fix("Write files through the client only where it claims that.")
@checked_by(claimed, v1="fs.writeTextFile", by="client")
def undeclared_file_write() -> None:
    """`fs/write_text_file` only with `fs.writeTextFile: true`."""


@rule.error(242, "must", "agent", on.request(READ, WRITE), case="files.absolute")
@fix("Send absolute paths.")
def relative_file_path(context: Context) -> CheckResult:
    """`path` is absolute."""
    path: Json = context.params.get("path")
    if not isinstance(path, str):
        return None
    if is_absolute(path) or "://" in path:
        return OK
    return context.problem(f"the path is {quoted(path)}", at="path")


@rule.warning(243, "implied", "agent", on.request(READ), case="files.line")
@fix("Count lines from 1.")
@checked_by(valid, at="line", test=(1).__le__, what="less than 1", of=int)
def line_below_one() -> None:
    """`line` is ≥ 1: lines count from 1 (the schema also takes 0)."""


@rule.info(244, "heuristic", "agent", on.request(READ))
@fix("Ask for one line at least, or leave the limit out.")
@checked_by(valid, at="limit", test=(1).__le__, what="less than 1", of=int)
def limit_below_one() -> None:
    """`limit` is ≥ 1."""


@rule.warning(246, "implied", "client", on.result(READ))
@fix("Return no more lines than the limit.")
def too_many_lines(context: Context) -> CheckResult:
    """With `limit`, at most that many lines are returned."""
    limit = None if context.request is None else context.request.params.get("limit")
    content = context.result_object.get("content")
    if type(limit) is not int or limit < 1 or not isinstance(content, str):
        return None
    # A newline at the end begins no further line.
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    if lines > limit:
        return context.problem(
            f"{lines} lines are returned, but {limit} were requested", context.request, at="content"
        )
    return OK


@rule.error(247, "must", "client", on.response(WRITE))
@fix("Create the file, and its directories.")
def write_refused_as_missing(context: Context) -> CheckResult:
    """Writing a missing file creates it; it is not refused with -32002."""
    if context.code != RESOURCE_NOT_FOUND:
        return OK
    ask = context.request
    named = as_object(context.error.get("data")).get("sessionId")
    if ask is None or context.session is None or (named is not None and named == ask.session):
        # The session may be missing instead.
        return None
    return context.problem(
        f"writing {quoted(ask.params.get('path'))} fails because the file is not there", ask
    )


@rule.warning(248, "should", "agent", on.request(READ, WRITE), source="v1/session-setup.mdx")
@fix("Stay within cwd and the additional directories.")
def path_outside_roots(context: Context) -> CheckResult:
    """Paths lie inside the session roots (`cwd` + `additionalDirectories`)."""
    path: Json = context.params.get("path")
    session = context.session
    if session is None or not isinstance(session.cwd, str) or not isinstance(path, str):
        return None
    if not is_absolute(path):
        return None
    roots = [root for root in (session.cwd, *session.roots) if isinstance(root, str)]
    if any(is_inside(path, root) or _may_lie_in(path, root) for root in roots):
        return OK
    return context.problem(
        f"{quoted(path)} lies outside the session's directories", session.first, at="path"
    )


def _may_lie_in(path: str, root: str) -> bool:
    """Return whether symbolic links may place a path in a directory: `/private/tmp/a` is in `/tmp`.

    One shared name is not enough: `/project` need not be `/home/ada/project`.
    """
    place = PurePosixPath(normalized(path))
    least = (
        2 if normalized(root).startswith(MACOS_PREFIX) or str(place).startswith(MACOS_PREFIX) else 3
    )
    return any(
        min(len(each.parts), len(PurePosixPath(normalized(root)).parts)) >= least
        and may_be_same(str(each), root)
        for each in (place, *place.parents)
    )


@rule.warning(249, "heuristic", "agent", on.request(READ, WRITE))
@fix("Send the path that the URI names.")
def file_uri_as_path(context: Context) -> CheckResult:
    """File URIs (`file://…`) are not used where paths are expected."""
    path: Json = context.params.get("path")
    if not isinstance(path, str):
        return None
    if "://" in path:
        return context.problem(f"the path is a URI: {quoted(path)}", at="path")
    return OK


@rule.error(245, "schema", "client", on.result("fs/read_text_file"))
@fix("Answer with the text as content.")
@checked_by(schema, at="content")
def missing_file_content() -> None:
    """The read result has a string `content`."""
