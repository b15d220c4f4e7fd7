"""Our own recordings still mean what their snapshots say."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.lint.registry import rules
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.snapshot import (
    read_snapshot,
    snapshot_diff,
    snapshot_path,
    take_snapshot,
)

FOLDER = Path(__file__).parents[3] / "recordings"
RECORDINGS = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.acp.ndjson"))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_means_what_its_snapshot_says(name: str) -> None:
    recording = read_recording(FOLDER / name)
    stored = read_snapshot(snapshot_path(recording.path))
    now = take_snapshot(recording)
    hint = f"acp-console snapshot --update recordings/{name}"
    assert stored is not None, f"there is no snapshot; store one: {hint}"
    assert stored == now, "\n".join([*snapshot_diff(stored, now), f"if that is right: {hint}"])
    assert stored.text() == now.text()


def test_every_snapshot_has_its_recording() -> None:
    stored = {path.name for path in FOLDER.rglob("*.snapshot.json")}
    assert stored == {snapshot_path(Path(name)).name for name in RECORDINGS}


def test_a_snapshot_may_name_rules_by_their_numbers(tmp_path: Path) -> None:
    stored = snapshot_path(FOLDER / "reading" / "trouble.acp.ndjson")
    text = stored.read_text()
    numbered = text
    for rule in rules().values():
        numbered = numbered.replace(f'"rule": "{rule.name}"', f'"rule": "{rule.id}"')
    assert "ACP-L" in numbered
    older = tmp_path / stored.name
    older.write_text(numbered)
    assert read_snapshot(older) == read_snapshot(stored)
