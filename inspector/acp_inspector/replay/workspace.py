"""The working directory of a replay, with the files that the recording holds.

Only a replay makes it, and only below the directory it is given: opening a recording stays inert.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from acp_inspector.recording.format import Header, RecordingError
from acp_protocol.host.sandbox import FileRefusedError, SandboxedFiles
from acp_protocol.jsonrpc import Json


def prepare_workspace(header: Header, directory: Path) -> None:
    """Write the files that the header's `meta.files` names (name: text) below `directory`.

    Raises:
        RecordingError: `meta.files` is not an object of strings, or a name leads out of the
            directory.
    """
    files: Json = header.meta.get("files", {})
    if not isinstance(files, dict):
        raise RecordingError("the recording's meta.files is no object of names and texts")
    roots = SandboxedFiles([directory])
    for name, text in cast("dict[str, Json]", files).items():
        if name.startswith("/"):
            raise RecordingError(f"the recording's file {name!r} is refused: it is absolute")
        if not isinstance(text, str):
            raise RecordingError(f"the recording's file {name!r} has no text")
        try:
            roots.write_text(f"{directory}/{name}", text)
        except FileRefusedError as problem:
            raise RecordingError(
                f"the recording's file {name!r} is refused: {problem.reason}"
            ) from None
