"""Services that say which models they have, over real sockets, and those that do not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acp_agent.models.factory import expand_settings
from acp_agent.models.model_list import MODEL_LIMIT, PAGE_LIMIT, SIZE_LIMIT, list_models
from acp_agent.services import build_models
from acp_agent.settings.keys import Settings
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.providers import PROVIDERS, SettingsError
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import found


class Listing:
    """What a service answers, and how it was asked."""

    def __init__(self, *pages: bytes, status: int = 200) -> None:
        self.pages = pages
        """One for each request; the last one is sent again and again."""
        self.status = status
        self.url = ""
        self.asked: list[tuple[str, dict[str, str]]] = []


@contextmanager
def serving(listing: Listing, host: str = "127.0.0.1") -> Generator[Listing]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = listing.pages[min(len(listing.asked), len(listing.pages) - 1)]
            listing.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            self.send_response(listing.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = ThreadingHTTPServer((host, 0), Handler)
    listing.url = f"http://{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield listing
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listed(*names: Json, **beside: Json) -> bytes:
    return json.dumps({"data": [{"id": name} for name in names], **beside}).encode()


@pytest.mark.parametrize(
    ("prefix", "path", "header"),
    [("ollama", "/models", "authorization"), ("anthropic", "/v1/models?limit=200", "x-api-key")],
)
def test_a_service_is_asked_in_its_own_way(prefix: str, path: str, header: str) -> None:
    with serving(Listing(listed("b", "a", "b"))) as listing:
        assert list_models(found(prefix, listing.url)) == ["b", "a"]
    ((asked, headers),) = listing.asked
    assert asked == path
    assert "sk-canary-0123456789" in headers[header]


def test_what_is_no_name_is_left_out_and_no_more_are_offered_than_anybody_reads() -> None:
    odd: list[Json] = ["", " ", None, 7, "a\nb", "x" * 201]
    names = [f"m{number}" for number in range(MODEL_LIMIT + 5)]
    with serving(Listing(listed(*odd, *names))) as listing:
        assert list_models(found("ollama", listing.url)) == names[:MODEL_LIMIT]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"", 401, "its response has status 401"),
        (b"nonsense", 200, "its response is not JSON"),
        (b"[" * 100_000, 200, "its response is not JSON"),
        (b"{}", 200, "it has none"),
        (b"[]", 200, "it has none"),
        (b'{"data":"x"}', 200, "it has none"),
        (b'{"data":["x"]}', 200, "it has none"),
        (b"x" * 2000, 200, "its response does not end"),
    ],
)
def test_a_service_that_does_not_tell_is_said_to(body: bytes, status: int, why: str) -> None:
    with (
        serving(Listing(body, status=status)) as listing,
        pytest.raises(SettingsError, match=why) as caught,
    ):
        list_models(found("ollama", listing.url), size_limit=1000 if "end" in why else SIZE_LIMIT)
    assert "canary" not in str(caught.value)
    assert "ollama:*" in str(caught.value)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_nobody_waits_for_ever(silent: str) -> None:
    with pytest.raises(SettingsError, match="no response within"):
        list_models(found("ollama", silent), timeout=0.05)
    told = r"^Ollama at http://127.0.0.1:1 does .* it cannot be reached\..*check OLLAMA_HOST\.$"
    with pytest.raises(SettingsError, match=told):
        list_models(replace(PROVIDERS["ollama"], base_url="http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("prefix", "pages", "paths"),
    [
        (
            "anthropic",
            [listed("a", "b", has_more=True, last_id="b"), listed("c", has_more=False)],
            ["/v1/models?limit=200", "/v1/models?limit=200&after_id=b"],
        ),
        (
            "openai",
            [listed("a", "b/1", has_more=True), listed("c", has_more=False)],
            ["/models", "/models?after=b%2F1"],
        ),
        (
            "openai",
            [listed("a", "b", nextPageToken="x=y"), listed("c", nextPageToken="")],
            ["/models", "/models?pageToken=x%3Dy"],
        ),
    ],
)
def test_models_of_all_pages_are_listed(prefix: str, pages: list[bytes], paths: list[str]) -> None:
    with serving(Listing(*pages)) as listing:
        names = list_models(found(prefix, listing.url))
    assert [path for path, _ in listing.asked] == paths
    assert names[0] == "a"
    assert names[-1] == "c"
    assert len(names) == 3


def test_a_list_whose_pages_never_end_is_read_up_to_a_limit() -> None:
    pages = [listed(f"m{n}", has_more=True) for n in range(PAGE_LIMIT + 5)]
    with serving(Listing(*pages)) as listing:
        names = list_models(found("openai", listing.url))
    assert names == [f"m{n}" for n in range(PAGE_LIMIT)]
    assert len(listing.asked) == PAGE_LIMIT


def test_a_page_that_leads_to_itself_is_the_last_one() -> None:
    with serving(Listing(listed("a", has_more=True))) as listing:
        assert list_models(found("openai", listing.url)) == ["a"]
    assert len(listing.asked) == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_a_service_on_this_machine_is_not_listed_through_a_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(Listing(listed("a")), host) as listing:
        assert list_models(found("ollama", listing.url)) == ["a"]


def test_all_models_of_a_service_can_be_chosen(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Listing(listed("b", "a"))) as listing:
        here = ModelSettings(name="ollama:*", base_url=listing.url, max_tokens=7)
        gone = ModelSettings(name="vllm:*", base_url="http://127.0.0.1:1")
        configuration = Settings(model=ModelSettings(), others=[here, gone])
        names = [model.name for model in build_models(configuration, {})]
        assert [each.max_tokens for each in expand_settings(here, {})] == [7, 7]
    assert names == ["demo", "ollama:b", "ollama:a"]
    assert "vLLM at http://127.0.0.1:1 does not say which models it has" in caplog.text
    assert "or check base_url" in caplog.text
    with pytest.raises(SettingsError, match="Name one of them"):
        build_models(Settings(model=gone), {})
