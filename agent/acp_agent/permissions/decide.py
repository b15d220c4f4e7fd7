"""Decides which tool calls need the user's consent, and remembers consent given for the session.

A call's kind and what it touches decide, never its title. The first of these that applies wins: a
mode that forbids; a rule that denies; what the user allowed or rejected always; the other rules;
kinds that are always asked about; a mode that allows; kinds that are always allowed; the policy.

Source: ACP, Tool Calls, "Requesting Permission"; Continuum Router, "Permissions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp_agent.permissions.audit import Decision, Verdict
from acp_agent.permissions.grants import Grant, grants_for
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.keys import PolicyId
from acp_agent.tools.call import PreparedCall, SideEffect
from acp_protocol.call_rules.rules import PolicyRule, deciding_rule, strictest
from acp_protocol.call_rules.subjects import Subject, path_subject
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

ModeId: TypeAlias = Literal["ask", "code", "architect"]

MODES: Final[tuple[tuple[ModeId, str, str], ...]] = (
    ("ask", "Ask", "Ask before files are changed and programs are run"),
    ("code", "Code", "Change files and run programs without asking"),
    ("architect", "Architect", "Read, think and plan; change nothing and run nothing"),
)
"""Id, name and description of the session's modes."""
ASKING_CODE: Final = "Change files and run programs; ask about each kind that the policy names"
"""The description of the mode `code` where it allows nothing by itself."""
POLICIES: Final[tuple[tuple[PolicyId, str, str], ...]] = (
    ("allow_read", "Allow reading", "Ask about everything but reading and searching"),
    ("ask_always", "Always ask", "Ask about reading and searching too"),
    ("allow_all", "Allow all", "Ask about nothing"),
)
"""Id, name and description of when the user is asked, where the mode leaves that open."""

MAX_GRANTS: Final = 3
"""Grants that one choice may make: users do not read more before they agree."""
_HARMLESS: Final[frozenset[ToolKind]] = frozenset({"read", "search", "think"})
"""Kinds that change nothing and send nothing out."""
_PLANNING: Final = _HARMLESS | {"fetch"}
"""Kinds that the mode `architect` does not forbid."""
_OPTION_KINDS: Final[dict[str, str]] = {
    "allow": "allow_once",
    "allow-always": "allow_always",
    "allow-all": "allow_always",
    "reject": "reject_once",
    "reject-always": "reject_always",
}


class SessionPermissions:
    """The decisions of one session."""

    def __init__(self, rules: PermissionPolicy | None = None, cwd: Path | None = None) -> None:
        """`cwd` is the session's directory, which patterns of absolute paths need."""
        self.mode: ModeId = "ask"
        self.settings = rules or PermissionPolicy()
        self._cwd = cwd.resolve() if cwd is not None else None
        self._cwd_parts = self._cwd.parts if self._cwd is not None else ()
        self.policy: PolicyId = self.settings.default_policy
        self.grants: dict[Grant, Verdict] = {}
        """What the user allowed or rejected always."""

    def clear_grants(self) -> int:
        """Forget what the user allowed or rejected always; return the number of grants."""
        count = len(self.grants)
        self.grants.clear()
        return count

    def decide(self, call: PreparedCall) -> Decision | None:
        """Return the decision; None if the user has to be asked."""
        kind = call.kind
        if self.mode == "architect" and kind not in _PLANNING:
            return Decision("forbidden", "mode")
        rule = self._matching_rule(call)
        if rule is not None and rule.decision == "deny":
            return Decision("forbidden", "rules", str(rule))
        remembered = self._remembered(call)
        if remembered is not None and remembered.verdict == "reject":
            return remembered
        if call.is_elicitation:
            return Decision("allow", "question")
        if call.must_ask or remembered is not None:
            return None if call.must_ask else remembered
        if rule is not None:
            return Decision("allow", "rules", str(rule)) if rule.decision == "allow" else None
        return self._by_kind(kind)

    def _matching_rule(self, call: PreparedCall) -> PolicyRule | None:
        """Return the rule about what a call touches, or a stricter one about what it does."""

        def found(kind: ToolKind, subjects: Sequence[Subject]) -> PolicyRule | None:
            return deciding_rule(
                self.settings.rules, kind, subjects, self._cwd_parts, is_tree=call.is_tree
            )

        rules = [found(call.kind, call.touched)]
        rules += [found(effect.kind, [effect.subject]) for effect in call.effects]
        return strictest(rules) or rules[0]

    def result_filter(self, kind: ToolKind, path: str) -> Callable[[Path], bool]:
        """Return a function that tells which files a call of `kind` about `path` may show.

        A call that looks through a directory is judged by the directory, before anything in it is
        looked at. What it finds there is judged here: what a rule or the user denies is left out,
        and so is what a rule asks about, unless the call itself was asked about by that rule.
        """
        rules, cwd = self.settings.rules, self._cwd or Path("/")
        answered = deciding_rule(rules, kind, [path_subject(cwd, path)], self._cwd_parts)
        is_free = not rules and "reject" not in self.grants.values()

        def may_show(file: Path) -> bool:
            return is_free or all(
                self._may_show(kind, path_subject(cwd, str(file), is_last_followed=each), answered)
                for each in (False, True)
            )

        return may_show

    def _may_show(self, kind: ToolKind, found: Subject, answered: PolicyRule | None) -> bool:
        # The lines that a search finds are read.
        for each in dict.fromkeys((kind, "read") if kind == "search" else (kind,)):
            rule = deciding_rule(self.settings.rules, each, [found], self._cwd_parts)
            verdicts = {
                verdict for grant, verdict in self.grants.items() if grant.covers(each, found)
            }
            if "reject" in verdicts or (rule is not None and rule.decision == "deny"):
                return False
            needs_consent = rule is not None and rule.decision == "ask" and each == kind
            if needs_consent and rule != answered and "allow" not in verdicts:
                return False
        return True

    def _by_kind(self, kind: ToolKind) -> Decision | None:
        """Return the decision by kind, mode and policy alone."""
        if kind in self.settings.always_ask:
            return None
        if self.mode == "code" and self.settings.code_allows:
            return Decision("allow", "mode")
        if kind in self.settings.auto_allow:
            return Decision("allow", "auto_allow")
        # A thought touches nothing, so no policy asks about it.
        allowed = {"ask_always": {"think"}, "allow_read": _HARMLESS}.get(self.policy)
        return Decision("allow", "policy") if allowed is None or kind in allowed else None

    def options(self, call: PreparedCall) -> list[dict[str, Json]]:
        """Return the options to choose from, each with what is remembered and for how long."""
        names = {"allow": "Allow"}
        narrow, wide = _grants(call, 0), _grants(call, -1)
        is_narrow = len(narrow) <= MAX_GRANTS and not call.must_ask
        if is_narrow:
            names["allow-always"] = _lasting("Allow", narrow)
        names["reject"] = "Reject"
        if is_narrow:
            names["reject-always"] = _lasting("Reject", narrow)
        if len(wide) <= MAX_GRANTS and wide != narrow and not call.must_ask:
            # Last, so that the usual four stand where users know them.
            names["allow-all"] = _lasting("Allow", wide)
        return [
            {"optionId": each, "name": name, "kind": _OPTION_KINDS[each]}
            for each, name in names.items()
        ]

    def record_choice(self, call: PreparedCall, answer: Json) -> Decision:
        """Return what the client's response means; remember it if it is an "always" option.

        An option that was not offered is a rejection.
        """
        outcome = get(answer, "outcome")
        kind, option = get(outcome, "outcome"), get(outcome, "optionId")
        if kind == "cancelled":
            return Decision("cancelled", "user")
        offered = [each["optionId"] for each in self.options(call)]
        if kind != "selected" or option not in offered:
            return Decision("reject", "client")
        verdict: Verdict = "allow" if option.startswith("allow") else "reject"
        if option == verdict:
            return Decision(verdict, "user")
        grants = _grants(call, -1 if option == "allow-all" else 0)
        self.grants |= dict.fromkeys(grants, verdict)
        return Decision(verdict, "user", _spelled(grants))

    def _remembered(self, call: PreparedCall) -> Decision | None:
        """Return what the user decided always: one rejection, or consent to all that is touched."""
        touched = [SideEffect(call.kind, each, wants_consent=True) for each in call.touched]
        allowing: list[Grant] = []
        is_covered = True
        for each in (*touched, *call.effects):
            found = [grant for grant in self.grants if grant.covers(each.kind, each.subject)]
            for grant in found:
                if self.grants[grant] == "reject":
                    return Decision("reject", "rule", str(grant))
            if each.wants_consent:
                is_covered = is_covered and bool(found)
                allowing += found[:1]
        return Decision("allow", "rule", _spelled(allowing)) if is_covered else None


def _grants(call: PreparedCall, place: int) -> list[Grant]:
    """Return the grants of "always" for all that `call` touches; 0 is narrow, -1 is wide."""
    grants = [grants_for(call.kind, subject)[place] for subject in call.touched]
    grants += [
        grants_for(each.kind, each.subject)[place] for each in call.effects if each.wants_consent
    ]
    return list(dict.fromkeys(grants))


def _lasting(action: str, grants: list[Grant]) -> str:
    meant = " and ".join(dict.fromkeys(grant.describe() for grant in grants))
    # What is meant stands first: where there is little room, the rest is cut off.
    return f"{action} {meant}, and do not ask again in this session"


def _spelled(grants: list[Grant]) -> str:
    return ", ".join(dict.fromkeys(map(str, grants)))
