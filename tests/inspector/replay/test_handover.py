"""Whatever a tolerant agent could read in a recording is listed, and starts nothing unasked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_inspector.journal import Frame
from acp_inspector.replay.handover import Handover, handover

SERVER = {"name": "m", "command": "/evil", "args": ["a"], "env": [{"name": "A", "value": "b"}]}
NEW = {"id": 2, "method": "session/new", "params": {"cwd": "/w", "mcpServers": [SERVER]}}


def found(*lines: Any) -> Handover:
    data = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return handover([Frame(n, 0, "client", line) for n, line in enumerate(data, 1)])


@pytest.mark.parametrize(
    "line",
    [
        {"jsonrpc": "2.0", **NEW},
        NEW,
        [{"jsonrpc": "2.0", **NEW}],
        {"jsonrpc": "2.0", "method": "session/new", "params": NEW["params"]},
        {**NEW, "method": "newSession"},
        {**NEW, "method": "_x/session/new"},
        {**NEW, "params": {"mcpServers": {"m": SERVER}}},
        {**NEW, "params": {"_meta": {"x": {"options": {"mcpServers": {"m": SERVER}}}}}},
        json.dumps(NEW).replace("mcp", "\\u006dcp").encode(),
        json.dumps(NEW).replace('"mcpServers"', '"mcpServers": [], "mcpServers"').encode(),
        json.dumps(NEW).replace("]}}", '], "mcpServers": []}}').encode(),
    ],
)
def test_a_server_is_found_wherever_it_is(line: Any) -> None:
    given = found(line)
    assert "A=b /evil a" in given.servers
    assert given.needs_trust


def test_texts_in_meta_need_trust_and_flags_do_not() -> None:
    assert list(found({**NEW, "params": {"_meta": {"claude": {"exe": "/evil"}}}}).extensions) == [
        "_meta.claude.exe = /evil"
    ]
    harmless = {"_meta": {"traceparent": "00-1", "terminal_output": True, "depth": 3}}
    assert not found({**NEW, "params": harmless}).needs_trust


def test_another_model_service_needs_trust_and_logins_and_models_are_listed() -> None:
    given = found(
        {"id": 1, "method": "providers/set", "params": {"id": "o", "baseUrl": "http://evil"}},
        {"id": 2, "method": "authenticate", "params": {"methodId": "key"}},
        {"id": 3, "method": "session/set_model", "params": {"modelId": "big"}},
        {"id": 4, "method": "session/set_mode", "params": {"modeId": "code"}},
    )
    assert given.needs_trust
    assert given.describe() == [
        "extension: baseUrl = http://evil",
        "mode or option: login = key",
        "mode or option: model = big",
        "mode or option: mode = code",
    ]


@pytest.mark.parametrize("line", [b'{"mcpServers": [],}', b'{"cwd": "/etc", "x": NaN}'])
def test_a_line_that_only_some_parsers_read_needs_trust(line: bytes) -> None:
    assert found(line).needs_trust
    assert not found(b"not JSON").needs_trust


def test_an_option_allows_by_its_kind_and_not_by_its_id() -> None:
    options = [
        {"optionId": "reject-not", "kind": "allow_always"},
        {"optionId": "allow-not", "kind": "reject_once"},
    ]
    frames = [
        Frame(1, 0, "agent", json.dumps({"id": n, "params": {"options": options}}).encode())
        for n in (1, 2)
    ]
    for n, option in enumerate(("reject-not", "allow-not"), 1):
        chosen = {"id": n, "result": {"outcome": {"outcome": "selected", "optionId": option}}}
        frames.append(Frame(2 + n, 0, "client", json.dumps(chosen).encode()))
    assert handover(frames).allowed == 1
