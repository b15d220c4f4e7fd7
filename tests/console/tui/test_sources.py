"""Real traffic of real agents on the Traffic screen: from its first row to its last."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_inspector.importers.importer import import_file
from acp_inspector.recording.reader import read_recording
from tests.console.tui.conftest import say, until

pytestmark = pytest.mark.long

NAMES = (
    "claude",
    "claude.load",
    "claude.v2",
    "cline",
    "fast-agent",
    "gemini",
    "gemini.edge",
    "gemini.load",
    "kimi",
    "kimi.load",
    "pi",
    "pi.edge",
    "pydantic-acp",
    "py-echo",
    "qwen",
    "ts-dual",
    "ts-dual.edge",
    "ts-dual.v2",
    "ts-dual.v2b",
    "ts-example",
)


def test_no_file_of_real_traffic_is_left_out(shared: Path) -> None:
    assert {path.stem for path in (shared / "traffic").glob("*.ndjson")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_real_traffic_can_be_looked_at(name: str, shared: Path, tmp_path: Path) -> None:
    out = tmp_path / f"{name}.acp.ndjson"
    result = import_file(shared / "traffic" / f"{name}.ndjson", out)
    app = ConsoleApp(cwd=tmp_path, watch=[FileSource(out)])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        counts = result.counts
        # The footer has a row of its own.
        rows = len(read_recording(out).entries) + 1
        await until(pilot, lambda: f"{rows} entries" in say(app))
        assert "session/new" in say(app) or "initialize" in say(app)
        await pilot.press("end")
        await until(pilot, lambda: f"end: {counts['frames']} frames" in say(app))
        assert all(char.isprintable() for line in say(app).splitlines() for char in line)
