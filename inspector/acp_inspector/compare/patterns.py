"""Patterns of values that programs make anew each time, wherever a comparison finds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY: Final = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? +)?"
_ZONE: Final = r"(?: ?(?:GMT|UTC)?[+-]\d\d:?\d\d(?: \([A-Z][\w ]*\))?| ?(?:Z|UTC|GMT)\b)?"
CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)?"
"""A time of day."""
DATE: Final = (
    rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{CLOCK}{_ZONE})?(?!\d)"
    rf"|\b\d{{1,2}}/\d{{1,2}}/\d{{4}}(?:,? {CLOCK})?(?!\d)|\b\d{{4}}/\d\d/\d\d(?!\d)"
    rf"|\b{_DAY}{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?:,? +(?:\d{{4}}(?: {CLOCK}{_ZONE})?|{CLOCK}{_ZONE}(?: \d{{4}}{_ZONE})?))(?!\d)"
    rf"|\b{_DAY}\d{{1,2}} {_MONTH} \d{{4}}(?: {CLOCK}{_ZONE})?(?!\d)"
)
"""A date as people and programs write it, perhaps with a time of day."""
DATE_OR_TIME: Final = rf"{DATE}|(?<![\d:.])[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?![\d:])"
RFC_TIME: Final = (
    r"(?<!\d)\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?(?!\d)"
)
EPOCH: Final = r"(?<![0-9A-Za-z.])1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![0-9A-Za-z])"
"""A time of our days as a number of seconds or milliseconds."""
RUN_TIME: Final = (
    r"(?:\bin |\b(?i:took|time|elapsed|real|user|sys):?\s+|\(|\t)"
    r"(?:\d+m)?\d+(?:\.\d+)? ?(?:[mnuµ]s|s|secs?|seconds|milliseconds)\b"
)
TRACE: Final = r"(?<![\w-])[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?![\w-])"
UUID: Final = r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])"
ULID: Final = r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])"
DIGEST: Final = r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{32}|[0-9a-f]{40})(?![0-9A-Za-z])"
ADDRESS: Final = r"(?<![0-9A-Za-z])0x[0-9a-fA-F]{9,16}(?![0-9A-Za-z])"
SERVICE_ID_START: Final = (
    r"call|toolu|msg|chatcmpl|resp|fc|rs|run|req|session|sess|thread|task|item|prompt|user"
)
"""The beginnings of the ids of model services."""
SERVICE_ID: Final = (
    rf"(?<![0-9A-Za-z])(?:{SERVICE_ID_START})[_-](?=[A-Za-z]*\d)[0-9A-Za-z]{{12,}}(?![0-9A-Za-z])"
)
PROCESS_ID: Final = r"(?i:\b(?:p?pids?|pgids?|process(?: group)?(?: id)?)\b)[^\w\n]{0,3}\d+(?!\d)"
"""A process id behind its name."""
PORT: Final = r"(?:localhost|127\.0\.0\.1|\[::1\]):[1-9]\d{4}(?!\d)"
COMMIT: Final = r"\[[\w./-]+(?: \([\w -]+\))? [0-9a-f]{7,12}(?=\])"
"""What git says about a new commit, up to its digest."""
TEMPORARY_PATH: Final = (
    r"(?:(?<![\w.~-])(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T)"
    r"/(?:[\w.+@%-]*\w)"
    r"|(?<!\w)[A-Za-z]:\\Users\\[^\\\n]{1,64}\\AppData\\Local\\Temp\\(?:[\w.+@%-]*\w))"
)
_OUR_DAYS: Final = (1_500_000_000, 2_000_000_000)
"""Seconds that are a time of our days: 2017 to 2033."""


def alternatives(patterns: Mapping[str, str]) -> str:
    """Return the pattern of any of several, each a group with its name."""
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items())


def is_epoch(value: float) -> bool:
    """Return whether a number can be a time of our days, in seconds or milliseconds."""
    return any(_OUR_DAYS[0] * unit <= value < _OUR_DAYS[1] * unit for unit in (1, 1000))


def in_seconds(epoch: float) -> float:
    """Return a time of our days in seconds."""
    return epoch / 1000 if epoch >= _OUR_DAYS[1] else epoch
