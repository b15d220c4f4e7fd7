"""One defect for each case for clients: what is wrong, and the cases that must notice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from acp_inspector.conformance.client.judge import client_suite
from acp_inspector.conformance.client.stage import Persona
from acp_inspector.conformance.model import Profile
from tests.inspector.conformance.agent_defects import (
    BATCH_EDITS,
    DROP,
    SEEN_BESIDE,
    change,
    for_id,
    in_array,
    line,
    written,
)
from tests.inspector.conformance.judging import AnyProfile
from tests.inspector.conformance.scripted_agent import Defect, Edit, Message


@dataclass(frozen=True)
class ClientDefect:
    """A defect, and the persona that meets it."""

    persona: Persona
    defect: Defect
    only: tuple[AnyProfile, ...] = ()
    """The profiles in which it is played; empty: the stable ones that know one of its cases."""

    @property
    def profiles(self) -> tuple[AnyProfile, ...]:
        cases = client_suite().cases
        known = {each for id_ in self.defect.cases.split() for each in cases[id_].profiles}
        return self.only or tuple(each for each in ("v1", "v2") if each in known)


def flag(persona: Persona, names: str, *cases: str, only: tuple[Profile, ...] = ()) -> ClientDefect:
    """Return a defect of the client's behaviour."""
    return ClientDefect(persona, Defect(" ".join(cases), flags=frozenset(names.split())), only)


def sent(
    edit: Edit,
    *cases: str,
    persona: Persona = "well-behaved",
    only: tuple[Profile, ...] = (),
) -> ClientDefect:
    """Return a defect of what the client writes."""
    return ClientDefect(persona, Defect(" ".join(cases), edit), only)


def alone(found: ClientDefect) -> ClientDefect:
    """Mark a defect that lets a wait run out: only its own cases are played."""
    found.defect.is_alone = True
    return found


WELL: Persona = "well-behaved"
PROMPT = "request session/prompt"


def once(tag: str, extra: Any) -> Edit:
    """Send something more after the messages with a tag."""
    return written(tag, lambda message: [message, extra])


def renamed(message: Message) -> Message:
    return message | {"id": str(message["id"])}


ONLY_BATCHES: tuple[AnyProfile, ...] = ("v2-batch",)

DEFECTS: dict[str, ClientDefect] = {
    **{
        name: ClientDefect(
            "hostile", Defect(cases, edit, is_alone=name not in SEEN_BESIDE), ONLY_BATCHES
        )
        for name, (edit, cases) in BATCH_EDITS.items()
    },
    "notifications get an array": ClientDefect(
        "hostile",
        Defect(
            "batch.only-notifications batch.filled",
            flags=frozenset({"answers-nothing"}),
            is_alone=True,
        ),
        ONLY_BATCHES,
    ),
    "updates get an array": ClientDefect(
        WELL,
        Defect("batch.updates batch.filled", flags=frozenset({"answers-nothing"}), is_alone=True),
        ONLY_BATCHES,
    ),
    "permission of an array comes alone": ClientDefect(
        WELL,
        Defect(
            "batch.permission",
            in_array("batch-permission", lambda array: [line(each) for each in array]),
            is_alone=True,
        ),
        ONLY_BATCHES,
    ),
    "session is opened in an array": ClientDefect(
        WELL,
        Defect(
            "batch.lifecycle",
            written("request session/new", lambda message: b"[" + line(message) + b"]"),
            is_alone=True,
        ),
        ONLY_BATCHES,
    ),
    "unknown method": sent(
        change("error session/levitate", ("error.code", -32603)), "requests.unknown-method"
    ),
    "unknown extension": sent(
        change("error _example.org/levitate", ("error.code", -32603)), "requests.unknown-extension"
    ),
    "text id": alone(
        sent(
            for_id("00000000-0000-4000-8000-00000000c0de", lambda m: m | {"id": "x"}),
            "requests.text-id",
        )
    ),
    "digits id": alone(sent(for_id("4711", lambda m: m | {"id": 4711}), "requests.digits-id")),
    "large id": alone(
        sent(for_id(9007199254740991, lambda m: m | {"id": 9007199254740992}), "requests.large-id")
    ),
    "many": alone(
        sent(
            written("error _conform/many", lambda m: None if m["id"] % 7 == 0 else m),
            "requests.many",
        )
    ),
    "unchecked": sent(
        written(
            "error session/request_permission",
            lambda m: {"id": m["id"], "result": {"outcome": {"outcome": "cancelled"}}},
        ),
        "requests.params-missing",
    ),
    "answers unknown": flag(
        WELL, "answers-unknown", "elicitation.unknown-complete", "requests.unknown-notification"
    ),
    "no capabilities": ClientDefect(
        WELL,
        Defect(
            "initialize.capabilities",
            change(
                "request initialize",
                ("params.clientCapabilities", DROP),
                ("params.capabilities", DROP),
            ),
            frozenset({"bare"}),
        ),
    ),
    "answers late": flag("slow", "cancels answers-late", "slow.late-updates"),
    "answers meta": flag(WELL, "answers-meta", "requests.meta"),
    "answers cancel": flag(
        WELL, "answers-cancel", "cancel-request.unknown", "requests.unknown-notification"
    ),
    "drops cancelled": alone(
        sent(
            written("result session/request_permission", lambda m: None),
            "cancel-request.permission",
        )
    ),
    "flat outcome": sent(
        change("result session/request_permission", ("result.outcome", "allow")),
        "permission.odd-ids",
        "permission.only-reject",
        "permission.outcome",
    ),
    "always allows": flag(
        WELL, "always-allows", "permission.odd-ids", "permission.only-reject", "permission.outcome"
    ),
    "plain ids": flag(WELL, "plain-ids", "permission.odd-ids", "permission.outcome"),
    "needs file": flag(
        WELL,
        "needs-file",
        "files.read-back",
        "files.read-part",
        "files.write-new",
        "files.write-over",
    ),
    "ascii": flag(WELL, "ascii", "files.read-back"),
    "from 0": flag(WELL, "from-0", "files.read-part"),
    "appends": flag(WELL, "appends", "files.write-over"),
    "missing code": flag(WELL, "missing-code", "files.missing"),
    "any path": flag(WELL, "any-path", "files.relative"),
    "serves reads": flag(
        WELL,
        "bare serves",
        "files.read-not-offered",
        "files.write-not-offered",
        "terminal.not-offered",
        "elicitation.not-offered",
        "elicitation.unknown-mode",
    ),
    "no output": flag(WELL, "no-output", "terminal.runs"),
    "exit 0": flag(WELL, "exit-0", "terminal.exit-code"),
    "always exited": flag(WELL, "always-exited", "terminal.at-once"),
    "kill releases": flag(WELL, "kill-releases", "terminal.kill"),
    "keeps": flag(WELL, "keeps", "terminal.released"),
    "no limit": flag(WELL, "no-limit", "terminal.limit"),
    "no variables": flag(WELL, "no-env", "terminal.environment"),
    "one terminal": flag(WELL, "one-terminal", "terminal.own-ids"),
    "any terminal": flag(WELL, "any-terminal", "terminal.unknown"),
    "action": sent(
        change("result elicitation/create", ("result.action", "maybe")), "elicitation.form"
    ),
    "any mode": flag(WELL, "any-mode", "elicitation.unknown-mode"),
    # Personas
    "flood": flag("chatty", "dies-of-flood", "chatty.flood"),
    "length": flag("chatty", "dies-of-length", "chatty.long"),
    "plans": flag("chatty", "answers-plans", "chatty.every-update"),
    "calls": flag("chatty", "dies-of-calls", "chatty.many-calls"),
    "hasty": flag("slow", "hasty", "slow.initialize"),
    "eager": flag("slow", "eager", "session.known", "slow.new-session", "slow.one-prompt"),
    "leaves": flag("slow", "leaves", "slow.patient"),
    "two prompts": flag("slow", "two-prompts", "slow.one-prompt"),
    "no prompt": flag("out-of-order", "no-prompt", "order.update-first"),
    "early": flag("out-of-order", "dies-of-early", "order.update-before-call"),
    "needs call": flag("out-of-order", "needs-call", "order.permission-before-call"),
    "two permissions": sent(
        written(
            "result session/request_permission",
            lambda m: json.loads(json.dumps(m).replace("yes-two", "yes-one")),
        ),
        "order.two-permissions",
        persona="out-of-order",
    ),
    "back": flag("out-of-order", "dies-of-back", "order.status-back"),
    "garbage": flag("hostile", "dies-of-garbage", "hostile.garbage"),
    "blanks": flag("hostile", "dies-of-blanks", "hostile.blank"),
    "bytes": flag("hostile", "dies-of-bytes", "hostile.no-utf8"),
    "no message": flag("hostile", "dies-of-no-message", "hostile.no-message"),
    "response": flag("hostile", "dies-of-response", "hostile.unknown-response"),
    "depth": flag("hostile", "dies-of-depth", "hostile.deep"),
    "no parse error": alone(flag("hostile", "no-parse-error", "hostile.parse-error")),
    "arrays": flag("hostile", "reads-arrays", "hostile.array"),
    "any jsonrpc": flag("hostile", "any-jsonrpc", "hostile.jsonrpc-1"),
    "invents": flag("hostile", "invents unchecked", "hostile.no-options"),
    "confetti": flag("hostile", "dies-of-confetti", "hostile.unknown-update"),
    "broken": flag("hostile", "dies-of-broken", "hostile.broken-update"),
    "strangers": flag("hostile", "dies-of-strangers", "hostile.unknown-session"),
    "controls": flag("hostile", "dies-of-controls", "hostile.control-characters"),
    "stays": alone(flag("dying", "stays", "dying.leaves")),
    "login only": flag("login", "login-only", "login.known-method"),
    "any version": flag("future", "any-version", "future.leaves"),
    "serves old": flag(WELL, "serves-old", "methods.of-version-1"),
    "parts": flag("out-of-order", "dies-of-parts", "order.part-before-call"),
    "custom": flag("hostile", "dies-of-custom", "hostile.custom-values"),
    "ends early": flag("slow", "leaves-early", "slow.patient", only=("v2",)),
    # Rules
    "two on a line": sent(
        once("request session/list", line({"method": "_x/y"}) + line({"method": "_x/y"})),
        "frames.one-json-text",
    ),
    "latin-1": sent(
        once(
            "request session/list",
            line({"method": "_x/y", "params": {"a": "hello"}}).replace(b"hello", b"h\xe9llo"),
        ),
        "frames.utf8",
    ),
    "headers": sent(
        written("request session/list", lambda m: [b"Content-Length: 99\r", b"\r", m]),
        "frames.no-headers",
    ),
    "array": sent(
        once("request session/list", b'[{"jsonrpc":"2.0","method":"_x/y"}]'), "frames.objects"
    ),
    "jsonrpc 1": sent(
        once("request session/list", line({"method": "_x/y"}).replace(b"2.0", b"1.0")),
        "envelope.jsonrpc",
    ),
    "two kinds": sent(
        once("request session/list", {"id": 77, "method": "_x/y", "result": {}}),
        "envelope.one-kind",
    ),
    "id fraction": sent(once("request session/list", {"id": 1.5, "method": "_x/y"}), "envelope.id"),
    "params list": sent(
        once("request session/list", {"method": "session/cancel", "params": [1]}), "envelope.params"
    ),
    "id again": alone(
        sent(
            written(PROMPT, lambda m: [m, {"id": m["id"], "method": "_x/y"}]), "envelope.id-unique"
        )
    ),
    "response id": sent(
        once("request session/list", {"id": "nobody", "result": {}}), "envelope.response-id"
    ),
    "responds twice": sent(
        written("error _conform/many", lambda m: [m, m]), "envelope.one-response"
    ),
    "error text": sent(
        once("request session/list", {"id": None, "error": {"code": -32600}}), "envelope.error"
    ),
    "own method": sent(
        once("request session/list", {"method": "session/applause", "params": {}}), "methods.known"
    ),
    "direction": sent(
        once(
            "request session/list",
            {"id": 501, "method": "session/request_permission", "params": {}},
        ),
        "methods.direction",
    ),
    "cancel with id": sent(
        once(
            "request session/list",
            {"id": 502, "method": "session/cancel", "params": {"sessionId": "session-1"}},
        ),
        "methods.notifications",
    ),
    "list without id": sent(
        once("request session/list", {"method": "session/list", "params": {}}), "methods.requests"
    ),
    "no release": sent(
        written(
            "result terminal/release",
            lambda m: {"id": m["id"], "error": {"code": -32601, "message": "No"}},
        ),
        "methods.baseline",
        "terminal.at-once",
        "terminal.environment",
        "terminal.exit-code",
        "terminal.kill",
        "terminal.limit",
        "terminal.own-ids",
        "terminal.released",
        "terminal.runs",
        only=("v1",),
    ),
    "no permissions": sent(
        written(
            "result session/request_permission",
            lambda m: {"id": m["id"], "error": {"code": -32601, "message": "No"}},
        ),
        "methods.baseline",
        "permission.odd-ids",
        "permission.only-reject",
        "permission.outcome",
    ),
    "read number": sent(
        once("request session/list", {"id": 504, "method": "session/list", "params": {"cwd": 7}}),
        "methods.schema",
    ),
    "version text": sent(
        change("request initialize", ("params.protocolVersion", "1")), "initialize.version"
    ),
    "boolean object": sent(
        change("request initialize", ("params.clientCapabilities.terminal", {})),
        "initialize.booleans",
    ),
    "relative cwd": sent(
        change("request session/new", ("params.cwd", "here")),
        "files.missing",
        "files.read-back",
        "files.read-part",
        "files.write-new",
        "files.write-over",
        "session.cwd",
        "terminal.environment",
    ),
    "no servers": sent(
        change("request session/new", ("params.mcpServers", DROP)), "session.servers"
    ),
    "server fields": sent(
        change(
            "request session/new",
            ("params.mcpServers", [{"name": "x", "command": "/bin/x", "args": []}]),
        ),
        "session.server-fields",
        only=("v1",),
    ),
    "server pairs": sent(
        change(
            "request session/new",
            (
                "params.mcpServers",
                [{"type": "stdio", "name": "x", "command": "/bin/x", "env": {"A": "b"}}],
            ),
        ),
        "session.server-fields",
        only=("v2",),
    ),
    "unknown session": sent(
        once(
            "request session/list", {"method": "session/cancel", "params": {"sessionId": "nobody"}}
        ),
        "session.known",
    ),
    "roots": sent(
        change("request session/new", ("params.additionalDirectories", ["/home/ada"])),
        "session.roots",
    ),
    "prompt text": sent(change(PROMPT, ("params.prompt", "hello")), "prompt.blocks"),
    "block text": sent(change(PROMPT, ("params.prompt.0.text", DROP)), "prompt.fields"),
    "message id": sent(change(PROMPT, ("params.messageId", "m")), "prompt.no-message-id"),
    "cancelled yes": sent(
        written(
            "result session/request_permission",
            lambda m: [{"method": "session/cancel", "params": {"sessionId": "session-1"}}, m],
        ),
        "permission.cancelled",
    ),
    "late permission": alone(
        sent(
            written("result session/request_permission", lambda m: None),
            "permission.in-turn",
            "permission.outcome",
        )
    ),
    "unknown mode": sent(
        change("request session/set_mode", ("params.modeId", "fast")), "modes.known"
    ),
    "unknown option": sent(
        change("request session/set_config_option", ("params.configId", "colour")), "options.known"
    ),
    "cursor": sent(change("request session/list", ("params.cursor", "2")), "list.cursor"),
    "closed": flag(WELL, "uses-closed", "close.unused"),
    "marker": sent(
        change("request initialize", ("params.capabilities.auth", {"terminal": True})),
        "initialize.markers",
        only=("v2",),
    ),
    "server type": sent(
        change("request session/new", ("params.mcpServers", [{"type": "sse", "name": "x"}])),
        "session.server-types",
    ),
    "empty prompt": sent(change(PROMPT, ("params.prompt", [])), "prompt.not-empty"),
    "option type": sent(
        change("request session/set_config_option", ("params.type", DROP)), "options.type"
    ),
}
"""By a short name."""
