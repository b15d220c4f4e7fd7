from __future__ import annotations

import json
import sys

from tests.console.conftest import Call


def test_the_known_agents_are_listed_for_people_and_for_programs(call: Call) -> None:
    assert call("agents").out.startswith("demo  ")
    [listed] = [json.loads(line) for line in call("agents", "--json").out.splitlines()]
    assert set(listed) == {"name", "title", "command", "about", "newest", "dialect"}
    assert listed["name"] == "demo"
    assert listed["command"] == [sys.executable, "-m", "acp_agent", "--no-config"]
