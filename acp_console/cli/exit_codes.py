"""Exit codes, and what each says."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FOUND: Final = 1
"""Looked and found something: differences, findings, secrets; or an internal error."""
USAGE: Final = 2
"""Wrong usage, or a file that cannot be used."""
AGENT: Final = 3
"""The agent could not be started, or died."""
PEER: Final = 4
"""The agent answered with an error, or broke the protocol."""
TIME_LIMIT: Final = 124
INTERRUPTED: Final = 130
