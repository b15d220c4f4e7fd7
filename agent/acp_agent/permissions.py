"""What needs the user's consent, and what was consented to for good.

Decided by a call's kind and scope, never by its title. "Always" holds for one session, one kind and
one scope: for a command that is its program.

Source: ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from acp_agent.tools.tool import Call
from acp_protocol.jsonrpc import Json

Verdict: TypeAlias = Literal["allow", "reject", "forbidden", "cancelled"]
"""`reject` comes from the user, `forbidden` from the mode."""
ModeId: TypeAlias = Literal["ask", "code", "architect"]
PolicyId: TypeAlias = Literal["allow_read", "ask_always", "allow_all"]

MODES: Final[tuple[tuple[ModeId, str, str], ...]] = (
    ("ask", "Ask", "Ask before files are changed and programs are run"),
    ("code", "Code", "Change files and run programs without asking"),
    ("architect", "Architect", "Read, think and plan; change nothing and run nothing"),
)
"""Id, name and description of the session's modes."""
POLICIES: Final[tuple[tuple[PolicyId, str, str], ...]] = (
    ("allow_read", "Allow reading", "Ask about everything but reading and searching"),
    ("ask_always", "Always ask", "Ask about reading and searching too"),
    ("allow_all", "Allow all", "Ask about nothing"),
)
"""Id, name and description of when the user is asked, where the mode leaves that open."""

_HARMLESS: Final = frozenset({"read", "search"})


class Permissions:
    """The decisions of one session."""

    def __init__(self) -> None:
        self.mode: ModeId = "ask"
        self.policy: PolicyId = "allow_read"
        self._always: dict[tuple[str, str], Verdict] = {}

    def known(self, call: Call) -> Verdict | None:
        """Return the verdict that needs no question; None when the user has to be asked."""
        is_harmless = call.kind in _HARMLESS
        if self.mode == "architect" and not is_harmless:
            return "forbidden"
        if self.mode == "code" or self.policy == "allow_all":
            return "allow"
        if is_harmless and self.policy == "allow_read":
            return "allow"
        return self._always.get((call.kind, call.scope))

    def options(self, call: Call) -> list[dict[str, Json]]:
        """Return the options to choose from, "always" with its scope spelled out."""
        what = f"{call.kind} {call.scope}".strip()
        return [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "allow-always", "name": f"Always allow {what}", "kind": "allow_always"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
            {"optionId": "reject-always", "name": f"Always reject {what}", "kind": "reject_always"},
        ]

    def decided(self, call: Call, answer: Json) -> Verdict:
        """Return what the client's answer means, and remember it where it says "always".

        An answer that was not offered is a refusal.
        """
        outcome = _member(answer, "outcome")
        kind, option = _member(outcome, "outcome"), _member(outcome, "optionId")
        if kind == "cancelled":
            return "cancelled"
        if kind != "selected" or not isinstance(option, str):
            return "reject"
        verdict: Verdict = "allow" if option in {"allow", "allow-always"} else "reject"
        if option in {"allow-always", "reject-always"}:
            self._always[call.kind, call.scope] = verdict
        return verdict


def _member(value: Json, name: str) -> Json:
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None
