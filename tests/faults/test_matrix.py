"""The fault matrix: which test holds which fault against which part, or why there is none.

Rows and columns are those of the security contract (S8); both directions are checked, so that a
test that goes takes its square with it, and a new one finds its place.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PARTS = ("proxy", "client", "agent")
FAULTS = (
    "crash",
    "hang",
    "exit with output pending",
    "garbage on stdout",
    "slow",
    "silent",
    "client gone",
    "disk full",
    "socket cut",
    "kill -9",
    "children of wrappers",
)
MATRIX: dict[tuple[str, str], tuple[str, ...]] = {
    ("crash", "proxy"): ("test_a_crash_in_the_middle_of_a_line",),
    ("crash", "client"): ("test_a_crash_is_reported_with_stderr_and_the_text_so_far_is_kept",),
    ("crash", "agent"): ("test_a_program_that_crashes_fails_its_call_and_not_the_turn",),
    ("hang", "proxy"): ("test_a_hang_ends_with_a_kill_once_the_client_asks",),
    ("hang", "client"): (
        "test_an_agent_that_hangs_or_keeps_silent_ends_with_the_time_that_was_given",
    ),
    ("hang", "agent"): ("test_a_hanging_program_that_ignores_signals_ends_with_the_turn",),
    ("exit with output pending", "proxy"): (
        "test_output_that_is_pending_at_the_exit_waits_for_a_client_that_reads_late",
        "test_a_client_that_never_reads_does_not_keep_the_proxy_from_ending",
    ),
    ("exit with output pending", "client"): (
        "test_output_that_is_pending_at_the_exit_is_read_to_its_end",
    ),
    ("exit with output pending", "agent"): (
        "test_a_request_right_before_the_end_gets_its_response",
    ),
    ("garbage on stdout", "proxy"): ("test_garbage_on_stdout_passes_and_spoils_no_neighbour",),
    ("garbage on stdout", "client"): ("test_garbage_on_stdout_does_its_neighbours_no_harm",),
    ("garbage on stdout", "agent"): ("test_garbage_from_the_client_is_answered_and_does_no_harm",),
    ("slow", "proxy"): ("test_a_slow_agent_is_read_byte_by_byte",),
    ("slow", "client"): ("test_a_slow_agent_is_read_byte_by_byte",),
    ("slow", "agent"): (
        "test_a_client_that_is_slow_to_read_is_waited_for_and_gets_everything",
        "test_a_client_may_read_byte_by_byte",
    ),
    ("silent", "proxy"): ("test_a_silent_agent_costs_the_client_nothing",),
    ("silent", "client"): (
        "test_an_agent_that_hangs_or_keeps_silent_ends_with_the_time_that_was_given",
    ),
    ("silent", "agent"): ("test_a_client_that_never_answers_can_still_cancel",),
    ("client gone", "proxy"): (
        "test_a_client_that_is_gone_takes_the_agent_with_it",
        "test_a_client_that_is_gone_while_its_words_wait_takes_the_agent_with_it",
        "test_a_client_that_has_closed_stdin_still_gets_its_responses",
        "test_an_agent_that_has_closed_stdout_stays_as_long_as_its_client",
        "test_a_client_that_reads_no_more_keeps_its_agent_as_long_as_it_may_speak",
    ),
    ("client gone", "client"): (
        "test_a_reader_of_ours_that_is_gone_ends_the_turn",
        "test_a_console_without_its_terminal_leaves_no_process_behind",
    ),
    ("client gone", "agent"): ("test_a_client_that_is_gone_takes_agent_and_programs_with_it",),
    ("disk full", "proxy"): (
        "test_a_full_disk_costs_frames_that_are_counted_once_it_has_room_again",
    ),
    ("disk full", "client"): (
        "test_a_full_disk_costs_the_recording_alone",
        "test_a_full_disk_leaves_no_half_of_a_file_and_what_was_there",
    ),
    ("disk full", "agent"): ("test_a_full_disk_fails_the_edit_and_leaves_the_file_as_it_was",),
    ("socket cut", "proxy"): (
        "test_a_misbehaving_observer_does_not_affect_the_traffic",
        "test_observers_of_a_proxy_that_is_killed_find_the_end_and_no_proxy",
    ),
    ("socket cut", "client"): ("test_a_killed_proxy_is_no_longer_listed",),
    ("kill -9", "proxy"): (
        "test_a_killed_agent_shows_in_the_exit_code",
        "test_a_proxy_that_is_killed_leaves_no_agent_that_listens",
        "test_a_killed_proxy_takes_an_unresponsive_agent_with_it",
    ),
    ("kill -9", "client"): ("test_kill_9_leaves_no_process_behind_and_the_recording_whole",),
    ("kill -9", "agent"): (
        "test_a_client_that_is_gone_takes_agent_and_programs_with_it",
        "test_an_agent_that_is_killed_takes_its_programs_with_it",
        "test_a_killed_agent_takes_an_unresponsive_server_with_it",
    ),
    ("children of wrappers", "proxy"): ("test_what_a_wrapper_started_ends_with_the_proxy",),
    ("children of wrappers", "client"): ("test_what_a_wrapper_started_ends_with_the_client",),
    ("children of wrappers", "agent"): ("test_what_a_program_started_ends_with_its_call",),
}
WITHOUT: dict[tuple[str, str], str] = {
    ("socket cut", "agent"): "the agent opens no socket: it speaks on stdin and stdout alone",
}
"""Squares that no test can fill, and why."""
LIMITS = {
    "processes that leave their group and clear their environment": (
        "they have lost the variable by which they are found"
    ),
}
"""What is known not to hold, and why; docs/security.md says it too."""


def named_in(part: str) -> set[str]:
    tree = ast.parse((Path(__file__).parent / f"test_{part}.py").read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name for node in functions if node.name.startswith("test_")}


def test_every_fault_is_tried_on_every_part_or_a_reason_is_given() -> None:
    squares = {(fault, part) for fault in FAULTS for part in PARTS}
    assert set(MATRIX) | set(WITHOUT) == squares
    assert set(MATRIX) & set(WITHOUT) == set()


@pytest.mark.parametrize("part", PARTS)
def test_what_the_matrix_names_exists_and_what_exists_is_named(part: str) -> None:
    named = {name for (_, column), names in MATRIX.items() if column == part for name in names}
    assert named == named_in(part)


def test_known_limits_are_documented() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs/security.md").read_text().split())
    assert all(reason in page for reason in LIMITS.values())
