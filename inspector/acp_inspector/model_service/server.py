"""The server on loopback that an agent takes for its model service."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import socket
import zlib
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

import anyio
import httpx
import uvicorn
from anyio.abc import TaskGroup

from acp_inspector.model_service.bodies import TextEdit, edit_chunks
from acp_inspector.model_service.cassette import (
    CANCELLED,
    CassetteWriter,
    ModelCassette,
    ModelExchange,
    ModelRequest,
    ModelResponse,
)
from acp_inspector.model_service.matching import (
    Comparison,
    FieldDifference,
    Roots,
    match_requests,
    nearest,
    outline,
)
from acp_inspector.model_service.routes import Route, api_of, error_body, route_of
from acp_inspector.redaction.detector import SecretDetector
from acp_inspector.redaction.patterns import RULES, SECRET_PATTERNS, is_secret_name
from acp_inspector.redaction.placeholders import PlaceholderMap, redact_text
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.json_codec import encode, parse
from acp_protocol.jsonrpc import Json
from acp_protocol.net import caller_refusal, is_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Warn: TypeAlias = Callable[[str], None]

HOST: Final = "127.0.0.1"
MAX_BODY_BYTES: Final = 64 * 2**20
"""Longest body of a request, and of a response that is recorded."""
CONNECT_TIMEOUT_S: Final = 30.0
READ_TIMEOUT_S: Final = 600.0
"""Longest silence of a model service."""
HOLD_TIMEOUT_S: Final = 60.0
"""Time after which a response ends that the agent did not read to its end when it was recorded."""
MAX_KNOWN: Final = 4
MAX_COMPARED: Final = 20
"""Requests with which one that is not in the cassette is compared in full."""
CLOSE_TIMEOUT_S: Final = 1

NO_MATCH: Final = "this request is not in the cassette; acp-console says on stderr what differs"
TOO_LONG: Final = "too long"
"""How a response ends, for now, that is not recorded."""
_NOT_FORWARDED: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_RECORDED_HEADERS: Final = (
    "content-encoding",
    "content-type",
    "location",
    "request-id",
    "x-request-id",
)
_RECORDED_STARTS: Final = ("retry-after", "x-should-retry", "x-ratelimit-", "anthropic-ratelimit-")
_SECRET_HEADERS: Final = ("authorization", "cookie", "proxy-authorization", "set-cookie")
_DECOMPRESSED: Final = frozenset({"gzip", "x-gzip", "deflate"})
SECRET_BYTES: Final = 24
_JSON_TYPE: Final = re.compile(rb"application/(?:[a-z0-9.+-]+\+)?json")
_Refusal: TypeAlias = tuple[int, str]
"""A status, and what is wrong."""
_LOOSE: Final = frozenset({"entropy"})
"""Rules that would also find ids and signatures, which the agent has to get back unchanged."""


class PortError(AcpError):
    """The server cannot listen."""


class Redactor:
    """Takes secrets out of exchanges: of requests by all rules, of responses by named patterns."""

    def __init__(self, environment: Mapping[str, str], *, first: int = 1) -> None:
        named = {"environment", *(each.name for each in SECRET_PATTERNS)}
        self._requests = SecretDetector(set(RULES) - _LOOSE, environment)
        self._responses = SecretDetector(named, environment)
        self._placeholders = PlaceholderMap(first=first)

    def add_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Also find the secrets that these headers contain."""
        values = {
            part
            for name, value in headers
            if name.lower() in _SECRET_HEADERS or is_secret_name(name)
            for part in (value, value.rpartition(" ")[2])
        }
        known = [(value, frozenset({"key"})) for value in values]
        self._requests.add_known(known)
        self._responses.add_known(known)

    def request(self, request: ModelRequest) -> ModelRequest:
        text = encode(request.model_dump()).decode()
        return ModelRequest.model_validate(parse(self.text(text).encode()))

    def text(self, text: str) -> str:
        return redact_text(text, self._requests, self._placeholders)[0]

    def response(self, response: ModelResponse) -> ModelResponse:
        def find(text: str) -> list[TextEdit]:
            found = self._responses.find(text)
            return [TextEdit(h.start, h.end, self._placeholders.placeholder(h)) for h in found]

        headers = json.dumps(response.headers)
        headers = redact_text(headers, self._responses, self._placeholders)[0]
        chunks = edit_chunks(response.chunks, find)
        return response.model_copy(update={"headers": json.loads(headers), "chunks": chunks})


@dataclass(slots=True)
class _Received:
    """A request as it arrived."""

    route: Route
    request: ModelRequest
    target: str
    """Path below the base URL, with the whole query."""
    headers: list[tuple[str, str]]
    body: bytes


async def _receive(scope: Scope, receive: Receive, routes: Sequence[Route]) -> _Received | None:
    """Return the request; None if it is too long, or the agent has left."""
    body = bytearray()
    is_complete = False
    while not is_complete:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        is_complete = not message.get("more_body", False)
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    route, path = route_of(routes, path)
    request = ModelRequest(
        method=scope["method"], route=route.name, path=path, query=_without_keys(query)
    )
    _set_body(request, bytes(body), dict(headers))
    target = f"{path}?{query}" if query else path
    return _Received(route, request, target, headers, bytes(body))


def _without_keys(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    return urlencode([(k, v) for k, v in pairs if k != "key" and not is_secret_name(k)])


def _set_body(request: ModelRequest, body: bytes, headers: Mapping[str, str]) -> None:
    if not body:
        return
    if headers.get("content-encoding", "").lower() in _DECOMPRESSED:
        try:
            body = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, MAX_BODY_BYTES)
        except zlib.error:
            request.raw = body
            return
    try:
        request.body = parse(body)
    except ValueError:
        request.raw = body


def new_secret() -> str:
    """Return a secret for the address of a server."""
    return secrets.token_urlsafe(SECRET_BYTES)


class Gate:
    """Lets only the agent through: who knows the secret in the address, and no page in a browser.

    Nothing of a refused request is read but its head, and nothing of the cassette is in the reply.
    """

    def __init__(self, service: ModelService, secret: str, hosts: Collection[str]) -> None:
        self._service = service
        self._secret = secret.encode()
        self._hosts = hosts
        self._has_warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on without the secret in its path, or refuse it."""
        path = scope.get("raw_path") or scope["path"].encode()
        given, slash, rest = path[1:].partition(b"/")
        refusal = self._refusal(scope["headers"], given)
        if refusal is None:
            inner = {**scope, "raw_path": slash + rest or b"/"}
            await self._service(inner, receive, send)
            return
        status, text = refusal
        if not self._has_warned:
            self._has_warned = True
            self._service.warn(f"a request was refused with status {status}: {text}")
        await _send_json(send, status, {"error": {"message": text}}, is_final=True)

    def _refusal(self, headers: Sequence[tuple[bytes, bytes]], given: bytes) -> _Refusal | None:
        refusal = caller_refusal(headers, self._hosts)
        if refusal is not None:
            return 403, refusal
        if not hmac.compare_digest(given, self._secret):
            return 401, "The secret in the address is missing or wrong."
        return None if _is_json(headers) else (415, "Only JSON is accepted: set content-type.")


def _is_json(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has no body, or says that it is JSON."""

    def values(wanted: bytes) -> list[bytes]:
        return [value.strip().lower() for name, value in headers if name == wanted]

    has_body = values(b"transfer-encoding") or set(values(b"content-length")) - {b"0"}
    kinds = [value.partition(b";")[0].strip() for value in values(b"content-type")]
    is_json = len(kinds) == 1 and bool(_JSON_TYPE.fullmatch(kinds[0]))
    return not has_body or is_json


class ModelService:
    """What the server does with requests; a recorder or a player."""

    def __init__(self, routes: Sequence[Route], warn: Warn) -> None:
        self.routes = routes
        self.warn = warn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, as ASGI has it; stop when the agent hangs up."""
        received = await _receive(scope, receive, self.routes)
        if received is None:
            await _send_json(send, 413, {"error": {"message": "the request is too long"}})
            return

        async def watch(tasks: TaskGroup) -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, tasks)
                await self.respond(received, send)
                tasks.cancel_scope.cancel()
        except ExceptionGroup as problem:
            # uvicorn would log it at a level that is off, because it logs broken streams too.
            self.warn(f"{received.request}: unexpected error ({problem.exceptions[0]!r})")
            raise

    async def respond(self, received: _Received, send: Send) -> None:
        raise NotImplementedError


class ModelRecorder(ModelService):
    """Forwards requests to the model services, and records the exchanges."""

    def __init__(
        self,
        routes: Sequence[Route],
        writer: CassetteWriter,
        client: httpx.AsyncClient,
        redactor: Redactor,
        warn: Warn,
        *,
        max_body: int = MAX_BODY_BYTES,
    ) -> None:
        super().__init__(routes, warn)
        self._max_body = max_body
        self._writer = writer
        self._client = client
        self._redactor = redactor
        self._start = monotonic()
        self.count = 0
        """Exchanges in the file."""

    async def respond(self, received: _Received, send: Send) -> None:
        """Forward the request, pass the response on as it comes, and record both."""
        response = ModelResponse(end=CANCELLED)
        begin = monotonic()
        try:
            await self._forward(received, response, send)
        finally:
            exchange = ModelExchange.model_construct(
                request=received.request,
                response=response,
                time=round(begin - self._start, 3),
                duration=round(monotonic() - begin, 3),
            )
            self._record(exchange, received)

    async def _forward(self, received: _Received, response: ModelResponse, send: Send) -> None:
        if not received.route.upstream:
            response.end = "UnsupportedProtocol"
            text = unreachable("", response.end)
            self.warn(f"{received.request}: {text}")
            await _send_failure(send, received.request, text)
            return
        headers = [pair for pair in received.headers if pair[0].lower() not in _NOT_FORWARDED]
        headers.append(("accept-encoding", "gzip, deflate"))
        try:
            upstream = await self._client.send(
                self._client.build_request(
                    received.request.method,
                    received.route.upstream + received.target,
                    headers=headers,
                    content=received.body,
                ),
                stream=True,
            )
        except (httpx.RequestError, httpx.InvalidURL) as problem:
            response.end = type(problem).__name__
            url = received.route.upstream
            self.warn(
                f"{received.request}: {url} cannot be reached ({response.end}: {problem}); if the "
                f"agent's model service is another one, name it by --upstream URL"
            )
            await _send_failure(send, received.request, unreachable(url, response.end))
            return
        async with aclosing(upstream):
            await self._pass_on(received.request, upstream, response, send)

    async def _pass_on(
        self, request: ModelRequest, upstream: httpx.Response, response: ModelResponse, send: Send
    ) -> None:
        encoding = upstream.headers.get("content-encoding", "").strip().lower()
        is_decompressed = encoding in _DECOMPRESSED
        dropped = _NOT_FORWARDED | {"content-encoding"} if is_decompressed else _NOT_FORWARDED
        response.status = upstream.status_code
        response.headers = {
            name: value
            for name, value in upstream.headers.items()
            if _is_recorded(name) and not (name == "content-encoding" and is_decompressed)
        }
        self._redactor.add_headers(upstream.headers.multi_items())
        passed = [pair for pair in upstream.headers.multi_items() if pair[0] not in dropped]
        await _send_head(send, upstream.status_code, passed)
        chunks = upstream.aiter_bytes() if is_decompressed else upstream.aiter_raw()
        size = 0
        try:
            async for chunk in chunks:
                size += len(chunk)
                if size <= self._max_body:
                    response.chunks.append(chunk)
                elif response.end != TOO_LONG:
                    response.end = TOO_LONG
                    self.warn(f"{request}: the response is too long and is not recorded")
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except (httpx.TransportError, httpx.DecodingError) as problem:
            # Without an end of the body the connection is closed, as the service did.
            if response.end != TOO_LONG:
                response.end = type(problem).__name__
            return
        if response.end != TOO_LONG:
            response.end = None
        await send({"type": "http.response.body", "body": b""})

    def _record(self, exchange: ModelExchange, received: _Received) -> None:
        request, response = exchange.request, exchange.response
        self._redactor.add_headers([*received.headers, *_secret_parameters(received.target)])
        if response.end == TOO_LONG:
            return
        exchange.request = self._redactor.request(request)
        exchange.response = self._redactor.response(response)
        try:
            self._writer.write(exchange.line())
            self.count += 1
        except OSError as problem:
            self.warn(f"{request}: cannot be recorded: {describe_os_error(problem)}")


def _secret_parameters(target: str) -> list[tuple[str, str]]:
    pairs = parse_qsl(target.partition("?")[2])
    return [("api-key" if name == "key" else name, value) for name, value in pairs]


class ModelPlayer(ModelService):
    """Responds from a cassette."""

    def __init__(
        self,
        routes: Sequence[Route],
        cassette: ModelCassette,
        redactor: Redactor,
        roots: Roots,
        warn: Warn,
        *,
        hold_timeout: float = HOLD_TIMEOUT_S,
    ) -> None:
        super().__init__(routes, warn)
        self._cassette = cassette
        self._redactor = redactor
        self._roots = roots
        self._recorded_roots = [Roots(each.cwd, each.home, each.tmp) for each in cassette.headers]
        self._outlines = [outline(each.request.body) for each in cassette.exchanges]
        self._used = [0] * len(cassette.exchanges)
        self._known: list[dict[str, str]] = []
        """Directories of the last matches, for each agent that is running."""
        self._hold_timeout = hold_timeout
        self.played = 0
        """Requests that got a recorded response."""
        self.misses: list[str] = []
        """Requests that did not."""
        self.tolerated = 0
        """Values that were equal by their shape only."""
        self.directories: dict[str, str] = {}
        """The live directory of each recorded one."""

    def unused(self) -> list[ModelRequest]:
        """Return the recorded requests that the agent has not made."""
        pairs = zip(self._cassette.exchanges, self._used, strict=True)
        return [exchange.request for exchange, count in pairs if not count]

    async def respond(self, received: _Received, send: Send) -> None:
        """Send the recorded response to an equal request, or an error."""
        self._redactor.add_headers([*received.headers, *_secret_parameters(received.target)])
        live = self._redactor.request(received.request)
        found = self._find(live)
        if found is None:
            text = self._miss(live)
            self.misses.append(str(live))
            self.warn(text)
            # What was recorded is for the user, not for the sender of the request.
            await _send_json(send, 400, error_body(api_of(live.path), 400, NO_MATCH), is_final=True)
            return
        place, comparison = found
        self._used[place] += 1
        self.played += 1
        self.tolerated += comparison.tolerated
        self.directories |= comparison.directories
        if comparison.directories and comparison.directories not in self._known:
            self._known = [comparison.directories, *self._known][:MAX_KNOWN]
        response = self._cassette.exchanges[place].response
        if response.status == 0:
            if response.end != CANCELLED:
                url = received.route.upstream
                await _send_failure(send, live, unreachable(url, response.end or ""))
                return
            await anyio.sleep(self._hold_timeout)
            return
        await _send_head(send, response.status, _played_headers(response))
        for chunk in edit_chunks(response.chunks, comparison.edits):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if response.end == CANCELLED:
            # The agent left at this point; it should do so again.
            await anyio.sleep(self._hold_timeout)
        elif response.end is None:
            await send({"type": "http.response.body", "body": b""})

    def _find(self, live: ModelRequest) -> tuple[int, Comparison] | None:
        """Return the exchange that fits best: one not used yet, the most equal, the first."""
        best: tuple[tuple[int, int, int], Comparison] | None = None
        live_outline = outline(live.body)
        for place, exchange in enumerate(self._cassette.exchanges):
            recorded = exchange.request
            if (recorded.method, recorded.route) != (live.method, live.route) or (
                live_outline != self._outlines[place]
            ):
                continue
            used = self._used[place]
            if used and not _is_repeatable(live):
                continue
            for there in dict.fromkeys(self._recorded_roots):
                comparison = match_requests(recorded, live, there, self._roots, known=self._known)
                if not comparison.is_equal:
                    continue
                order = (used, comparison.tolerated + len(comparison.directories), place)
                if best is None or order < best[0]:
                    best = order, comparison
                break
        return None if best is None else (best[0][2], best[1])

    def _miss(self, live: ModelRequest) -> str:
        """Return what is not recorded, and what is nearest to it; untrusted text."""
        number = self.played + len(self.misses) + 1
        text = f"request {number} is not in the cassette: {live}"
        leaves = outline(live.body).leaves
        exchanges = self._cassette.exchanges

        def likelihood(place: int) -> tuple[bool, int, int]:
            is_other = exchanges[place].request.path != live.path
            # Of two that are as near, the agent more likely meant the one not made yet.
            return is_other, abs(self._outlines[place].leaves - leaves), self._used[place]

        likely = sorted(range(len(exchanges)), key=likelihood)[:MAX_COMPARED]
        requests = [(place, exchanges[place].request) for place in likely]
        found = nearest(requests, live, self._recorded_roots[0], self._roots)
        if found is None:
            return f"{text}\nno recorded request is similar"
        place, differences = found
        line = self._cassette.lines[place]
        if not differences:
            return f"{text}\nan equal one in line {line} was used already"
        return "\n".join(
            [f"{text}\nthe nearest one in line {line} differs in:", *_shown(differences)]
        )


MAX_SHOWN: Final = 5
"""Differences of the nearest request that are shown."""


def _shown(differences: Sequence[FieldDifference]) -> Generator[str]:
    for each in differences[:MAX_SHOWN]:
        yield f"  {each.describe()}"
    if len(differences) > MAX_SHOWN:
        yield f"  and {len(differences) - MAX_SHOWN} more"


def _is_repeatable(request: ModelRequest) -> bool:
    """Return whether a request may be made more often: it reads, or counts tokens."""
    is_count = request.path.endswith(("/count_tokens", ":countTokens"))
    return request.method in ("GET", "HEAD") or is_count


def _is_recorded(name: str) -> bool:
    return name in _RECORDED_HEADERS or name.startswith(_RECORDED_STARTS)


def _played_headers(response: ModelResponse) -> list[tuple[str, str]]:
    """Return the headers that agents act upon; a redirect to elsewhere would take their keys."""
    found = [(name.lower(), value) for name, value in response.headers.items()]
    return [
        (name, value)
        for name, value in found
        if _is_recorded(name) and (name != "location" or re.match(r"/(?![/\\])", value))
    ]


async def _send_head(send: Send, status: int, headers: Iterable[tuple[str, str]]) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def _send_json(send: Send, status: int, value: Json, *, is_final: bool = False) -> None:
    """Send a whole response; `is_final` keeps clients from trying again."""
    headers = [("content-type", "application/json")]
    if is_final:
        headers.append(("x-should-retry", "false"))
    await _send_head(send, status, headers)
    await send({"type": "http.response.body", "body": encode(value)})


def unreachable(url: str, end: str) -> str:
    """Return what the agent reads about a service that does not respond."""
    if not url:
        return "no model service is known for this path; name it by --upstream URL"
    return f"the model service {url} cannot be reached: {end}"


async def _send_failure(send: Send, request: ModelRequest, text: str) -> None:
    """Send what the agent gets if the model service does not respond."""
    status = 504 if text.endswith("Timeout") else 502
    await _send_json(send, status, error_body(api_of(request.path), status, text))


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command."""
        yield


@asynccontextmanager
async def serving(
    service: ModelService, port: int = 0, secret: str | None = None
) -> AsyncGenerator[str]:
    """Serve on loopback; yield the address, with a secret in it that requests need.

    The secret is a new one by default.

    Raises:
        PortError: the port is in use.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(socket.SOMAXCONN)
        except OSError as problem:
            reason = describe_os_error(problem)
            raise PortError(f"cannot listen on {HOST}:{port}: {reason}") from None
        number = listener.getsockname()[1]
        secret = secret or new_secret()
        config = uvicorn.Config(
            Gate(service, secret, {f"{name}:{number}" for name in (HOST, "localhost")}),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            # Clients would otherwise reuse a connection that is being closed.
            timeout_keep_alive=round(READ_TIMEOUT_S),
            timeout_graceful_shutdown=CLOSE_TIMEOUT_S,
        )
        server = _Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            try:
                yield f"http://{HOST}:{number}/{secret}"
            finally:
                server.should_exit = True


def model_client(
    routes: Sequence[Route],
    *,
    connect_timeout: float = CONNECT_TIMEOUT_S,
    read_timeout: float = READ_TIMEOUT_S,
) -> httpx.AsyncClient:
    """Return the client that forwards requests.

    Proxies come from the environment, except for services on this machine.
    """
    timeout = httpx.Timeout(read_timeout, connect=connect_timeout)
    hosts = {urlsplit(route.upstream).hostname or "" for route in routes}
    direct: dict[str, None] = {f"all://{host}": None for host in hosts if is_loopback(host)}
    return httpx.AsyncClient(timeout=timeout, follow_redirects=False, mounts=direct)


def current_roots(environment: Mapping[str, str] = os.environ) -> Roots:
    """Return the directories of this run."""
    return Roots(str(Path.cwd()), environment.get("HOME", ""), environment.get("TMPDIR", ""))
