"""The exit codes and their meanings."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FOUND: Final = 1
"""Found something: lint findings, differences, secrets, a line of a recording that a check cannot
read, a refused command; or an internal error."""
USAGE: Final = 2
"""Wrong usage, or a file that cannot be used."""
AGENT: Final = 3
"""The agent could not be started, or exited early."""
PEER: Final = 4
"""The agent answered with an error, or broke the protocol."""
REFUSED: Final = 5
"""Something was refused, and --fail-on-refusal was given."""
UNASKED: Final = 6
"""The agent did something without permission, and --fail-on-unasked was given."""
NOTHING: Final = 7
"""A check could try nothing: it has neither passed nor failed."""
TIME_LIMIT: Final = 124
INTERRUPTED: Final = 130
