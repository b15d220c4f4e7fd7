"""What a header says of the machine and the run that a recording comes from."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from acp_inspector.recording.format import Header
from acp_protocol.version import SCHEMA_ID, VERSION


def header_of_this_run(
    command: Sequence[str], cwd: Path, *, transport: str = "stdio", about: str | None = None
) -> Header:
    """Return the header for a recording that begins now; the environment gives its names only."""
    return Header(
        created=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        tool=f"acp-console {VERSION}",
        schema=SCHEMA_ID,
        transport=transport,
        command=list(command),
        cwd=str(cwd),
        platform=f"{sys.platform} {platform.machine()} Python {platform.python_version()}",
        env=sorted(os.environ),
        about=about,
    )
