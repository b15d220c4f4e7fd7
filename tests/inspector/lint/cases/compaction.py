"""Talks about compaction and notices."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

SUMMARY: list[dict[str, Any]] = [{"type": "text", "text": "So far, so good."}]


def compact(talk: Talk, status: str = "in_progress", /, **members: Any) -> None:
    """Tell of a compaction."""
    if not talk.entries:
        talk.open()
    talk.update("compaction_update", **({"compactionId": "c1", "status": status} | members))


def chunk(talk: Talk) -> None:
    """Send a piece of a summary."""
    talk.update("compaction_summary_chunk", compactionId="c1", content=SUMMARY[0])


@breaks("undeclared-compaction")
def a_client_did_not_claim_compaction(talk: Talk) -> None:
    talk.initialize({"terminal": True})
    talk.new_session()
    compact(talk)


@keeps("undeclared-compaction")
def a_client_claimed_compaction(talk: Talk) -> None:
    compact(talk)


@breaks("stray-compaction-chunk")
def a_summary_goes_on_after_the_end(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed")
    chunk(talk)


@keeps("stray-compaction-chunk", 2)
def a_summary_begins_a_compaction(talk: Talk) -> None:
    talk.open()
    chunk(talk)
    compact(talk, "completed")


@breaks("compaction-without-end")
def a_compaction_never_ends(talk: Talk) -> None:
    compact(talk)
    talk.end()


@breaks("compaction-without-end", 2)
def a_compaction_ends_in_two_ways(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed")
    compact(talk, "failed")


@keeps("compaction-without-end")
def a_compaction_ends_once(talk: Talk) -> None:
    compact(talk)
    compact(talk, "cancelled")
    talk.end()


@breaks("misplaced-compaction-field")
def a_summary_comes_with_a_failure(talk: Talk) -> None:
    compact(talk)
    compact(talk, "failed", summary=SUMMARY)


@breaks("misplaced-compaction-field", 2)
def an_error_comes_with_success(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed", error="It failed.")


@keeps("misplaced-compaction-field")
def a_summary_comes_with_success(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed", summary=SUMMARY, error=None)


@breaks("reused-compaction-id")
def an_id_begins_again(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed")
    compact(talk)


@keeps("reused-compaction-id")
def an_id_begins_again_in_a_replay(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed")
    call = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    compact(talk)
    compact(talk, "completed")
    talk.answer(call)


@keeps("reused-compaction-id")
def an_id_begins_again_in_each_of_two_replays(talk: Talk) -> None:
    compact(talk)
    compact(talk, "completed")
    first, second = (
        talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]) for _ in range(2)
    )
    for call in (second, first):
        compact(talk)
        compact(talk, "completed")
        talk.answer(call)


@breaks("incomplete-notice")
def a_notice_has_no_title(talk: Talk) -> None:
    talk.open()
    talk.update("notice", severity="info", title="")


@breaks("incomplete-notice", 2)
def a_notice_has_no_severity(talk: Talk) -> None:
    talk.open()
    talk.update("notice", title="The model is slow today")


@keeps("incomplete-notice")
def a_notice_has_both(talk: Talk) -> None:
    talk.open()
    talk.update("notice", severity="warning", title="!")


@breaks("replayed-notice")
def a_notice_is_told_again(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    talk.update("notice", severity="info", title="The model is slow today")
    talk.answer(call)


@keeps("replayed-notice")
def a_notice_follows_the_replay(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))
    talk.update("notice", severity="info", title="The model is slow today")
