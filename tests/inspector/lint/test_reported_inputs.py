"""What authors of agents and clients have reported in public, reduced: what lint makes of it.

Each has exactly the findings that it is about, so that one mistake does not look like many, and
what is legal has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest

from acp_inspector.lint.engine import lint
from tests.inspector.lint.talk import CWD, Call, Talk

Report: TypeAlias = Callable[[Talk], None]

REPORTS: Final[list[tuple[Report, dict[str, str]]]] = []


def report(**found: str) -> Callable[[Report], Report]:
    """Make a function a reported talk, with the severities of its findings by rule."""

    def made(script: Report) -> Report:
        REPORTS.append(
            (script, {name.replace("_", "-"): severity for name, severity in found.items()})
        )
        return script

    return made


@report(text_on_stdout="error")
def the_package_runner_prints_a_warning_first(talk: Talk) -> None:
    talk.send("agent", b"npm warn exec The following package was not found: agent@1.0.0")
    talk.open()
    talk.turn()


@report(invalid_protocol_version="error")
def the_version_is_a_date_as_in_mcp(talk: Talk) -> None:
    info = {"name": "c", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "clientCapabilities": {}, "clientInfo": info}
    talk.refuse(talk.ask("initialize", params), -32602)


@report(invalid_stop_reason="error", unknown_member="warning")
def the_stop_reason_is_error(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.prompt(), stopReason="error", transcriptPath="/tmp/t.json")


@report(option_not_offered="error")
def the_editor_selects_an_option_of_its_own(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool()
    talk.choose(talk.permission(), "allow_always_in_this_project")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.finish(prompt)


@report(update_outside_turn="warning")
def text_comes_after_the_end_of_the_turn(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.say("Hello")
    talk.finish(prompt)
    talk.say(" there")


@report(late_replay="warning", user_message_echo="info")
def history_comes_after_the_response_to_the_load(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))
    talk.wait(3)
    talk.update("user_message_chunk", content={"type": "text", "text": "Hello"})


@report(unannounced_tool_call="warning")
def a_tool_call_was_never_announced(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("tool_call_update", toolCallId="call_1", status="completed")
    talk.finish(prompt)


@report(file_uri_as_path="warning", relative_file_path="error")
def files_are_named_by_a_uri_and_by_a_relative_path(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    for path in ("file:///home/ada/a.py", "src/a.py"):
        talk.refuse(talk.ask("fs/read_text_file", side="agent", sessionId="s1", path=path), -32602)
    talk.finish(prompt)


@report(command_line_as_command="warning")
def a_terminal_gets_a_command_line(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    line = "npm run build && npm test"
    made = talk.ask("terminal/create", side="agent", sessionId="s1", command=line)
    talk.answer(made, terminalId="x")
    for method, result in (("wait_for_exit", {"exitCode": 0}), ("release", {})):
        params: dict[str, Any] = {"sessionId": "s1", "terminalId": "x"}
        talk.answer(talk.ask(f"terminal/{method}", params, side="agent"), result)
    talk.finish(prompt)


@report(result_and_error="error")
def an_error_of_null_is_beside_the_result(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    end = {"id": prompt.id, "result": {"stopReason": "end_turn"}, "error": None}
    talk.send("agent", end)


@report(unknown_response_id="error")
def the_id_comes_back_as_text(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.send("agent", {"id": str(prompt.id), "result": {"stopReason": "end_turn"}})


@report(malformed_update="error", wrong_update_discriminator="error")
def the_update_is_told_apart_by_type(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    update = {"type": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}}
    talk.tell("session/update", side="agent", sessionId="s1", update=update)
    talk.finish(prompt)


@report(invalid_update="error")
def the_content_of_a_chunk_is_a_text(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("agent_message_chunk", content="Hi")
    talk.finish(prompt)


@report(cancelled_prompt_fails="error")
def a_cancelled_turn_fails_with_what_aborting_throws(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.wait(3)
    talk.refuse(prompt, -32603, "AbortError: This operation was aborted")


@report(cancel_seems_ignored="info")
def a_cancelled_turn_ends_as_usual_at_once(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.finish(prompt)


@report(concurrent_prompts="warning")
def a_prompt_is_queued_behind_another(talk: Talk) -> None:
    talk.open()
    first, second = talk.prompt(), talk.prompt("And then?")
    talk.finish(first)
    talk.finish(second)


@report()
def both_sides_count_their_ids_from_the_same_number(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    params = {"sessionId": "s1", "path": f"{CWD}/a.py"}
    read = talk.ask("fs/read_text_file", params, side="agent", id_=prompt.id)
    talk.answer(read, content="")
    talk.finish(prompt)


@report()
def responses_come_in_another_order(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listed = talk.ask("session/list")
    talk.finish(prompt)
    talk.answer(listed, sessions=[])


@report()
def the_turn_ends_in_the_moment_of_the_cancel(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    end = {"id": prompt.id, "result": {"stopReason": "end_turn"}}
    talk.send("agent", end, after=0.0001)


@report()
def a_method_and_fields_of_ones_own_are_marked(talk: Talk) -> None:
    meta: dict[str, Any] = {"acme.example/status": {}}
    talk.initialize(None, {"loadSession": True, "_meta": {"_acme/status": {}} | meta})
    talk.new_session()
    asked: Call = talk.ask("_acme/status", {"_meta": meta})
    talk.answer(asked, state="ok")


@report(incomplete_usage="error")
def the_context_is_of_unknown_size(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("usage_update", used=None, size=1000)
    talk.finish(prompt)


@report(user_message_echo="info")
def the_prompt_is_echoed_and_updates_come_that_a_page_does_not_list(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    echo = {"type": "text", "text": "Hello"}
    talk.update("user_message_chunk", content=echo, _meta={"promptIndex": 0})
    talk.update("available_commands_update", availableCommands=[])
    talk.update("session_info_update", title="Greeting")
    talk.say()
    talk.finish(prompt)


def setup(talk: Talk, server: dict[str, Any], *, is_refused: bool = False) -> None:
    talk.initialize()
    made = talk.ask("session/new", cwd=CWD, mcpServers=[{"name": "db", **server}])
    if is_refused:
        talk.refuse(made, -32602)
    else:
        talk.answer(made, sessionId="s1")


@report(incomplete_mcp_server="error", invalid_request_accepted="info")
def a_server_without_variables_is_dropped_in_silence(talk: Talk) -> None:
    setup(talk, {"command": "/usr/bin/db", "args": []})


@report(mcp_env_not_list="error", malformed_list_accepted="error")
def the_variables_of_a_server_are_an_object_as_in_settings(talk: Talk) -> None:
    setup(talk, {"command": "/usr/bin/db", "args": [], "env": {"KEY": "1"}})


@report(incomplete_mcp_server="error")
def the_arguments_of_a_server_are_one_text(talk: Talk) -> None:
    setup(talk, {"command": "/usr/bin/db", "args": "--fast", "env": []}, is_refused=True)


@report(relative_mcp_command="error")
def the_command_of_a_server_is_searched_for_in_another_path(talk: Talk) -> None:
    setup(talk, {"command": "npx", "args": ["db"], "env": []})


@report(relative_cwd="error")
def a_client_has_no_directory(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(talk.ask("session/new", cwd=None, mcpServers=[]), -32602)


@report(relative_cwd="error")
def the_directory_begins_with_the_home_of_a_shell(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/new", cwd="~/shop", mcpServers=[]), sessionId="s1")


@report()
def the_directory_is_one_of_windows(talk: Talk) -> None:
    talk.initialize()
    made = talk.ask("session/new", cwd="C:\\Users\\ada\\shop", mcpServers=[])
    talk.answer(made, sessionId="s1")


@report(unprefixed_method="error")
def a_method_of_ones_own_has_a_vendor_and_no_underscore(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("acme.example/status", sessionId="s1"), -32601)


@report(prompt_not_list="error")
def the_prompt_is_a_text(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt="Hello"), -32602)


@report(invalid_stop_reason="error")
def a_turn_ends_with_null(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"id": talk.prompt().id, "result": None})


@report(sessions_not_list="error")
def the_list_of_sessions_is_null(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"id": talk.ask("session/list").id, "result": None})


@report(null_result="warning")
def a_written_file_is_answered_with_null(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    params = {"sessionId": "s1", "path": f"{CWD}/a.py", "content": "x"}
    written = talk.ask("fs/write_text_file", params, side="agent")
    talk.send("client", {"id": written.id, "result": None})
    talk.finish(prompt)


@report(unknown_auth_method="error")
def a_login_is_chosen_that_nobody_offers(talk: Talk) -> None:
    talk.initialize(None, None, authMethods=[{"id": "key", "name": "Key"}])
    talk.refuse(talk.ask("authenticate", methodId="browser"), -32602)


@report()
def a_login_is_wanted_by_its_code(talk: Talk) -> None:
    talk.initialize(None, None, authMethods=[{"id": "key", "name": "Key"}])
    made = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.refuse(made, -32000, "Authentication required")


@report(runs_after_rejection="error")
def what_the_user_rejected_is_done_all_the_same(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool(kind="execute")
    talk.choose(talk.permission(), "no")
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.finish(prompt)


@report(incomplete_plan_entry="error")
def the_entries_of_a_plan_have_no_priority(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("plan", entries=[{"content": "Read", "status": "pending"}])
    talk.finish(prompt)


@report(unknown_tool_kind="error")
def a_kind_of_tool_is_made_up(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool(kind="web_search", status="completed")
    talk.finish(prompt)


@report(unknown_tool_status="error")
def a_tool_call_succeeds_by_another_word(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool(status="success")
    talk.finish(prompt)


@report(duplicate_tool_call="error")
def a_tool_call_is_announced_once_more_instead_of_updated(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool()
    talk.tool(status="completed")
    talk.finish(prompt)


@report(duplicate_response="error")
def a_turn_ends_twice(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.finish(prompt)
    talk.finish(prompt)


@report(
    answered_notification="error",
    unknown_notification_has_effect="warning",
    unannounced_extension="info",
)
def a_notification_of_the_clients_own_is_refused(talk: Talk) -> None:
    talk.open()
    talk.tell("_acme/focused", sessionId="s1")
    talk.send("agent", {"id": None, "error": {"code": -32601, "message": "Method not found"}})


@report(unreleased_terminal="warning")
def a_terminal_is_left_behind(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    params = {"sessionId": "s1", "command": "ls"}
    talk.answer(talk.ask("terminal/create", params, side="agent"), terminalId="x")
    talk.finish(prompt)
    talk.wait(60)
    talk.turn()
    talk.end()


@report(unknown_current_mode="error")
def the_mode_of_a_session_is_none_of_its_modes(talk: Talk) -> None:
    talk.initialize()
    modes = {"currentModeId": "zen", "availableModes": [{"id": "ask", "name": "Ask"}]}
    talk.new_session(modes=modes)


@report(unanswered_request="warning")
def the_agent_leaves_with_an_open_request(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    talk.end()


@pytest.mark.parametrize(
    ("script", "found"), REPORTS, ids=[script.__name__ for script, _ in REPORTS]
)
def test_a_reported_talk_has_the_findings_it_is_about(
    script: Report, found: dict[str, str]
) -> None:
    talk = Talk()
    script(talk)
    findings = lint(talk.entries).findings
    assert {each.rule.name: each.severity for each in findings} == found
    assert len(findings) == len(found), [each.message for each in findings]
