"""An agent on another machine: where it is, what it is sent with each request, and the limits.

`http://` and `https://` mean HTTP with streams of events, `ws://` and `wss://` a WebSocket. Values
of headers and tokens are secrets: they are in no `repr`, no error and no recording.
"""

from __future__ import annotations

import os
import random
import re
import socket
import ssl
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import ModuleType
from typing import Final, Protocol, cast
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit, urlunsplit

from acp_protocol.errors import AcpError, ConnectionClosedError, FrameTooLongError
from acp_protocol.framing import MAX_FRAME_BYTES, Side, WireFrame
from acp_protocol.jsonrpc import Json
from acp_protocol.net import is_loopback

SCHEMES: Final = ("https", "http", "wss", "ws")
HIDDEN: Final = "…"
"""Replaces the value of a header in recordings."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header."""
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS: Final = frozenset(
    {
        *("accept", "accept-encoding", "cache-control", "connection", "content-length"),
        *("content-type", "host", "last-event-id", "te", "transfer-encoding", "upgrade"),
    }
)
"""Headers that the transport sets, besides those that begin with `Acp-` or `Sec-WebSocket-`."""
_SECRET_HEADER: Final = re.compile(
    r"(?!access-control-)"
    r".*(authorization|token|secret|passw|credential|api-?key|access-?key|jwt|assertion).*"
)
"""The name of a header whose value is a secret, also one that a server sends."""
_SHOWN_PARAMETERS: Final = frozenset({"version", "v", "protocol"})
"""Parameters of a URL that are no secret."""


class RemoteAddressError(AcpError):
    """The URL, a header or the token of a remote agent cannot be used."""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """An agent that serves ACP at a URL."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, hash=False)
    """Sent with each request, to the origin of the URL only; the values are secrets."""
    token: str | None = field(default=None, repr=False)
    """Sent as `Authorization: Bearer`."""
    dialect: str | None = None
    """The dialect that it speaks, if it may have an HTTP of its own."""

    def __post_init__(self) -> None:
        check_url(self.url)
        for name, value in self.headers.items():
            check_header(name, value)
        if self.token is not None and _VALUE.fullmatch(self.token) is None:
            raise RemoteAddressError("the token has characters that no header can have")

    @property
    def is_websocket(self) -> bool:
        return urlsplit(self.url).scheme.lower() in {"ws", "wss"}

    @property
    def is_secure(self) -> bool:
        """Whether it is reached over TLS."""
        return urlsplit(self.url).scheme.lower() in {"https", "wss"}

    @property
    def is_on_this_machine(self) -> bool:
        return is_loopback(urlsplit(self.url).hostname or "")

    @property
    def host(self) -> str:
        """The host with its port, if the URL has one."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def shown_url(self) -> str:
        """The URL without what may be secret in it."""
        return shown_url(self.url)

    @property
    def own_headers(self) -> dict[str, str]:
        """The headers that identify the user, with the token."""
        token = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {**self.headers, **token}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLimits:
    """How much a server may send and how long it is waited for; times in seconds."""

    frame: int = MAX_FRAME_BYTES
    """Bytes of one message."""
    connect_s: float = 10.0
    post_s: float = 120.0
    """For the response to a POST; `initialize` waits for the agent and has no limit of its own."""
    open_s: float = 2.0
    """For the head of a stream, before a message is sent whose response comes on it."""
    held_s: float = 0.5
    """For an earlier POST, before a notification or a response is sent without waiting for it."""
    quiet_s: float = 0.02
    """Without an event of a session, before the response to `session/load` ends its history."""
    history_s: float = 10.0
    """For the history of a session that comes before that response, at most."""
    silence_s: float = 60.0
    """Without a byte on a stream whose server has sent comments, or a response to a ping."""
    ping_s: float = 20.0
    """Between pings of a WebSocket."""
    retry_s: float = 0.5
    """Before the first of several attempts; each delay is twice as long as the one before."""
    max_retry_s: float = 10.0
    give_up_s: float = 45.0
    """For all attempts together to send what was refused as too much, or to connect again."""
    stream_give_up_s: float = 10.0
    """For all attempts together to open a stream."""
    close_s: float = 1.5
    """For the DELETE or the closing handshake at the end."""
    open_posts: int = 64
    """Messages that wait for their turn or for the server."""
    sessions: int = 512
    """Streams of sessions that are open at once."""


LIMITS: Final = RemoteLimits()


class Numbered(Protocol):
    """A frame with the number that it has in a journal."""

    @property
    def seq(self) -> int: ...


class WireObserver(Protocol):
    """What sees each frame, and the HTTP around it; a `Journal` is one."""

    def wire(self, side: Side, frame: WireFrame) -> Numbered: ...
    def event(self, name: str, **data: Json) -> object: ...


Notify = Callable[[str], object]
"""Gets a sentence for the user about something that does not end the connection."""


class RemoteClosedError(ConnectionClosedError):
    """The connection to a remote agent has ended; says why, and whether messages may be lost."""

    def __init__(self, message: str, *, hint: str = "", can_return: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.can_return = can_return
        """Whether a new connection, and loading the session there, is likely to help."""

    def again(self) -> RemoteClosedError:
        """Return the same error, to be raised once more."""
        return RemoteClosedError(self.summary, hint=self.hint, can_return=self.can_return)


class RemoteFrames(ABC):
    """What all transports to a remote agent have: what they may take, and how they end."""

    def __init__(
        self,
        agent: RemoteAgent,
        limits: RemoteLimits,
        observer: WireObserver | None,
        notify: Notify,
    ) -> None:
        self._agent = agent
        self._limits = limits
        self._observer = observer
        self._notify = notify
        self._end: ConnectionClosedError | FrameTooLongError | None = None
        self._is_closing = False
        self._received = WireFrame(b"", b"", b"\n")

    @property
    def received(self) -> WireFrame:
        """The frame that was received last, as a line."""
        return self._received

    def framed(self, line: bytes) -> WireFrame:
        """Return a frame as a line, which it would be in a stream."""
        return WireFrame(b"", line, b"\n")

    async def close_sending(self) -> None:
        """Close the connection: a server has no other way to learn that nothing more is sent."""
        await self.aclose()

    @abstractmethod
    async def aclose(self) -> None:
        """Close both directions; closing twice is no error."""

    def closed_error(self) -> ConnectionClosedError | FrameTooLongError:
        """Return why the connection has ended."""
        match self._end:
            case RemoteClosedError() as end:
                return end.again()
            case FrameTooLongError(limit=limit):
                return FrameTooLongError(limit)
            case _:
                return ConnectionClosedError()


def as_closed(reason: ConnectionClosedError | FrameTooLongError) -> ConnectionClosedError:
    """Return why nothing can be sent any more."""
    return reason if isinstance(reason, ConnectionClosedError) else RemoteClosedError(str(reason))


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL that an agent may have.

    Raises:
        RemoteAddressError: it cannot be one.
    """
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        # What is no URL may have a password anywhere.
        raise RemoteAddressError("the URL has a host or a port that cannot be one") from None
    if parts.scheme.lower() not in SCHEMES:
        hint = f"it begins with {', '.join(f'{each}://' for each in SCHEMES)}"
        raise RemoteAddressError(f"{shown_url(url)!r} is not the URL of an agent", hint=hint)
    if not parts.hostname or not has_port or any(ord(each) <= 32 for each in url):
        raise RemoteAddressError(f"{shown_url(url)!r} names no host")
    if parts.username is not None or parts.password is not None:
        raise RemoteAddressError(
            "the URL has a user or a password in it, which others see",
            hint="use --token-env or --header",
        )
    if parts.fragment:
        raise RemoteAddressError("the URL of an agent has no part behind #")
    return parts


def check_header(name: str, value: str) -> None:
    """Check a header of the user.

    Raises:
        RemoteAddressError: it cannot be sent, or is one that the transport sets.
    """
    if _TOKEN.fullmatch(name) is None:
        raise RemoteAddressError(f"{name!r} cannot be the name of a header")
    if name.lower() in _OURS or name.lower().startswith(("acp-", "sec-websocket-")):
        raise RemoteAddressError(f"the header {name} is set by the protocol")
    if _VALUE.fullmatch(value) is None:
        raise RemoteAddressError(f"the value of the header {name} has characters it cannot have")


def shown_url(url: str) -> str:
    """Return a URL for people and recordings: no user, and no values of unknown parameters."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    query = "&".join(
        f"{quote(name)}={quote(value) if name.lower() in _SHOWN_PARAMETERS else HIDDEN}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    if parts.query and not query:
        query = HIDDEN
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def is_secret_header(name: str) -> bool:
    """Return whether headers of this name have secrets, such as `Authorization`."""
    return bool(_SECRET_HEADER.fullmatch(name.lower()))


def shown_headers(pairs: Iterable[tuple[str, str]], secret: Iterable[str] = ()) -> dict[str, Json]:
    """Return headers as recordings have them: in lower case, secrets replaced.

    Repeated headers are joined, one per line. `secret` names those whose values the user gave.
    """
    hidden = {name.lower() for name in secret}
    found: dict[str, Json] = {}
    for each, value in pairs:
        name = each.lower()
        shown = _shown_value(name, value, is_secret=name in hidden or is_secret_header(name))
        found[name] = f"{found[name]}\n{shown}" if name in found else shown
    return found


def _shown_value(name: str, value: str, *, is_secret: bool) -> str:
    if name == "cookie":
        return "; ".join(_without_value(pair.strip()) for pair in value.split(";"))
    if name == "set-cookie":
        pair, mark, attributes = value.partition(";")
        return f"{_without_value(pair)}{mark}{attributes}"
    if name in {"content-location", "location", "origin", "referer"}:
        return shown_url(value)
    if name == "sec-websocket-protocol":
        names = (each.strip() for each in value.split(","))
        return ", ".join(each if each.lower() == "acp" else HIDDEN for each in names)
    if not is_secret:
        return value
    scheme, mark, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if mark and scheme.isalpha() else HIDDEN


def _without_value(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}={HIDDEN}" if mark else HIDDEN


def ssl_context(agent: RemoteAgent) -> ssl.SSLContext | None:
    """Return the trusted certificates; None where the connection is not encrypted.

    Raises:
        RemoteAddressError: the user's certificates cannot be read.
    """
    if not agent.is_secure:
        return None
    # Slow to import, and only needed here.
    import httpx

    try:
        context = httpx.create_ssl_context()
    except OSError:
        raise RemoteAddressError(
            "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read"
        ) from None
    if not {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys():
        # Those of the system as well, which may have the authority of a company.
        context.load_default_certs()
    return context


def spare_lookups() -> None:
    """Let httpx not search for sniffio at each of its locks, if that is not installed.

    A failed import is not remembered: the searches take a fifth of the time of a small request.
    """
    if "sniffio" not in sys.modules and find_spec("sniffio") is None:
        # What Python takes for "there is no such module".
        sys.modules["sniffio"] = cast("ModuleType", None)


@dataclass(frozen=True, slots=True)
class NetworkProblem:
    """Why a server cannot be reached, for people."""

    reason: str
    hint: str = ""
    is_passing: bool = True
    """Whether it may be otherwise in a moment."""


_OTHER_NAME: Final = frozenset({62, 64})
"""What OpenSSL says of a certificate for another host name or address."""
OTHER_NAME_HINT: Final = "the host in the URL has to be one that the certificate names"
UNTRUSTED_HINT: Final = (
    "to trust it, set SSL_CERT_FILE to its file, or to that of the authority that signed it"
)
NEEDS_TLS_HINT: Final = "if the server has TLS, the URL has to begin with https:// or wss://"
"""For a server that ends a connection without TLS without a word, or answers what is no HTTP."""


def network_problem(agent: RemoteAgent, error: BaseException) -> NetworkProblem:
    """Return why an agent cannot be reached, from the error of a library and what caused it."""
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError(verify_code=code, verify_message=why):
                is_other = code in _OTHER_NAME
                return NetworkProblem(
                    f"the certificate of {agent.host} is not trusted ({why.rstrip('.')})",
                    OTHER_NAME_HINT if is_other else UNTRUSTED_HINT,
                    is_passing=False,
                )
            case ssl.SSLEOFError() | ConnectionResetError() if agent.is_secure:
                # One without TLS may do so, and one that just ends.
                reason = f"{agent.host} ended the connection while it was opened"
                return NetworkProblem(reason, _plain_hint(agent))
            case ssl.SSLError():
                reason = f"{agent.host} does not speak TLS as we do"
                return NetworkProblem(reason, _plain_hint(agent), is_passing=False)
            case socket.gaierror():
                return NetworkProblem(f"{agent.host} cannot be reached: there is no such host")
            case OSError(errno=int() as number) if not isinstance(cause, TimeoutError):
                hint = "is the server running?" if agent.is_on_this_machine else ""
                why = os_error_text(number)
                return NetworkProblem(f"{agent.host} cannot be reached: {why}", hint)
            case _:
                pass
    hint = "is the server running?" if agent.is_on_this_machine else ""
    return NetworkProblem(f"{agent.host} cannot be reached", hint)


def _plain_hint(agent: RemoteAgent) -> str:
    scheme = "ws" if agent.is_websocket else "http"
    return f"{scheme}:// is without TLS" if agent.is_on_this_machine else ""


def is_refused(error: BaseException) -> bool:
    """Return whether nothing listens at the port of a server."""
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))


def os_error_text(number: int) -> str:
    text = os.strerror(number)
    return text[:1].lower() + text[1:]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what is in it if it is a group, and what caused it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
                yield from _causes(each)
        error = error.__cause__ or error.__context__


def retry_delays(limits: RemoteLimits) -> Iterator[float]:
    """Yield seconds, longer and longer; clients that failed together do not come back together."""
    delay = limits.retry_s
    while True:
        yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        delay = min(delay * 2, limits.max_retry_s)


def fits_header(value: str) -> bool:
    """Return whether a value can be in a header as it is."""
    return _VALUE.fullmatch(value) is not None and value == value.strip(" \t")


def messages_in(line: bytes) -> list[bytes]:
    """Return what is sent for a frame: itself, or each line of several; nothing for blanks."""
    return [each for each in line.split(b"\n") if each.strip()]


def in_one_line(frame: bytes) -> bytes:
    """Return a message as a frame, which is one line: in JSON, a line break is white space."""
    if b"\n" not in frame and b"\r" not in frame:
        return frame
    return b" ".join(frame.split(b"\n")).replace(b"\r", b" ").strip()
