"""How a connection begins, and how both sides agree upon a version.

Source: ACP, "Initialization" and "Migration" (version 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint.moment import FINE, INITIALIZE, Found, Moment, members, quoted
from acp_inspector.lint.registry import asks, calls, check, learns, results, tells
from acp_inspector.lint.state import Ask, Point
from acp_protocol.jsonrpc import Json

VERSIONS: Final = range(2**16)
SET_V1: Final = {
    "client": ("clientCapabilities", "clientInfo"),
    "agent": ("agentCapabilities", "agentInfo"),
}
SET_V2: Final = ("capabilities", "info")


@dataclass(slots=True)
class _Refusal:
    """A version that was answered and that the client did not ask for."""

    wanted: int = 0
    answered: int = 0
    ask: Ask | None = None
    point: Point | None = None


@check("ACP-L048", calls(), fix="Begin each connection with initialize.")
def initialize_comes_first(moment: Moment) -> Found:
    """Tell of a first message that is something else."""
    if moment.side != "client" or moment.state.calls["client"]:
        return None
    if moment.method in INITIALIZE:
        return FINE
    return moment.problem(f"the first message is {quoted(moment.method)}", path="method")


@check("ACP-L049", calls(), fix="Wait for the answer to initialize.")
def nothing_overtakes_the_answer(moment: Moment) -> Found:
    """Tell of what the client sends before it knows what the agent can do."""
    state = moment.state
    if moment.side != "client" or state.initialize is None or state.initialize.answered:
        return None
    if moment.method in {"initialize", "$/cancel_request"}:
        return FINE
    return moment.problem(
        f"{quoted(moment.method)} is sent before initialize was answered",
        state.initialize,
        path="method",
    )


@check("ACP-L049", results("initialize"), fix="Wait for the answer to initialize.")
def the_answer_came_first(moment: Moment) -> Found:
    """See that the answer is there: whatever comes from now on is in time."""
    return FINE if moment.state.calls["client"] else None


@check("ACP-L050", asks("initialize"), fix="Initialize once, before everything else.")
def initialize_is_sent_once(moment: Moment) -> Found:
    """Tell of a second one; version 2 lets it be repeated before anything else."""
    earlier = moment.state.initialize
    if earlier is None or moment.state.version is None:
        return FINE
    if moment.state.version >= 2 and (moment.version or 0) >= 2:
        return FINE
    return moment.problem("initialize comes a second time", earlier, path="method")


@check(
    "ACP-L051",
    asks(),
    tells("session/update"),
    exercised_by=results("initialize"),
    fix="Send nothing before the answer to initialize.",
)
def an_agent_waits_for_its_own_answer(moment: Moment) -> Found:
    """Tell of an agent that speaks before it was introduced."""
    if moment.side != "agent" or moment.method == "proxy/successor":
        # A proxy has to ask its successor before it can answer.
        return None
    if moment.state.is_ready or moment.state.version is not None:
        return FINE
    return moment.problem(
        f"{moment.method} is sent before initialize was answered",
        moment.state.initialize,
        path="method",
    )


@check("ACP-L052", asks("initialize"), results("initialize"), fix="Send a whole number such as 1.")
def versions_are_numbers(moment: Moment) -> Found:
    """Tell of dates, dotted versions and numbers out of range."""
    place, version = _version(moment)
    if type(version) is int and version in VERSIONS:
        return FINE
    said = "is missing" if version is None else f"is {quoted(version)}"
    return moment.problem(f"protocolVersion {said}", path=f"{place}.protocolVersion")


@check("ACP-L053", asks("initialize"), results("initialize"), fix="Ask for version 1 or newer.")
def version_0_is_over(moment: Moment) -> Found:
    """Tell of the version from before the first release."""
    place, version = _version(moment)
    if type(version) is not int:
        return None
    if version:
        return FINE
    return moment.problem("protocolVersion is 0", path=f"{place}.protocolVersion")


def _version(moment: Moment) -> tuple[str, Json]:
    if moment.kind == "request":
        return "params", moment.params.get("protocolVersion")
    return "result", moment.result_object.get("protocolVersion")


@check("ACP-L054", results("initialize"), fix="Answer with the version asked for, if you have it.")
def another_version_is_worth_a_look(moment: Moment) -> Found:
    """Tell of an agent that answers with another version than it was asked for."""
    wanted, answered = _wanted(moment), moment.result_object.get("protocolVersion")
    if wanted is None or type(answered) is not int:
        return None
    if answered == wanted:
        return FINE
    return moment.problem(
        f"asked for version {wanted}, the agent answers with {answered}",
        moment.ask,
        path="result.protocolVersion",
    )


def _wanted(moment: Moment) -> int | None:
    wanted = moment.ask.params.get("protocolVersion") if moment.ask is not None else None
    return wanted if type(wanted) is int else None


@learns(results("initialize"))
def _keep_refusal(moment: Moment) -> None:
    refusal = moment.state.of(_Refusal)
    answered = moment.result_object.get("protocolVersion")
    refusal.ask, refusal.point = moment.ask, moment.point
    refusal.wanted = _wanted(moment) or 0
    refusal.answered = answered if type(answered) is int else 0


@check(
    "ACP-L055",
    calls(),
    exercised_by=results("initialize"),
    fix="Close the connection when the answered version is none that you speak.",
)
def a_client_goes_on_in_the_answered_version(moment: Moment) -> Found:
    """Tell of a client that goes on after an answer above what it asked for.

    Below it a client may well speak the older version too; that its messages are of another one
    is told by the rules about methods and shapes.
    """
    refusal = moment.state.of(_Refusal)
    if moment.side != "client" or refusal.point is None or moment.method == "initialize":
        return None
    if refusal.answered <= refusal.wanted:
        return FINE
    if moment.state.calls["client"] > 1:
        # Once is enough: everything that follows is of the same mistake.
        return None
    return moment.problem(
        f"the client goes on though the agent answered with version {refusal.answered}, "
        f"above {refusal.wanted}",
        refusal.ask,
        refusal.point,
    )


@check(
    "ACP-L056",
    calls(),
    results(),
    exercised_by=results("initialize"),
    fix="Use the names of the version that was agreed upon.",
)
def names_are_of_the_answered_version(moment: Moment) -> Found:
    """Tell of members that only the other version has, where they change what is meant."""
    if moment.version is None or moment.method is None:
        return None
    place = "params" if moment.kind != "result" else "result"
    said = moment.params if moment.kind != "result" else moment.result_object
    names = _OTHERS.get((moment.version, moment.kind, moment.method))
    if names is None:
        return None
    for name in names:
        if name in said:
            return moment.problem(
                f"{name} of {moment.method} is the other version's; "
                f"agreed upon is {moment.version}",
                moment.state.initialize,
                path=f"{place}.{name}",
            )
    return FINE


_OTHERS: Final[dict[tuple[int, str, str], tuple[str, ...]]] = {
    (1, "request", "session/request_permission"): ("subject",),
    (2, "request", "session/request_permission"): ("toolCall",),
    (1, "request", "session/resume"): ("replayFrom",),
    (1, "result", "session/prompt"): ("messageId",),
    (2, "result", "session/prompt"): ("stopReason",),
    (2, "result", "session/new"): ("modes", "models"),
    (2, "result", "session/resume"): ("modes", "models"),
}
"""Members by which a message shows that it is of the other version."""


@check(
    "ACP-L057", asks("initialize"), results("initialize"), fix="Say who you are, and which version."
)
def both_sides_say_who_they_are(moment: Moment) -> Found:
    """Tell of a side without a name."""
    name = "clientInfo" if moment.kind == "request" else "agentInfo"
    return _introduced(moment, name)


@check(
    "ACP-L058", asks("initialize"), results("initialize"), fix="Say who you are, and which version."
)
def both_sides_have_to_say_who_they_are(moment: Moment) -> Found:
    """Tell of a side without a name, in version 2."""
    return _introduced(moment, "info")


def _introduced(moment: Moment, name: str) -> Found:
    place = "params" if moment.kind == "request" else "result"
    said = moment.params if moment.kind == "request" else moment.result_object
    info = members(said.get(name))
    if not info:
        return moment.problem(f"{name} is missing", path=f"{place}.{name}")
    for part in ("name", "version"):
        if not isinstance(info.get(part), str):
            return moment.problem(f"{name} has no {part}", path=f"{place}.{name}.{part}")
    return FINE


@check("ACP-L059", asks("initialize"), results("initialize"), fix="Use the names of that version.")
def introductions_fit_their_version(moment: Moment) -> Found:
    """Tell of members of the other version; who offers both versions may send both sets."""
    if moment.version is None:
        return None
    place = "params" if moment.kind == "request" else "result"
    said = moment.params if moment.kind == "request" else moment.result_object
    old, new = SET_V1[moment.side], SET_V2
    wrong = new if moment.version == 1 else old
    if moment.version != 1 and moment.kind == "request" and any(name in said for name in new):
        return FINE
    for name in wrong:
        if name in said:
            return moment.problem(
                f"{name} is not version {moment.version}'s", path=f"{place}.{name}"
            )
    return FINE
