"""Talks about what both sides claim."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


@breaks("boolean-support-marker", 2)
def a_marker_is_true(talk: Talk) -> None:
    talk.initialize({}, {"session": {"delete": True}})


@breaks("boolean-support-marker", 2)
def a_clients_marker_is_false(talk: Talk) -> None:
    talk.initialize({"elicitation": {"form": False}}, {"session": {}})


@keeps("boolean-support-marker", 2)
def a_marker_is_null(talk: Talk) -> None:
    talk.initialize({"elicitation": None}, {"session": {"delete": None, "_meta": {"mine": True}}})


@breaks("non-boolean-capability")
def a_flag_is_an_object(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": {}})


@breaks("non-boolean-capability")
def a_flag_is_a_word(talk: Talk) -> None:
    talk.initialize({"fs": {"readTextFile": "yes"}})


@keeps("non-boolean-capability")
def a_flag_is_false(talk: Talk) -> None:
    talk.initialize({"terminal": False}, {"loadSession": False})


@breaks("leftover-v1-capability", 2)
def a_marker_of_version_1_is_left(talk: Talk) -> None:
    talk.initialize({}, {"session": {"list": {}}})


@keeps("leftover-v1-capability", 2)
def no_marker_is_left(talk: Talk) -> None:
    talk.initialize({}, {"session": {"fork": {}}})


@breaks("unknown-capability")
def a_capability_is_made_up(talk: Talk) -> None:
    talk.initialize({}, {"streaming": True})


@breaks("unknown-capability", 2)
def a_capability_of_version_2_is_made_up(talk: Talk) -> None:
    talk.initialize({}, {"session": {"streaming": {}}})


@keeps("unknown-capability")
def a_capability_of_ones_own_stands_in_meta(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True, "_meta": {"streaming": True}})


@breaks("no-capabilities")
def an_agent_claims_nothing(talk: Talk) -> None:
    talk.initialize({}, {})


@keeps("no-capabilities", 2)
def an_agent_claims_sessions(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})


@breaks("misplaced-capability")
def images_are_claimed_at_the_root(talk: Talk) -> None:
    talk.initialize({}, {"image": True})


@breaks("misplaced-capability")
def files_are_claimed_at_the_root(talk: Talk) -> None:
    talk.initialize({"readTextFile": True})


@breaks("misplaced-capability", 2)
def images_are_claimed_at_the_root_of_version_2(talk: Talk) -> None:
    talk.initialize({}, {"image": {}})


@keeps("misplaced-capability")
def images_are_claimed_where_they_belong(talk: Talk) -> None:
    talk.initialize({}, {"promptCapabilities": {"image": True}})


@breaks("duplicate-auth-method")
def two_ways_to_log_in_share_an_id(talk: Talk) -> None:
    ways = [{"id": "key", "name": "Key"}, {"id": "key", "name": "Other key"}]
    talk.initialize(authMethods=ways)


@breaks("duplicate-auth-method", 2)
def two_ways_of_version_2_share_an_id(talk: Talk) -> None:
    ways = [{"type": "agent", "methodId": "a", "name": name} for name in ("A", "B")]
    talk.initialize(authMethods=ways)


@keeps("duplicate-auth-method")
def two_ways_share_a_name(talk: Talk) -> None:
    ways = [{"id": "key", "name": "Key"}, {"id": "key2", "name": "Key"}]
    talk.initialize(authMethods=ways)


@breaks("declared-but-unsupported")
def a_client_does_not_know_what_it_claimed(talk: Talk) -> None:
    talk.open()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"{CWD}/a")
    talk.refuse(call, -32601, "Method not found")


@keeps("declared-but-unsupported")
def a_client_cannot_find_the_file(talk: Talk) -> None:
    talk.open()
    call = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=f"{CWD}/a")
    talk.refuse(call, -32002, "There is no such file.")


@keeps("no-capabilities", despite=("version-in-disguise",))
def an_agent_with_another_version_claims_sessions(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True}, protocolVersion=2)
