"""Prints the lint rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from acp_console.cli import exit_codes
from acp_console.cli.errors import UsageError
from acp_console.cli.format_option import print_json
from acp_console.cli.printing import print_table
from acp_console.cli.reading import rule_hint
from acp_console.wording.tables import Layout
from acp_inspector.lint.catalog import BASES, RETIRED, SUBJECTS, LintRule
from acp_inspector.lint.registry import find_rule, rules
from acp_protocol.jsonrpc import Json

LAYOUT: Final = Layout(
    columns=("rule", "id", "severity", "basis", "version", "side", "source", "says"),
    words=("rule", "id", "severity", "basis", "version", "side", "source", "says"),
    flexible="says",
    spare=("source", "side", "id", "basis"),
)


def print_rules(names: Sequence[str], format_: str) -> int:
    """Print the rules of these names in full, or a line for each rule.

    Raises:
        UsageError: the rule or the format is unknown.
    """
    if format_ not in {"text", "json"}:
        raise UsageError(f"rules are listed as text or json, not as {format_}")
    wanted = [_find(name) for name in names] or list(rules().values())
    if format_ == "json":
        print_json({"rules": [rule_json(rule) for rule in wanted]})
    elif names:
        for rule in wanted:
            click.echo(_description(rule))
    else:
        rows: list[list[str]] = []
        for rule in wanted:
            versions = "+".join(map(str, sorted(rule.versions)))
            row = [rule.name, rule.id, rule.severities, rule.basis, versions, rule.side]
            rows.append([*row, rule.source, rule.text])
        print_table(LAYOUT, rows)
    return exit_codes.DONE


def _find(name: str) -> LintRule:
    """Return a rule by its name or number.

    Raises:
        UsageError: there is none, or none any more.
    """
    found = find_rule(name)
    if found is not None:
        return found
    for number, why in RETIRED.items():
        if name.upper() == f"ACP-L{number:03}":
            raise UsageError(f"there is no rule {name.upper()} any more", why)
    raise UsageError(f"unknown rule {name}", rule_hint(name))


def rule_json(rule: LintRule) -> dict[str, Json]:
    return {
        "rule": rule.name,
        "id": rule.id,
        "subject": SUBJECTS[rule.subject],
        "severity": rule.severity,
        "severity_in_version_1": rule.severity_in(1),
        "basis": rule.basis,
        "versions": sorted(rule.versions),
        "unlike": sorted(rule.unlike),
        "side": rule.side,
        "since": rule.since,
        "source": rule.source,
        "unstable": rule.is_unstable,
        "text": rule.text,
        "fix": rule.fix,
    }


def _description(rule: LintRule) -> str:
    versions = " and ".join(map(str, sorted(rule.versions)))
    facts = [
        f"{rule.name} ({rule.id})  {rule.text}",
        f"  {rule.severities}, at fault: {rule.side}; version {versions}; {SUBJECTS[rule.subject]}",
        f"  based on: {BASES[rule.basis]} ({rule.source})",
        f"  fix: {rule.fix}",
    ]
    if rule.is_unstable_in(1):
        facts.append("  checked only with --unstable")
    elif rule.is_unstable_in(2):
        facts.append("  in version 2 checked only with --unstable")
    if rule.unlike:
        facts.append(f"  not checked in the dialects: {', '.join(sorted(rule.unlike))}")
    return "\n".join(facts)
