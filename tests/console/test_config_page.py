"""The pages of the configuration against the models that read it."""

from __future__ import annotations

import re
from pathlib import Path

from acp_console.config import AgentTable, parse_config

DOCS = Path(__file__).parents[2] / "docs"


def test_every_key_of_an_agent_is_in_the_table() -> None:
    page = (DOCS / "console-configuration.md").read_text()
    table = page.partition("\n## Agents\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(AgentTable.model_fields)


def test_the_examples_are_valid() -> None:
    for name in ("console-configuration.md", "agents.md"):
        examples = re.findall(r"```toml\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)
        assert examples
        for example in examples:
            assert parse_config(Path(name), example).agents
