"""The directories of a session, as its servers are told them.

Source: MCP, Roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp_types import ListRootsResult, Root
from pydantic import FileUrl


def roots_of(directories: Sequence[Path]) -> ListRootsResult:
    """Return absolute `directories` as the answer to `roots/list`, each once."""
    addresses = dict.fromkeys(directory.as_uri() for directory in directories)
    return ListRootsResult(roots=[Root(uri=FileUrl(address)) for address in addresses])
