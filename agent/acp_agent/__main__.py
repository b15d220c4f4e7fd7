"""`python -m acp_agent`."""

import sys

from acp_agent.door.cli import run

sys.exit(run())
