"""The way to a service and back, over real sockets, with all that can happen on it."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from email.utils import formatdate

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.anthropic import MessagesModel
from acp_agent.models.errors import ServiceFailedError
from acp_agent.models.http import ClientLimits
from acp_agent.models.openai import ChatModel
from acp_agent.models.types import Model, PromptMessage, Retrying, TextDelta, ToolUse
from acp_agent.settings.model import ModelSettings
from tests.agent.models.provider import (
    Answer,
    LocalProvider,
    found,
    providing,
    refused,
    replied,
    said,
    sse,
    streamed,
)

KEY = "sk-canary-0123456789"
QUICK = ClientLimits(first_delay_s=0.0)
GO = [PromptMessage("go")]
WORDS = sse({"choices": [{"delta": {"content": "wörds 語 😀"}}]})
CALL = sse(
    {
        "choices": [
            {"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read"}}]}}
        ]
    },
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"é":'}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]},
)
END = sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}, done=True)
WHOLE = streamed(WORDS, END)


def model_at(url: str, limits: ClientLimits = QUICK, key: str | None = KEY) -> ChatModel:
    return ChatModel(found("openai", url, key), "gpt-x", ModelSettings(), limits=limits)


async def failure(provider: LocalProvider, limits: ClientLimits = QUICK) -> ServiceFailedError:
    """Return how asking fails; the key must not be in what is said of it."""
    with pytest.raises(ServiceFailedError) as caught:
        await replied(model_at(provider.url, limits), GO)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_a_failure_that_passes_is_tried_again(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with providing(refused(status), refused(status), WHOLE) as provider:
        assert said(await replied(model_at(provider.url), GO)) == "wörds 語 😀"
    assert len(provider.asked) == 3
    assert provider.asked[0].body == provider.asked[2].body
    assert [text.endswith(". Trying again in 0.0 s.") for text in caplog.messages] == [True] * 2


@pytest.mark.parametrize(
    "first",
    [
        streamed(end="cut"),
        streamed(b": a comment\n\n", b"data: {", end="cut"),
        streamed(sse({"choices": []}), end="cut"),
        streamed(sse({"error": {"message": "Overloaded", "type": "overloaded_error"}})),
        Answer(is_silent=True, end="cut"),
    ],
)
async def test_what_ends_before_its_first_words_is_tried_again(first: Answer) -> None:
    async with providing(first, WHOLE) as provider:
        assert said(await replied(model_at(provider.url), GO)) == "wörds 語 😀"


async def test_nobody_hears_the_same_words_twice() -> None:
    async with providing(streamed(WORDS, end="cut")) as provider:
        heard = ""
        with pytest.raises(ServiceFailedError, match="ended before the response was complete"):
            async for event in model_at(provider.url).reply(GO, []):
                heard += said([event])
    assert heard == "wörds 語 😀"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_a_failure_that_stays_is_not_tried_again(status: int) -> None:
    async with providing(refused(status, {"error": {"message": f"no {KEY}"}})) as provider:
        problem = await failure(provider)
    assert not problem.is_transient
    assert problem.needs_key == (status == 401)


async def test_after_the_last_try_the_last_failure_is_told() -> None:
    limits = replace(QUICK, max_attempts=2)
    async with providing(refused(500), refused(503)) as provider:
        problem = await failure(provider, limits)
    assert str(problem) == "OpenAI is overloaded."


async def test_the_rest_that_a_service_wants_is_kept() -> None:
    """Our own would be longer than the test may take."""
    limits = ClientLimits(first_delay_s=1000.0, max_delay_s=1000.0)
    async with providing(refused(429, retry_after="0.001"), WHOLE) as provider:
        assert said(await replied(model_at(provider.url, limits), GO))


@pytest.mark.parametrize("told", ["0", formatdate(0, usegmt=True)])
async def test_a_service_that_wants_no_rest_gets_one(
    told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []

    async def told_sleep(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(anyio, "sleep", told_sleep)
    limits = ClientLimits(first_delay_s=7.0)
    async with providing(refused(429, retry_after=told), WHOLE) as provider:
        assert said(await replied(model_at(provider.url, limits), GO))
    assert len(rests) == 1
    assert rests[0] >= 7.0


async def test_a_long_wait_is_told_before_it_begins_and_a_short_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    happened: list[object] = []

    async def told_sleep(seconds: float) -> None:
        happened.append(seconds)

    monkeypatch.setattr(anyio, "sleep", told_sleep)
    short, long = refused(503, retry_after="0.5"), refused(503, retry_after="3")
    async with providing(short, long, long, WHOLE) as provider:
        async for event in model_at(provider.url).reply(GO, []):
            happened += [event]
    delayed = Retrying("OpenAI is overloaded.", 3.0)
    assert happened[:-1] == [0.5, delayed, 3.0, delayed, 3.0]
    assert happened[-1] == TextDelta("wörds 語 😀")


async def test_a_service_that_wants_too_long_a_rest_is_not_asked_again() -> None:
    async with providing(refused(429, retry_after="3600")) as provider:
        problem = await failure(provider)
    assert str(problem) == "OpenAI limits the rate of requests; retry after 3600 seconds."


async def cancelled(model: Model, is_time: Callable[[], AsyncIterator[None]]) -> None:
    """Ask, and cancel when it is time."""
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            await replied(model, GO)

        tasks.start_soon(ask)
        async for _ in is_time():
            pass
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "answer",
    [
        streamed(WORDS, end="hold"),
        streamed(end="hold"),
        Answer(is_silent=True, end="hold"),
        Answer(status=400, pieces=[b"{"], end="hold"),
    ],
)
async def test_a_cancellation_hangs_up_at_once(answer: Answer) -> None:
    async with providing(answer) as provider:

        async def arrived() -> AsyncIterator[None]:
            await provider.arrived.wait()
            yield

        await cancelled(model_at(provider.url), arrived)
        await provider.hung_up.wait()


async def test_a_cancellation_ends_the_rest_before_the_next_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rests = anyio.Event()
    sleep = anyio.sleep

    async def told_sleep(seconds: float) -> None:
        assert seconds == 50
        rests.set()
        await sleep(seconds)

    monkeypatch.setattr(anyio, "sleep", told_sleep)
    async with providing(refused(429, retry_after="50")) as provider:

        async def resting() -> AsyncIterator[None]:
            await rests.wait()
            yield

        await cancelled(model_at(provider.url), resting)


async def test_a_reply_that_is_left_early_hangs_up() -> None:
    async with providing(streamed(WORDS, end="hold")) as provider:
        reply = model_at(provider.url).reply(GO, [])
        assert isinstance(await anext(reply), TextDelta)
        await reply.aclose()
        await provider.hung_up.wait()


async def test_silence_ends_the_wait() -> None:
    limits = replace(QUICK, read_s=0.05, max_attempts=2)
    hold = Answer(is_silent=True, end="hold")
    async with providing(hold, streamed(end="hold")) as provider:
        problem = await failure(provider, limits)
    assert str(problem) == "OpenAI sent nothing for 0.05 seconds."


async def test_who_is_not_there_cannot_be_reached() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ServiceFailedError, match=r"cannot be reached at .*running") as caught:
            await replied(model_at(url, ClientLimits(first_delay_s=1000.0)), GO)
    assert not caught.value.is_transient


@pytest.mark.parametrize("kind", ["text/html", "application/json", ""])
async def test_another_kind_of_answer_is_no_stream(kind: str) -> None:
    answer = Answer(200, {"Content-Type": kind} if kind else {}, [b"<html>"])
    async with providing(answer) as provider:
        problem = await failure(provider)
    assert "not text/event-stream" in str(problem)
    assert "OPENAI_BASE_URL" in str(problem)


@pytest.mark.parametrize(
    "line", [b"data: {oops}", b"data: [1]", b"data: NaN", b"data: \xff\xfe", b"data: {}"]
)
async def test_what_is_no_message_is_told_and_not_tried_again(line: bytes) -> None:
    async with providing(streamed(line + b"\n\n")) as provider:
        problem = await failure(provider)
    assert str(problem).startswith("OpenAI sent an invalid response: ")


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 94, b": x\n" * 25, b'data: {"usage":1}\n\n'])
async def test_an_answer_without_an_end_is_left(piece: bytes) -> None:
    limits = replace(QUICK, max_bytes=10_000)
    async with providing(streamed(*[piece] * 1000, end="hold")) as provider:
        problem = await failure(provider, limits)
        await provider.hung_up.wait()
    sentence = "The response from OpenAI is longer than the limit of 10000 bytes."
    assert str(problem) == sentence


async def test_a_long_answer_is_taken() -> None:
    words = sse({"choices": [{"delta": {"content": "x" * 100_000}}]})
    async with providing(streamed(*[words] * 20, END)) as provider:
        assert len(said(await replied(model_at(provider.url), GO))) == 2_000_000


async def test_a_refusal_without_an_end_is_read_in_part() -> None:
    page = b"<html>" + b"x" * 200_000
    async with providing(Answer(400, {}, [page], end="hold")) as provider:
        problem = await failure(provider)
    assert str(problem) == "OpenAI rejected the request with status 400."


async def test_what_is_squeezed_all_the_same_is_read() -> None:
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"}
    answer = Answer(200, headers, [gzip.compress(WORDS + END)])
    async with providing(answer) as provider:
        assert said(await replied(model_at(provider.url), GO)) == "wörds 語 😀"


@pytest.mark.parametrize(
    ("packing", "why"), [("br", "it is compressed as br"), ("gzip", "it cannot be decompressed")]
)
async def test_what_cannot_be_unpacked_is_told(packing: str, why: str) -> None:
    headers = {"Content-Type": "text/event-stream", "Content-Encoding": packing}
    async with providing(Answer(200, headers, [b"\x8b" * 50])) as provider:
        problem = await failure(provider)
    assert why in str(problem)
    assert not problem.is_transient


async def test_an_error_in_the_place_of_a_stream_is_told() -> None:
    body = b'{"error": {"message": "no such thing", "type": "invalid_request_error"}}'
    async with providing(Answer(200, {"Content-Type": "application/json"}, [body])) as provider:
        problem = await failure(provider)
    assert str(problem) == "OpenAI aborted its response: no such thing."


async def test_a_call_that_is_cut_in_its_middle_is_asked_for_again() -> None:
    first = streamed(CALL[: len(CALL) // 2], end="cut")
    async with providing(first, streamed(CALL, END)) as provider:
        assert await replied(model_at(provider.url), GO) == [ToolUse("read", {"é": 1}, "a")]


async def test_a_key_goes_nowhere_else() -> None:
    """A service that sends us on does not send our key on."""
    async with providing() as other, providing(refused(307, location=other.url)) as provider:
        problem = await failure(provider)
    assert str(problem) == "OpenAI redirects, status 307: check OPENAI_BASE_URL."
    assert other.asked == []


async def test_without_a_key_nobody_is_asked() -> None:
    service = replace(found("openai", "http://127.0.0.1:9", None), needs_key=True)
    with pytest.raises(ServiceFailedError) as caught:
        await replied(ChatModel(service, "m", ModelSettings()), GO)
    assert caught.value.needs_key
    sentence = "OpenAI needs a key: set OPENAI_API_KEY where the agent is started."
    assert str(caught.value) == sentence


async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower() == "no_proxy"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x:1")
    with pytest.raises(ServiceFailedError, match=r"^The proxy that the environment names"):
        await replied(model_at("http://192.0.2.1"), GO)


async def test_who_is_on_this_machine_is_reached_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x:1")
    async with providing(WHOLE, WHOLE) as provider:
        for url in (provider.url, provider.url.replace("127.0.0.1", "localhost")):
            assert said(await replied(model_at(url), GO)) == "wörds 語 😀"


async def test_a_proxy_stands_between_us_and_a_service_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.lower() == "no_proxy"]:
        monkeypatch.delenv(name)
    async with providing(WHOLE) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert said(await replied(model_at("http://192.0.2.1/v1"), GO)) == "wörds 語 😀"
    assert proxy.asked[0].path == "http://192.0.2.1/v1/chat/completions"


def sending(chunks: Sequence[bytes]) -> httpx.AsyncBaseTransport:
    """Return a transport that answers every request with `chunks`."""

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    headers = {"Content-Type": "text/event-stream"}
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body()))


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(raw) + 1) for place in places} | {len(raw)})
    starts = [0, *ends[:-1]]
    return [raw[start:end] for start, end in zip(starts, ends, strict=True)]


places = st.lists(st.integers(0, 100_000), max_size=40) | st.just(list(range(3000)))
newlines = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(places=places, newline=newlines)
async def test_chat_completions_are_the_same_however_they_are_cut(
    places: list[int], newline: bytes
) -> None:
    raw = (WORDS + b": ping\n\n" + CALL + END).replace(b"\n", newline)
    service = found("openai", "http://service")
    events = await replied(
        ChatModel(service, "m", ModelSettings(), transport=sending(cut(raw, places))), GO
    )
    assert events == [TextDelta("wörds 語 😀"), ToolUse("read", {"é": 1}, "a")]


MESSAGES = sse(
    {"type": "message_start", "message": {}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é語😀"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_stop"},
)


@given(places=places, newline=newlines)
async def test_messages_are_the_same_however_they_are_cut(
    places: list[int], newline: bytes
) -> None:
    raw = MESSAGES.replace(b"\n", newline)
    service = found("anthropic", "http://service")
    transport = sending(cut(raw, places))
    events = await replied(MessagesModel(service, "m", ModelSettings(), transport=transport), GO)
    assert events == [TextDelta("é語😀")]


@given(raw=st.binary(max_size=200), places=places)
async def test_any_bytes_are_read_or_refused(raw: bytes, places: list[int]) -> None:
    service = found("openai", "http://service")
    transport = sending(cut(b"data: " + raw, places))
    model = ChatModel(service, "m", ModelSettings(), limits=QUICK, transport=transport)
    with pytest.raises(ServiceFailedError):
        await replied(model, GO)
