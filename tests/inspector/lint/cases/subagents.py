"""Talks about child sessions."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps


def opened(talk: Talk, claims: Any = None) -> None:
    """Open a session, in which the client knows of children."""
    if talk.version == 1:
        talk.initialize({"subagents": {}} if claims is None else claims)
    else:
        talk.initialize()
    talk.new_session()


def child(talk: Talk, id_: str = "c1", parent: str = "s1", /, **members: Any) -> None:
    """Tell of a child."""
    inner: dict[str, Any] = {"sessionUpdate": "subagent_update", "sessionId": id_} | members
    params = {"sessionId": parent, "update": inner}
    talk.send("agent", {"method": "session/update", "params": params})


def running(talk: Talk, **members: Any) -> None:
    """Open a session with a child."""
    opened(talk)
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    child(talk, **members)


@breaks("undeclared-subagents", unstable=True)
def a_client_does_not_know_of_children(talk: Talk) -> None:
    opened(talk, {"terminal": True})
    child(talk)


@keeps("undeclared-subagents", unstable=True)
def a_client_knows_of_children(talk: Talk) -> None:
    running(talk)


@breaks("unannounced-subagent", 2, unstable=True)
def a_child_speaks_before_it_is_announced(talk: Talk) -> None:
    opened(talk)
    talk.state("running", "c1")
    child(talk)


@keeps("unannounced-subagent", 2, unstable=True)
def a_child_speaks_after_it_is_announced(talk: Talk) -> None:
    running(talk)
    talk.state("running", "c1")
    child(talk)


@breaks("wrong-subagent-parent", unstable=True)
def a_child_is_its_own_parent(talk: Talk) -> None:
    opened(talk)
    child(talk, "s1", "s1")


@breaks("wrong-subagent-parent", 2, unstable=True)
def a_child_changes_its_parent(talk: Talk) -> None:
    running(talk)
    talk.new_session("s2")
    child(talk, "c1", "s2")


@keeps("wrong-subagent-parent", unstable=True)
def a_child_has_a_child(talk: Talk) -> None:
    running(talk)
    child(talk, "c2", "c1")


@breaks("subagent-not-controllable", unstable=True)
def a_child_is_prompted(talk: Talk) -> None:
    running(talk)
    talk.refuse(talk.prompt("Hello", "c1"), -32602)


@breaks("subagent-not-controllable", 2, unstable=True)
def a_child_is_cancelled_that_does_not_allow_it(talk: Talk) -> None:
    running(talk, capabilities={})
    talk.tell("session/cancel", sessionId="c1")


@keeps("subagent-not-controllable", unstable=True)
def a_child_is_cancelled_that_allows_it(talk: Talk) -> None:
    running(talk, capabilities={"cancel": {}})
    talk.tell("session/cancel", sessionId="c1")


@breaks("relative-subagent-path", unstable=True)
def a_child_works_in_a_relative_place(talk: Talk) -> None:
    running(talk, cwd="work")


@breaks("relative-subagent-path", 2, unstable=True)
def a_childs_root_is_relative(talk: Talk) -> None:
    running(talk, additionalDirectories=["~/docs"])


@keeps("relative-subagent-path", unstable=True)
def a_child_works_in_an_absolute_place(talk: Talk) -> None:
    running(talk, cwd="/home/ada", additionalDirectories=["/tmp"])


@breaks("unknown-message-peer", unstable=True)
def a_sender_is_not_known(talk: Talk) -> None:
    running(talk)
    talk.update("session_message", messageId="m1", senderSessionId="c9")


@keeps("unknown-message-peer", unstable=True)
def a_child_writes_to_its_parent(talk: Talk) -> None:
    running(talk)
    ends = {"senderSessionId": "c1", "recipientSessionId": "s1"}
    talk.update("session_message", messageId="m1", **ends)


@breaks("subagent-state-differs", 2, unstable=True)
def a_mirror_stays_behind(talk: Talk) -> None:
    running(talk, state={"state": "running"})
    talk.state("running", "c1")
    talk.state("requires_action", "c1")
    talk.state("running", "c1")


@keeps("subagent-state-differs", 2, unstable=True)
def a_mirror_goes_along(talk: Talk) -> None:
    running(talk, state={"state": "running"})
    talk.state("running", "c1")
    talk.state("requires_action", "c1")
    child(talk, state={"state": "requires_action"})
    talk.state("running", "c1")
