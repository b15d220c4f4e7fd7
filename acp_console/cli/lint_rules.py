"""Prints the lint rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from acp_console.cli import exit_codes
from acp_console.cli.errors import UsageError, did_you_mean
from acp_console.cli.format_option import print_json
from acp_console.cli.reading import print_table
from acp_console.wording.tables import Layout
from acp_inspector.lint.catalog import BASES, FAMILIES, LintRule, rules
from acp_inspector.lint.registry import registry
from acp_protocol.jsonrpc import Json

LAYOUT: Final = Layout(
    columns=("rule", "severity", "basis", "version", "side", "checked", "source", "says"),
    words=("rule", "severity", "basis", "version", "side", "checked", "source", "says"),
    flexible="says",
    spare=("source", "side", "checked", "basis"),
)


def print_rules(names: Sequence[str], format_: str) -> int:
    """Print the rules of these names in full, or a line for each rule.

    Raises:
        UsageError: the rule or the format is unknown.
    """
    if format_ not in {"text", "json"}:
        raise UsageError(f"rules are listed as text or json, not as {format_}")
    unknown = [name for name in names if name.upper() not in rules()]
    if unknown:
        every = "acp-console lint --rules lists all rules"
        hint = did_you_mean(unknown[0].upper(), rules(), every)
        raise UsageError(f"unknown rule {unknown[0]}", hint)
    wanted = [rules()[name.upper()] for name in names] or list(rules().values())
    if format_ == "json":
        print_json({"rules": [rule_json(rule) for rule in wanted]})
    elif names:
        for rule in wanted:
            click.echo(_description(rule))
    else:
        rows: list[list[str]] = []
        for rule in wanted:
            versions = "+".join(map(str, sorted(rule.versions)))
            is_checked = rule.id in registry().implemented
            checked = "" if rule.severity is None else "yes" if is_checked else "no"
            row = [rule.id, rule.severities, rule.basis, versions, rule.side, checked]
            rows.append([*row, rule.source, rule.text])
        print_table(LAYOUT, rows)
    return exit_codes.DONE


def rule_json(rule: LintRule) -> dict[str, Json]:
    return {
        "rule": rule.id,
        "family": FAMILIES[rule.family],
        "severity": rule.severity or "withdrawn",
        "severity_in_version_1": rule.severity_in_1 or "withdrawn",
        "basis": rule.basis,
        "versions": sorted(rule.versions),
        "side": rule.side,
        "since": rule.since,
        "source": rule.source,
        "unstable": rule.is_unstable,
        "implemented": rule.id in registry().implemented,
        "text": rule.text,
        "fix": registry().implemented.get(rule.id),
    }


def _description(rule: LintRule) -> str:
    versions = " and ".join(map(str, sorted(rule.versions)))
    facts = [
        f"{rule.id}  {rule.text}",
        f"  {rule.severities}, at fault: {rule.side}; version {versions}; {FAMILIES[rule.family]}",
        f"  based on: {BASES[rule.basis]} ({rule.source})",
    ]
    fix = registry().implemented.get(rule.id)
    if fix is not None:
        facts.append(f"  fix: {fix}")
    elif rule.severity is not None:
        facts.append("  not checked yet")
    if rule.is_unstable_in(1):
        facts.append("  checked only with --unstable")
    elif rule.is_unstable_in(2):
        facts.append("  in version 2 checked only with --unstable")
    return "\n".join(facts)
