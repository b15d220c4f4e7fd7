"""The agent over HTTP and WebSocket: `acp-agent serve`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from acp_agent.door.cli import run
from acp_agent.door.flags import new_serve_parser
from acp_agent.door.network import server_options
from acp_agent.settings.keys import settings_with
from acp_protocol.jsonrpc import Json, encode_request
from acp_protocol.transport.http_runner import ListenError
from acp_protocol.transport.serving import open_listener
from tests.agent.test_cli import COMMAND, LIMIT


@dataclass
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    token: str

    def post(self, connection: str | None, method: str, params: Any, **headers: str) -> Any:
        """Send a request; return the response to it."""
        named = {} if connection is None else {"Acp-Connection-Id": connection}
        return httpx.post(
            self.url,
            content=encode_request(1, method, params),
            headers=self.headers | {"Content-Type": "application/json"} | named | headers,
            trust_env=False,
        )

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@contextmanager
def served(*options: str, token: str | None = None) -> Generator[Served]:
    """Run a server; it is ended at the end."""
    environment = dict(os.environ) | ({"ACP_AGENT_HTTP_TOKEN": token} if token else {})
    command = [*COMMAND, "serve", "--http", "127.0.0.1:0", *options]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stderr is not None
        try:
            url = process.stderr.readline().split()[-1]
            line = "" if token else process.stderr.readline()
            yield Served(process, url, token or line.split()[-1])
        finally:
            process.kill()


def test_clients_share_sessions_and_sigterm_ends_the_server(cwd: Path, tmp_path: Path) -> None:
    with served("--sessions", str(tmp_path / "kept")) as server:
        opened = server.post(None, "initialize", {"protocolVersion": 1})
        assert opened.json()["result"]["protocolVersion"] == 1
        id_ = opened.headers["Acp-Connection-Id"]
        assert opened.headers["Set-Cookie"].startswith("acp_affinity=")
        headers = server.headers | {"Acp-Connection-Id": id_, "Accept": "text/event-stream"}
        params: Json = {"cwd": str(cwd), "mcpServers": []}
        assert server.post(id_, "session/new", params).status_code == 202
        with httpx.stream("GET", server.url, headers=headers, trust_env=False) as stream:
            session = re.search('"sessionId":"([^"]+)"', next(_events(stream)))
        assert session is not None
        assert httpx.delete(server.url, headers=headers, trust_env=False).status_code == 202

        other = server.post(None, "initialize", {"protocolVersion": 1})
        headers["Acp-Connection-Id"] = other.headers["Acp-Connection-Id"]
        server.post(headers["Acp-Connection-Id"], "session/list", {})
        with httpx.stream("GET", server.url, headers=headers, trust_env=False) as stream:
            assert session[1] in next(_events(stream))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(LIMIT) == 0


def _events(stream: httpx.Response) -> Generator[str]:
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield line


def test_the_token_of_the_environment_is_not_printed() -> None:
    token = "0123456789abcdef-token"
    with served(token=token) as server:
        assert server.post(None, "initialize", {"protocolVersion": 1}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        _, logged = server.process.communicate(timeout=LIMIT)
    assert token not in logged


def test_programs_of_a_session_get_neither_the_token_nor_the_place_of_the_sessions(
    cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_AGENT_SESSIONS_STORAGE", str(tmp_path / "kept-in-here"))
    with served(token="a-token-of-its-own") as server:
        opened = server.post(None, "initialize", {"protocolVersion": 1})
        id_ = opened.headers["Acp-Connection-Id"]
        named = server.headers | {"Acp-Connection-Id": id_, "Accept": "text/event-stream"}
        server.post(id_, "session/new", {"cwd": str(cwd), "mcpServers": []})
        with httpx.stream("GET", server.url, headers=named, trust_env=False) as stream:
            session = json.loads(next(_events(stream)).removeprefix("data: "))["result"][
                "sessionId"
            ]
        server.post(id_, "session/set_mode", {"sessionId": session, "modeId": "code"})
        wanted = [{"type": "text", "text": "run env"}]
        server.post(id_, "session/prompt", {"sessionId": session, "prompt": wanted})
        said = ""
        named["Acp-Session-Id"] = session
        with httpx.stream("GET", server.url, headers=named, trust_env=False) as stream:
            for event in _events(stream):
                said += event
                if "stopReason" in event:
                    break
    assert "PATH=" in said
    assert "a-token-of-its-own" not in said
    assert "kept-in-here" not in said


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "no address is set: acp-agent serve --http 127.0.0.1:8765"),
        (("--http", "0.0.0.0:0"), "would get the token unencrypted"),
        (("--http", "127.0.0.1:0", "--token-env", "UNSET_"), "UNSET_ is not set"),
        (("--http", "127.0.0.1:0", "--tls-key", "k"), "set both --tls-cert and --tls-key"),
        (("--http", "127.0.0.1:0", "--tls-key", "k", "--tls-cert", "c"), "cannot be read: no such"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--no-config", *options]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--http", "somewhere"), "must be ADDRESS:PORT"),
        (("--allow-origin", "https://x/path"), "must be a list of origins"),
        (("--allow-host", "https://x"), "must be a list of names"),
        (("--admin", "127.0.0.1:0"), "--admin"),
    ],
)
def test_an_option_that_is_wrong_is_refused(
    options: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["serve", *options])
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


def test_an_address_without_serve_is_refused_with_the_command_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(["--http", "127.0.0.1:8765"])
    assert "acp-agent serve --http" in capsys.readouterr().err


def test_lists_may_be_given_in_several_flags() -> None:
    options = ["--allow-host", "a.example,b.example", "--allow-host", "c.example:8443"]
    parsed = vars(new_serve_parser().parse_args(options))
    assert parsed["http.allow_host"] == ("a.example", "b.example", "c.example:8443")


def test_an_open_address_is_possible_if_asked_for() -> None:
    settings = settings_with({"http.listen": "0.0.0.0:0", "http.plain": True})
    with open_listener(server_options(settings.http)) as listener:
        hosts = listener.hosts_with(["agents.example"])
        port = listener.url.rpartition(":")[2]
    assert {"agents.example", f"agents.example:{port}", f"127.0.0.1:{port}"} <= hosts


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "cert.pem"
    wrong.write_text("nothing")
    keys = {"http.listen": "127.0.0.1:0", "http.tls_cert": wrong, "http.tls_key": wrong}
    with pytest.raises(ListenError, match="are no certificate and its key"):
        open_listener(server_options(settings_with(keys).http))


async def test_sigterm_lets_a_turn_of_version_2_end_before_its_websocket_is_closed() -> None:
    """The prompt is answered when its turn begins, so no request is open while it runs."""
    with served("--protocol", "2", "--pace", "0.02") as server:
        url = "ws" + server.url.removeprefix("http")
        async with connect(url, additional_headers=server.headers, proxy=None) as socket:
            params: Json = {"protocolVersion": 2, "info": {"name": "t", "version": "1"}}
            await socket.send(encode_request(0, "initialize", params).decode())
            await answer(socket, 0)
            params = {"cwd": str(Path.cwd()), "mcpServers": []}
            await socket.send(encode_request(1, "session/new", params).decode())
            session = (await answer(socket, 1))["sessionId"]
            prompt: Json = [{"type": "text", "text": "help"}]
            params = {"sessionId": session, "prompt": prompt}
            await socket.send(encode_request(2, "session/prompt", params).decode())
            await answer(socket, 2)
            server.process.send_signal(signal.SIGTERM)
            states: list[str] = []
            with pytest.raises(ConnectionClosed):
                while True:
                    update = json.loads(await socket.recv())["params"]["update"]
                    states += [update["state"]] if "state" in update else []
            assert states[-1] == "idle"
            assert socket.close_code == 1001
        assert server.process.wait(LIMIT) == 0


async def answer(socket: ClientConnection, id_: int) -> Any:
    """Return the result of the request with that id."""
    while (message := json.loads(await socket.recv())).get("id") != id_:
        pass
    return message["result"]
