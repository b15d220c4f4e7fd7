"""Talks with methods and members of somebody's own."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@breaks("unprefixed-method")
def a_method_of_ones_own_has_no_underscore(talk: Talk) -> None:
    talk.open()
    talk.tell("acme/mood", side="agent")


@keeps("unprefixed-method")
def a_method_of_ones_own_has_an_underscore(talk: Talk) -> None:
    talk.open()
    talk.tell("_acme/mood", side="agent")


@breaks("custom-request-unanswered")
def a_request_of_ones_own_is_passed_over(talk: Talk) -> None:
    talk.open()
    talk.ask("_acme/mood")
    talk.turn()


@keeps("custom-request-unanswered")
def a_request_of_ones_own_is_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("_acme/mood"), -32601, "There is no such method.")
    talk.end()


@keeps("custom-request-unanswered")
def a_request_of_ones_own_still_waits(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_acme/mood"))
    talk.ask("_acme/mood")


@breaks("malformed-meta")
def meta_is_a_text(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel", sessionId="s1", _meta="no")


@breaks("malformed-meta", 2)
def meta_of_a_block_is_a_list(talk: Talk) -> None:
    talk.open()
    block: dict[str, object] = {"type": "text", "text": "Hi", "_meta": []}
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt=[block]), -32602)


@keeps("malformed-meta")
def meta_is_null(talk: Talk) -> None:
    talk.open()
    talk.say(_meta=None)


@breaks("malformed-trace")
def a_trace_is_too_short(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"traceparent": "00-0af7-b7ad-01"})


@breaks("malformed-trace")
def a_trace_is_all_zeros(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"})


@breaks("malformed-trace", 2)
def baggage_is_an_object(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"traceparent": TRACE, "baggage": {"a": 1}})


@keeps("malformed-trace")
def a_trace_is_well_formed(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"traceparent": TRACE, "tracestate": "a=1", "baggage": "b=2"})


@breaks("nested-trace")
def a_trace_stands_below_a_name(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"acme.dev/trace": {"traceparent": TRACE}})


@keeps("nested-trace")
def a_trace_stands_at_the_root(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"traceparent": TRACE, "acme.dev/other": {"a": 1}})


@breaks("unannounced-extension")
def a_method_was_not_announced(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_acme/mood"))


@keeps("unannounced-extension")
def a_method_was_announced(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True, "_meta": {"acme": {"mood": True}}})
    talk.answer(talk.ask("_acme/mood"))


@breaks("relative-path")
def a_path_is_relative(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/list", cwd="work"), sessions=[])


@breaks("relative-path", 2)
def a_path_is_a_uri(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/list", cwd=f"file://{CWD}"), sessions=[])


@keeps("relative-path")
def paths_are_absolute_everywhere(talk: Talk) -> None:
    talk.open()
    locations = [{"path": f"{CWD}/main.py"}, {"path": "C:\\work\\main.py"}]
    talk.tool(locations=locations, rawInput={"path": "main.py"})


@breaks("unprefixed-method")
def a_method_of_ones_own_follows_a_failed_initialize(talk: Talk) -> None:
    talk.refuse(talk.ask("initialize", protocolVersion=1), -32603)
    talk.refuse(talk.ask("bogus/xyz"), -32601)
