"""What was claimed and used, on the screen."""

from __future__ import annotations

from acp_console.tui.analysis.capabilities_tab import (
    CLAIM,
    CLAIM_WIDTH,
    PATH_WIDTH,
    claims_of,
    fit_claims,
)
from acp_console.wording.capabilities import CAPABILITIES
from acp_console.wording.tables import TableText
from acp_inspector.views.session_model import SessionModel
from acp_protocol.jsonrpc import Json
from tests.console.tui.analysis_app import AnalysisApp, talk
from tests.console.tui.conftest import entries, say, until


async def test_contradictions_are_marked_and_lead_to_their_frame() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.open_tab("capabilities")
        await until(pilot, lambda: "✗ used without a claim" in say(app))
        assert "fs.readTextFile" in say(app)
        assert "1 contradiction ·" in say(app)
        assert "· never used" in say(app)
        assert "fs.writeTextFile" not in say(app)
        await pilot.press("a")
        await until(pilot, lambda: "fs.writeTextFile" in say(app))


def test_each_row_leads_to_its_claim_or_to_the_use_that_contradicts() -> None:
    model = SessionModel()
    model.read(talk())
    found = claims_of(model)
    targets = {row.cells[1]: row.target for row in found.rows}
    assert targets["fs.readTextFile"] == 7
    assert targets["loadSession"] == 2
    assert found.contradictions == 1
    assert [row.cells[0] for row in found.rows] == ["agent", "agent", "client"]


def test_a_narrow_table_shows_what_was_claimed_rather_than_counts() -> None:
    path, claim = "sessionCapabilities.additionalDirectories", "{" + "x" * (CLAIM_WIDTH - 2) + "}"
    row = ("client", path, claim, "1", "1", "0", "0", "· never used")
    fit = TableText(CAPABILITIES, [row], min_flexible_width=PATH_WIDTH).fit(76)
    assert set(fit.hidden) == {"used", "worked", "failed", "refused"}


def test_a_claim_is_cut_only_where_there_is_no_room_for_it() -> None:
    params: Json = {
        "protocolVersion": 1,
        "clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    }
    model = SessionModel()
    model.read(entries(("client", {"id": 0, "method": "initialize", "params": params})))
    rows = claims_of(model).rows

    def claim(width: int) -> str:
        return fit_claims(rows, width)[0].cells[CLAIM]

    assert claim(120) == '{"form": {}, "url": {}}'
    assert claim(40) == '{"form": {}…'
