"""How faults are written, behind a step, an answer, or for any frame.

Source: docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeAlias

from acp_agent.scripted import faults
from acp_agent.scripted.aims import Aim, Mishap
from acp_agent.scripted.faults import ENDINGS, SPELLINGS, Damage, Fault
from acp_agent.scripted.reading.tables import LONG, Table, listed, updates
from acp_agent.scripted.wire import Crash, Hang, Sort
from acp_protocol.schema.methods import METHODS

AIM: Final = ("method", "update", "of", "after", "first", "every", "probability")
SORTS: Final[tuple[Sort, ...]] = ("request", "notification", "answer")
DAMAGES: Final[tuple[Damage, ...]] = ("flip", "replace")
COPIES: Final = 1000
"""How often a frame may leave, at most."""
OTHERS: Final = 10_000
"""Frames that may overtake one, at most."""
HUGE: Final = 2**30
"""Bytes to which a line may be made longer."""
PATIENCE: Final = 600.0
"""Seconds that a process hangs, unless the scenario says how long."""
OVERTAKEN: Final = 5.0
"""Seconds that a frame waits for others to overtake it, as in rules of the proxy."""
PAUSE: Final = 0.001
"""Seconds between pieces: without any, a pipe would put them together again."""
BY_ACCIDENT: Final = ("noise", "crash", "hang")
"""Faults that a step may consist of, because they need no frame."""


def read_faults(table: Table) -> tuple[Fault, ...]:
    """Return the faults of a table, in the order in which they are written.

    Raises:
        WrongError: one of them makes no sense.
    """
    return tuple(_READERS[key][2](_inner(table, key)) for key in table.members if key in _READERS)


def read_mishap(table: Table, seed: int) -> Mishap:
    """Return the faults of a table, and the frames that they strike.

    Raises:
        WrongError: something makes no sense.
    """
    table.allow(*AIM, *FAULTS)
    found = read_faults(table)
    if not found:
        raise table.wrong_itself(f"does nothing; it needs {listed(FAULTS)}")
    named = sorted({row.name for row in METHODS})
    aim = Aim(
        table.known("method", named, "method") if "method" in table else None,
        table.known("update", updates(), "update") if "update" in table else None,
        table.word("of", SORTS) if "of" in table else None,
        table.whole("after", 0, least=0),
        table.whole("first") if "first" in table else None,
        table.whole("every", 1),
        table.number("probability", 1.0, most=1.0),
    )
    # A string is hashed alike in every run; this is not about secrets.
    return Mishap(aim, found, Random(f"{seed}/{table.place}"))  # noqa: S311


def _inner(table: Table, key: str) -> Table:
    main, keys, _ = _READERS[key]
    inner = table.table(key, main or "true")
    if not main and inner.members:
        raise table.wrong(key, "has to be `true`")
    inner.allow(*keys)
    return inner


def _delay(table: Table) -> Fault:
    # Together they stay below what a single wait may be.
    most = LONG / 2
    return faults.Delay(table.number("seconds", most=most), table.number("jitter", 0.0, most=most))


def _reorder(table: Table) -> Fault:
    of = table.word("of", SORTS) if "of" in table else None
    seconds = table.number("seconds", OVERTAKEN)
    return faults.Reorder(table.whole("frames", 1, most=OTHERS), of, seconds)


def _split(table: Table) -> Fault:
    pause = table.number("pause", PAUSE)
    if table.members.get("bytes") == "characters":
        return faults.InPieces("characters", pause)
    return faults.InPieces(table.whole("bytes"), pause)


def _throttle(table: Table) -> Fault:
    return faults.Throttle(table.whole("rate"))


def _corrupt(table: Table) -> Fault:
    return faults.Corrupt(table.whole("bytes", 1), table.word("mode", DAMAGES, "flip"))


def _noise(table: Table) -> Fault:
    newline = table.flag("newline", default=True)
    if "hex" in table:
        return faults.Noise(hex_bytes(table, "hex"), newline)
    text = table.text_if_any("text")
    return faults.Noise(None if text is None else text.encode(), newline)


def _ending(table: Table) -> Fault:
    return faults.Ending(ENDINGS[table.word("as", tuple(ENDINGS))])


def _length(table: Table) -> Fault:
    by = table.whole("by", least=-HUGE, most=HUGE)
    if table.page.framing == "lines":
        sentence = 'needs a header: write `framing = "content-length"` at the top of the file'
        raise table.wrong_itself(sentence)
    return faults.WrongLength(by)


def _spelling(table: Table) -> Fault:
    return faults.Spelling(table.word("as", SPELLINGS))


def _crash(table: Table) -> Fault:
    if "signal" in table:
        return faults.Meets(Crash(signal=_signal(table, table.text("signal"), "signal")))
    code = table.members.get("code", 1)
    if isinstance(code, str):
        return faults.Meets(Crash(signal=_signal(table, code, "code")))
    return faults.Meets(Crash(code=table.whole("code", 1, least=0, most=255)))


def _hang(table: Table) -> Fault:
    ignored = tuple(_signal(table, name, "ignore") for name in table.texts("ignore"))
    return faults.Meets(Hang(table.number("seconds", PATIENCE), ignored))


def _signal(table: Table, text: str, key: str) -> signal.Signals:
    try:
        return signal.Signals[f"SIG{text.removeprefix('SIG')}"]
    except KeyError:
        raise table.wrong(key, "is no signal here; try `KILL`, `TERM` or `SEGV`") from None


def hex_bytes(table: Table, key: str) -> bytes:
    """Return the bytes that a text writes in pairs of hexadecimal digits.

    Raises:
        WrongError: it does not.
    """
    try:
        return bytes.fromhex(table.text(key))
    except ValueError:
        raise table.wrong(key, "has to be bytes like `ff fe 0a`") from None


_Reader: TypeAlias = tuple[str, tuple[str, ...], Callable[[Table], Fault]]
_READERS: Final[Mapping[str, _Reader]] = {
    "delay": ("seconds", ("seconds", "jitter"), _delay),
    "drop": ("", (), lambda table: faults.Drop()),
    "duplicate": (
        "times",
        ("times",),
        lambda table: faults.Duplicate(table.whole("times", 2, least=2, most=COPIES)),
    ),
    "reorder": ("frames", ("frames", "of", "seconds"), _reorder),
    "split": ("bytes", ("bytes", "pause"), _split),
    "throttle": ("rate", ("rate",), _throttle),
    "cut": ("bytes", ("bytes",), lambda table: faults.Cut(table.whole("bytes", least=0))),
    "corrupt": ("bytes", ("bytes", "mode"), _corrupt),
    "invalid": ("", (), lambda table: faults.Invalid()),
    "noise": ("text", ("text", "hex", "newline"), _noise),
    "ending": ("as", ("as",), _ending),
    "length": ("by", ("by",), _length),
    "spelling": ("as", ("as",), _spelling),
    "pad": ("bytes", ("bytes",), lambda table: faults.Pad(table.whole("bytes", most=HUGE))),
    "nest": ("depth", ("depth",), lambda table: faults.Nest(table.whole("depth", most=HUGE))),
    "crash": ("code", ("code", "signal"), _crash),
    "hang": ("seconds", ("seconds", "ignore"), _hang),
}
"""The member that a value alone stands for, all members, and what reads them."""
FAULTS: Final = tuple(_READERS)
"""What can go wrong with a frame, one word each."""
