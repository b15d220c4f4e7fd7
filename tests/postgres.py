"""A PostgreSQL server for tests, on a Unix socket in a directory of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from acp_agent.settings.types import DatabaseUrl

LIMIT = 30.0
"""Seconds that the server may take to start or to end."""
READY = "database system is ready to accept connections"
SETTINGS = {
    "listen_addresses": "",
    # Nothing has to outlive the machine.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "lc_messages": "C",
}
SOCKET = ".s.PGSQL.5432"
"""The name of the socket, in its folder."""
_SCHEMAS = count(1)


def programs() -> Path | None:
    """Return the directory of the server's programs; None if it is not installed."""
    found = shutil.which("initdb")
    if found is not None and shutil.which("postgres") is not None:
        return Path(found).parent
    # Debian keeps them out of PATH, those of each version in a directory of its own.
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    return kept[-1].parent if kept else None


def _version(path: Path) -> float:
    return float(path.parts[-3])


def _user() -> dict[str, Any]:
    """Return whom the server runs as: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    known = {each.pw_name: each for each in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass
class PostgresServer:
    """A running server, in which each test has a schema of its own."""

    programs: Path
    directory: Path
    process: subprocess.Popen[str] = field(init=False)

    def start(self) -> None:
        """Start the server; return when it accepts connections."""
        options = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        command = [self.programs / "postgres", "-D", self.directory / "data"]
        command += [f"-k{self.directory}", *options]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, cwd=self.directory, **_user()
        )
        is_ready = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(is_ready,), daemon=True)
        self._reader.start()
        assert is_ready.wait(LIMIT), "the server does not start"

    def _read(self, is_ready: threading.Event) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                if READY in line:
                    is_ready.set()

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the server and all connections; by default, it finishes what it has begun."""
        self.process.send_signal(number)
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)

    def connect(self, schema: str = "public") -> psycopg.Connection[TupleRow]:
        """Return a connection of the test's own."""
        return psycopg.connect(self.url(schema).url, autocommit=True)

    def url(self, schema: str, folder: Path | None = None) -> DatabaseUrl:
        """Return the URL of a schema, by the socket in `folder`, such as that of a relay."""
        path = f"host={folder or self.directory}&options=-csearch_path%3D{schema}"
        return DatabaseUrl(f"postgresql://acp@/postgres?{path}")

    def new_schema(self) -> str:
        """Return the name of a new schema."""
        name = f"test_{os.getpid()}_{next(_SCHEMAS)}"
        with self.connect() as connection:
            connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
        return name


class Relay:
    """A socket in a folder that passes everything on to a server, until it fails."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.folder = folder
        self._target = str(server.directory / SOCKET)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.is_silent = False
        """Whether what the server sends is thrown away, as if the network was broken."""
        self.answered = threading.Event()
        """Set when the server has answered while the relay was silent."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(self._target)
                self._pairs.append((ours, theirs))
                for args in ((ours, theirs, False), (theirs, ours, True)):
                    threading.Thread(target=self._pass_on, args=args, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while content := source.recv(65536):
                if self.is_silent and is_answer:
                    self.answered.set()
                else:
                    target.sendall(content)
            target.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Break all connections off."""
        for pair in self._pairs:
            for each in pair:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        self._listener.close()
        for pair in self._pairs:
            for each in pair:
                each.close()


@contextmanager
def postgres_server() -> Generator[PostgresServer | None]:
    """Run a server, if it is installed."""
    directory = programs()
    if directory is None:
        yield None
        return
    user = _user()
    # Below a directory that other users may enter; the name of a socket may only be short.
    folder = Path(tempfile.mkdtemp(prefix="acp-pg-", dir="/tmp"))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        command = [directory / "initdb", "-D", folder / "data", "-U", "acp", "-A", "trust"]
        command += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            timeout=LIMIT,
            **user,
        )
        server = PostgresServer(directory, folder)
        server.start()
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
