"""What an agent may ask of its client, asked in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_console.chat.handlers import (
    MAX_CONTENT,
    MAX_OPEN_PROMPTS,
    MAX_READS,
    MAX_SESSIONS,
    MAX_TOOL_CALLS,
    ClientHandlers,
)
from acp_console.chat.permissions import PermissionPrompt
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Notification,
    Request,
)

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
CANCELLED = {"outcome": {"outcome": "cancelled"}}
YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}


class Deciding:
    """Gives one answer to every question, and remembers the questions."""

    def __init__(self, answer: str | None = "yes") -> None:
        self.answer = answer
        self.asks: list[PermissionPrompt] = []

    async def decide(self, request: PermissionPrompt) -> str | None:
        self.asks.append(request)
        return self.answer


@pytest.fixture
def decider() -> Deciding:
    return Deciding()


@pytest.fixture
def host(decider: Deciding, tmp_path: Path) -> ClientHandlers:
    host = ClientHandlers(decider)
    host.open_session("s1", tmp_path)
    return host


async def ask(host: ClientHandlers, method: str, **params: Any) -> Any:
    answer = await host.handle_request(Request(1, method, {"sessionId": "s1", **params}, b""))
    if isinstance(answer, Response):
        await answer.after_send()
        return answer.result
    return answer


async def ask_consent(host: ClientHandlers, **tool_call: Any) -> Any:
    call = {"toolCallId": "t1", **tool_call}
    return await ask(host, "session/request_permission", toolCall=call, options=OPTIONS)


async def tell(host: ClientHandlers, name: str, **members: Any) -> None:
    update = {"sessionUpdate": name, "toolCallId": "t1", **members}
    params = {"sessionId": "s1", "update": update}
    await host.handle_notification(Notification("session/update", params, b""))


async def test_a_file_of_the_session_is_read_and_written(
    host: ClientHandlers, tmp_path: Path
) -> None:
    path = str(tmp_path / "notes.txt")
    assert await ask(host, "fs/write_text_file", path=path, content="one\ntwo\n") == {}
    assert await ask(host, "fs/read_text_file", path=path) == {"content": "one\ntwo\n"}


@pytest.mark.parametrize(
    ("line", "limit", "content"),
    [
        (None, None, "a\x0cb\u2028c\nd\r\ne"),
        (1, None, "a\x0cb\u2028c\nd\r\ne"),
        (2, None, "d\r\ne"),
        (1, 1, "a\x0cb\u2028c\n"),
        (2, 1, "d\r\n"),
        (3, 5, "e"),
        (None, 0, ""),
        (9, 2, ""),
    ],
)
async def test_lines_are_counted_by_their_newlines_alone(
    host: ClientHandlers, tmp_path: Path, line: int | None, limit: int | None, content: str
) -> None:
    path = tmp_path / "strange.txt"
    path.write_bytes("a\x0cb\u2028c\nd\r\ne".encode())
    part = {"line": line, "limit": limit}
    assert await ask(host, "fs/read_text_file", path=str(path), **part) == {"content": content}


async def test_a_missing_file_is_an_error_and_no_empty_text(
    host: ClientHandlers, tmp_path: Path
) -> None:
    with pytest.raises(RequestFailedError) as refusal:
        await ask(host, "fs/read_text_file", path=str(tmp_path / "missing"))
    assert refusal.value.code == RESOURCE_NOT_FOUND


async def test_an_agent_that_cannot_read_the_error_gets_an_empty_text(
    host: ClientHandlers, tmp_path: Path
) -> None:
    host.agent_name = "gemini-cli"
    found = await ask(host, "fs/read_text_file", path=str(tmp_path / "missing"))
    assert found == {"content": ""}


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
async def test_no_way_leads_out_of_the_session(
    host: ClientHandlers, tmp_path: Path, method: str
) -> None:
    (tmp_path / "way-out").symlink_to("/")
    for path in ("/etc/passwd", f"{tmp_path}/../x", f"{tmp_path}/way-out/etc/passwd", "relative"):
        with pytest.raises(RequestFailedError) as refusal:
            await ask(host, method, path=path, content="x")
        assert refusal.value.code == INVALID_PARAMS


async def test_a_session_that_was_never_opened_has_no_files(
    host: ClientHandlers, tmp_path: Path
) -> None:
    with pytest.raises(RequestFailedError, match="No such session"):
        await ask(host, "fs/read_text_file", path=str(tmp_path / "x"), sessionId="s2")


async def test_what_is_not_served_is_not_promised(decider: Deciding, tmp_path: Path) -> None:
    host = ClientHandlers(decider, reads=True, writes=False)
    host.open_session("s1", tmp_path)
    assert host.capabilities["fs"] == {"readTextFile": True, "writeTextFile": False}
    with pytest.raises(RequestFailedError) as refusal:
        await ask(host, "fs/write_text_file", path=str(tmp_path / "x"), content="x")
    assert refusal.value.code == METHOD_NOT_FOUND
    assert not (tmp_path / "x").exists()


async def test_a_host_serves_one_connection_after_the_other(
    decider: Deciding, tmp_path: Path
) -> None:
    host = ClientHandlers(decider, runs=True)
    host.open_session("s1", tmp_path)
    for _ in range(2):
        async with host:
            created = await ask(host, "terminal/create", command="true")
            ended = await ask(host, "terminal/wait_for_exit", **created)
            assert ended == {"exitCode": 0, "signal": None}
        with pytest.raises(RequestFailedError, match="Method not found"):
            await ask(host, "terminal/output", **created)


@pytest.mark.parametrize("method", ["terminal/create", "_vendor/thing", "session/update"])
async def test_an_unknown_request_is_refused_as_unknown(host: ClientHandlers, method: str) -> None:
    with pytest.raises(RequestFailedError) as refusal:
        await ask(host, method)
    assert refusal.value.code == METHOD_NOT_FOUND


async def test_params_that_do_not_fit_are_refused_by_the_member(host: ClientHandlers) -> None:
    with pytest.raises(RequestFailedError, match="path") as refusal:
        await ask(host, "fs/read_text_file", path=7)
    assert refusal.value.code == INVALID_PARAMS


async def test_the_answer_carries_the_option_that_was_chosen(host: ClientHandlers) -> None:
    assert await ask_consent(host) == YES


@pytest.mark.parametrize("answer", [None, "never offered"])
async def test_an_answer_that_was_not_offered_does_not_go_out(
    host: ClientHandlers, decider: Deciding, answer: str | None
) -> None:
    decider.answer = answer
    assert await ask_consent(host) == CANCELLED


async def test_a_cancelled_turn_answers_with_cancelled_until_the_next(
    host: ClientHandlers, decider: Deciding
) -> None:
    host.cancel_turn("s1")
    assert await ask_consent(host) == CANCELLED
    assert decider.asks == []
    host.begin_turn("s1")
    assert await ask_consent(host) == YES


async def test_a_turn_cancelled_while_somebody_decides_answers_with_cancelled(
    tmp_path: Path,
) -> None:
    class Slow(Deciding):
        async def decide(self, request: PermissionPrompt) -> str | None:
            host.cancel_turn("s1")
            return "yes"

    host = ClientHandlers(Slow())
    host.open_session("s1", tmp_path)
    assert await ask_consent(host) == CANCELLED


async def test_a_question_knows_what_was_said_of_its_call(
    host: ClientHandlers, decider: Deciding, tmp_path: Path
) -> None:
    """Agents need not repeat the kind when they ask, and many do not."""
    await tell(host, "tool_call", title="Look", kind="read")
    await tell(host, "tool_call_update", kind=None, locations=[{"path": "x"}])
    await ask_consent(host)
    assert decider.asks[0].kind == "read"
    assert decider.asks[0].paths == ("x",)
    assert decider.asks[0].cwd == tmp_path


async def test_a_call_that_has_ended_lends_its_kind_to_no_other(
    host: ClientHandlers, decider: Deciding
) -> None:
    await tell(host, "tool_call", title="Look", kind="read")
    await tell(host, "tool_call_update", status="completed")
    await ask_consent(host)
    assert decider.asks[0].kind == "other"


async def test_only_so_many_calls_are_remembered(host: ClientHandlers, decider: Deciding) -> None:
    await tell(host, "tool_call", kind="read")
    for number in range(MAX_TOOL_CALLS):
        await tell(host, "tool_call", toolCallId=f"more {number}", kind="read")
    await ask_consent(host)
    await ask_consent(host, toolCallId="more 0")
    assert [ask.kind for ask in decider.asks] == ["other", "read"]


async def test_only_so_many_sessions_are_remembered(
    host: ClientHandlers, decider: Deciding
) -> None:
    await tell(host, "tool_call", kind="read")
    for number in range(MAX_SESSIONS):
        update = {"sessionUpdate": "tool_call", "toolCallId": "t1", "kind": "read"}
        params = {"sessionId": f"more {number}", "update": update}
        await host.handle_notification(Notification("session/update", params, b""))
    await ask_consent(host)
    assert decider.asks[0].kind == "other"


@pytest.mark.parametrize("status", [[], {}, 1.5, True])
async def test_a_status_of_no_kind_ends_no_call(
    host: ClientHandlers, decider: Deciding, status: object
) -> None:
    await tell(host, "tool_call", kind="read", status=status)
    await ask_consent(host)
    assert decider.asks[0].kind == "read"


async def test_few_files_are_read_until_the_agent_has_taken_them(
    host: ClientHandlers, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    request = Request(1, "fs/read_text_file", {"sessionId": "s1", "path": str(path)}, b"")
    taken: list[Response] = []

    async def read() -> None:
        answer = await host.handle_request(request)
        assert isinstance(answer, Response)
        taken.append(answer)

    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_READS * 3):
            tasks.start_soon(read)
        for round_ in range(1, 4):
            with anyio.fail_after(10):
                while len(taken) < MAX_READS * round_:
                    await anyio.sleep(0.001)
            await anyio.wait_all_tasks_blocked()
            assert len(taken) == MAX_READS * round_
            for answer in taken[-MAX_READS:]:
                await answer.after_send()


async def test_only_so_many_permission_requests_wait() -> None:
    release = anyio.Event()

    class Waiting(Deciding):
        async def decide(self, request: PermissionPrompt) -> str | None:
            await release.wait()
            return await super().decide(request)

    host = ClientHandlers(Waiting())
    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_OPEN_PROMPTS):
            tasks.start_soon(ask_consent, host)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RequestFailedError, match="too many requests wait") as refused:
            await ask_consent(host)
        assert refused.value.code == INTERNAL_ERROR
        release.set()
    assert await ask_consent(host) == YES


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_what_was_said_of_a_call_is_forgotten_when_it_has_ended(
    host: ClientHandlers, decider: Deciding, status: str
) -> None:
    host.version = 2
    await tell(host, "tool_call_update", title="Look", kind="read")
    await tell(host, "tool_call_update", status=status)
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t1"}}
    await ask(host, "session/request_permission", title="Again", subject=subject, options=OPTIONS)
    assert decider.asks[0].kind == "other"


async def test_a_call_with_more_content_than_is_kept_is_not_asked_about(
    host: ClientHandlers, decider: Deciding
) -> None:
    host.version = 2
    block = {"type": "content", "content": {"type": "text", "text": "x"}}
    await tell(host, "tool_call_update", title="Edit", kind="edit")
    for _ in range(MAX_CONTENT * 2):
        await tell(host, "tool_call_content_chunk", content=block)
    with pytest.raises(RequestFailedError, match="too much content to show"):
        await ask(
            host,
            "session/request_permission",
            title="Edit",
            subject={"type": "tool_call", "toolCall": {"toolCallId": "t1"}},
            options=OPTIONS,
        )
    assert decider.asks == []
