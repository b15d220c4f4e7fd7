"""The proxy over the network as the command line starts it."""

from __future__ import annotations

import signal
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import trustme
from anyio.to_thread import run_sync

from acp_inspector.journal import JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.inspector.http_proxy.scene import CONNECTION, JSON, LIMIT, Agent, line, result, running
from tests.warm import WARM

PROXY = (*WARM, "-m", "acp_console", "proxy")
ANY = "127.0.0.1:0"


@contextmanager
def started(*options: object, command: tuple[str, ...] = PROXY) -> Generator[tuple[Any, str]]:
    """Start a proxy; yield its process and its URL."""
    words = [*command, "--no-control", *map(str, options)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
            assert " passes to " in told, told + process.stderr.read()
            yield process, told.split()[2]
        finally:
            process.kill()


async def _talk(agent: Agent, url: str, *, count: int = 20) -> list[bytes]:
    """Open a connection, and return the events that its client gets on a stream."""
    async with httpx.AsyncClient(timeout=LIMIT) as client:
        await client.post(url, content=line("initialize", 0), headers=JSON)
        accept = CONNECTION | {"Accept": "text/event-stream"}
        async with client.stream("GET", url, headers=accept) as response:
            await agent.opened.wait()
            chunks = response.aiter_raw()
            data = b""
            for number in range(count):
                agent.streams[None].put_nowait(b"data: " + result(number) + b"\n\n")
                while data.count(b"\n\n") <= number:
                    data += await anext(chunks)
    return [each.removeprefix(b"data: ") for each in data.split(b"\n\n")[:-1]]


async def test_it_ends_with_a_signal_and_leaves_whole_recordings(tmp_path: Path) -> None:
    agent = Agent()
    async with running(agent) as port:
        to = ("--listen", ANY, "--to", f"http://127.0.0.1:{port}/acp")
        record = ("--record", tmp_path / "{agent}-{connection}.acp.ndjson")
        with started(*to, *record) as (process, url):
            async with httpx.AsyncClient(timeout=LIMIT) as client:
                await client.post(url, content=line("initialize", 0), headers=JSON)
                await client.delete(url, headers=CONNECTION)
            process.send_signal(signal.SIGTERM)
            assert await run_sync(process.wait, LIMIT) == 0
            assert process.stderr.read() == ""
    [path] = tmp_path.iterdir()
    assert path.name == "127.0.0.1-1.acp.ndjson"
    assert read_recording(path).footer is not None


async def test_what_a_client_has_received_survives_a_kill(tmp_path: Path) -> None:
    agent = Agent()
    path = tmp_path / "r.acp.ndjson"
    async with running(agent) as port:
        to = ("--listen", ANY, "--to", f"http://127.0.0.1:{port}/acp")
        with started(*to, "--record", path) as (process, url):
            received = await _talk(agent, url)
            process.kill()
            process.wait(LIMIT)
    recorded = read_recording(path)
    assert recorded.footer is None
    assert [frame.data for frame in recorded.frames[2:]] == received
    for place, entry in enumerate(recorded.entries):
        if entry in recorded.frames:
            assert isinstance(recorded.entries[place - 1], JournalEvent)


async def test_append_begins_another_connection_in_the_same_file(tmp_path: Path) -> None:
    agent = Agent()
    path = tmp_path / "r.acp.ndjson"
    async with running(agent) as port:
        to = ("--listen", ANY, "--to", f"http://127.0.0.1:{port}/acp", "--record", path)
        for mode in ((), ("--append",)):
            with started(*to, *mode) as (process, url):
                agent.opened = anyio.Event()  # pyright: ignore[reportAttributeAccessIssue]
                await _talk(agent, url, count=2)
                process.terminate()
                await run_sync(process.wait, LIMIT)
    entries = read_recording(path).entries
    begun = [each for each in entries if isinstance(each, JournalEvent) and each.begins_connection]
    assert [each.name for each in begun] == ["connect", "connect"]
    assert [each.seq for each in entries] == [*range(1, len(entries) + 1)]


async def test_clients_come_over_tls_and_http_2(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    own = authority.issue_cert("localhost", "127.0.0.1")
    own.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    own.private_key_pem.write_to_path(tmp_path / "key.pem")
    agent = Agent()
    path = tmp_path / "r.acp.ndjson"
    async with running(agent) as port:
        to = ("--listen", ANY, "--to", f"http://127.0.0.1:{port}/acp", "--record", path)
        tls = ("--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem")
        with started(*to, *tls) as (process, url):
            assert url.startswith("https://")
            trusted = ssl.create_default_context(cafile=tmp_path / "ca.pem")
            async with httpx.AsyncClient(timeout=LIMIT, http2=True, verify=trusted) as client:
                begun = await client.post(url, content=line("initialize", 0), headers=JSON)
                accept = CONNECTION | {"Accept": "text/event-stream"}
                async with client.stream("GET", url, headers=accept) as stream:
                    await agent.opened.wait()
                    agent.streams[None].put_nowait(b"data: " + result(1) + b"\n\n")
                    chunk = await anext(stream.aiter_raw())
            process.terminate()
            await run_sync(process.wait, LIMIT)
    assert (begun.http_version, chunk) == ("HTTP/2", b"data: " + result(1) + b"\n\n")
    versions = [
        each.data["version"]
        for each in read_recording(path).entries
        if isinstance(each, JournalEvent) and each.name == "http_request"
    ]
    assert versions == ["HTTP/2", "HTTP/2"]


TO = ("--to", "http://127.0.0.1:1/acp")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", ANY), "--listen needs --to URL"),
        (TO, "--to needs --listen"),
        (("--plain",), "--plain needs --listen"),
        (("--listen", ANY, *TO, "--", "cat"), "takes no command"),
        (("--listen", "127.0.0.1", *TO), "not an address to listen on"),
        (("--listen", "agent.example:80", *TO), "not an address to listen on"),
        (("--listen", "0.0.0.0:0", *TO), "--tls-cert"),
        (("--listen", ANY, "--to", "ftp://h/"), "not the URL of an agent"),
        (("--listen", ANY, "--to", "http://h/?token=x"), "has a query"),
        (("--listen", ANY, "--to", "http://u:p@h/"), "has a user or a password"),
        (("--listen", ANY, *TO, "--allow-host", "a/b"), "not a host name"),
        (("--listen", ANY, *TO, "--tls-cert", "missing.pem"), "needs its key"),
        (("--listen", ANY, *TO, "--break", "method =="), "method =="),
        (("--listen", ANY, *TO, "--record", "{port}.acp.ndjson"), "nor {connection}"),
        (("--listen", ANY, *TO, "--record", __file__), "exists already"),
    ],
)
def test_options_that_do_not_fit_start_nothing(words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [*PROXY, *words], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_proxy_on_stdio_imports_nothing_of_the_network() -> None:
    code = (
        "import sys\n"
        "from acp_console.cli.proxy import run_command\n"
        "run_command(['--no-control', '--', 'true'])\n"
        "found = {'httpx', 'uvicorn', 'starlette', 'websockets', 'anyio'} & {*sys.modules}\n"
        "sys.stderr.write(str(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.stderr == "set()"
