"""Whole files: no canary sings behind a redaction, and everything else is as it was."""

from __future__ import annotations

import gzip
import hashlib
import json
import stat
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.redaction.files import find_secrets, redact_recording
from acp_inspector.redaction.patterns import RULES, UnmatchedRuleError
from acp_inspector.session.exchanges import Exchanges
from acp_protocol.framing import encode_frame, split_ending
from tests.inspector.talks import paired_row

HEADER = Header(created="2026-01-01T00:00:00.000Z", tool="t", schema="s")


def canary(number: int) -> str:
    """Return a made-up secret, a different one for each number."""
    body = hashlib.sha256(str(number).encode()).hexdigest()
    return f"canary-{body[:12]}"


def shaped(number: int) -> str:
    return f"sk-ant-api03-{canary(number)}"


def written(path: Path, entries: list[Entry], header: Header = HEADER) -> Path:
    writer = RecordingWriter(path, header)
    writer.write(entries)
    writer.close()
    return path


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.fixture
def aviary(tmp_path: Path) -> Path:
    """A recording with a canary in every place where a secret can sit."""
    deep = json.dumps({"text": json.dumps({"token": canary(5), "x": shaped(6)})})
    escaped = "".join(f"\\u{ord(char):04x}" for char in shaped(7)).encode()
    servers = [
        {"env": [{"name": "SOME_SECRET", "value": canary(8)}], "args": ["--token", canary(9)]}
    ]
    headers = [{"value": f"Bearer {canary(10)}", "name": "Authorization"}]
    prompt = f"see {shaped(11)}, https://me:{canary(12)}@h.example/?access_token={canary(13)}&b=1"
    entries: list[Entry] = [
        JournalEvent(1, 0.0, "spawn", {"pid": 1, "note": f"API_KEY={canary(14)}"}),
        Frame(2, 0.1, "client", message(id=1, method="m", params={"apiKey": canary(1)})),
        Frame(3, 0.2, "agent", message(id=1, result={shaped(2): {"Set-Cookie": canary(3)}})),
        Frame(4, 0.3, "client", message(method="session/update", params={"d": deep, "s": servers})),
        Frame(5, 0.4, "client", message(id=shaped(4), method="n", params={"headers": headers})),
        Frame(6, 0.5, "agent", b'{"id":"' + escaped + b'","result":null}', b"\r\n"),
        Frame(7, 0.6, "agent", message(id=shaped(4), result={"text": prompt})),
        Frame(8, 0.7, "agent", f"no JSON: password={canary(15)}".encode()),
        StderrChunk(9, 0.8, f"warn {canary(1)} again\nheader X-Api-Key: {canary(16)}\n".encode()),
        StderrChunk(10, 0.9, b"bytes \xff"),
        Frame(11, 1.0, "client", f'{{"password":"{canary(17)}","cut":"'.encode(), b""),
        JournalEvent(12, 1.1, "edited", {"of": 2, "was": json.dumps({"secret": canary(18)})}),
        Frame(13, 1.2, "agent", message(method="x", params={"t": f"{canary(19)} from a variable"})),
    ]
    header = Header(
        created=HEADER.created,
        tool="t",
        schema="s",
        command=["agent", f"--api-key={canary(20)}", "--secret", canary(21)],
        env=["SOME_TOKEN", "HOME"],
        about=f"with {shaped(22)}",
        meta={"headers": {"x-api-key": canary(23)}, "url": f"wss://h/?token={canary(24)}"},
    )
    return written(tmp_path / "it.acp.ndjson", entries, header)


ENVIRONMENT = {"MY_TOKEN": canary(19), "HOME": "/home/me"}


def test_no_canary_sings(aviary: Path, tmp_path: Path) -> None:
    assert b"canary" in aviary.read_bytes()
    out = tmp_path / "out.acp.ndjson"
    report = redact_recording(aviary, out, environment=ENVIRONMENT)
    assert b"canary" not in out.read_bytes()
    escaped = "".join(f"\\u{ord(char):04x}" for char in "canary").encode()
    assert escaped not in out.read_bytes()
    assert sum(report.secrets.values()) == 24
    assert sum(report.replaced.values()) >= 25
    assert list(find_secrets(out, environment=ENVIRONMENT)) == []


def test_it_still_reads_and_pairs_and_has_kept_everything_else(
    aviary: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.acp.ndjson"
    redact_recording(aviary, out, environment=ENVIRONMENT)
    before, after = read_recording(aviary), read_recording(out)
    assert after.bad_lines == ()
    assert after.footer is not None
    assert after.header.redacted == list(RULES)
    assert after.header.env == ["SOME_TOKEN", "HOME"]
    assert [(e.seq, e.time, type(e)) for e in after.entries] == [
        (e.seq, e.time, type(e)) for e in before.entries
    ]
    assert [(f.side, f.line_ending) for f in after.frames] == [
        (f.side, f.line_ending) for f in before.frames
    ]
    exchanges = Exchanges()
    rows = [paired_row(frame, exchanges) for frame in after.frames]
    answers = [row for row in rows if row.kind == "result"]
    assert [row.method for row in answers if row.latency is not None] == ["m", "n"]


@pytest.mark.parametrize("is_of_lines", [False, True])
def test_a_recording_with_lengths_stays_one(tmp_path: Path, is_of_lines: bool) -> None:
    body = b'{"jsonrpc":"2.0","method":"m","params":{"apiKey":"%b"}}' % canary(1).encode()
    wire = encode_frame(body, "headers") * 2
    entries: list[Entry] = [Frame(1, 0.5, "agent", body, b"", wire[: wire.index(b"{")])]
    if is_of_lines:
        lines = enumerate(BytesIO(wire), start=1)
        entries = [
            Frame(n, 0.5, "agent", *split_ending(line.removesuffix(b"\n"))) for n, line in lines
        ]
        entries[-1] = replace(entries[-1], line_ending=b"")
    path, out = written(tmp_path / "it.acp.ndjson", entries), tmp_path / "out.acp.ndjson"
    redact_recording(path, out, environment={})
    recording = read_recording(out)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    for frame in recording.frames:
        assert json.loads(frame.data)["params"] == {"apiKey": "«secret:1»"}
        assert frame.header == b"Content-Length: %d\r\n\r\n" % len(frame.data)
    assert len(recording.frames) == (2 if is_of_lines else 1)


def test_redacting_twice_changes_nothing(aviary: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "1.acp.ndjson", tmp_path / "2.acp.ndjson"
    redact_recording(aviary, once, environment=ENVIRONMENT)
    report = redact_recording(once, twice, environment=ENVIRONMENT)
    assert once.read_bytes() == twice.read_bytes()
    assert report.secrets == {}


def test_the_same_secret_is_the_same_placeholder_and_new_ones_get_new_numbers(
    tmp_path: Path,
) -> None:
    frames: list[Entry] = [
        Frame(1, 0, "client", message(method="m", params={"old": "«secret:7»", "a": canary(1)})),
        Frame(2, 0, "client", message(method="m", params={"token": canary(1), "key2": "x"})),
    ]
    out = tmp_path / "out"
    redact_recording(written(tmp_path / "in", frames), out, environment={})
    first, second = (json.loads(frame.data)["params"] for frame in read_recording(out).frames)
    assert first == {"old": "«secret:7»", "a": "«secret:8»"}
    assert second == {"token": "«secret:8»", "key2": "x"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(st.tuples(JSON, st.binary(max_size=20), st.integers(0, 2)), min_size=1, max_size=4),
    st.data(),
)
def test_nothing_but_the_secret_is_touched(
    tmp_path_factory: pytest.TempPathFactory,
    reported: list[tuple[Any, bytes, int]],
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("redaction")
    secret = shaped(1)
    places = data.draw(st.lists(st.booleans(), min_size=len(reported), max_size=len(reported)))
    entries: list[Entry] = []
    for n, ((value, noise, style), has_secret) in enumerate(
        zip(reported, places, strict=True), start=1
    ):
        text = json.dumps({"x": value, "s": f"<{secret}>" if has_secret else ""}, indent=None)
        if style == 1:
            text = json.dumps({"in": text})
        raw = noise.replace(b"\n", b"") if style == 2 else text.encode()
        entries.append(Frame(n, 0.0, "client", raw))
    source, out = written(folder / "in", entries), folder / "out"
    redact_recording(source, out, rules=["anthropic"] if secret in source.read_text() else [])
    before, after = source.read_bytes().splitlines(), out.read_bytes().splitlines()
    cut = [line.replace(secret.encode(), "«secret:1»".encode()) for line in before]
    assert after[1:-1] == cut[1:-1]
    assert read_recording(out).bad_lines == ()


def test_a_requested_rule_without_matches_is_an_error_and_nothing_is_written(
    aviary: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(UnmatchedRuleError, match="'slack' finds nothing"):
        redact_recording(aviary, out, rules=["key", "slack"])
    assert sorted(tmp_path.iterdir()) == [aviary]


def test_only_the_requested_rules_are_applied(aviary: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = redact_recording(aviary, out, rules=["anthropic"])
    assert (report.rules, set(report.secrets)) == (("anthropic",), {"anthropic"})
    assert shaped(11).encode() not in out.read_bytes()
    assert canary(1).encode() in out.read_bytes()
    assert read_recording(out).header.redacted == ["anthropic"]


def test_the_file_is_private_and_no_other_is_touched(aviary: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    redact_recording(aviary, out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    content = out.read_bytes()
    with pytest.raises(RecordingExistsError, match="use --overwrite"):
        redact_recording(aviary, out)
    assert out.read_bytes() == content
    redact_recording(aviary, aviary, overwrite=True)
    assert b"sk-ant" not in aviary.read_bytes()
    assert sorted(tmp_path.iterdir()) == [aviary, out]


def test_a_link_is_never_followed(aviary: Path, tmp_path: Path) -> None:
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_text("precious")
    out.symlink_to(precious)
    with pytest.raises(RecordingExistsError):
        redact_recording(aviary, out)
    redact_recording(aviary, out, overwrite=True)
    assert precious.read_text() == "precious"
    assert not out.is_symlink()


def test_a_digest_that_did_not_fit_does_not_fit_afterwards(aviary: Path, tmp_path: Path) -> None:
    aviary.write_bytes(aviary.read_bytes().replace(b'"pid":1', b'"pid":2'))
    out = tmp_path / "out"
    redact_recording(aviary, out)
    assert [bad_line.reason[:10] for bad_line in read_recording(out).bad_lines] == ["the digest"]


def test_broken_lines_are_cut_too_and_stay_broken(aviary: Path, tmp_path: Path) -> None:
    line = b'{"n":14,"t":1.3,"from":"agent","msg":{"password":"\xff%b' % canary(30).encode()
    aviary.write_bytes(aviary.read_bytes() + b"\xff\x00 noise\n" + line)
    out = tmp_path / "out"
    redact_recording(aviary, out, environment=ENVIRONMENT)
    assert b"canary" not in out.read_bytes()
    assert b"\xff\x00 noise\n" in out.read_bytes()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"{}\n", "not a header"),
        (b"\x1f\x8b\x08\x00", "compressed data is truncated"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    source = tmp_path / "in"
    source.write_bytes(content)
    with pytest.raises(RecordingError, match=reason):
        redact_recording(source, tmp_path / "out")


def test_a_leftover_is_reported_without_the_secret(aviary: Path) -> None:
    found = list(find_secrets(aviary, environment=ENVIRONMENT))
    assert len(found) >= 24
    assert not any("canary" in leftover.excerpt for leftover in found)
    assert (found[0].line, found[0].rule) == (1, "assignment")
    assert "--api-key=«secret:1»" in " ".join(leftover.excerpt for leftover in found)
    assert {leftover.line for leftover in found} == {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14}


def test_compressed_files_are_looked_into(aviary: Path, tmp_path: Path) -> None:
    packed, out, plain = tmp_path / "it.gz", tmp_path / "out", tmp_path / "plain"
    packed.write_bytes(gzip.compress(aviary.read_bytes()))
    assert list(find_secrets(packed)) == list(find_secrets(aviary))
    redact_recording(packed, out)
    redact_recording(aviary, plain)
    assert out.read_bytes() == plain.read_bytes()


def test_any_text_can_be_searched(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<p>hello\n<a href='https://h/?token={canary(1)}'>")
    assert [(found.line, found.rule) for found in find_secrets(page)] == [(2, "url-query")]


def test_real_traffic_raises_no_false_alarm(shared: Path) -> None:
    """These agents talked with stand-ins in a network of their own: there is no secret in it."""
    for path in sorted((shared / "traffic").glob("*.ndjson")):
        assert list(find_secrets(path, environment={})) == [], path.name


def test_a_line_that_is_too_long_is_neither_copied_nor_reported_as_clean(tmp_path: Path) -> None:
    source = written(tmp_path / "a", [Frame(1, 0.1, "agent", b'"' + shaped(1).encode() + b'"')])
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join((lines[0], b"x" * 9000 + b"\n", *lines[1:])))
    target = tmp_path / "b"
    with pytest.raises(RecordingError, match="line 2: the line is too long"):
        redact_recording(source, target, max_line=4000)
    assert not target.exists()
    found = find_secrets(source, max_line=4000)
    assert next(found).line == 3
    with pytest.raises(RecordingError, match="line 2: the line is too long"):
        list(found)
