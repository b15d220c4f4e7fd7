"""Children in the event loop of servers, which itself would start processes differently."""

import sys

import anyio
import pytest

from acp_protocol.errors import AgentStartError
from acp_protocol.host.process import spawn

LIMIT = 30.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The other loop."""
    return "asyncio", {"use_uvloop": True}


async def test_a_closed_stdout_is_noticed_while_the_child_lives() -> None:
    script = "import os, signal; os.close(1); signal.pause()"
    with anyio.fail_after(LIMIT):
        async with spawn([sys.executable, "-c", script], grace=0.1) as child:
            with pytest.raises(anyio.EndOfStream):
                await child.stdout.receive()
            assert child.exit_code is None


async def test_a_command_is_not_cut_at_a_nul() -> None:
    with anyio.fail_after(LIMIT), pytest.raises(AgentStartError, match="not a valid command"):
        async with spawn(["true\0x"]):
            pass


async def test_the_exit_code_and_stderr_of_a_child_come() -> None:
    script = "import sys; sys.stderr.write('no\\n'); sys.exit(7)"
    with anyio.fail_after(LIMIT):
        async with spawn([sys.executable, "-c", script]) as child:
            assert await child.wait() == 7
            assert child.stderr_tail() == ("no",)
