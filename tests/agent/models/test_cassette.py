"""Cassettes: what is recorded from a real server plays back the same, faults included."""

from __future__ import annotations

import gzip
import json
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_agent.models.cassette import RecordingCassette, ReplayingCassette
from acp_agent.models.http import Cassette, ClientLimits
from acp_agent.models.openai import ChatModel
from acp_agent.models.providers import SettingsError
from acp_agent.models.settings import ModelSettings
from acp_agent.models.sse import STREAM
from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    ModelFailedError,
    PromptMessage,
    TextDelta,
    ToolResult,
    ToolUse,
)
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import (
    Answer,
    found,
    providing,
    refused,
    replied,
    said,
    sse,
    streamed,
)

KEY = "sk-canary-0123456789"
PACKED = {"Content-Type": STREAM, "Content-Encoding": "gzip"}
GO = [PromptMessage("gö")]
END = sse({"choices": [{"delta": {}, "finish_reason": "stop"}]}, done=True)


def words(text: str) -> bytes:
    return sse({"choices": [{"delta": {"content": text}}]})


def model_with(tape: Cassette, url: str = "http://nowhere", key: str | None = KEY) -> ChatModel:
    limits = ClientLimits(first_delay_s=0.0, max_attempts=3)
    return ChatModel(found("openai", url, key), "gpt-x", ModelSettings(), tape=tape, limits=limits)


async def outcome(model: ChatModel, history: Sequence[HistoryEntry]) -> list[ModelEvent | str]:
    """Return what a model replies, and how it fails if it does."""
    events: list[ModelEvent | str] = []
    try:
        async for event in model.reply(history, []):
            events += [event]
    except ModelFailedError as problem:
        events.append(str(problem))
    return events


def exchanges(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


@pytest.mark.parametrize(
    "answers",
    [
        [streamed(words("é語😀")[:31], words("é語😀")[31:] + words("b"), END)],
        [refused(429, {"error": {"message": "Slow"}}, retry_after="0.001"), streamed(END)],
        [streamed(words("a"), end="cut")],
        [streamed(end="cut"), streamed(words("a"), END)],
        [Answer(is_silent=True, end="cut"), streamed(words("a"), END)],
        [refused(401, {"error": {"message": "no"}})],
        [streamed(b"data: \xff\xfe{\n\n")],
        [Answer(200, {"Content-Type": "text/html"}, [b"<html>"])],
        [Answer(200, PACKED, [gzip.compress(words("a") + END)[:40], b"no more of it"])],
        [Answer(200, PACKED, [b"not packed"])],
        [Answer(200, PACKED | {"Content-Encoding": "br"}, [b"x"])],
    ],
)
async def test_what_was_recorded_plays_back_the_same(tmp_path: Path, answers: list[Answer]) -> None:
    path = tmp_path / "tape"
    async with providing(*answers) as provider:
        recorded = await outcome(model_with(RecordingCassette(path), provider.url, KEY), GO)
    assert KEY.encode() not in path.read_bytes()
    assert len(exchanges(path)) == len(answers)
    assert await outcome(model_with(ReplayingCassette(path)), GO) == recorded


async def chunks_through(transport: httpx.AsyncBaseTransport) -> list[bytes]:
    """Return the body of an answer as it comes through `transport`."""
    async with httpx.AsyncClient(transport=transport) as client:
        request = client.build_request("POST", "http://nowhere/", content=b"{}")
        response = await client.send(request, stream=True)
        async with aclosing(response):
            return [chunk async for chunk in response.aiter_raw()]


@given(chunks=st.lists(st.binary(min_size=1, max_size=4) | st.just(b"\xc3"), max_size=5))
async def test_any_bytes_are_kept_cut_as_they_came(chunks: list[bytes]) -> None:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    def network() -> httpx.AsyncClient:
        answer = httpx.MockTransport(lambda _: httpx.Response(200, content=body()))
        return httpx.AsyncClient(transport=answer)

    with TemporaryDirectory() as folder:
        path = Path(folder) / "tape"
        assert await chunks_through(RecordingCassette(path).transport(network, None)) == chunks
        assert await chunks_through(ReplayingCassette(path).transport(network, None)) == chunks


async def test_a_refusal_that_repeats_the_key_is_kept_without_it(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    async with providing(refused(401, {"error": {"message": f"no {KEY}"}})) as provider:
        [live] = await outcome(model_with(RecordingCassette(path), provider.url, KEY), GO)
    assert KEY not in path.read_text()
    [told] = await outcome(model_with(ReplayingCassette(path)), GO)
    assert str(told) == str(live)
    assert str(told).endswith("OPENAI_API_KEY: no ….")


async def test_an_answer_that_is_compressed_is_kept_as_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    packed = gzip.compress(words(f"it is {KEY}") + END)
    async with providing(Answer(200, PACKED, [packed[:50], packed[50:]])) as provider:
        first = await replied(model_with(RecordingCassette(path), provider.url, KEY), GO)
    assert said(first) == f"it is {KEY}"
    [exchange] = exchanges(path)
    assert exchange["response"]["headers"] == {"content-type": STREAM}
    assert "".join(exchange["response"]["chunks"]).startswith('data: {"choices"')
    model = model_with(ReplayingCassette(path), key=None)
    assert said(await replied(model, GO)) == f"it is {'*' * len(KEY)}"


async def test_the_file_holds_no_header_of_a_request_and_is_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tape"
    answer = streamed(words(f"the key is {KEY[:5]}"), words("x"), END)
    history = [PromptMessage(f"my key is {KEY}")]
    async with providing(answer) as provider:
        await replied(model_with(RecordingCassette(path), provider.url, KEY), history)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    [exchange] = exchanges(path)
    assert set(exchange["request"]) == {"path", "body"}
    assert exchange["response"]["headers"] == {"content-type": "text/event-stream"}
    assert KEY not in path.read_text()
    assert exchange["request"]["body"]["messages"][1]["content"] == f"my key is {'*' * len(KEY)}"
    assert said(await replied(model_with(ReplayingCassette(path)), history)).endswith("x")


@pytest.mark.parametrize("key", [KEY, None])
async def test_a_key_that_an_answer_repeats_does_not_change_what_is_asked_next(
    tmp_path: Path, key: str | None
) -> None:
    path = tmp_path / "tape"
    repeats = streamed(words(f"it is {KEY}"), END)
    async with providing(repeats, streamed(words("b"), END)) as provider:
        model = model_with(RecordingCassette(path), provider.url, KEY)
        first = said(await replied(model, GO))
        await replied(model, [*GO, AssistantMessage((TextDelta(first),)), PromptMessage("more")])
    model = model_with(ReplayingCassette(path), key=key)
    first = said(await replied(model, GO))
    assert first == f"it is {'*' * len(KEY)}"
    assert (
        said(
            await replied(
                model, [*GO, AssistantMessage((TextDelta(first),)), PromptMessage("more")]
            )
        )
        == "b"
    )


class Offline:
    """Lets a tape record answers that come from nowhere."""

    is_replayed = False

    def __init__(self, tape: RecordingCassette, answers: list[list[bytes]]) -> None:
        self.tape = tape
        self.answers = answers

    def transport(
        self, network: Callable[[], httpx.AsyncClient], secret: str | None
    ) -> httpx.AsyncBaseTransport:
        del network
        answering = httpx.MockTransport(lambda _: self.answer(self.answers.pop(0)))
        return self.tape.transport(lambda: httpx.AsyncClient(transport=answering), secret)

    def answer(self, chunks: list[bytes]) -> httpx.Response:
        async def body() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        return httpx.Response(200, headers={"Content-Type": STREAM}, content=body())


KEYS = st.text('aZ09-/+_%"\\', min_size=8, max_size=20).map(lambda middle: f"k{middle}z")


@settings(deadline=None)
@given(key=KEYS, size=st.integers(1, 99), is_own=st.booleans())
async def test_no_tape_holds_the_key_and_each_talk_plays_back(
    key: str, size: int, *, is_own: bool
) -> None:
    """Played back by who recorded it, or by somebody whose own key stands in the same place."""
    # A key that JSON escapes is not looked for in answers.
    repeated = key if json.dumps(key) == f'"{key}"' else "nothing"
    answer = b"".join([words(f"it is {repeated}!"), END])
    cuts = [answer[at : at + size] for at in range(0, len(answer), size)]
    answers = [cuts, [words("b"), END]]

    async def talk(model: ChatModel, held: str) -> list[str]:
        asking = [PromptMessage(f"my .env says {held}")]
        first = said(await replied(model, asking))
        more = [
            AssistantMessage((TextDelta(first), ToolUse("read", {"path": held}, "1"))),
            ToolResult("read", held),
        ]
        return [first, said(await replied(model, [*asking, *more]))]

    with TemporaryDirectory() as folder:
        path = Path(folder) / "tape"
        await talk(model_with(Offline(RecordingCassette(path), answers), key=key), key)
        raw = path.read_text()
        # Arguments are JSON within JSON, where such a key has another spelling.
        assert key not in raw
        own = key if is_own else f"other-{key}"
        model = model_with(ReplayingCassette(path), key=own)
        stars = repeated.replace(key, "*" * len(key))
        if repeated == key:
            assert await talk(model, own) == [f"it is {stars}!", "b"]


async def test_requests_are_told_apart_by_what_they_say_and_answered_in_order(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tape"
    other = [*GO, AssistantMessage((TextDelta("a"),)), PromptMessage("more")]
    async with providing(*(streamed(words(text), END) for text in "abc")) as provider:
        model = model_with(RecordingCassette(path), provider.url)
        for history in (GO, other, GO):
            await replied(model, history)
    model = model_with(ReplayingCassette(path), key=None)
    assert [said(await replied(model, history)) for history in (other, GO, GO)] == ["b", "a", "c"]
    with pytest.raises(ModelFailedError, match="it was recorded less often"):
        await replied(model, GO)
    with pytest.raises(ModelFailedError, match=r"it was not recorded\. Record it anew\.$"):
        await replied(model, [PromptMessage("something else")])


async def test_an_answer_that_was_left_plays_back_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    async with providing(streamed(words("a"), end="hold")) as provider:
        reply = model_with(RecordingCassette(path), provider.url).reply(GO, [])
        assert await anext(reply) == TextDelta("a")
        await reply.aclose()
    reply = model_with(ReplayingCassette(path)).reply(GO, [])
    assert await anext(reply) == TextDelta("a")
    with pytest.raises(ModelFailedError, match="it was cancelled when it was recorded"):
        await anext(reply)


async def test_a_disk_that_is_full_does_not_stop_the_traffic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tape"
    tape = RecordingCassette(path)
    path.unlink()
    path.symlink_to("/dev/full")
    async with providing(streamed(words("a"), END)) as provider:
        assert said(await replied(model_with(tape, provider.url), GO)) == "a"
    assert "cannot write to the cassette" in caplog.text


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_text("precious")
    with pytest.raises(SettingsError, match="exists: replay it, or remove it"):
        RecordingCassette(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["missing/tape", "\0", "x" * 300])
def test_a_file_that_cannot_be_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="cannot be made: "):
        RecordingCassette(tmp_path / name)
    with pytest.raises(SettingsError, match="cannot be read: "):
        ReplayingCassette(tmp_path / name)


HEAD = '{"format": "acp-agent cassette", "version": 1}\n'
WHOLE = '{"request": {}, "response": {"status": 200, "headers": {}, "chunks": [], "end": null}}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Line 1 of the cassette"),
        ("{}", "is no cassette of version 1"),
        (HEAD.replace("1}", "2}"), "is no cassette of version 1"),
        (HEAD + WHOLE + "\n{oops", "Line 3 of the cassette .* is no JSON"),
        (HEAD + "[]", "Line 2 of the cassette .* holds no exchange"),
        (HEAD + WHOLE.replace("200", "0"), "Line 2 .* holds no exchange"),
        (HEAD + WHOLE.replace("null", '"what"'), "Line 2 .* holds no exchange"),
        (HEAD + WHOLE.replace("null", "[]"), "Line 2 .* holds no exchange"),
        (HEAD + WHOLE.replace("[]", "[1]"), "Line 2 .* holds no exchange"),
        (HEAD + WHOLE.replace("[]", '[{"base64": "!"}]'), "Line 2 .* holds no exchange"),
    ],
)
def test_a_file_that_is_no_cassette_is_refused_by_its_line(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = tmp_path / "tape"
    path.write_text(content)
    with pytest.raises(SettingsError, match=reason):
        ReplayingCassette(path)
