"""Files that an agent reads and writes through its client, in version 1.

Source: ACP version 1, "File System".
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check
from acp_inspector.lint.text_checks import is_absolute, is_inside, may_be_same, normalized
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import RESOURCE_NOT_FOUND, Json

READ: Final = "fs/read_text_file"
WRITE: Final = "fs/write_text_file"
MACOS_PREFIX: Final = "/private/"
"""Where `/tmp`, `/var` and `/etc` lead to on macOS."""


@check("ACP-L240", on.request(READ), capability="fs.readTextFile")
@check("ACP-L241", on.request(WRITE), capability="fs.writeTextFile")
def file_methods_are_supported(context: Context, capability: str) -> CheckResult:
    if not context.state.is_ready:
        return None
    if context.state.claim("client", capability) is True:
        return OK
    return context.problem(
        f"{context.method} is called, but the client does not claim {capability}",
        context.state.initialize,
        path="method",
    )


@check("ACP-L242", on.request(READ, WRITE))
def paths_are_absolute(context: Context) -> CheckResult:
    path: Json = context.params.get("path")
    if not isinstance(path, str):
        return None
    if is_absolute(path) or "://" in path:
        return OK
    return context.problem(f"the path is {quoted(path)}", at="path")


@check("ACP-L243", on.request(READ), name="line")
@check("ACP-L244", on.request(READ), name="limit")
def _starts_at_one(context: Context, name: str) -> CheckResult:
    value: Json = context.params.get(name)
    if type(value) is not int:
        return None
    if value < 1:
        return context.problem(f"{name} is {value}", at=name)
    return OK


@check("ACP-L245", on.result(READ))
def results_hold_the_text(context: Context) -> CheckResult:
    result = context.result_object
    if isinstance(result.get("content"), str):
        return OK
    what = f"is {quoted(result.get('content'))}" if "content" in result else "is missing"
    return context.problem(f"the content {what}", context.request, at="content")


@check("ACP-L246", on.result(READ))
def limits_are_kept(context: Context) -> CheckResult:
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


@check("ACP-L247", on.response(WRITE))
def missing_files_are_created(context: Context) -> CheckResult:
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


@check("ACP-L248", on.request(READ, WRITE))
def paths_lie_in_the_session(context: Context) -> CheckResult:
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


@check("ACP-L249", on.request(READ, WRITE))
def paths_are_no_uris(context: Context) -> CheckResult:
    path: Json = context.params.get("path")
    if not isinstance(path, str):
        return None
    if "://" in path:
        return context.problem(f"the path is a URI: {quoted(path)}", at="path")
    return OK
