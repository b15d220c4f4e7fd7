"""The directories that a client sets a session up with.

Source: ACP, "Session Setup"; the RFD about additional directories.
"""

from __future__ import annotations

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, quoted
from acp_inspector.lint.paths import is_absolute, may_be_same, normalized
from acp_inspector.lint.registry import asks, check, results
from acp_inspector.lint.rules.mcp_servers import SETUPS
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.rules.session_list import listed
from acp_protocol.jsonrpc import Json

ROOTS = "params.additionalDirectories"


@check("ACP-L085", asks(*SETUPS), fix="Send the absolute path of the session's directory as cwd.")
def cwd_is_absolute(moment: Moment) -> Found:
    """Tell of sessions whose directory is not said, or only halfway."""
    cwd: Json = moment.params.get("cwd")
    if is_absolute(cwd):
        return FINE
    what = "is no absolute path" if "cwd" in moment.params else "is missing"
    said = f": {quoted(cwd)}" if "cwd" in moment.params else ""
    return moment.problem(f"the cwd of {moment.method} {what}{said}", path="params.cwd")


@check(
    "ACP-L096",
    asks(*SETUPS),
    fix="Send additionalDirectories only where the agent claimed them.",
)
def roots_are_claimed(moment: Moment) -> Found:
    """Tell of further directories for an agent that takes none."""
    if not entries(moment.params.get("additionalDirectories")):
        return None
    found = gated(
        moment, "sessionCapabilities.additionalDirectories", "session.additionalDirectories"
    )
    if not found:
        return found
    return moment.problem(
        "additionalDirectories were sent though the agent did not claim them",
        moment.state.initialize,
        path=ROOTS,
    )


@check("ACP-L097", asks(*SETUPS), fix="List absolute paths, or leave the member out.")
def roots_are_absolute(moment: Moment) -> Found:
    """Tell of further directories that are none."""
    if "additionalDirectories" not in moment.params:
        return None
    roots: Json = moment.params["additionalDirectories"]
    if not isinstance(roots, list):
        return moment.problem(f"additionalDirectories are no array: {quoted(roots)}", path=ROOTS)
    return tuple(
        Problem(
            f"the directory {quoted(each)} is no absolute path",
            (moment.n,),
            path=f"{ROOTS}.{index}",
        )
        for index, each in enumerate(entries(roots))
        if not is_absolute(each)
    )


@check("ACP-L098", asks(*SETUPS), fix="Name each directory once, and cwd only as cwd.")
def roots_are_named_once(moment: Moment) -> Found:
    """Tell of directories that are listed twice, or are the session's own."""
    roots = entries(moment.params.get("additionalDirectories"))
    if not roots:
        return None
    seen: set[str] = set()
    problems: list[Problem] = []
    for index, each in enumerate(roots):
        if not isinstance(each, str):
            continue
        if each in seen:
            text = f"the directory {quoted(each)} is listed twice"
        elif each == moment.params.get("cwd"):
            text = f"the directory {quoted(each)} is the cwd"
        else:
            seen.add(each)
            continue
        problems.append(Problem(text, (moment.n,), path=f"{ROOTS}.{index}"))
    return tuple(problems)


@check("ACP-L099", results(*SETUPS), fix="Answer -32602 where a directory cannot be granted.")
def bad_roots_are_refused(moment: Moment) -> Found:
    """Tell of sessions that came about though a directory asked for can be none.

    Which sound directories an agent cannot grant, a recording does not tell.
    """
    if moment.ask is None:
        return None
    roots = entries(moment.ask.params.get("additionalDirectories"))
    if not roots:
        return None
    bad = [each for each in roots if not is_absolute(each)]
    if bad:
        return moment.problem(
            f"the session came about though the directory {quoted(bad[0])} is no absolute path",
            moment.ask,
        )
    return FINE


@check(
    "ACP-L099", results("session/list"), fix="Answer -32602 where a directory cannot be granted."
)
def roots_are_not_left_out(moment: Moment) -> Found:
    """Tell of sessions that are listed with fewer directories than they were set up with."""
    problems: list[Problem] = []
    is_told = False
    for place, each in listed(moment):
        id_, told = each.get("sessionId"), each.get("additionalDirectories")
        session = moment.state.sessions.get(id_) if isinstance(id_, str) else None
        if moment.ask is None or session is None or not isinstance(told, list):
            continue
        if not session.is_open or not session.roots or moment.ask.n < session.first.n:
            continue
        is_told = True
        wanted = {root for root in session.roots if isinstance(root, str) and root != session.cwd}
        if len(entries(told)) < len(wanted):
            text = f"the session {quoted(id_)} has fewer directories than it was set up with"
            path = f"{place}.additionalDirectories"
            problems += moment.problem(text, session.first, moment.ask, path=path)
    return tuple(problems) if is_told else None


@check(
    "ACP-L132",
    asks("session/load", "session/resume"),
    fix="Take a session up in the directory that it was created with.",
)
def sessions_keep_their_directory(moment: Moment) -> Found:
    """Tell of sessions that are taken up in another directory than the one they are known by."""
    session, cwd = moment.session, moment.params.get("cwd")
    if session is None or not isinstance(session.cwd, str) or not isinstance(cwd, str):
        return None
    same = (
        normalized(cwd) == normalized(session.cwd)
        if session.origin == "new"
        else may_be_same(cwd, session.cwd)
    )
    if same:
        return FINE
    return moment.problem(
        f"the session is known with the cwd {quoted(session.cwd)}, not {quoted(cwd)}",
        session.first,
        path="params.cwd",
    )
