"""Agents and clients of five documents, written from these alone, with our client and our agent.

The scripts know nothing of this program: they speak as their document says, and end with an error
when what they get is not as it says.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acp_inspector.recording.reader import read_recording
from tests.warm import WARM

PEERS = Path(__file__).parent.parent / "protocol/dialects/peers"
LIMIT = 60
"""Seconds after which two processes count as hung."""
AGENT = (*WARM, "-m", "acp_agent")
CONSOLE = (*WARM, "-m", "acp_console")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("continuum", ()),
        ("continuum", ("--dialect", "continuum")),
        ("acpex", ()),
        ("acpex", ("--dialect", "acpex")),
        ("openoxide", ()),
        ("openoxide", ("--dialect", "openoxide")),
        ("batch", ("--dialect", "v2-batch")),
        ("summary", ()),
    ],
)
def test_our_agent_answers_a_client_as_its_document_says(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    client = (sys.executable, str(PEERS / f"{name}_client.py"), str(tmp_path))
    with (
        subprocess.Popen(
            [*AGENT, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
        ) as agent,
        subprocess.Popen(
            client, stdin=agent.stdout, stdout=agent.stdin, stderr=subprocess.PIPE, cwd=tmp_path
        ) as peer,
    ):
        assert agent.stdin is not None
        assert agent.stdout is not None
        # The pipes belong to the two now: when one leaves, the other has to notice.
        agent.stdin.close()
        agent.stdout.close()
        try:
            _, heard = peer.communicate(timeout=LIMIT)
            assert peer.returncode == 0, heard.decode()[-2000:]
            assert agent.wait(LIMIT) == 0
        finally:
            peer.kill()
            agent.kill()


def test_our_agent_names_a_client_that_sends_arrays_without_their_dialect(tmp_path: Path) -> None:
    lines = b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]\n' * 2
    done = subprocess.run(
        AGENT, input=lines, capture_output=True, timeout=LIMIT, check=False, cwd=tmp_path
    )
    assert done.stdout.count(b'"id":null') == 2
    named = b"the client sends arrays of messages, which ACP does not have; --dialect v2-batch"
    assert done.stderr.count(named) == 1


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("continuum", (), "is simple"),
        ("continuum", ("--dialect", "continuum"), "is simple"),
        ("acpex", (), "Refactoring complete!"),
        ("openoxide", (), "ünï checks"),
        ("openoxide", ("--dialect", "openoxide"), "ünï checks"),
        ("batch", ("--dialect", "v2-batch"), "Hello to you."),
        ("summary", (), "Done."),
    ],
)
def test_our_client_chats_with_an_agent_of_its_document(
    name: str, options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    recording = tmp_path / "talk.acp.ndjson"
    words = ("exec", "--allow", "all", "--record", str(recording), *options, "hello", "--")
    done = subprocess.run(
        [*CONSOLE, *words, sys.executable, str(PEERS / f"{name}_agent.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    # What is recorded is what was really said, not what it means.
    assert read_recording(recording).entries
