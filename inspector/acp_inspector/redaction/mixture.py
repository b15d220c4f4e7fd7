"""No recording is redacted in one half and not in the other.

Apart from the sieve because every recording that is appended to is asked, and few are redacted.
"""

from __future__ import annotations

from pathlib import Path

from acp_inspector.recording.format import RecordingError
from acp_inspector.recording.reader import read_header


class MixedRecordingError(RecordingError):
    """A recording would be redacted in one half and not in the other."""


def refuse_mixture(path: Path, *, redacts: bool) -> None:
    """Let a recording that is appended to stay redacted as a whole, or not at all.

    Raises:
        MixedRecordingError: what is there was redacted and what comes shall not be, or vice versa.
    """
    if not path.is_file():
        # A pipe would be waited for.
        return
    try:
        was_redacted = bool(read_header(path).redacted)
    except RecordingError:
        # Nothing that can be gone on with: the writer says so.
        return
    if was_redacted and not redacts:
        raise MixedRecordingError(
            f"cannot append to {path}: it is redacted; say --redact, or choose another name"
        )
    if redacts and not was_redacted:
        raise MixedRecordingError(
            f"cannot append to {path}: what it holds is not redacted; choose another name"
        )
