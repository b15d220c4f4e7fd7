"""Secrets that chunks have cut in two are found, and cut out of all the lines that hold a part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, StderrChunk
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.files import find_secrets, redact_recording
from acp_inspector.redaction.stream import STREAM_WINDOW

KEY = "sk-ant-" + "api03-aB3dE5gH7jK9mN1pQ3sT5"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkq+hkiG9w0/\n" * 9
    + "-----END PRIVATE KEY-----"
)
MARK = "«secret:1»"


def chunk(n: int, text: str, session: str = "s", kind: str = "agent_message_chunk") -> Frame:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "content": content}
    params = {"sessionId": session, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return Frame(n, n / 10, "agent", json.dumps(message, ensure_ascii=n % 2 == 0).encode())


def chunks(*texts: str) -> list[Entry]:
    return [chunk(n, text) for n, text in enumerate(texts, start=1)]


def written(path: Path, entries: Sequence[Entry]) -> Path:
    writer = RecordingWriter(path, Header(created="2026-01-01T00:00:00.000Z", tool="t", schema="s"))
    writer.write(entries)
    writer.close()
    return path


def redacted(folder: Path, entries: Sequence[Entry]) -> list[str]:
    """Return what the chunks and pieces of stderr say behind a redaction."""
    source, out = written(folder / "in", entries), folder / "out"
    redact_recording(source, out, environment={})
    assert list(find_secrets(out, environment={})) == []
    recording = read_recording(out)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    again = folder / "again"
    redact_recording(out, again, environment={})
    assert again.read_bytes() == out.read_bytes()
    return [
        entry.data.decode() if isinstance(entry, StderrChunk) else text_of(entry)
        for entry in recording.entries
    ]


def text_of(entry: Entry) -> str:
    assert isinstance(entry, Frame)
    return str(json.loads(entry.data)["params"]["update"]["content"]["text"])


def in_pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 20, 30])
def test_a_key_that_is_streamed_leaves_as_one(tmp_path: Path, size: int) -> None:
    actual = redacted(tmp_path, chunks(*in_pieces(f"it is {KEY}, ünï", size)))
    assert "".join(actual) == f"it is {MARK}, ünï"


@pytest.mark.parametrize("size", [4, 11, 40])
def test_a_private_key_of_many_lines_leaves_as_one(tmp_path: Path, size: int) -> None:
    actual = redacted(tmp_path, chunks(*in_pieces(f"here:\n{PEM}\nthat was it\n", size)))
    assert "".join(actual) == f"here:\n{MARK}\nthat was it\n"


def test_a_name_in_one_chunk_gives_away_the_next(tmp_path: Path) -> None:
    actual = redacted(tmp_path, chunks("API_KEY", "=", "hunter2", "-of-mine", " it is\n"))
    assert "".join(actual) == f"API_KEY={MARK} it is\n"


def test_a_streamed_secret_is_replaced_everywhere(tmp_path: Path) -> None:
    entries = [*chunks("password: hun", "ter2x9y "), StderrChunk(9, 1.0, b"with hunter2x9y\n")]
    assert redacted(tmp_path, entries)[-1] == f"with {MARK}\n"


def test_streams_are_not_mixed_up(tmp_path: Path) -> None:
    head, tail = KEY[:9], KEY[9:]
    entries = [
        chunk(1, head),
        chunk(2, "other words ", session="other"),
        chunk(3, "a thought ", kind="agent_thought_chunk"),
        chunk(4, tail),
        chunk(5, "more", session="other"),
    ]
    assert redacted(tmp_path, entries) == [MARK, "other words ", "a thought ", "", "more"]


def test_pieces_of_stderr_are_joined_too(tmp_path: Path) -> None:
    entries: list[Entry] = [
        StderrChunk(1, 0.1, f"token is {KEY[:15]}".encode()),
        chunk(2, "meanwhile "),
        StderrChunk(3, 0.2, f"{KEY[15:]}\nnext\n".encode()),
    ]
    assert redacted(tmp_path, entries) == [f"token is {MARK}", "meanwhile ", "\nnext\n"]


def test_a_line_without_an_end_is_looked_at_all_the_same(tmp_path: Path) -> None:
    words = " word" * (STREAM_WINDOW // 5) + " "
    actual = redacted(tmp_path, chunks(words, KEY[:9], KEY[9:], words, KEY[:12], KEY[12:]))
    assert "".join(actual) == f"{words}{MARK}{words}{MARK}"


def test_a_secret_that_does_not_end_is_not_looked_at_with_each_of_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    find = SecretDetector.find

    def counted(self: SecretDetector, text: str, key: str = "") -> list[SecretMatch]:
        looked.append(len(text))
        return find(self, text, key)

    path = written(tmp_path / "in", chunks(PEM[:28], *(["aB3dE5gH7j"] * 8000)))
    monkeypatch.setattr(SecretDetector, "find", counted)
    assert [found.line for found in find_secrets(path, environment={})]
    assert len([size for size in looked if size >= STREAM_WINDOW]) < 30


def test_a_scan_reports_a_streamed_secret_once_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "in", chunks("it is ", KEY[:9], KEY[9:], " again ", KEY[:9], KEY[9:]))
    (found,) = find_secrets(path, environment={})
    assert (found.line, found.rule) == (3, "anthropic")
    assert found.excerpt == f"it is {MARK} again {MARK}"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["say ", "ünï\n", '"\\', KEY, "{", "🙂"]), min_size=1, max_size=9),
    st.data(),
)
def test_however_it_is_cut_what_is_left_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: st.DataObject
) -> None:
    text = " ".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    actual = redacted(tmp_path_factory.mktemp("seams"), chunks(*pieces))
    assert "".join(actual) == text.replace(KEY, MARK)
