"""Make the pages of the docs that the code knows best: `python -m tools.make_docs`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from acp_agent.settings.keys import Setting, setting_keys
from acp_agent.settings.show import toml
from acp_console.cli.group import COMMANDS, WITHOUT_CLICK, load
from acp_console.tui.commands import COMMANDS as TUI_COMMANDS
from acp_console.tui.commands import EDITOR_KEYS, SCOPES
from acp_inspector.compare.tolerances import TABLE
from acp_inspector.lint.catalog import (
    BASES,
    RETIRED,
    STABLE_IN_1,
    SUBJECTS,
    UNSTABLE_SUBJECTS,
    LintRule,
)
from acp_inspector.lint.registry import rules

FOLDER: Final = Path(__file__).parent.parent / "docs"
SIGNS: Final = {
    "slash": "/",
    "apostrophe": "'",
    "plus": "+",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
"""Keys for which Textual has names."""
WIDTH: Final = "100"
"""Columns that help texts are wrapped to."""
CONFIG_COMMANDS: Final = ("show", "init", "check")


def pages(python: Sequence[str] = (sys.executable,)) -> dict[str, str]:
    """Return each page's name and text; `python` starts our programs."""
    return {
        "command-line.md": command_line(python),
        "configuration.md": configuration(),
        "keys.md": keys(),
        "rules.md": rule_catalogue(),
        "tolerances.md": tolerances(),
    }


def command_line(python: Sequence[str]) -> str:
    """Return the page of the commands: what `--help` says of each."""
    parts = ["# Command line\n"]
    for name in ["", *COMMANDS]:
        words = [name] if name else []
        title = f"acp-console {name}".strip()
        parts.append(f"## {title}\n\n```\n{_help(python, words)}\n```\n")
        command = None if not name or name in WITHOUT_CLICK else load(name)
        parts += (
            f"### {title} {sub}\n\n```\n{_help(python, [*words, *sub.split()])}\n```\n"
            for sub in _subcommands(name, command)
        )
    parts.append(_exit_codes())
    return "\n".join(parts)


def _subcommands(name: str, command: click.Command | None) -> list[str]:
    if name == "agent":
        return ["serve", "agent-json", "config", *(f"config {each}" for each in CONFIG_COMMANDS)]
    if not isinstance(command, click.Group):
        return []
    return command.list_commands(click.Context(command))


def configuration() -> str:
    """Return the page of the agent's configuration, with a row for each key as it is."""
    text = (FOLDER / "configuration.md").read_text()
    begin = text.index("|---|", text.index("\n## Keys\n"))
    end = text.index("\n| `model.others` |", begin)
    rule = text[begin : text.index("\n", begin)]
    return "\n".join([text[:begin] + rule, *map(_setting, setting_keys().values())]) + text[end:]


def _setting(key: Setting) -> str:
    default = key.dump(key.default)
    shown = f"`{toml(default)}`" if default is not None else ""
    flag = f"`{key.flag}`" if key.flag is not None else ""
    return f"| `{key.path}` | {key.written.expected} | {shown} | {key.about} | {flag} |"


def keys() -> str:
    """Return the page of the keys."""
    return "# Keys\n" + "".join(_scope(scope, title) for scope, title in SCOPES.items())


def tolerances() -> str:
    """Return the page of what two runs of one conversation may differ in."""
    head = (
        "# Tolerances\n\n"
        "Two runs of one conversation are never the same to the last byte. `diff`, `replay`, "
        "`mock`, `test` and the pytest plugin accept what is listed here, and report how often "
        "each was needed. `--strict NAME` switches one off, `--strict all` all of them; the level "
        f"`strict` has only {', '.join(f'`{each.name}`' for each in TABLE if each.is_strict)}. "
        "Generated from `acp_inspector/compare/tolerances.py`.\n\n"
        "| name | what may differ |\n|---|---|\n"
    )
    return head + "".join(f"| `{each.name}` | {each.text} |\n" for each in TABLE)


def rule_catalogue() -> str:
    """Return the page of the rules that recordings are checked against."""
    counts = Counter(rule.severity for rule in rules().values())
    parts = [
        "# Rules\n\n"
        "Generated from the rules of `acp-console lint`. [Lint](lint.md) describes how to use it."
        "\n\n"
        f"{len(rules())} rules: {counts['error']} of severity error, {counts['warning']} warning, "
        f"{counts['info']} info. A rule has a name, which says what is wrong where it is broken, "
        f"and a number; options, filters and baselines take both. {len(RETIRED)} numbers are "
        "retired.\n\n"
        "| basis | what the rule is based on |\n|---|---|\n"
        + "".join(f"| {word} | {text} |\n" for word, text in BASES.items())
    ]
    for subject, title in SUBJECTS.items():
        rows = "".join(_rule(rule) for rule in rules().values() if rule.subject == subject)
        note = "Checked only with `--unstable`.\n\n" if subject in UNSTABLE_SUBJECTS else ""
        if subject in STABLE_IN_1:
            note = "Checked in version 1, and in version 2 only with `--unstable`.\n\n"
        parts.append(
            f"## {title}\n\n{note}"
            "| rule | number | severity | version | at fault | basis | says | fix | source |\n"
            f"|---|---|---|---|---|---|---|---|---|\n{rows}"
        )
    return "\n".join(parts)


def _rule(rule: LintRule) -> str:
    versions = ", ".join(map(str, sorted(rule.versions)))
    if rule.unlike:
        versions += f"; not `{'`, `'.join(sorted(rule.unlike))}`"
    name = f'<a id="{rule.name}"></a>{rule.name}'
    cells = (
        *(name, rule.id, rule.severities, versions, rule.side, rule.basis),
        *(rule.text, rule.fix, rule.source),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _scope(scope: str, title: str) -> str:
    rows = [
        (", ".join(SIGNS.get(key, key) for key in command.key.split(",")), command.help)
        for command in TUI_COMMANDS
        if command.scope == scope
    ]
    rows += EDITOR_KEYS if scope == "chat" else ()
    lines = "".join(f"| `{key}` | {text} |\n" for key, text in rows)
    return f"\n## {title}\n\n| key | what it does |\n|---|---|\n{lines}"


def _help(python: Sequence[str], words: list[str]) -> str:
    command = [*python, "-m", "acp_console", *words, "--help"]
    environment = os.environ | {"COLUMNS": WIDTH, "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def _exit_codes() -> str:
    return (
        "## Exit codes\n\n| code | meaning |\n|---|---|\n"
        "| 0 | done |\n"
        "| 1 | found something: lint findings, differences, secrets, a line of a recording that a "
        "check cannot read, a refused command; or an internal error |\n"
        "| 2 | wrong usage, or a file that cannot be used |\n"
        "| 3 | the agent could not be started, or exited early |\n"
        "| 4 | the agent answered with an error, or broke the protocol |\n"
        "| 5 | something was refused, and `--fail-on-refusal` was given |\n"
        "| 6 | the agent did something without permission, and `--fail-on-unasked` was given |\n"
        "| 7 | a check could try nothing: it has neither passed nor failed |\n"
        "| 124 | time limit |\n| 130 | interrupted |\n"
    )


def main() -> int:
    """Write the pages; there is nothing to choose."""
    argparse.ArgumentParser(
        description="Make the pages of the docs that the code knows."
    ).parse_args()
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
        sys.stdout.write(f"wrote docs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
