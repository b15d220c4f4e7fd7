"""Services that say which models they have, over real sockets, and those that do not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from acp_agent.config.build import build_models
from acp_agent.models import roster
from acp_agent.models.choice import ModelChoice, expanded
from acp_agent.models.roster import MODEL_LIMIT, named_by
from acp_agent.models.services import SERVICES, SettingsError
from acp_agent.settings import Settings
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import found


class Listing:
    """What a service answers, and how it was asked."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.body = body
        self.status = status
        self.url = ""
        self.asked: list[tuple[str, dict[str, str]]] = []


@contextmanager
def serving(listing: Listing) -> Generator[Listing]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listing.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            self.send_response(listing.status)
            self.send_header("Content-Length", str(len(listing.body)))
            self.end_headers()
            self.wfile.write(listing.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listing.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield listing
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listed(*names: Json) -> bytes:
    return json.dumps({"data": [{"id": name} for name in names]}).encode()


@pytest.mark.parametrize(
    ("prefix", "path", "header"),
    [("ollama", "/models", "authorization"), ("anthropic", "/v1/models?limit=200", "x-api-key")],
)
def test_a_service_is_asked_in_its_own_way(prefix: str, path: str, header: str) -> None:
    with serving(Listing(listed("b", "a", "b"))) as listing:
        assert named_by(found(prefix, listing.url)) == ["b", "a"]
    ((asked, headers),) = listing.asked
    assert asked == path
    assert "sk-canary-0123456789" in headers[header]


def test_what_is_no_name_is_left_out_and_no_more_are_offered_than_anybody_reads() -> None:
    odd: list[Json] = ["", " ", None, 7, "a\nb", "x" * 201]
    names = [f"m{number}" for number in range(MODEL_LIMIT + 5)]
    with serving(Listing(listed(*odd, *names))) as listing:
        assert named_by(found("ollama", listing.url)) == names[:MODEL_LIMIT]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"", 401, "it answers with status 401"),
        (b"nonsense", 200, "its answer is no JSON"),
        (b"[" * 100_000, 200, "its answer is no JSON"),
        (b"{}", 200, "it has none"),
        (b"[]", 200, "it has none"),
        (b'{"data":"x"}', 200, "it has none"),
        (b'{"data":["x"]}', 200, "it has none"),
        (b"x" * 2000, 200, "its answer does not end"),
    ],
)
def test_a_service_that_does_not_tell_is_said_to(
    body: bytes, status: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "end" in why:
        monkeypatch.setattr(roster, "SIZE_LIMIT", 1000)
    with (
        serving(Listing(body, status)) as listing,
        pytest.raises(SettingsError, match=why) as caught,
    ):
        named_by(found("ollama", listing.url))
    assert "canary" not in str(caught.value)
    assert "ollama:*" in str(caught.value)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_nobody_waits_for_ever(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "TIME_LIMIT", 0.05)
    with pytest.raises(SettingsError, match="no answer within"):
        named_by(found("ollama", silent))
    told = r"^Ollama at http://127.0.0.1:1 does .* it is not reached\..*check OLLAMA_HOST\.$"
    with pytest.raises(SettingsError, match=told):
        named_by(replace(SERVICES["ollama"], base_url="http://127.0.0.1:1"))


def test_all_models_of_a_service_can_be_chosen(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Listing(listed("b", "a"))) as listing:
        here = ModelChoice(name="ollama:*", base_url=listing.url, max_tokens=7)
        gone = ModelChoice(name="vllm:*", base_url="http://127.0.0.1:1")
        configuration = Settings(model=ModelChoice(), others=[here, gone])
        names = [model.name for model in build_models(configuration, {})]
        assert [each.max_tokens for each in expanded(here, {})] == [7, 7]
    assert names == ["demo", "ollama:b", "ollama:a"]
    assert "vLLM at http://127.0.0.1:1 does not say which models it has" in caplog.text
    assert "or check base_url" in caplog.text
    with pytest.raises(SettingsError, match="Name one of them"):
        build_models(Settings(model=gone), {})


def test_one_cassette_is_not_for_all_models() -> None:
    with pytest.raises(SettingsError, match="one model"):
        expanded(ModelChoice(name="ollama:*", cassette=Path("x")), {})
