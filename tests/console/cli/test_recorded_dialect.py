"""A recording names the dialect of its connection, and every command reads it so."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.journal import DIALECT, Entry, Frame, JournalEvent
from acp_inspector.messages import Decoder
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from tests.console.cli.conftest import Configure, Install
from tests.console.conftest import Agent, Call
from tests.console.strangers import ACPEX, ANSWERS, AS_EVERYBODY, DIES, LENGTHS, REFUSES
from tests.inspector.talks import Said, answer, ask, frames
from tests.warm import WARM

PEERS = Path(__file__).parents[2] / "protocol/dialects/peers"
LIMIT = 60
"""Seconds after which processes count as hung."""
BEFORE: Said = ask("client", 7, "session/new", cwd="/w", mcpServers=[])
AFTER: tuple[Said, ...] = (
    answer("agent", 7, {"session_id": "s1"}),
    (
        "agent",
        {
            "method": "session/update",
            "params": {"session_id": "s1", "type": "text_delta", "text": "Hello KEY"},
        },
    ),
)
"""Nothing shows that this is a dialect."""


def named(path: Path) -> list[tuple[int, str | None]]:
    """Return the number of each event that names a dialect, and the name."""
    entries = read_recording(path).entries
    events = [each for each in entries if isinstance(each, JournalEvent)]
    return [(each.seq, each.dialect) for each in events if each.name == DIALECT]


def names(path: Path) -> list[str | None]:
    return [name for _, name in named(path)]


def write(path: Path, entries: list[Entry], dialect: str | None = None) -> Path:
    writer = RecordingWriter(path, Header("", "", "", cwd="/w", dialect=dialect))
    writer.write(entries)
    writer.close()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording in which only an event shows the dialect, after its first frame."""
    first, *later = frames(BEFORE, BEFORE, *AFTER)
    event = JournalEvent(2, 0.2, DIALECT, {"dialect": "openoxide"})
    return write(tmp_path / "it.acp.ndjson", [first, event, *later[1:]])


def test_every_command_reads_a_recording_as_its_event_says(call: Call, recording: Path) -> None:
    file = str(recording)
    found = "update == agent_message_chunk"
    rows = [json.loads(line) for line in call("show", "--json", file).out.splitlines()]
    assert [row.get("dialect") for row in rows] == [None, "openoxide", "openoxide"]
    assert call("show", "--count", "--filter", found, file).out == "1\n"
    assert call("show", "--filter", "event == dialect", file).out.endswith(
        "  the dialect is openoxide\n"
    )
    assert "Hello KEY" in call("show", "--view", "conversation", file).out
    assert ", dialect openoxide\n" in call("stats", file).out
    assert json.loads(call("stats", "--json", file).out)["dialect"] == "openoxide"
    linted = call("lint", file)
    assert "is in the dialect openoxide, and was checked so" in linted.out + linted.err
    assert call("diff", file, file).code == exit_codes.DONE
    snapshot = call("snapshot", "--update", file)
    assert snapshot.code == exit_codes.DONE, snapshot.err
    assert "Hello KEY" in "".join(
        each.read_text() for each in recording.parent.iterdir() if each != recording
    )


def test_the_dialect_of_the_command_line_comes_before_that_of_an_event(
    call: Call, recording: Path
) -> None:
    for option in ("none", "continuum"):
        words = ("--dialect", option, str(recording))
        counted = call("show", "--count", "--filter", "update == agent_message_chunk", *words)
        assert counted.out == "0\n"
        assert "openoxide" not in call("stats", *words).out


def test_an_event_comes_before_the_header(call: Call, tmp_path: Path) -> None:
    """A client may start its agent once more, in another dialect or in none."""
    spawn = JournalEvent(1, 0.0, "spawn", {})
    event = JournalEvent(2, 0.0, DIALECT, {"dialect": "none"})
    talk = [Frame(3, 0.1, "agent", frames(*AFTER)[1].data)]
    file = write(tmp_path / "it.acp.ndjson", [spawn, event, *talk], "openoxide")
    assert "dialect" not in call("stats", str(file)).out
    assert call("show", "--count", "--filter", "update exists", str(file)).out == "0\n"


def test_a_redacted_recording_keeps_the_event(call: Call, recording: Path) -> None:
    output = recording.with_name("redacted.acp.ndjson")
    assert call("redact", "--output", str(output), str(recording)).code == exit_codes.DONE
    assert named(output) == [(2, "openoxide")]


# What records


@pytest.mark.parametrize(
    ("script", "dialect"),
    [
        (ACPEX.replace("REFUSE", REFUSES), "acpex"),
        (LENGTHS.replace("REFUSE", DIES), "openoxide"),
        (LENGTHS.replace("REFUSE", ANSWERS), "openoxide"),
    ],
)
def test_the_second_try_of_a_client_is_in_the_dialect_that_the_recording_names(
    agent: Agent, call: Call, tmp_path: Path, script: str, dialect: str
) -> None:
    file = tmp_path / "it.acp.ndjson"
    assert call("exec", "--record", str(file), "x", "--", *agent(script)).code == exit_codes.DONE
    entries = read_recording(file).entries
    second = [n for n, each in enumerate(entries) if getattr(each, "name", "") == "spawn"][1]
    assert dialect in [getattr(each, "dialect", None) for each in entries[second:]]
    assert names(file) == [dialect]
    assert f", dialect {dialect}\n" in call("stats", str(file)).out


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_a_client_records_the_dialect_once_it_recognises_it(
    call: Call, tmp_path: Path, dialect: str
) -> None:
    file = tmp_path / "it.acp.ndjson"
    peer = (sys.executable, str(PEERS / f"{dialect}_agent.py"))
    words = ("exec", "--allow", "all", "--record", str(file))
    assert call(*words, "x", "--", *peer).code == exit_codes.DONE
    assert read_recording(file).header.dialect is None
    assert names(file) == [dialect]
    decoder = Decoder()
    for entry in read_recording(file).entries:
        if isinstance(entry, JournalEvent):
            decoder.note(entry)
    assert decoder.dialect == dialect


def test_a_remembered_dialect_that_the_agent_does_not_speak_any_more_is_not_read(
    call: Call, install: Install, configure: Configure, tmp_path: Path
) -> None:
    file = tmp_path / "it.acp.ndjson"
    install("oxide", LENGTHS.replace("REFUSE", DIES))
    configure("[agents.oxide]\ncommand = ['oxide']\n")
    assert call("exec", "oxide", "hello").code == exit_codes.DONE
    install("oxide", f"if sys.stdin.read(1) != '{{': sys.exit(1)\n{AS_EVERYBODY}")
    assert call("exec", "--record", str(file), "oxide", "hello").code == exit_codes.DONE
    assert read_recording(file).header.dialect == "openoxide"
    assert names(file) == ["openoxide", "none"]
    assert "dialect" not in call("stats", str(file)).out


def proxied(client: str, *words: str, cwd: Path) -> None:
    """Run a client of a dialect with a proxy and our agent."""
    command = (*WARM, "-m", "acp_console", "proxy", *words, "--")
    with (
        subprocess.Popen(
            [*command, *WARM, "-m", "acp_agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=cwd,
        ) as proxy,
        subprocess.Popen(
            [sys.executable, str(PEERS / f"{client}_client.py"), str(cwd)],
            stdin=proxy.stdout,
            stdout=proxy.stdin,
            cwd=cwd,
        ) as peer,
    ):
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        # The pipes belong to the two now: when one leaves, the other has to notice.
        proxy.stdin.close()
        proxy.stdout.close()
        try:
            assert peer.wait(LIMIT) == 0
            assert proxy.wait(LIMIT) == 0
        finally:
            for each in (peer, proxy):
                if each.poll() is None:
                    each.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
def test_a_proxy_records_the_dialect_that_it_recognises(
    call: Call, tmp_path: Path, dialect: str
) -> None:
    file = tmp_path / "it.acp.ndjson"
    proxied(dialect, "--record", str(file), cwd=tmp_path)
    assert read_recording(file).header.dialect is None
    [(number, name)] = named(file)
    assert name == dialect
    assert read_recording(file).frames[0].seq < number
    assert f", dialect {dialect}\n" in call("stats", str(file)).out


def test_each_run_of_a_proxy_that_appends_names_its_dialect(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "it.acp.ndjson"
    proxied("acpex", "--record", str(file), cwd=tmp_path)
    words = ("--record", str(file), "--append", "--dialect", "openoxide")
    proxied("openoxide", *words, cwd=tmp_path)
    assert names(file) == ["acpex", "openoxide"]
    rows = [json.loads(line) for line in call("show", "--json", str(file)).out.splitlines()]
    found = dict.fromkeys(row.get("dialect") for row in rows if "dialect" in row)
    assert list(found) == ["acpex", "openoxide"]
