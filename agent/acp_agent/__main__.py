"""`python -m acp_agent`."""

import sys

from acp_agent.cli import run

sys.exit(run())
