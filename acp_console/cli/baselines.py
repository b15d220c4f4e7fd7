"""`--baseline`, `--update-baseline` and `--ignore` of the commands that check.

A baseline is a file with what `lint`, `conform` and `test` found when it was written. What it holds
does not fail a build; what is new does, and what is gone is reported. One file serves all three.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acp_console.cli.command import Decorated
from acp_console.cli.errors import UsageError, say
from acp_console.paths import FileWriteError
from acp_console.wording.values import plural
from acp_protocol.errors import describe_os_error
from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.host.regular_files import read_regular, replacing
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.sentences import error_sentence

Checker: TypeAlias = Literal["lint", "conform", "test"]

MAX_BYTES: Final = 1 << 24
"""Size of a baseline that is read, at most."""
SHARED_FILE: Final = 0o666
"""Permissions of a new baseline, less what the user's mask takes away: it is in a repository."""
MAX_GONE_SHOWN: Final = 10
WIDTH: Final = 200
"""Characters of an entry that are shown."""
_VARYING: Final = re.compile(r"(?<![\w.:-])(?!-32\d{3}(?!\w))[\w.:-]*\d[\w.:-]*")
"""Words with a digit: ids, numbers and times, which differ in each run. Error codes do not."""


class Issue(NamedTuple):
    """A finding or a failed case, so that the one of the next run is recognized."""

    where: str
    """The file, or the side and profile that were judged."""
    name: str
    """The rule or the case."""
    detail: str = ""
    """What tells it from others with this name; without ids and numbers."""


class BaselineEntry(BaseModel):
    """An issue that is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    command: Checker
    where: str
    name: str
    detail: str = ""
    count: Annotated[int, Field(ge=1)] = 1
    """How often it occurs."""

    @property
    def issue(self) -> Issue:
        return Issue(self.where, self.name, self.detail)


class BaselineFile(BaseModel):
    """The content of a baseline."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    acp_baseline: Literal[1]
    """The version of the format: without it, a file is not a baseline."""
    known: list[BaselineEntry] = []


@dataclass(slots=True)
class Sorted:
    """What was found, compared with the baseline."""

    known: list[bool]
    """For each issue, whether the baseline holds it."""
    gone: Counter[Issue]
    """What the baseline holds and was not found."""

    def gone_json(self) -> Json:
        return [{**each._asdict(), "count": count} for each, count in self.gone.items()]


class Baseline:
    """The known issues of one command; without a file none is known."""

    def __init__(
        self,
        path: Path | None,
        command: Checker,
        *,
        is_updating: bool = False,
        renamed: Callable[[Issue], Issue] | None = None,
    ) -> None:
        """Read the file.

        Args:
            path: The file; None: there is no baseline.
            command: The command that looks for issues.
            is_updating: The file is to be written, and need not exist.
            renamed: Returns an issue of the command with the names of today.

        Raises:
            UsageError: it cannot be used, or there is none to update.
        """
        if path is None and is_updating:
            raise UsageError("--update-baseline: no file is named", "add --baseline FILE")
        self._path = path
        self._command: Checker = command
        self.is_updating = is_updating
        self._entries: list[BaselineEntry] = []
        if path is not None and not (is_updating and not os.path.lexists(path)):
            self._entries = list(_read(path).known)
        if renamed is not None:
            self._entries = [
                each.model_copy(update=renamed(each.issue)._asdict())
                if each.command == command
                else each
                for each in self._entries
            ]

    @property
    def is_used(self) -> bool:
        return self._path is not None

    def place(self, file: str | Path) -> str:
        """Return how the baseline names a file: by its path from the baseline's directory."""
        start = Path() if self._path is None else self._path.parent
        return _storable(Path(os.path.relpath(file, start)).as_posix())

    def holds(self, issue: Issue) -> bool:
        return any(each.command == self._command and each.issue == issue for each in self._entries)

    def sort(self, issues: Sequence[Issue], is_checked: Callable[[Issue], bool]) -> Sorted:
        """Compare what was found with what is known.

        Args:
            issues: What was found. If one occurs more often than before, the last ones are new.
            is_checked: Returns whether an issue would have been found now. What the baseline holds
                beyond that is not gone.
        """
        left = Counter[Issue]()
        for each in self._entries:
            if each.command == self._command and is_checked(each.issue):
                left[each.issue] += each.count
        known: list[bool] = []
        for issue in issues:
            known.append(left[issue] > 0)
            left[issue] -= known[-1]
        return Sorted(known, +left)

    def write(self, issues: Iterable[Issue], is_checked: Callable[[Issue], bool]) -> None:
        """Replace what the file holds about all that was checked; keep everything else.

        Raises:
            FileWriteError: the file cannot be written.
        """
        assert self._path is not None
        kept = [
            each
            for each in self._entries
            if each.command != self._command or not is_checked(each.issue)
        ]
        fresh = [
            BaselineEntry(
                command=self._command,
                where=issue.where,
                name=issue.name,
                detail=issue.detail,
                count=count,
            )
            for issue, count in Counter(issues).items()
        ]
        # One line for each, in a fixed order: a review shows what has changed.
        rows = sorted(json.dumps(each.model_dump(), ensure_ascii=False) for each in (*kept, *fresh))
        text = '{"acp_baseline": 1, "known": [\n' + ",\n".join(rows) + "\n]}\n"
        try:
            with replacing(self._path, SHARED_FILE) as file:
                file.write(text.encode())
        except OSError as problem:
            reason = describe_os_error(problem)
            raise FileWriteError(f"cannot write {self._path}: {reason}") from None

    def settle(self, issues: Sequence[Issue], is_checked: Callable[[Issue], bool]) -> Sorted:
        """Compare what was found, and report what is gone; write the file if that is wanted.

        After an update everything is known.

        Raises:
            FileWriteError: the file cannot be written.
        """
        found = self.sort(issues, is_checked)
        if not self.is_updating:
            self._report_gone(found.gone)
            return found
        self.write(issues, is_checked)
        new, gone = found.known.count(False), found.gone.total()
        say(f"{self._path}: {len(issues)} known, {new} of them new; {gone} gone")
        return Sorted([True] * len(issues), Counter())

    def _report_gone(self, gone: Counter[Issue]) -> None:
        if not gone:
            return
        lines = [_line(issue, count) for issue, count in list(gone.items())[:MAX_GONE_SHOWN]]
        if len(gone) > len(lines):
            lines.append(f"… and {len(gone) - len(lines)} more")
        head = f"{plural(gone.total(), 'known issue')} of the baseline did not occur"
        say("\n".join([f"{head}; --update-baseline removes it", *lines]))


def baseline_options(command: Decorated) -> Decorated:
    """Add `--baseline FILE` and `--update-baseline`; parameters `baseline`, `update_baseline`."""
    update = click.option(
        "--update-baseline",
        is_flag=True,
        help="Write what is found now into the baseline: from then on it is known.",
    )
    file = click.option(
        "--baseline",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Pass what this file holds as known, fail what is new, and report what is gone.",
    )
    return file(update(command))


def ignore_names_option(what: str, example: str) -> Callable[[Decorated], Decorated]:
    """Add the repeatable option `--ignore NAME`; its parameter is `ignored`."""
    return click.option(
        "--ignore",
        "ignored",
        multiple=True,
        metavar=what,
        help=f'Leave this out; wildcards select several: "{example}". Can be repeated.',
    )


class Ignored:
    """The names that `--ignore` leaves out; a name that exists nowhere is a mistake."""

    def __init__(self, patterns: Sequence[str], known: Collection[str], what: str) -> None:
        """Check the patterns.

        Raises:
            UsageError: one matches none of the known names.
        """
        self._patterns = patterns
        self._used: set[str] = set()
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in known):
                hint = did_you_mean(
                    pattern, known, f"names are whole, such as {min(known)}, or have *"
                )
                raise UsageError(f"--ignore: no {what} matches {pattern!r}", hint)

    def __contains__(self, name: str) -> bool:
        matching = [each for each in self._patterns if fnmatchcase(name, each)]
        self._used.update(matching)
        return bool(matching)

    def report_unused(self) -> None:
        """Report the patterns that no name asked for so far matches: they may be out of date."""
        for each in dict.fromkeys(self._patterns):
            if each not in self._used:
                say(f"--ignore {each}: nothing was found that it leaves out")


def without_varying(text: str) -> str:
    """Return a message without the words that differ in each run."""
    return _storable(_VARYING.sub("…", text))


def _storable(text: str) -> str:
    # Names of files may have bytes that are no UTF-8.
    return text.encode(errors="backslashreplace").decode()


def _line(issue: Issue, count: int) -> str:
    times = f" ({count} times)" if count > 1 else ""
    return single_line(f"{issue.where}: {issue.name} {issue.detail}".rstrip(), WIDTH) + times


def _read(path: Path) -> BaselineFile:
    """Return the content of a baseline, which is not trusted: a regular file, and no link.

    Raises:
        UsageError: it cannot be used.
    """
    try:
        data = read_regular(path, MAX_BYTES)
    except FileNotFoundError:
        raise UsageError(
            f"--baseline: {path} does not exist", "--update-baseline writes it"
        ) from None
    except OSError as problem:
        raise UsageError(f"--baseline: cannot read {path}: {describe_os_error(problem)}") from None
    try:
        return BaselineFile.model_validate_json(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))
        where = f"{at}: " if at else ""
        raise UsageError(
            f"--baseline: {path} is not a baseline: {where}{error_sentence(first)}",
            "--update-baseline writes a new one if you remove it",
        ) from None
