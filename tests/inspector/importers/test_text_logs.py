"""Messages are found in logs of any form, with the sender and the time that the line names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.importers.formats import UnknownFormatError
from acp_inspector.importers.importer import import_file
from acp_inspector.importers.laid_out import join_laid_out
from acp_inspector.importers.text_logs import messages_in, sender_in, time_in
from acp_inspector.recording.reader import Recording, read_recording

MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("client", {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}),
    ("agent", {"id": 1, "result": {"protocolVersion": 1}}),
    ("client", {"id": 2, "method": "session/prompt", "params": {"prompt": [{"text": "in → out"}]}}),
    ("agent", {"method": "session/update", "params": {"update": {"text": "from client: {}"}}}),
    ("agent", {"id": 1, "method": "_ext/unknown", "params": {}}),
    ("client", {"id": 1, "error": {"code": -32601, "message": "no"}}),
    ("agent", {"id": 2, "result": {"stopReason": "end_turn"}}),
]
LINES = [(side, json.dumps({"jsonrpc": "2.0"} | message)) for side, message in MESSAGES]


def imported(path: Path, content: bytes) -> Recording:
    source, out = path / "some.log", path / "out.acp.ndjson"
    source.write_bytes(content)
    assert import_file(source, out).format.name == "log"
    return read_recording(out)


def written(client: str, agent: str, *, after: str = "") -> str:
    """Return the messages as a log, with what is written before those of each side."""
    before = {"client": client, "agent": agent}
    return "".join(f"{before[side]}{text}{after}\n" for side, text in LINES)


def wrapped(key: str, client: object, agent: object, field: str, *, is_text: bool) -> str:
    """Return the messages as values or texts in JSON objects, with a member for the side."""
    value = {"client": client, "agent": agent}
    return "".join(
        json.dumps(
            {"level": "debug", key: value[side], field: text if is_text else json.loads(text)}
        )
        + "\n"
        for side, text in LINES
    )


CHUNK = {"jsonrpc": "2.0", "method": "session/update", "params": {"text": "ha"}}

FORMS = {
    "arrows": written("→ ", "← "),
    "ascii arrows": written("--> ", "<-- "),
    "arrows behind the time": written("[12:00:01.5] DEBUG >> ", "[12:00:01.5] DEBUG << "),
    "arrows behind": written("12:00:01 ", "12:00:01 from agent ", after="  (2 ms)"),
    "letters": written("C->A ", "A->C "),
    "names": written("2026-04-15T10:00Z client → agent: ", "2026-04-15T10:00Z agent → client: "),
    "names and a reversed arrow": written("agent <- client ", "client <- agent "),
    "names of programs": written("zed -> my-agent: ", "my-agent -> zed: "),
    "sent and received": written("INFO sent: ", "INFO received: "),
    "to and from": written("sending to agent ", "received from the agent: "),
    "out and in": written("2026-02-14 20:22:39,308 - OUT: ", "2026-02-14 20:22:39,308 - IN: "),
    "streams": written("agent stdin: ", "agent stdout: "),
    "the agent's own view": written("← ", "→ "),
    "the agent's own words": written("received ", "sent "),
    "one name for both sides says nothing": written("[acp-agent] ", "[acp-agent] "),
    "only a time": written("2026-04-15T10:00:00Z ", "2026-04-15T10:00:00Z "),
    "objects": wrapped("direction", "outgoing", "incoming", "message", is_text=False),
    "objects of an agent": wrapped("dir", "in", "out", "frame", is_text=False),
    "upstream": wrapped("direction", "downstream", "upstream", "parsed", is_text=False),
    "texts in objects": wrapped("from", "client", "agent", "raw", is_text=True),
    "receivers": wrapped("to", "agent", "client", "payload", is_text=True),
    "texts with arrows in objects": "".join(
        json.dumps({"fields": {"message": f"{'→' if side == 'client' else '←'} {text}"}}) + "\n"
        for side, text in LINES
    ),
    "parsed and as text": "".join(
        json.dumps({"sender": side, "parsed": json.loads(text), "raw": text}) + "\n"
        for side, text in LINES
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_messages_keep_their_bytes_and_have_their_sender(form: str, tmp_path: Path) -> None:
    recording = imported(tmp_path, FORMS[form].encode())
    frames = [(frame.side, frame.data.decode(), frame.line_ending) for frame in recording.frames]
    # Nothing but its direction says who sent a request that no schema knows.
    is_guessed = form in {"one name for both sides says nothing", "only a time"}
    expected = [(side, text, b"\n") for side, text in LINES]
    if is_guessed:
        del frames[4:6], expected[4:6]
    assert frames == expected


def test_the_form_of_logs_of_windows_is_read(tmp_path: Path) -> None:
    """PowerShell writes UTF-16 and CRLF; both are the log's, not the sender's."""
    content = FORMS["arrows"].replace("\n", "\r\n").encode("utf-16")
    frames = imported(tmp_path, content).frames
    assert [(frame.data.decode(), frame.line_ending) for frame in frames] == [
        (text, b"\n") for _, text in LINES
    ]


def test_crlf_of_plain_messages_is_the_files_if_all_lines_have_it(tmp_path: Path) -> None:
    lines = [text for _, text in LINES]
    for content, endings in (
        ("\r\n".join([*lines, ""]), {b"\n"}),
        ("\r\n".join(lines[:3]) + "\r\n" + "\n".join([*lines[3:], ""]), {b"\n", b"\r\n"}),
    ):
        source = tmp_path / "plain"
        source.write_text(content, newline="")
        import_file(source, tmp_path / "out", overwrite=True)
        frames = read_recording(tmp_path / "out").frames
        assert {frame.line_ending for frame in frames} == endings


def test_times_are_those_of_the_lines(tmp_path: Path) -> None:
    first, second, third = (text for _, text in LINES[:3])
    for times, header in (
        (("2026-04-15T10:00:00.100Z", "2026-04-15T12:00:00.350+02:00", "noise"), "2026-04-15T10"),
        (("1776247200.1", "1776247200350", "noise"), "2026-04-15T10"),
        (("23:59:59.9", "00:00:00.15", "noise"), ""),
        (("[    4.100]", "[    4.350]", "noise"), ""),
    ):
        lines = [
            f"{time} → {text}" for time, text in zip(times, (first, second, third), strict=True)
        ]
        recording = imported(tmp_path, "\n".join(["started", *lines]).encode())
        (tmp_path / "out.acp.ndjson").unlink()
        at = [round(frame.time - recording.frames[0].time, 3) for frame in recording.frames]
        assert at == [0, 0.25, 0.25], times
        assert recording.header.created.startswith(header)


def test_two_messages_of_one_line_are_two_frames() -> None:
    request, response = LINES[0][1], LINES[1][1]
    line = f'{{"request": {request}, "response": {response}, "ms": 3}}'
    assert [each.raw.decode() for each in messages_in(line)] == [request, response]


def test_text_that_looks_like_a_message_within_one_is_not_another() -> None:
    inner = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
    update = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"text": inner}})
    assert [each.raw.decode() for each in messages_in(f"→ {update}")] == [update]


def test_other_lines_become_notes_and_cut_messages_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "some.log"
    source.write_text(FORMS["arrows"] + '← {"jsonrpc":"2.0","method":\nconnected {"port": 1}\n')
    result = import_file(source, tmp_path / "out")
    assert result.counts == {"frames": 7, "notes": 2, "broken": 1}


def test_a_log_without_messages_says_what_to_import_instead(tmp_path: Path) -> None:
    source = tmp_path / "Zed.log"
    source.write_text(
        "2026-02-16T20:18:03 INFO [zed] ==== starting zed version 0.220.0 ====\n"
        "2026-02-16T20:18:05 WARN [agent_servers::acp] agent stderr: Invalid message {\n"
    )
    with pytest.raises(
        UnknownFormatError, match=r"Zed\.log holds no messages; open 'dev: open acp"
    ):
        import_file(source, tmp_path / "out")
    source.write_text('hello {"a": 1}\n')
    with pytest.raises(UnknownFormatError, match="no line of it holds a message; known are"):
        import_file(source, tmp_path / "out")


@settings(max_examples=150, deadline=None)
@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="{}[]\n\r"),
        max_size=40,
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=8,
    ),
)
def test_any_message_behind_any_text_is_found_to_the_byte(before: str, params: object) -> None:
    text = json.dumps({"jsonrpc": "2.0", "method": "_x", "params": params}, ensure_ascii=False)
    assert [each.raw.decode() for each in messages_in(before + text)] == [text]
    outer = json.dumps({"note": before, "raw": text})
    assert [each.raw.decode() for each in messages_in(outer)] == [text]
    in_quotes = before + json.dumps(text, ensure_ascii=False)
    assert [each.raw.decode() for each in messages_in(in_quotes)] == [text]
    in_a_cell = f"{before},{doubled(text)},1"
    assert [each.raw.decode() for each in messages_in(in_a_cell)] == [text]
    laid_out = f"{before}{json.dumps(json.loads(text), indent=1, ensure_ascii=False)}\nend\n"
    first, *_ = join_laid_out(laid_out.encode().splitlines(keepends=True))
    joined = b"".join(each.strip(b"\n") for each in first).decode()
    assert [each.value for each in messages_in(joined)] == [json.loads(text)]


def doubled(text: str) -> str:
    """Return a text as a value in CSV."""
    return '"' + text.replace('"', '""') + '"'


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='{}[]":,abid1→ \\\udc80', max_size=60))
def test_nothing_in_a_line_is_an_error(line: str) -> None:
    messages_in(line)
    sender_in(line)
    time_in(line)


def test_unfinished_objects_cost_no_more_than_their_length_allows() -> None:
    assert messages_in('{"a":' * 200_000) == []


@pytest.mark.parametrize(
    "line",
    [
        json.dumps([{"dir": "in", "message": CHUNK}, {"dir": "in", "message": CHUNK}]),
        f"{json.dumps(CHUNK)} {json.dumps(CHUNK)}",
        json.dumps({"messages": [{"raw": json.dumps(CHUNK)}, {"raw": json.dumps(CHUNK)}]}),
    ],
    ids=["objects in a list", "beside each other", "texts in objects"],
)
def test_equal_messages_of_a_line_are_all_returned(line: str) -> None:
    assert [each.value for each in messages_in(line)] == [CHUNK, CHUNK]


def test_a_message_that_an_object_has_parsed_and_as_text_is_returned_once() -> None:
    text = json.dumps(CHUNK, indent=None, separators=(",", ":"))
    line = json.dumps({"parsed": CHUNK, "raw": text})
    assert [each.raw for each in messages_in(line)] == [text.encode()]


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("1763993337", 1763993337.0),
        ("1763993337.125", 1763993337.125),
        ("1763993337125", 1763993337.125),
        ("1763993337125000000", 1763993337.125),
        *((each, None) for each in ("null", "true", "NaN", "Infinity", "1e300", "9" * 400, "{}")),
    ],
)
def test_a_number_beside_a_message_is_its_time_if_it_can_be_one(
    time: str, at: float | None
) -> None:
    (found,) = messages_in(f'{{"ts": {time}, "message": {json.dumps(CHUNK)}}}')
    assert found.at == at
