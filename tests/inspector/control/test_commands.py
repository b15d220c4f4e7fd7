"""What observers may ask for, as the socket hands it on, and what is said to mistakes."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from acp_inspector.control.server import MAX_PREVIEW_BYTES, LazyController, LongPoll, commands_on
from acp_inspector.intercept.controller import InterceptController
from acp_protocol.errors import AcpError
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene, everything

SOON = 20
"""Seconds after which a thread counts as hung."""


class Stage:
    """A scene, and the commands on it."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.lazy = LazyController(lambda: self.scene.controller)
        self._commands = commands_on(self.lazy)

    def do(self, name: str, **fields: Any) -> Any:
        return self._commands[name](fields)

    def hold(self, raw: bytes = REQUEST) -> None:
        """Hold a frame of the client's."""
        if not self.scene.controller.breakpoints:
            self.scene.controller.set_breakpoint("", everything)
        assert self.scene.passed("client", raw) == []
        self.lazy.get()


def test_looking_at_the_state_is_no_reason_to_begin() -> None:
    stage = Stage()
    assert stage.do("state") == {"paused": False, "breakpoints": [], "holds": [], "struck": {}}
    assert stage.lazy.controller is None


def test_the_state_has_each_hold_with_its_reason_and_countdown() -> None:
    stage = Stage()
    number = stage.do("break", filter="method == session/prompt", lasting=True)["id"]
    stage.hold()
    (hold,) = stage.do("state")["holds"]
    assert hold == {
        "id": 2,
        "n": 1,
        "from": "client",
        "breakpoint": number,
        "age": 0.0,
        "left": 60.0,
        "waiting": 0,
        "size": len(REQUEST),
        "text": REQUEST.decode(),
    }
    point = {"id": number, "filter": "method == session/prompt", "lasting": True}
    assert stage.do("state")["breakpoints"] == [point]
    assert stage.do("state")["limit"] == 60


def test_of_a_very_long_frame_the_state_has_the_beginning_and_read_has_all() -> None:
    stage = Stage()
    raw = b"x" + "é".encode() * MAX_PREVIEW_BYTES
    stage.hold(raw)
    (hold,) = stage.do("state")["holds"]
    assert (hold["size"], hold["is_cut"]) == (len(raw), True)
    assert hold["text"] == "x" + "é" * (MAX_PREVIEW_BYTES // 2 - 1)
    assert stage.do("read") == {"text": raw.decode()}


def test_bytes_that_are_no_text_travel_in_base64() -> None:
    stage = Stage()
    stage.hold(b"\xff")
    assert stage.do("read") == {"b64": "/w=="}
    stage.do("edit", b64="/v8=", force=True)
    assert stage.scene.out("client") == [b"\xfe\xff\n"]


COMMANDS: list[tuple[str, dict[str, Any], list[bytes]]] = [
    ("release", {}, [REQUEST]),
    ("release_all", {}, [REQUEST]),
    ("edit", {"text": "{}"}, [b"{}"]),
    ("edit", {"json": {"a": [1, "é"]}}, ['{"a":[1,"é"]}'.encode()]),
    ("edit", {"text": "no JSON", "force": True}, [b"no JSON"]),
    ("discard", {"silent": True}, []),
    ("duplicate", {}, [REQUEST, REQUEST]),
    ("duplicate", {"times": 3}, [REQUEST, REQUEST, REQUEST]),
    ("delay", {"seconds": 0}, [REQUEST]),
    ("answer", {"result": None}, []),
    ("answer", {"error": {"code": 1, "message": "no"}}, []),
]


@pytest.mark.parametrize(("name", "fields", "left"), COMMANDS)
@pytest.mark.parametrize("by_id", [True, False])
def test_a_command_acts_on_the_named_hold_or_on_the_oldest(
    name: str, fields: dict[str, Any], left: list[bytes], by_id: bool
) -> None:
    stage = Stage()
    stage.hold()
    number = stage.do("state")["holds"][0]["id"]
    stage.do(name, **fields, **({"id": number} if by_id else {}))
    assert stage.scene.out("client") == [line + b"\n" for line in left]
    assert stage.do("state")["holds"] == []


def test_a_discarded_request_is_answered_unless_it_is_silent() -> None:
    stage = Stage()
    stage.hold()
    stage.do("discard")
    assert stage.scene.out("client") == []
    (line,) = stage.scene.out("agent")
    assert json.loads(line)["error"]["code"] == -32603


def test_commands_pause_keep_and_set_breakpoints() -> None:
    stage = Stage()
    stage.do("pause")
    assert stage.scene.passed("agent", NOTIFICATION) == []
    stage.do("keep", seconds=5)
    assert [hold["left"] for hold in stage.do("state")["holds"]] == [5]
    stage.do("resume")
    assert stage.scene.out("agent") == [NOTIFICATION + b"\n"]
    stage.do("clear", id=stage.do("break", filter="from == agent")["id"])
    assert stage.do("state")["breakpoints"] == []


@pytest.mark.parametrize(
    ("passing", "lasting", "expected"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_what_a_passing_observer_sets_stays(
    passing: bool, lasting: bool | None, expected: bool
) -> None:
    stage = Stage()
    more = {} if lasting is None else {"lasting": lasting}
    stage.do("break", filter="from == agent", passing=passing, **more)
    assert stage.do("state")["breakpoints"][0]["lasting"] is expected


def test_who_waits_for_a_hold_gets_the_state_with_it() -> None:
    stage = Stage()
    stage.do("break", filter="from == client")
    waiting = stage.do("held", seconds=SOON)
    assert isinstance(waiting, LongPoll)
    assert not waiting.wait(0)
    thread = threading.Thread(target=stage.hold)
    thread.start()
    assert waiting.wait(SOON)
    thread.join(SOON)
    assert waiting.reply()["holds"][0]["text"] == REQUEST.decode()


def test_inject_returns_id_number_and_response() -> None:
    stage = Stage()
    request = {"jsonrpc": "2.0", "id": 7, "method": "m"}
    leaving = stage.do("inject", **{"from": "agent", "json": {"jsonrpc": "2.0", "method": "n"}})
    assert isinstance(leaving, LongPoll)
    assert not leaving.wait(0)
    assert leaving.reply() == {"id": None, "n": None}
    waiting = stage.do("inject", **{"from": "client", "json": request, "wait": SOON})
    assert isinstance(waiting, LongPoll)
    (line,) = stage.scene.out("client")
    sent = json.loads(line)
    assert sent["id"] != 7
    assert not waiting.wait(0)
    answer = json.dumps({"jsonrpc": "2.0", "id": sent["id"], "result": {}})
    injected = b'{"jsonrpc":"2.0","method":"n"}\n'
    assert stage.scene.passed("agent", answer.encode()) == [injected], "the response is ours"
    assert leaving.wait(0)
    assert leaving.reply()["n"] is not None
    assert waiting.wait(0)
    reply: Mapping[str, Any] = waiting.reply()
    assert reply["id"] == sent["id"]
    assert reply["answer"] == {"text": answer}
    assert reply["n"] is not None


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("break", {}),
        ("break", {"filter": 5}),
        ("break", {"filter": "methd == x"}),
        ("clear", {}),
        ("clear", {"id": 99}),
        ("release", {"id": "1"}),
        ("release", {"id": True}),
        ("release", {"id": 99}),
        ("edit", {}),
        ("edit", {"text": "{}", "json": {}}),
        ("edit", {"text": "{"}),
        ("edit", {"text": "{\n}"}),
        ("edit", {"b64": "?"}),
        ("delay", {}),
        ("delay", {"seconds": "1"}),
        ("delay", {"seconds": -1}),
        ("duplicate", {"times": 0}),
        ("keep", {"seconds": 0}),
        ("held", {"seconds": 1e9}),
        ("answer", {}),
        ("answer", {"result": 1, "error": {}}),
        ("answer", {"error": None}),
        ("answer", {"error": {"code": "x"}}),
        ("inject", {"text": "{}"}),
        ("inject", {"from": "nobody", "text": "{}"}),
        ("inject", {"from": "agent"}),
        ("inject", {"from": "agent", "text": "{}", "wait": -1}),
        ("inject", {"from": "agent", "text": "{} or so"}),
        ("inject", {"from": "agent", "b64": "/wA="}),
        ("keep", {"seconds": float("inf")}),
        ("keep", {"seconds": 10**400}),
        ("delay", {"seconds": float("nan")}),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence_and_changes_nothing(
    name: str, fields: dict[str, Any]
) -> None:
    stage = Stage()
    stage.hold()
    with pytest.raises((AcpError, ValueError, TypeError)) as caught:
        stage.do(name, **fields)
    assert str(caught.value)
    assert [hold["text"] for hold in stage.do("state")["holds"]] == [REQUEST.decode()]


@pytest.mark.parametrize("frame", [{"text": "no JSON"}, {"b64": "/wA="}, {"text": "{}\n[]"}])
def test_what_is_no_json_is_injected_when_it_is_forced(frame: dict[str, str]) -> None:
    stage = Stage()
    stage.do("inject", **{"from": "client", "force": True, **frame})
    raw = frame["text"].encode() if "text" in frame else b"\xff\0"
    assert b"".join(stage.scene.out("client")) == raw + b"\n"


def test_where_nothing_is_held_there_is_nothing_to_release() -> None:
    stage = Stage()
    stage.do("break", filter="from == client")
    with pytest.raises(ValueError, match="no frame is held"):
        stage.do("release")


def test_who_asks_is_there() -> None:
    stage = Stage()
    interceptor: InterceptController = stage.lazy.get()
    stage.scene.now = 1
    stage.hold()
    stage.scene.now = 99
    assert stage.scene.out("client") == [REQUEST + b"\n"]
    assert stage.scene.passed("client", REQUEST) == [REQUEST + b"\n"], "no observer is there"
    stage.do("state")
    assert stage.scene.passed("client", REQUEST) == []
    assert interceptor.holds()
