"""A file that has its name when it is whole, and leaves nothing where it never is."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_inspector.recording.format import RecordingError, RecordingExistsError
from acp_protocol.errors import describe_os_error


@contextmanager
def written_beside(path: Path, *, overwrite: bool) -> Generator[Path]:
    """Let the block write a file of another name beside `path`; name it so when all went well.

    Raises:
        RecordingExistsError: there is a file of that name, and it must not be replaced.
        RecordingError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if not overwrite and os.path.lexists(path):
            raise _exists(path)
        yield part
        if overwrite:
            part.replace(path)
        else:
            # A link is refused where the name has come into being meanwhile; a rename is not.
            os.link(part, path)
    except FileExistsError:
        raise _exists(path) from None
    except RecordingExistsError:
        raise
    except RecordingError as problem:
        # The other name means nothing to users.
        raise type(problem)(str(problem).replace(str(part), str(path))) from None
    except OSError as problem:
        raise RecordingError(f"cannot write {path}: {describe_os_error(problem)}") from None
    finally:
        part.unlink(missing_ok=True)


def _exists(path: Path) -> RecordingExistsError:
    return RecordingExistsError(f"{path} exists already; choose another name, or say --overwrite")
