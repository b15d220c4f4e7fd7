"""Agents over HTTP/1.1, HTTP/2 and WebSocket: our server beside the TypeScript SDK's.

Both do the same. The client is a few lines on bare sockets, so that it costs little and the same
for both. The SDK's server needs Node.js and what `make interop` installs; without them its rows say
so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import trustme
from websockets.sync.client import ClientConnection, connect

from benchmarks.http2_talk import Http2Talk
from benchmarks.peer import CONSOLE, WAIT, environment
from benchmarks.table import Row, Section, Spread

TOKEN: Final = "bench-0123456789abcdef"
OURS: Final = (sys.executable, "-m", "benchmarks.network_agent")
BARE: Final = (sys.executable, "-m", "benchmarks.reverse_proxy")
SDK: Final = Path(__file__).parent.parent / ".interop"
ROUNDS: Final = 600
WARM_UP: Final = 100
UPDATES: Final = 20_000
IDLE: Final = 1_000
"""Connections that are only open, each with a session."""
READERS: Final = 10
"""Readers of a flood at once, one of which reads slowly."""
SLOW: Final = 200
"""Updates a second that the slow one reads."""


class Talk(Protocol):
    """A connection of a client."""

    def new_session(self) -> None:
        """Open a session, and what its messages come on."""
        ...

    def request(self, method: str, params: Any) -> object:
        """Send a request, and return when its response was read, with all before it."""
        ...

    def prompt(self, count: int) -> None:
        """Ask for updates, and return when all were read."""
        ...

    def close(self) -> None: ...


class HttpTalk:
    """A connection over HTTP/1.1: one socket for requests, one for each stream."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._address, self._path = (parts.hostname, parts.port), parts.path
        self._head = (
            f"Host: {parts.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
        )
        self._posts = _socket(self._address)
        self._ids = 0
        self._session: str | None = None
        self._head += f"Acp-Connection-Id: {self._open()}\r\n"
        self._connection_stream = self._stream("")
        self.session_stream: socket.socket | None = None

    def new_session(self) -> None:
        """Open a session, and its stream."""
        self._post("session/new", {"cwd": "/", "mcpServers": []})
        reply = _events_until(self._connection_stream, b'"id":2')
        self._session = json.loads(reply[reply.index(b"{") :].split(b"\n")[0])["result"][
            "sessionId"
        ]
        self.session_stream = self._stream(f"Acp-Session-Id: {self._session}\r\n")

    def request(self, method: str, params: Any) -> None:
        is_of_session = "sessionId" in params
        self._post(method, params, has_session=is_of_session)
        stream = self.session_stream if is_of_session else self._connection_stream
        assert stream is not None
        _events_until(stream, b'"id":%d' % self._ids)

    def prompt(self, count: int) -> None:
        """Ask for updates, and return when all were read."""
        # Both servers close a connection that was idle for 5 seconds.
        self._posts.close()
        self._posts = _socket(self._address)
        text = {"type": "text", "text": str(count)}
        self.request("session/prompt", {"sessionId": self._session, "prompt": [text]})

    def close(self) -> None:
        for each in (self._posts, self._connection_stream, self.session_stream):
            if each is not None:
                each.close()

    def _open(self) -> str:
        self._post("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, reads=False)
        head, _, body = _read_until(self._posts, b"\r\n\r\n").partition(b"\r\n\r\n")
        fields = dict(
            line.decode().lower().split(": ", 1)
            for line in head.split(b"\r\n")[1:]
            if b": " in line
        )
        original = next(
            line.split(b": ", 1)[1].decode()
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"acp-connection-id: ")
        )
        if "content-length" in fields:
            while len(body) < int(fields["content-length"]):
                body += self._posts.recv(65536)
        else:
            while not body.endswith(b"0\r\n\r\n"):
                body += self._posts.recv(65536)
        return original

    def _post(
        self, method: str, params: Any, *, has_session: bool = False, reads: bool = True
    ) -> None:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        body = json.dumps(message).encode()
        session = f"Acp-Session-Id: {self._session}\r\n" if has_session else ""
        start = f"POST {self._path} HTTP/1.1\r\n{self._head}{session}"
        head = f"{start}Content-Length: {len(body)}\r\n\r\n"
        self._posts.sendall(head.encode() + body)
        if reads:
            reply = _read_until(self._posts, b"\r\n\r\n")
            assert reply.startswith(b"HTTP/1.1 202"), reply
            if b"chunked" in reply.lower() and not reply.endswith(b"0\r\n\r\n"):
                _read_until(self._posts, b"0\r\n\r\n")

    def _stream(self, session: str) -> socket.socket:
        stream = _socket(self._address)
        stream.sendall(f"GET {self._path} HTTP/1.1\r\n{self._head}{session}\r\n".encode())
        reply = _read_until(stream, b"\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 200"), reply
        return stream


class SocketTalk:
    """A connection over WebSocket."""

    def __init__(self, url: str) -> None:
        self._stack = ExitStack()
        connecting = connect(
            "ws" + url.removeprefix("http"),
            additional_headers={"Authorization": f"Bearer {TOKEN}"},
            compression=None,
            max_size=None,
        )
        self._socket: ClientConnection = self._stack.enter_context(connecting)
        self._ids = 0
        self._session: str | None = None
        self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def new_session(self) -> None:
        """Open a session."""
        reply = self.request("session/new", {"cwd": "/", "mcpServers": []})
        self._session = json.loads(reply)["result"]["sessionId"]

    def request(self, method: str, params: Any) -> bytes:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self._socket.send(json.dumps(message).encode(), text=True)
        mark = b'"id":%d' % self._ids
        while mark not in (frame := self._socket.recv(WAIT, decode=False)):
            pass
        return frame

    def prompt(self, count: int) -> None:
        """Ask for updates, and return when all were read."""
        text = {"type": "text", "text": str(count)}
        self.request("session/prompt", {"sessionId": self._session, "prompt": [text]})

    def close(self) -> None:
        self._stack.close()


HTTP2: Final = "HTTP/2 over TLS"
KINDS: Final[dict[str, Callable[[str], Talk]]] = {
    "HTTP/1.1": HttpTalk,
    "WebSocket": SocketTalk,
}


def measure() -> Section:
    """Measure both servers in turns, in one run."""
    with ExitStack() as stack:
        ours = stack.enter_context(_served(OURS))
        sdk_command = stack.enter_context(_sdk_command())
        sdk = None if sdk_command is None else stack.enter_context(_served(sdk_command))
        rows: list[Row] = []
        for kind, open_talk in KINDS.items():
            rows += _compared(kind, open_talk, ours, sdk)
        rows += _encrypted(sdk_command)
        for name, command in (("ours", OURS), ("the SDK's", sdk_command)):
            if command is not None:
                rows += [_idle(name, command)]
    rows += [*_proxied(), _readers()]
    return Section("agents over the network", tuple(rows))


def _encrypted(sdk_command: tuple[str, ...] | None) -> list[Row]:
    """Compare both servers over HTTP/2, each connection on one socket with TLS."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = [str(folder / name) for name in ("cert.pem", "key.pem", "ca.pem")]
        authority = trustme.CA()
        issued = authority.issue_cert("localhost", "127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(files[0])
        issued.private_key_pem.write_to_path(files[1])
        authority.cert_pem.write_to_path(files[2])
        context = ssl.create_default_context(cafile=files[2])
        context.set_alpn_protocols(["h2"])
        ours = stack.enter_context(_served((*OURS, *files[:2])))
        sdk = None
        if sdk_command is not None:
            sdk = stack.enter_context(_served((*sdk_command, *files[:2])))

        def open_talk(url: str) -> Http2Talk:
            return Http2Talk(url, context, TOKEN)

        return _compared(HTTP2, open_talk, ours, sdk)


def _compared(kind: str, open_talk: Callable[[str], Talk], ours: str, sdk: str | None) -> list[Row]:
    urls = [ours] if sdk is None else [sdk, ours]
    talks = [open_talk(url) for url in urls]
    trips: list[list[float]] = [[] for _ in talks]
    floods: list[list[float]] = [[] for _ in talks]
    for talk in talks:
        talk.new_session()
    for number in range(WARM_UP + ROUNDS):
        for talk, taken in zip(talks, trips, strict=True):
            begin = time.perf_counter()
            talk.request("authenticate", {"methodId": "x"})
            if number >= WARM_UP:
                taken.append(time.perf_counter() - begin)
    for _ in range(3):
        for talk, taken in zip(talks, floods, strict=True):
            begin = time.perf_counter()
            talk.prompt(UPDATES)
            taken.append((time.perf_counter() - begin) / UPDATES)
    for talk in talks:
        talk.close()
    if sdk is None:
        rows = [Row(f"{kind}: the TypeScript SDK's server", "not installed: make interop")]
    else:
        rows = [_row(f"{kind}: round trip, the TypeScript SDK's server", trips[0], None)]
        rows += [_row(f"{kind}: an update, the TypeScript SDK's server", floods[0], None)]
    against = None if sdk is None else trips[0], None if sdk is None else floods[0]
    rows += [_row(f"{kind}: round trip, our server", trips[-1], against[0], "≤ 1 ×")]
    return [*rows, _row(f"{kind}: an update, our server", floods[-1], against[1], "≤ 1 ×")]


def _row(what: str, taken: Sequence[float], against: Sequence[float] | None, goal: str = "") -> Row:
    spread = Spread.of(taken)
    ratio = "floor" if not goal else ""
    if against is not None:
        ratio = f"{spread.median / statistics.median(against):.2f} × the SDK's"
    return Row(what, f"{spread.median * 1e6:.0f} µs", f"{spread.slow * 1e6:.0f} µs", ratio, goal)


def _proxied() -> list[Row]:
    """Compare round trips over HTTP/1.1 through a bare reverse proxy and through ours."""
    with ExitStack() as stack:
        url = stack.enter_context(_served(OURS))
        bare = stack.enter_context(_served((*BARE, url)))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        record = str(Path(folder, "it.acp.ndjson"))
        options = ("proxy", "--listen", "127.0.0.1:0", "--to", url, "--record", record)
        ours = stack.enter_context(_served((*CONSOLE, *options), says=2))
        talks = [HttpTalk(each) for each in (url, bare, ours)]
        taken: list[list[float]] = [[] for _ in talks]
        for number in range(WARM_UP + ROUNDS):
            for talk, durations in zip(talks, taken, strict=True):
                begin = time.perf_counter()
                talk.request("authenticate", {"methodId": "x"})
                if number >= WARM_UP:
                    durations.append(time.perf_counter() - begin)
        for talk in talks:
            talk.close()
    direct, *others = (Spread.of(durations) for durations in taken)
    added = [each.median - direct.median for each in others]
    names = ("a bare reverse proxy, which records nothing", "`acp-console proxy --record`")
    rows = [_row("HTTP/1.1: round trip, nothing between", taken[0], None)]
    for name, each, more in zip(names, others, added, strict=True):
        ratio = "1 × what it adds" if more is added[0] else f"{more / added[0]:.1f} × what it adds"
        typical, slow = f"{each.median * 1e6:.0f} µs", f"{each.slow * 1e6:.0f} µs"
        rows.append(Row(f"HTTP/1.1: round trip through {name}", typical, slow, ratio))
    return rows


def _idle(name: str, command: Sequence[str]) -> Row:
    """Open connections with a session each, and tell what the server takes for one."""
    with _served(command) as url, ExitStack() as stack:
        pid = _PIDS[url]
        first = SocketTalk(url)
        stack.callback(first.close)
        before = _memory(pid)
        for _ in range(IDLE):
            talk = SocketTalk(url)
            stack.callback(talk.close)
            talk.new_session()
        taken = (_memory(pid) - before) / IDLE
    return Row(f"an idle WebSocket with a session, {name}", f"{taken / 1024:.0f} KiB")


def _readers() -> Row:
    """Let ten clients read floods at once, one of them slowly; tell what the others get."""
    with _served(OURS) as url:
        pid = _PIDS[url]
        talks = [HttpTalk(url) for _ in range(READERS)]
        for talk in talks:
            talk.new_session()
        before = _memory(pid)
        rates: list[float] = []
        slow = threading.Thread(target=_read_slowly, args=(talks[0],), daemon=True)
        slow.start()

        def read(talk: HttpTalk) -> None:
            begin = time.perf_counter()
            talk.prompt(UPDATES)
            rates.append(UPDATES / (time.perf_counter() - begin))

        threads = [threading.Thread(target=read, args=(talk,)) for talk in talks[1:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        grown = _memory(pid) - before
        for talk in talks:
            talk.close()
    all_rates = f"{sum(rates):,.0f} updates/s"
    return Row(
        f"{READERS - 1} fast readers beside a slow one, our server",
        all_rates,
        f"slowest {min(rates):,.0f}/s",
        f"memory + {grown / 2**20:.0f} MiB",
    )


def _read_slowly(talk: HttpTalk) -> None:
    threading.Thread(target=_post_flood, args=(talk,), daemon=True).start()
    stream = talk.session_stream
    assert stream is not None
    try:
        while stream.recv(300):
            time.sleep(1 / SLOW)
    except OSError:
        pass


def _post_flood(talk: HttpTalk) -> None:
    with suppress(OSError, AssertionError):
        talk.prompt(100 * UPDATES)


_PIDS: Final[dict[str, int]] = {}


@contextmanager
def _served(command: Sequence[str], says: int = 1) -> Generator[str]:
    """Run a server; yield the URL that it prints on stdout, or on stderr where `says` is 2."""
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if says == 2 else None,
        env=environment() | {"ACP_TOKEN": TOKEN},
        text=True,
    )
    with server:
        assert server.stdout is not None
        assert server.stdin is not None
        found = re.search(r"https?://[\w.:]+/acp", server.stdout.readline())
        assert found is not None
        url = found[0]
        _PIDS[url] = server.pid
        try:
            yield url
        finally:
            server.stdin.close()
            if says == 2:
                server.terminate()
            try:
                server.wait(WAIT)
            except subprocess.TimeoutExpired:
                server.kill()


@contextmanager
def _sdk_command() -> Generator[tuple[str, ...] | None]:
    """Yield the command of the SDK's server; None where it is not installed."""
    node = shutil.which("node")
    if node is None or not (SDK / "node_modules" / "ws").is_dir():
        yield None
        return
    with tempfile.NamedTemporaryFile(suffix=".mjs", dir=SDK) as script:
        script.write(Path(__file__).with_name("network_agent.mjs").read_bytes())
        script.flush()
        yield (node, "--no-warnings", script.name)


def _memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _socket(address: tuple[str, int]) -> socket.socket:
    opened = socket.create_connection(address, WAIT)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def _read_until(source: socket.socket, mark: bytes) -> bytes:
    found = b""
    while mark not in found:
        chunk = source.recv(1 << 16)
        assert chunk, found
        found += chunk
    return found


def _events_until(source: socket.socket, mark: bytes) -> bytes:
    """Read a stream until an event with `mark`; keep only what may be a part of it."""
    tail = b""
    while True:
        chunk = source.recv(1 << 16)
        assert chunk
        tail += chunk
        if mark in tail and tail.endswith(b"\n"):
            return tail[tail.rindex(b"data:", 0, tail.index(mark)) :]
        tail = tail[-4096:]
