"""How steps are written: one deed each, and beside it when and how it is done.

Source: docs/scripted-agent.md, "Steps".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from acp_agent.scripted import course, deeds, output, questions
from acp_agent.scripted.questions import Asking
from acp_agent.scripted.reading.faults import BY_ACCIDENT, FAULTS, hex_bytes, read_faults
from acp_agent.scripted.reading.tables import BIG, Table, kinds, listed, nearest, statuses
from acp_agent.scripted.run import Deed, Step
from acp_agent.scripted.values import members
from acp_agent.scripted.words import CONSENTS, Speaker, shown_text
from acp_protocol.jsonrpc import Json, is_request_id

HOW: Final = ("chance", "repeat", "only", "session", *FAULTS)
"""What may stand beside any deed."""
ASKING: Final = ("expect", "id", "await", "force", "failed")
SPOKEN: Final = ("pieces", "pause", "size", "message", "whole")
SPEAKERS: Final[Mapping[str, Speaker]] = {
    "text": "agent_message",
    "thought": "agent_thought",
    "user": "user_message",
}
PIECES: Final[tuple[deeds.Cut, ...]] = ("words", "characters", "random")
REPEATS: Final = 10_000_000


TOOL: Final = (
    "title",
    "kind",
    "status",
    "text",
    "diff",
    "content",
    "locations",
    "input",
    "output",
    "with",
)
"""What may be said of one."""


def tool_members(table: Table) -> Mapping[str, Json]:
    """Return the members of a tool call in the words of version 1.

    Raises:
        WrongError: something makes no sense.
    """
    told: dict[str, Json] = {}
    if "title" in table:
        told["title"] = table.text("title")
    if "kind" in table:
        told["kind"] = table.known("kind", kinds(), "kind of tool")
    if "status" in table:
        told["status"] = table.known("status", statuses(), "status of a tool call")
    content = [shown_text(text) for text in table.texts("text")]
    if "diff" in table:
        content.append(_diff(table.table("diff")))
    if "content" in table:
        content += table.list("content")
    if content or "content" in table:
        told["content"] = content
    if "locations" in table:
        told["locations"] = [
            {"path": entry} if isinstance(entry, str) else entry
            for entry in table.list("locations")
        ]
    for key, name in {"input": "rawInput", "output": "rawOutput"}.items():
        if key in table:
            told[name] = table.json(key)
    return told | members(table.object("with"))


def _diff(table: Table) -> Json:
    table.allow("path", "old", "new")
    old = {"oldText": table.text("old")} if "old" in table else {}
    return {"type": "diff", "path": table.text("path"), **old, "newText": table.text("new", "")}


def read_steps(table: Table, key: str) -> tuple[Step, ...]:
    """Return the steps of a list; what is wrong with one of them is kept, and the others read."""
    steps: list[Step] = []
    for each in table.tables(key, "step" if key == "steps" else f"`{key}` step"):
        with table.page.bearing():
            steps.append(_read_step(each))
    return tuple(steps)


def _read_step(table: Table) -> Step:
    deed = _read_deed(table)
    only = table.whole("only", most=2) if "only" in table else None
    return Step(
        table.page.at(table.path, table.place),
        deed,
        read_faults(table),
        table.number("chance", 1.0, most=1.0),
        table.whole("repeat", 1, most=REPEATS),
        only,
        table.text_if_any("session"),
    )


def _read_deed(table: Table) -> Deed | None:
    found = [key for key in DEEDS if key in table]
    if not found:
        return _read_accident(table)
    keys, read = _READERS[found[0]]
    for other in found[1:]:
        if other not in keys:
            sentence = f"does `{found[0]}` and `{other}`, and a step does one thing"
            raise table.wrong_itself(sentence)
    table.allow(found[0], *keys, *HOW)
    return read(table)


def _read_accident(table: Table) -> None:
    if not any(key in table for key in BY_ACCIDENT):
        if "delay" in table:
            raise table.wrong("delay", "belongs to a frame; to let time pass, there is `wait`")
        for key in table.members:
            if guess := nearest(key, DEEDS):
                raise table.wrong(key, f"is not known here{guess}")
        raise table.wrong_itself(f"does nothing; it needs {listed(DEEDS)}")
    table.allow("chance", "repeat", "only", *BY_ACCIDENT)


def _say(speaker: str) -> Callable[[Table], Deed]:
    def read(table: Table) -> Deed:
        is_word = isinstance(table.members.get("pieces"), str)
        pieces = table.word("pieces", PIECES) if is_word else table.whole("pieces", 1)
        return deeds.Say(
            SPEAKERS[speaker],
            table.text(speaker),
            pieces,
            table.number("pause", 0.0),
            table.whole("size", most=2**30) if "size" in table else None,
            table.text_if_any("message"),
            table.flag("whole"),
        )

    return read


def _block(table: Table) -> Deed:
    speaker = table.word("by", tuple(SPEAKERS), "text")
    return deeds.ShowBlock(SPEAKERS[speaker], table.object("block"), table.text_if_any("message"))


def _plan(table: Table) -> Deed:
    return deeds.ShowPlan(table.list("plan"))


def _tool(table: Table) -> Deed:
    return deeds.CallTool(table.text("tool"), tool_members(table), table.texts("more"))


def _asking(table: Table, *branches: str) -> Asking:
    id_ = table.members.get("id")
    if not is_request_id(id_):
        raise table.wrong("id", "has to be a text or a whole number")
    return Asking(
        {key: read_steps(table, key) for key in (*branches, "failed") if key in table},
        table.value("expect"),
        id_,
        table.flag("await", default=True),
        table.flag("force"),
    )


def _consent(table: Table) -> Deed:
    call_id = table.text("permission")
    options: list[Json] = []
    for each in table.list("options") if "options" in table else CONSENTS:
        if isinstance(each, str) and each in CONSENTS:
            options.append({"optionId": each, "name": CONSENTS[each], "kind": each})
        elif "optionId" in members(each):
            options.append(each)
        else:
            sentence = f"has to be a list of {listed(tuple(CONSENTS))}, or tables with `optionId`"
            raise table.wrong("options", sentence)
    chosen = table.table("chosen")
    by_option = {option: read_steps(chosen, option) for option in chosen.members}
    title = table.text("title", call_id)
    asking = _asking(table, "allowed", "rejected", "cancelled")
    return questions.AskConsent(call_id, title, tool_members(table), options, by_option, asking)


def _read_file(table: Table) -> Deed:
    extent = {key: table.whole(key, least=0) for key in ("line", "limit") if key in table}
    return questions.ReadFile(table.text("read"), extent, _asking(table, "answered"))


def _write_file(table: Table) -> Deed:
    asking = _asking(table, "answered")
    return questions.WriteFile(table.text("write"), table.text("content", ""), asking)


def _run_command(table: Table) -> Deed:
    command = table.texts("run")
    if not command:
        raise table.wrong("run", "has to hold a command")
    return questions.RunCommand(command, table.text_if_any("tool"), _asking(table, "answered"))


def _elicit(table: Table) -> Deed:
    params: dict[str, Json] = {"message": table.text("elicit")}
    if "url" in table:
        name = table.text("name", "elicitation-1")
        params |= {"mode": "url", "url": table.text("url"), "elicitationId": name}
    else:
        empty: dict[str, Json] = {"type": "object", "properties": {}}
        schema = empty | members(table.object("schema"))
        params |= {"mode": "form", "requestedSchema": schema}
    return questions.Elicit(params, _asking(table, "accepted", "declined", "cancelled"))


def _ask(table: Table) -> Deed:
    params = table.value("params", {})
    return questions.AskAnything(table.text("ask"), params, _asking(table, "answered"))


def _terminal(table: Table) -> Deed:
    return deeds.ShowTerminal(
        table.text("terminal"),
        table.text_if_any("tool"),
        table.text("command", ""),
        table.text("output", ""),
        table.whole("chunk") if "chunk" in table else None,
        table.whole("exit", least=-BIG) if "exit" in table else None,
    )


def _tell(table: Table) -> Deed:
    return output.Notify(table.text("tell"), table.value("params"))


def _mode(table: Table) -> Deed:
    return deeds.ChangeMode(table.text("mode"), table.texts("modes"))


def _commands(table: Table) -> Deed:
    return deeds.ShowCommands(read_commands(table))


def read_commands(table: Table) -> Mapping[str, str]:
    """Return commands and what they do, from a list of names or a table.

    Raises:
        WrongError: they are neither.
    """
    if isinstance(table.members.get("commands"), list | str):
        return {name: name for name in table.texts("commands")}
    inner = table.table("commands")
    return {name: inner.text(name) for name in inner.members}


def _state(table: Table) -> Deed:
    more = table.object("with", {})
    return deeds.ShowState(table.text("state"), more)


def _wait(table: Table) -> Deed:
    match table.members.get("wait"):
        case "cancel":
            return course.WaitFor("cancel")
        case "forever":
            return course.WaitFor("forever")
        case str():
            raise table.wrong("wait", "has to be seconds, `cancel` or `forever`")
        case _:
            return course.Wait(table.number("wait"), table.number("jitter", 0.0))


def _close(table: Table) -> Deed:
    table.word("close", ("stdout",))
    return output.CloseStdout()


def _ways(table: Table, key: str) -> Sequence[Sequence[Step]]:
    found: list[Sequence[Step]] = []
    for number, way in enumerate(table.list(key)):
        if not isinstance(way, list):
            raise table.wrong(key, "has to be a list of lists of steps")
        place = f"{table.place}, `{key}` {number + 1}"
        inner = Table(table.page, {"steps": way}, (*table.path, key, number), place)
        found.append(read_steps(inner, "steps"))
    return found


_Reader: TypeAlias = tuple[tuple[str, ...], Callable[[Table], Deed]]
_READERS: Final[Mapping[str, _Reader]] = {
    "run": (("tool", "answered", *ASKING), _run_command),
    "terminal": (("tool", "command", "output", "chunk", "exit"), _terminal),
    "tool": ((*TOOL, "more"), _tool),
    "permission": (
        (*TOOL, "options", "chosen", "allowed", "rejected", "cancelled", *ASKING),
        _consent,
    ),
    "read": (("line", "limit", "answered", *ASKING), _read_file),
    "write": (("content", "answered", *ASKING), _write_file),
    "elicit": (("schema", "url", "name", "accepted", "declined", "cancelled", *ASKING), _elicit),
    "ask": (("params", "answered", *ASKING), _ask),
    "tell": (("params",), _tell),
    "text": (SPOKEN, _say("text")),
    "thought": (SPOKEN, _say("thought")),
    "user": (SPOKEN, _say("user")),
    "block": (("by", "message"), _block),
    "plan": ((), _plan),
    "update": ((), lambda table: deeds.Update(table.object("update"))),
    "mode": (("modes",), _mode),
    "commands": ((), _commands),
    "state": (("with",), _state),
    "title": ((), lambda table: deeds.Rename(table.text("title"))),
    "frame": ((), lambda table: output.SendFrame(table.value("frame"))),
    "line": ((), lambda table: output.WriteText(table.text("line"), newline=True)),
    "raw": ((), lambda table: output.WriteText(table.text("raw"), newline=False)),
    "hex": ((), lambda table: output.WriteBytes(hex_bytes(table, "hex"))),
    "stderr": ((), lambda table: output.Complain(table.text("stderr"))),
    "wait": (("jitter",), _wait),
    "close": ((), _close),
    "batch": ((), lambda table: course.Batch(read_steps(table, "batch"))),
    "one_of": ((), lambda table: course.OneOf(_ways(table, "one_of"))),
    "beside": ((), lambda table: course.Beside(_ways(table, "beside"))),
    "steps": ((), lambda table: course.Group(read_steps(table, "steps"))),
}
"""What may stand beside each deed, and what reads it.

Of several that stand in a step, the first in this order is its deed.
"""
DEEDS: Final = tuple(_READERS)
"""What a step can do, one word each."""
