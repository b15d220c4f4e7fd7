import pytest


def test_edit_needs_permission(acp_agent):
    notes = acp_agent.cwd / "notes.md"
    notes.write_text("Buy milk.\n")

    turn = acp_agent.prompt("edit notes.md: milk => bread", permission="reject")

    assert turn.stop_reason == "end_turn"
    assert [each["toolCall"]["kind"] for each in turn.permissions] == ["edit"]
    assert notes.read_text() == "Buy milk.\n"


def test_turn_can_be_cancelled(acp_agent):
    turn = acp_agent.start_prompt("run sleep 30")
    acp_agent.wait_for_update("tool_call")
    acp_agent.cancel()
    assert turn.result().stop_reason == "cancelled"


@pytest.mark.acp_recording("../recordings/read.acp.ndjson")
def test_reading_is_as_recorded(acp_agent):
    (acp_agent.cwd / "notes.md").write_text("Buy milk.\n")
    assert "milk" in str(acp_agent.prompt("read notes.md").tool_calls)


@pytest.mark.anyio
async def test_in_a_coroutine(acp_agent):
    async with acp_agent.connect() as agent:
        turn = await agent.prompt("hello")
    assert turn.text


@pytest.fixture
def anyio_backend():
    return "asyncio"
