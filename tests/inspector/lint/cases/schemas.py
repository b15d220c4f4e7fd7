"""Talks about whether messages fit the published schema."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps


@breaks("ACP-L046")
def a_required_param_is_missing(talk: Talk) -> None:
    talk.open()
    talk.ask("session/set_config_option", sessionId="s1", configId="model")


@breaks("ACP-L046")
def a_param_is_of_a_wrong_type(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel", sessionId=7)


@breaks("ACP-L046", 2)
def a_param_of_version_2_is_missing(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel")


@keeps("ACP-L046")
def everything_fits(talk: Talk) -> None:
    talk.open()
    talk.turn()


@keeps("ACP-L046", 2)
def everything_of_version_2_fits(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("ACP-L047")
def a_lenient_member_is_malformed(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", title=7)


@keeps("ACP-L047")
def a_lenient_member_is_absent(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update")
