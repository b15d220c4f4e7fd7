"""What a client did for an agent: files written and commands started, and whether it was asked.

An agent may do so without a permission request, or after one about something else. What it writes
or runs by itself is not seen here.

Source: ACP, File System; Terminals.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from acp_inspector.session.conversation import Conversation, ConversationChange
from acp_inspector.session.items import Effect, PermissionRequest, ToolCallItem
from acp_protocol.json_values import as_texts, descendants, get_list, get_string
from acp_protocol.jsonrpc import Json, Request
from acp_protocol.schema.vocabulary import EFFECT_KINDS, HARMLESS_KINDS

EFFECTS: Final = {"fs/write_text_file": "write", "terminal/create": "run"}
"""The requests that have effects, with what they do."""
_KINDS: Final = {"write": EFFECT_KINDS - {"execute"}, "run": frozenset({"execute"})}
"""The kinds of calls that an "always" of the user covers."""
MAX_COMMAND: Final = 1 << 14
"""Characters of a text that are taken apart into the words of a command, at most."""
_SHELL: Final = re.compile(r"(?:.*[/\\])?(?:\w*sh|pwsh|powershell)(?:\.exe)?", re.IGNORECASE)
_SHELL_FLAGS: Final = re.compile(r"-\w*c")


def note_effect(talk: Conversation, request: Request) -> list[ConversationChange]:
    """Add an item for a file that was written, or a command that was started, without asking."""
    does, names = EFFECTS[request.method], list(_names(talk, request))
    if not names or any(_covers(call, does, names, talk) for call in talk.allowed):
        return []
    verb = "wrote" if does == "write" else "ran"
    text = f"{verb} {names[0]} without asking"
    effect = Effect(talk.next_key(Effect.key_prefix), text, talk.cursor.n)
    effect.path = names[0] if does == "write" else ""
    return [talk.add(effect)]


def _names(talk: Conversation, request: Request) -> Iterator[str]:
    """Yield what a permission request may call a file or a command; its full name is first."""
    params = request.params
    if request.method == "fs/write_text_file":
        path = get_string(params, "path")
        if path:
            yield path
        for flavour in (PurePosixPath, PureWindowsPath) if talk.info.cwd else ():
            pure = flavour(path)
            if pure.is_absolute() and pure.is_relative_to(talk.info.cwd or ""):
                yield str(pure.relative_to(talk.info.cwd or ""))
        return
    words = [get_string(params, "command"), *(str(each) for each in get_list(params, "args"))]
    if not words[0]:
        return
    yield " ".join(words)
    yield shlex.join(words)
    flag = next((at for at, word in enumerate(words) if _SHELL_FLAGS.fullmatch(word)), len(words))
    if _SHELL.fullmatch(words[0]) and flag == len(words) - 2:
        # What a shell runs.
        yield words[-1]


def _covers(call: ToolCallItem, does: str, names: Sequence[str], talk: Conversation) -> bool:
    """Return whether a call that was allowed is one that does this."""
    permission = next((each for each in reversed(call.permissions) if is_allowed(each)), None)
    if permission is None or permission.answered is None:
        return False
    # What the agent says of it afterwards was not asked about.
    call = call.at(permission.answered)
    others = HARMLESS_KINDS | _KINDS["write"] if does == "run" else HARMLESS_KINDS
    if call.facts.kind in others:
        return False
    if _chosen_kind(permission) == "allow_always" and call.facts.kind in _KINDS[does]:
        return True
    turn = talk.turns[-1] if talk.turns else None
    if turn is not None and permission.requested < turn.began:
        return False
    patterns = [re.compile(rf"(?<![\w./\\-]){re.escape(name)}(?![\w/\\-])") for name in names]
    facts = call.facts
    shown = _strings([facts.title, facts.raw_input, list(facts.locations), call.content])
    texts = (text for each in shown for text in (each, *(_unquoted(each) if does == "run" else ())))
    return any(each.search(text) for text in texts for each in patterns)


def _unquoted(command: str) -> Iterator[str]:
    """Yield a command with its words quoted as in `_names`; nothing if it is none."""
    if len(command) <= MAX_COMMAND:
        try:
            yield shlex.join(shlex.split(command))
        except ValueError:
            return


def is_allowed(permission: PermissionRequest) -> bool:
    return _chosen_kind(permission).startswith("allow")


def _chosen_kind(permission: PermissionRequest) -> str:
    chosen = get_string(permission.outcome, "optionId")
    kinds = {get_string(each, "optionId"): get_string(each, "kind") for each in permission.options}
    return kinds.get(chosen, "") if chosen else ""


def _strings(value: Json) -> Iterator[str]:
    """Yield all texts in a value; a list of words also as one."""
    for each in descendants(value):
        if isinstance(each, str):
            yield each
        elif words := as_texts(each):
            yield " ".join(words)
