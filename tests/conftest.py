"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import PostgresServer, postgres_server
from tests.warm import warm_server

for _name in dir(anyio):
    # They come when they are first used, and pytest rewrites what comes. Python 3.11 before .8 may
    # fail to read a source while another one is read (gh-106905), as hypothesis does amid a test.
    getattr(anyio, _name)

# A shell starts what runs in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP
# ignored, and our children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# Else each worker and each child compiles all modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A deadline would judge the machine, which may be busy. Each run tries other examples, and
# `make fuzz` many more of them.
settings.register_profile("acp-console", deadline=None, max_examples=50)
settings.load_profile("acp-console")
if examples := os.environ.get("FUZZ_EXAMPLES"):
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large)
    settings.register_profile("fuzz", max_examples=int(examples), suppress_health_check=slow)
    settings.load_profile("fuzz")


def pytest_configure(config: pytest.Config) -> None:
    """Run one server for warm starts, for all workers."""
    if not hasattr(config, "workerinput"):
        running = ExitStack()
        running.enter_context(warm_server())
        config.add_cleanup(running.close)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of tests, which stay until the end."""
    gc.freeze()


ROOT = Path(__file__).parent.parent
LOOKS = ("CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR")
"""Variables with which a terminal or a CI job would change what programs print."""


@pytest.fixture(scope="session", autouse=True)
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home of its own and no wishes about colours or sizes, for us and for every child."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*LOOKS, *(name for name in os.environ if name.startswith("TEXTUAL"))]:
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("HOME", str(home))
        for kind in ("CACHE", "CONFIG", "DATA", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
        # Not below the others: the name of a socket may only be short.
        with tempfile.TemporaryDirectory(prefix="acp-") as runtime:
            patch.setenv("XDG_RUNTIME_DIR", runtime)
            yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; each test makes a schema of its own in it."""
    with postgres_server() as server:
        if server is not None:
            yield server
            return
    reason = "PostgreSQL is not installed: its programs initdb and postgres are needed"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def anyio_backend() -> str:
    """The one event loop that is used; hence async tests run once."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published schemas and real traffic that may lie beside a checkout."""
    folder = ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    reason = "the folder ../shared with the published schemas and real traffic is not there"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
