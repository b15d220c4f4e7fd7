"""Starts what serves an agent over the network, and ends it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.interop.node.programs import LIMIT

TOKEN: Final = "interop-0123456789abcdef"
ENVIRONMENT: Final = {"ACP_TOKEN": TOKEN}


@contextmanager
def served(cwd: Path, *command: object) -> Generator[str]:
    """Run a server in `cwd`; yield the URL that it prints, with the scheme http."""
    server = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with server:
        try:
            assert server.stdout is not None
            found = None
            while found is None:
                line = server.stdout.readline()
                assert line, "the server ended before it printed its URL"
                found = re.search(r"http://[\w.:]+/acp", line)
            yield found[0]
        finally:
            server.terminate()
            server.wait(LIMIT)


def spelled(url: str, transport: str) -> str:
    """Return the URL for "http" or "ws"."""
    return url if transport == "http" else "ws" + url.removeprefix("http")
