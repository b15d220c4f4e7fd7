"""`python -m acp_console`."""

from acp_console.cli.main import run

run()
