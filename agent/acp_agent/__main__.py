"""`python -m acp_agent`."""

import sys

from acp_agent.main import run

sys.exit(run())
