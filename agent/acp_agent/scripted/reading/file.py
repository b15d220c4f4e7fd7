"""The file in which a scenario is written.

Source: docs/scripted-agent.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from acp_agent.config.source import InvalidFileError, decode_text, parse_toml
from acp_agent.scripted.aims import Mishap
from acp_agent.scripted.reading.faults import FAULTS, read_faults, read_mishap
from acp_agent.scripted.reading.steps import DEEDS, read_commands, read_steps
from acp_agent.scripted.reading.tables import (
    BIG,
    SHOWN,
    Page,
    Table,
    stop_reasons,
)
from acp_agent.scripted.scenario import (
    PROMPT,
    WRONG_IDS,
    Answer,
    Card,
    Reaction,
    Saved,
    Scenario,
)
from acp_agent.scripted.speech import FRAMINGS, speech_of
from acp_agent.scripted.values import entries
from acp_protocol.dialects.names import BATCHES, SPOKEN
from acp_protocol.framing import Framing
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import METHODS

TOP: Final = (
    *("seed", "protocol", "framing", "dialect"),
    *("agent", "on", "prompt", "fault", "session", "start", "end"),
)
DIALECTS: Final = tuple(name for name in SPOKEN if name != BATCHES)
"""Ways to say what version 1 says; the draft with batches is none of those."""
ANSWER: Final = ("result", "with", "error", "id", *FAULTS)
ON: Final = ("nth", "times", "expect", "steps", "after", "required", *ANSWER)
PROMPTS: Final = ("contains", "matches", "stop", "cancel", "echo")
CARD: Final = (
    "name",
    "title",
    "version",
    "capabilities",
    "auth",
    "wants_login",
    "modes",
    "commands",
    "options",
    "page",
    "strict",
)
_PATHS: Final = (PurePosixPath, PureWindowsPath)


def load_scenario(path: FilePath, seed: int | None = None) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario of a file, and remarks on what is perhaps not meant.

    `seed` goes before the one in the file.

    Raises:
        InvalidFileError: the file cannot be read, or something in it makes no sense.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidFileError(f"{path} cannot be read: {error.strerror}") from None
    text = decode_text(str(path), content)
    return read_scenario(text, str(path), seed)


def read_scenario(
    text: str, name: str = "scenario", seed: int | None = None
) -> tuple[Scenario, Sequence[str]]:
    """Return the scenario that `text` spells, and remarks on what is perhaps not meant.

    Raises:
        InvalidFileError: something makes no sense; the message tells all of it.
    """
    source = parse_toml(FilePath(name), text)
    members = source.tree
    page = Page(name, source.lines)
    if not members:
        page.remarks.append(f"{name}: it says nothing, and a good agent is played")
    scenarios: list[Scenario] = []
    with page.bearing():
        scenarios.append(_read_top(Table(page, members, (), ""), seed))
    if page.complaints:
        raise InvalidFileError(page.told())
    return scenarios[0], page.remarks


def _read_top(top: Table, wanted_seed: int | None) -> Scenario:
    with top.page.bearing():
        top.allow(*TOP)
    newest, seed, card = 1, wanted_seed or 0, Card()
    dialect: str | None = None
    with top.page.bearing():
        newest = top.whole("protocol", 1, most=2)
    with top.page.bearing():
        dialect = _read_dialect(top, newest)
    framing: Framing | None = None
    with top.page.bearing():
        framing = FRAMINGS[top.word("framing", tuple(FRAMINGS))] if "framing" in top else None
        top.page.framing = speech_of(framing, dialect).framing
    with top.page.bearing():
        seed = top.whole("seed", 0, least=-BIG) if wanted_seed is None else wanted_seed
    with top.page.bearing():
        card = _read_card(top.table("agent"))
    reactions: list[Reaction] = []
    for table in top.tables("on", "on"):
        with top.page.bearing():
            reactions.append(_read_on(table))
    for table in top.tables("prompt", "prompt"):
        with top.page.bearing():
            reactions.append(_read_prompt(table))
    sessions: list[Saved] = []
    for table in top.tables("session", "session"):
        with top.page.bearing():
            saved = _read_session(table)
            if any(each.id == saved.id for each in sessions):
                raise table.wrong("id", "is that of another session")
            sessions.append(saved)
    mishaps: list[Mishap] = []
    for table in top.tables("fault", "fault"):
        with top.page.bearing():
            mishaps.append(read_mishap(table, seed))
    return Scenario(
        top.page.name,
        seed,
        newest,
        framing,
        dialect,
        card,
        reactions,
        mishaps,
        sessions,
        read_steps(top, "start"),
        read_steps(top, "end"),
    )


def _read_dialect(top: Table, newest: int) -> str | None:
    dialect = top.word("dialect", DIALECTS) if "dialect" in top else None
    if dialect is not None and newest > 1:
        raise top.wrong("dialect", f"has only version 1, and `protocol` is {newest}")
    return dialect


def _read_card(table: Table) -> Card:
    with table.page.bearing():
        table.allow(*CARD)
    usual = Card()
    if table.members.get("name") == "":
        table.remark("name", "is empty")
    modes = table.texts("modes")
    if twice := [mode for at, mode in enumerate(modes) if mode in modes[:at]]:
        table.remark("modes", f"has `{one_line(twice[0], SHOWN)}` twice")
    return Card(
        table.text("name", usual.name),
        table.text("title", usual.title),
        table.text("version", usual.version),
        table.object("capabilities"),
        table.objects("auth", "id", "methodId"),
        table.flag("wants_login"),
        modes,
        read_commands(table),
        table.objects("options", "id", "configId"),
        table.whole("page") if "page" in table else None,
        table.flag("strict", default=True),
    )


def _allow(table: Table, *known: str) -> None:
    """Refuse keys that are not known, and above all those of a step that stands in none."""
    for key in table.members:
        if key in DEEDS and key not in known:
            raise table.wrong(key, f"belongs to a step: `steps = [{{ {key} = … }}]`")
    table.allow(*known)


def _read_on(table: Table) -> Reaction:
    _allow(table, "method", *ON)
    methods = sorted({row.name for row in METHODS if row.sent_by != "agent"})
    method = table.text("method")
    table.place += f" ({method})"
    table.known("method", methods, "method of a client")
    if method == PROMPT:
        raise table.wrong("method", "is written as `[[prompt]]`")
    return _read_reaction(table, method)


def _read_prompt(table: Table) -> Reaction:
    _allow(table, *PROMPTS, *ON)
    reaction = _read_reaction(table, PROMPT)
    reaction.contains = table.text_if_any("contains")
    if "matches" in table:
        try:
            reaction.pattern = re.compile(table.text("matches"))
        except re.error as problem:
            raise table.wrong("matches", f"is no pattern: {problem}") from None
    if table.members.get("stop") is False:
        reaction.stop = None
    elif "stop" in table:
        reaction.stop = table.known("stop", stop_reasons(), "stop reason")
    if table.members.get("cancel") == "ignore":
        reaction.heeds_cancel = False
    elif isinstance(table.members.get("cancel"), str):
        raise table.wrong("cancel", "has to be `ignore`, or steps to play then")
    else:
        reaction.cancelled = read_steps(table, "cancel")
    reaction.echoes = table.flag("echo", default=True)
    return reaction


def _read_reaction(table: Table, method: str) -> Reaction:
    nth = table.members.get("nth", [])
    numbers = entries(nth) if isinstance(nth, list) else [nth]
    if not all(type(number) is int and number >= 1 for number in numbers):
        raise table.wrong("nth", "has to be a whole number from 1 on, or a list of them")
    return Reaction(
        table.page.at(table.path, table.place),
        method,
        nth=tuple(numbers),
        times=table.whole("times") if "times" in table else None,
        expected=_read_expected(table),
        steps=read_steps(table, "steps"),
        has_steps="steps" in table,
        after=read_steps(table, "after"),
        answer=_read_answer(table),
        is_required=table.flag("required"),
    )


def _read_expected(table: Table) -> Json:
    expected = table.value("expect")
    is_name = isinstance(expected, str) and expected.startswith("$")
    if expected is None or is_name or expected.__class__ in {dict, list}:
        return expected
    raise table.wrong("expect", "has to be a table, as the params are")


def _read_answer(table: Table) -> Answer:
    said = [key for key in ("result", "error") if key in table]
    if len(said) > 1:
        raise table.wrong_itself("is answered with `result` or with `error`, not with both")
    error: Json = None
    if "error" in table:
        inner = table.table("error")
        inner.allow("code", "message", "data")
        error = {
            "code": inner.whole("code", -32603, least=-BIG),
            "message": inner.text("message", "Internal error"),
        }
        error |= {"data": inner.json("data")} if "data" in inner else {}
    return Answer(
        "result" in table,
        table.value("result"),
        table.object("with"),
        error,
        table.word("id", WRONG_IDS) if "id" in table else None,
        read_faults(table),
    )


def _read_session(table: Table) -> Saved:
    _allow(table, "id", "cwd", "title", "updated_at", "steps")
    cwd = table.text_if_any("cwd")
    if cwd is not None and not any(kind(cwd).is_absolute() for kind in _PATHS):
        table.remark("cwd", "is no absolute path")
    return Saved(
        table.text("id"),
        cwd,
        table.text_if_any("title"),
        table.text_if_any("updated_at"),
        read_steps(table, "steps"),
    )
