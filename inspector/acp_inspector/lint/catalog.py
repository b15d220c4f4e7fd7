"""What a lint rule says of itself, and the words that rules use.

Each rule stands in a module of `rules`: a function with its name that checks it, what is known of
it (`registry.LintSubject`), how to fix it, and a docstring, which begins with what the rule says.
`registry.rules` returns all of them. A rule keeps its name and its number forever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_inspector.views.annotations import Severity
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.framing import Side

Basis: TypeAlias = Literal["must", "should", "implied", "schema", "json-rpc", "heuristic"]
Version: TypeAlias = Literal[1, 2]
AtFault: TypeAlias = Literal["agent", "client", "both", "sender", "receiver", "responder", "proxy"]

BASES: Final[dict[Basis, str]] = {
    "must": "MUST in the protocol's text",
    "should": "SHOULD in the protocol's text",
    "implied": "implied by the protocol's text",
    "schema": "the published schema",
    "json-rpc": "JSON-RPC 2.0",
    "heuristic": "heuristic",
}
"""The basis of a rule."""

SUBJECTS: Final[dict[str, str]] = {
    "framing": "Framing",
    "envelope": "JSON-RPC envelope",
    "initialization": "Initialization and lifecycle",
    "authentication": "Authentication",
    "sessions": "Sessions",
    "prompt-turn": "Prompt turn, v1",
    "prompt-lifecycle": "Prompt lifecycle, v2",
    "updates": "Session updates and message ids",
    "tool-calls": "Tool calls",
    "permissions": "Permission requests",
    "files": "File system, v1",
    "terminals": "Terminals, v1",
    "display-terminals": "Display terminals, v2",
    "plans": "Plans",
    "modes": "Modes and config options",
    "commands": "Slash commands",
    "usage": "Usage",
    "elicitation": "Elicitation",
    "cancellation": "Request cancellation",
    "batches": "Batches",
    "draft-batches": "Batches of the mid-2026 draft of version 2 (`--dialect v2-batch`)",
    "extensibility": "Extensibility and naming",
    "mcp-over-acp": "MCP over ACP",
    "providers": "Providers",
    "notices": "Notices and compaction",
    "http": "HTTP and WebSocket",
    "version-2": "Version 2: lifecycle, entities, errors",
    "session-admin": "Session archive, status and title",
    "system-prompts": "System prompts of sessions",
    "auth-status": "Auth status",
    "subagents": "Subagents and messages between sessions",
    "proxy-chains": "Proxy chains",
    "mcp-payloads": "MCP over ACP: payloads",
    "http-observed": "HTTP and WebSocket, observed behaviour",
}
"""Subjects of rules, in the order of the catalogue."""

UNSTABLE_SUBJECTS: Final = frozenset(
    {
        *("mcp-over-acp", "mcp-payloads", "providers", "session-admin", "system-prompts"),
        *("auth-status", "subagents", "proxy-chains"),
    }
)
"""Subjects about parts of the protocol that are not stable yet."""

STABLE_IN_1: Final = frozenset({"system-prompts"})
"""Those that are stable in version 1 by now."""

HTTP_SUBJECTS: Final = frozenset({"http", "http-observed"})
"""Subjects about messages that come over HTTP."""
DRAFT_BATCHES: Final = "draft-batches"
"""The subject about arrays of messages where the dialect has them."""
EARLY_SUBJECTS: Final = HTTP_SUBJECTS | {DRAFT_BATCHES, "framing", "envelope", "initialization"}
"""Subjects that matter before a version is negotiated."""

BATCHES_ARE_GONE: Final = "Batches are gone."
EDITS_ARE_GONE: Final = "Next edit suggestions are gone."
RETIRED: Final[dict[int, str]] = {
    10: "Merged into not-an-object: version 2 has no arrays any more.",
    171: "Starting in `requires_action` is legal.",
    272: BATCHES_ARE_GONE,
    358: BATCHES_ARE_GONE,
    **dict.fromkeys(range(361, 367), BATCHES_ARE_GONE),
    367: "Covered by batch-sent.",
    368: BATCHES_ARE_GONE,
    388: "There are no MCP connections any more.",
    **dict.fromkeys(range(389, 399), EDITS_ARE_GONE),
}
"""Numbers of rules that there were, and why they went; no other rule gets them."""


@dataclass(frozen=True, kw_only=True)
class LintRule:
    """One rule of the catalogue."""

    name: str
    """What is wrong where it is broken, such as `unknown-mode`."""
    number: int
    subject: str
    severity: Severity
    basis: Basis
    side: AtFault
    """The side at fault when it is broken."""
    source: str
    """Page of the protocol's documentation, or `schema`."""
    version: Version | None = None
    """The only protocol version that it applies to; None: both."""
    since: str = ""
    """Month of the schema that introduced or changed it; empty for older ones."""
    in_version_1: Severity | None = None
    """The severity in version 1, if the text of that version says less."""
    text: str
    """What it says, in one sentence or a few."""
    fix: str
    """What the side at fault should do."""
    unlike: frozenset[str] = frozenset()
    """The dialects whose documents say otherwise, or have no place for what it requires."""
    case: str | Mapping[Side, str] = ""
    """The conformance case that it makes, for peers of the side at fault; see `case_for`."""

    @property
    def id(self) -> str:
        """Its number, as it is written."""
        return f"ACP-L{self.number:03}"

    @property
    def versions(self) -> frozenset[int]:
        return frozenset({1, 2} if self.version is None else {self.version})

    @property
    def severities(self) -> str:
        """The severity in words, with that of version 1 if it differs."""
        differs = self.in_version_1 is not None
        return f"{self.severity} (v1: {self.in_version_1})" if differs else self.severity

    @property
    def is_unstable(self) -> bool:
        """Whether it is about a part of the protocol that is not stable yet, in no version."""
        return self.subject in UNSTABLE_SUBJECTS - STABLE_IN_1

    def is_of(self, dialect: str | None) -> bool:
        """Return whether it holds in a dialect; None: in the published protocol."""
        if self.subject == DRAFT_BATCHES:
            return dialect == BATCHES
        return dialect not in self.unlike and not (self.subject == "batches" and dialect == BATCHES)

    def severity_in(self, version: int | None) -> Severity:
        return (version == 1 and self.in_version_1) or self.severity

    def is_unstable_in(self, version: int | None) -> bool:
        """Whether it is about a part of a version that is not stable yet."""
        is_stable = version == 1 and self.subject in STABLE_IN_1
        return self.subject in UNSTABLE_SUBJECTS and not is_stable

    def case_for(self, side: Side) -> str:
        """Return the conformance case that it makes for peers of a side; empty: none."""
        if not isinstance(self.case, str):
            return self.case.get(side, "")
        return self.case if self.side not in {"agent", "client"} or self.side == side else ""
