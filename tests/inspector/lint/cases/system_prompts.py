"""Talks about system prompts."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

TEXT: dict[str, Any] = {"type": "text", "text": "Be brief."}
IMAGE: dict[str, Any] = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
OVERRIDE: dict[str, Any] = {"mode": {"override": {}}}


def _open(talk: Talk, claim: Any) -> None:
    if talk.version == 2:
        talk.initialize({}, {"session": {"systemPrompt": claim}})
    else:
        session: dict[str, Any] = {"resume": {}, "systemPrompt": claim}
        talk.initialize({}, {"sessionCapabilities": session, "loadSession": True})


def _new(talk: Talk, *blocks: Any, mode: str = "append") -> Call:
    prompt = {"mode": mode, "content": list(blocks)}
    return talk.ask("session/new", cwd=CWD, mcpServers=[], systemPrompt=prompt)


def _created(talk: Talk, *blocks: Any, mode: str = "append") -> None:
    lists: dict[str, Any] = (
        {"configOptions": [], "availableCommands": []} if talk.version == 2 else {}
    )
    talk.answer(_new(talk, *blocks, mode=mode), {"sessionId": "s1"} | lists)


def _resume(talk: Talk, **members: Any) -> None:
    resume = talk.ask("session/resume", {"sessionId": "s1", "cwd": CWD} | members)
    if talk.version == 1:
        talk.answer(resume)
    else:
        talk.state("idle")
        talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("undeclared-system-prompt", unstable=True)
def a_system_prompt_is_sent_unclaimed(talk: Talk) -> None:
    talk.initialize()
    _new(talk, TEXT)


@breaks("undeclared-system-prompt", 2, unstable=True)
def a_system_prompt_is_sent_though_it_is_null(talk: Talk) -> None:
    _open(talk, None)
    _new(talk, TEXT)


@keeps("undeclared-system-prompt", unstable=True)
def a_system_prompt_is_sent_where_it_is_claimed(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)


@keeps("undeclared-system-prompt", 2, unstable=True)
def a_system_prompt_is_sent_where_version_2_claims_it(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)


@breaks("undeclared-prompt-override", unstable=True)
def a_system_prompt_replaces_unclaimed(talk: Talk) -> None:
    _open(talk, {"mode": {}})
    _new(talk, TEXT, mode="override")


@breaks("undeclared-prompt-override", 2, unstable=True)
def a_system_prompt_replaces_unclaimed_in_version_2(talk: Talk) -> None:
    _open(talk, {})
    _new(talk, TEXT, mode="override")


@keeps("undeclared-prompt-override", unstable=True)
def a_system_prompt_replaces_where_it_is_claimed(talk: Talk) -> None:
    _open(talk, OVERRIDE)
    _created(talk, TEXT, mode="override")


@keeps("undeclared-prompt-override", 2, unstable=True)
def a_system_prompt_replaces_where_version_2_claims_it(talk: Talk) -> None:
    _open(talk, OVERRIDE)
    _created(talk, TEXT, mode="override")


@breaks("malformed-system-prompt", unstable=True)
def a_system_prompt_is_empty(talk: Talk) -> None:
    _open(talk, {})
    _new(talk)


@breaks("malformed-system-prompt", 2, unstable=True)
def a_system_prompt_is_a_picture(talk: Talk) -> None:
    _open(talk, {})
    _new(talk, TEXT, IMAGE)


@keeps("malformed-system-prompt", unstable=True)
def a_system_prompt_has_two_blocks(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT, TEXT)


@keeps("malformed-system-prompt", 2, unstable=True)
def a_system_prompt_has_one_block(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)


@breaks("system-prompt-ignored", unstable=True)
def an_unclaimed_mode_goes_well(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT, mode="override")


@breaks("system-prompt-ignored", 2, unstable=True)
def a_picture_goes_well(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, IMAGE)


@keeps("system-prompt-ignored", unstable=True)
def a_claimed_mode_goes_well(talk: Talk) -> None:
    _open(talk, OVERRIDE)
    _created(talk, TEXT, mode="override")


@keeps("system-prompt-ignored", 2, unstable=True)
def a_mode_of_ones_own_may_go_well(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT, mode="_prepend")


@breaks("system-prompt-not-repeated", unstable=True)
def a_system_prompt_is_left_out_later(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)
    _resume(talk)


@breaks("system-prompt-not-repeated", 2, unstable=True)
def a_system_prompt_changes_later(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)
    _resume(talk, systemPrompt={"mode": "append", "content": [TEXT, TEXT]})


@keeps("system-prompt-not-repeated", unstable=True)
def a_system_prompt_is_repeated(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)
    _resume(talk, systemPrompt={"content": [TEXT], "mode": "append"})


@keeps("system-prompt-not-repeated", 2, unstable=True)
def a_system_prompt_is_repeated_in_version_2(talk: Talk) -> None:
    _open(talk, {})
    _created(talk, TEXT)
    _resume(talk, systemPrompt={"content": [TEXT], "mode": "append"})
