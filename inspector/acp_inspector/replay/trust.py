"""Whether a recording may act: the one place where `replay`, `test` and the pytest plugin ask.

A recording is trusted because the user says so, because the configuration of the user's project
names it, or because it was made on this machine. One that is not trusted is played only if the side
that is played does nothing but talk (see `acts`), and an agent of ours then gets a home of its own.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import tomllib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acp_inspector.journal import Frame
from acp_inspector.recording.format import SUFFIX, RecordingError
from acp_inspector.recording.origin import is_our_recording
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.acts import acts_of
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import single_line
from acp_protocol.host.state import AGENT_HOME, AGENT_PREFIX
from acp_protocol.json_values import as_list, as_object, get

logger = logging.getLogger(__name__)

PROJECT_FILE: Final = "pyproject.toml"
OUR_SETTING: Final = "trusted"
"""The name of the paths in the table `[tool.acp-console]` of a project's file."""
MAX_PROJECT_BYTES: Final = 2**20
PLAIN_SUFFIXES: Final = frozenset({".txt"})
"""Files that no program runs, and that no agent reads as its settings or instructions, if their
names do not begin with a point."""
MAX_LISTED: Final = 30
"""Things that one error lists."""
MAX_FILES: Final = 1000
"""Files beside a recording that are looked at; with more it needs trust."""
_WIDTH: Final = 200


class UntrustedRecordingError(RecordingError):
    """A recording would act, and nothing says that it is trusted."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What the user trusts besides the recordings of this machine."""

    is_given: bool = False
    """Whether the user said so for this call."""
    paths: tuple[Path, ...] = ()
    """Files and directories that the project's configuration names."""

    def names(self, path: Path) -> bool:
        """Return whether a recording is trusted without a look at its content.

        A link is as trusted as the file that it leads to.
        """
        if self.is_given:
            return True
        try:
            whole = path.resolve(strict=True)
            return any(whole.is_relative_to(each.resolve(strict=True)) for each in self.paths)
        except (OSError, RuntimeError, ValueError):
            return False


TRUSTED: Final = Trust(is_given=True)
UNTRUSTED: Final = Trust()


def check_trust(
    recording: Recording,
    side: Side,
    trust: Trust,
    frames: Sequence[Frame] | None = None,
    *,
    has_files: bool = True,
) -> bool:
    """Return whether a recording is trusted; one that is not is harmless.

    The digest of a recording of this machine says nothing of the files beside it.

    Args:
        recording: the recording to play.
        side: the side of it that is played.
        trust: what the user trusts.
        frames: the frames that are played; all by default.
        has_files: whether the files of the recording are put into the directory of its peer.

    Raises:
        UntrustedRecordingError: it would act, and is not trusted.
    """
    if trust.names(recording.path):
        return True
    is_ours = is_our_recording(recording.digest)
    if is_ours:
        acts = _risky_files(_files_beside(recording)) if has_files else []
    else:
        acts = recorded_acts(recording, side, frames, has_files=has_files)
    if acts:
        other = "agent" if side == "client" else "client"
        shown = "".join(f"\n  {each}" for each in acts[:MAX_LISTED])
        more = f"\n  and {len(acts) - MAX_LISTED} more" if len(acts) > MAX_LISTED else ""
        raise UntrustedRecordingError(
            f"{recording.path} would have the {other} do this; allow it with --trust:{shown}{more}",
            hint="or list it in the pyproject.toml of your project, under [tool.acp-console]: "
            'trusted = ["FILE or DIRECTORY"]; what was recorded on this machine, unchanged, is '
            "trusted",
        )
    return is_ours


def recorded_acts(
    recording: Recording,
    side: Side,
    frames: Sequence[Frame] | None = None,
    *,
    has_files: bool = True,
) -> list[str]:
    """Return what one side of a recording would have the other do, safe to show."""
    if frames is None:
        frames = recording.frames
    names = [*as_object(recording.header.meta.get("files")), *_files_beside(recording)]
    return [*acts_of(side, frames), *(_risky_files(names) if has_files else [])]


def _files_beside(recording: Recording) -> list[str]:
    """Return the names of the files in the directory beside a recording; a note if too many."""
    folder = recording.path.with_name(f"{recording.path.name.removesuffix(SUFFIX)}.files")
    names: list[str] = []
    for number, path in enumerate(folder.rglob("*"), start=1):
        if number > MAX_FILES:
            return [f"more than {MAX_FILES} files in {folder.name}"]
        if not path.is_dir():
            names.append(path.relative_to(folder).as_posix())
    return names


def _risky_files(names: Iterable[str]) -> list[str]:
    """Return the files that a program may run or be configured by, safe to show."""
    risky = sorted(each for each in names if not _is_plain(each))
    return [single_line(f"file: {name}", _WIDTH) for name in risky]


def _is_plain(name: str) -> bool:
    is_hidden = any(part.startswith(".") for part in name.split("/"))
    return not is_hidden and os.path.splitext(name)[1].lower() in PLAIN_SUFFIXES  # noqa: PTH122


@contextmanager
def agent_environment(
    environment: Mapping[str, str] | None, *, is_trusted: bool
) -> Generator[Mapping[str, str] | None]:
    """Yield the variables of an agent that a recording is played against; None: ours.

    Unless the recording is trusted, an agent of ours finds an empty home, not the user's
    configuration, keys and sessions.
    """
    if is_trusted:
        yield environment
        return
    ours = os.environ if environment is None else environment
    kept = {name: value for name, value in ours.items() if not name.startswith(AGENT_PREFIX)}
    with tempfile.TemporaryDirectory(prefix="acp-replay-home-", ignore_cleanup_errors=True) as home:
        yield {**kept, AGENT_HOME: home}


def project_trust(folder: Path, *, is_given: bool = False) -> Trust:
    """Return what the project that `folder` is in trusts: the user's, not the recording's.

    Its `pyproject.toml` is the first one in `folder` or above it. Paths that lead out of the
    project are not trusted, nor is a file that somebody else could write. A path under
    `[tool.acp-console]` that trusts nothing is logged, because it is misspelled or out of date.

    Raises:
        RecordingError: the file is invalid.
    """
    for each in (folder.absolute(), *folder.absolute().parents):
        path = each / PROJECT_FILE
        if os.path.lexists(path):
            return Trust(is_given, tuple(_trusted_paths(path)))
    return Trust(is_given)


def _trusted_paths(path: Path) -> list[Path]:
    tool = get(_read_toml(path), "tool")
    pytest = get(tool, "pytest")
    root = path.parent.resolve()
    trusted: list[Path] = []
    for table, name in (
        (get(tool, "acp-console"), OUR_SETTING),
        (get(pytest, "ini_options"), "acp_recordings"),
        (pytest, "acp_recordings"),
    ):
        value = get(table, name)
        # pytest also takes one text with several paths.
        texts: list[Any] = value.split() if isinstance(value, str) else as_list(value)
        is_list = value is None or isinstance(value, str | list)
        if not is_list or not all(isinstance(each, str) for each in texts):
            raise RecordingError(f"{path}: {name} is not a list of paths")
        for text in texts:
            problem = _problem(path.parent / text, root)
            if problem is None:
                trusted.append(path.parent / text)
            # pytest itself refuses paths of `acp_recordings` that do not exist.
            elif name == OUR_SETTING:
                logger.warning("%s: %s names %s, which %s", path, name, text, problem)
    return trusted


def _problem(path: Path, root: Path) -> str | None:
    """Return why a path that the project in `root` names trusts nothing; None: it does."""
    try:
        if not path.resolve().is_relative_to(root):
            return "is outside the project and trusts nothing"
        return None if path.exists() else "does not exist"
    except (OSError, RuntimeError, ValueError):
        return "cannot be found"


def _read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a project's configuration; nothing if somebody else could write it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found, folder = os.fstat(descriptor), path.parent.stat()
            if not stat.S_ISREG(found.st_mode):
                return {}
            if not all(_is_own(each) for each in (found, folder)):
                return {}
            text = file.read(MAX_PROJECT_BYTES).decode()
        return tomllib.loads(text)
    except OSError:
        return {}
    except (ValueError, RecursionError) as problem:
        raise RecordingError(f"{path} cannot be read: {problem}") from None


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid in {os.geteuid(), 0} and not found.st_mode & stat.S_IWOTH
