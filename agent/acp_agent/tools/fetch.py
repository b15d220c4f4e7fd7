"""Fetching what stands at an address on the web.

The user is asked, about an address that not everybody can reach each time anew. Nothing is looked
up before there is consent: the name alone may reveal a secret. A name that turns out to lead to a
private address is not fetched, unless the operator has listed it. The connection goes to what was
judged, no second look-up decides otherwise. A redirection is followed on the same host only,
because consent was given for that one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio.to_thread
from pydantic import Field

from acp_agent.net import (
    PrivateHosts,
    canonical_host,
    literal_addresses,
    resolve_host,
)
from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    fenced,
    shorten,
    text_content,
)
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import name_subject
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

if TYPE_CHECKING:
    import httpx

URL_LIMIT: Final = 2048
"""Characters of one address."""
SIZE_LIMIT: Final = 2**20
"""Bytes that are read of one answer."""
TIME_LIMIT: Final = 30.0
"""Seconds that fetching may take."""
CONNECT_LIMIT: Final = 5.0
"""Seconds for connecting to one of a host's addresses."""
ADDRESS_LIMIT: Final = 3
"""Addresses of one host that are tried."""
HOP_LIMIT: Final = 5
"""Redirections that are followed."""
TITLE_WIDTH: Final = 200
"""Characters of an address that are shown."""
_PORTS: Final = {"http": 80, "https": 443}
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = ("json", "xml", "javascript", "yaml", "toml", "x-sh")
"""How kinds of content end that are text and do not say so."""


Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Looks up the addresses of a host and a port."""


class FetchArguments(Arguments):
    url: Text = Field(description="The address, with http:// or https://.")


def fetch_tool(
    private: PrivateHosts | None = None,
    *,
    resolve: Resolve = resolve_host,
    timeout_s: float = TIME_LIMIT,
) -> Tool:
    """Return the tool; `private` are hosts that are treated as if everybody could reach them."""
    listed = private or PrivateHosts()

    @tool(
        "fetch",
        "fetch",
        "Return the text that stands at a web address, a page without its looks. Redirections to "
        "another host are reported, not followed.",
        FetchArguments,
    )
    async def fetch(wanted: FetchArguments, _: Workspace) -> PreparedCall:
        url = _parsed(wanted.url)
        host, shown = _host(url), _shown(url)
        addresses = literal_addresses(host)
        is_private = bool(addresses) and not listed.include(host, addresses)
        site = single_line(_site(url), TITLE_WIDTH)
        warning = f"{site} is not open to everybody: it leads to {', '.join(addresses)}."

        async def run(_: ReportContent) -> Outcome:
            with anyio.move_on_after(timeout_s):
                return await _fetched(url, listed, resolve)
            raise ToolFailedError(f"{shown} does not answer within {timeout_s:g} s")

        # Rules and consent know a site by one name for all spellings of the host.
        name = canonical_host(host) + ("" if url.port is None else f":{url.port}")
        return PreparedCall(
            f"Fetch {shown}",
            "fetch",
            run,
            content=[text_content(warning)] if is_private else (),
            subjects=[name_subject(name)],
            must_ask=is_private,
        )

    return fetch


async def _fetched(url: httpx.URL, listed: PrivateHosts, resolve: Resolve) -> Outcome:
    """Return what `url` leads to, redirections on the same site followed."""
    for _ in range(HOP_LIMIT + 1):
        addresses = literal_addresses(_host(url)) or await _judged(url, listed, resolve)
        async with _response(url, addresses) as answer:
            if not answer.has_redirect_location:
                return await _outcome(url, answer)
            goal = _redirected(url, answer.headers["location"])
            if not _is_same_site(url, goal):
                text = f"{_shown(url)} redirects to {goal}; fetch that if you need it."
                return Outcome(text, [text_content(text)], {"status": answer.status_code})
        url = goal
    raise ToolFailedError(f"{_shown(url)}: more than {HOP_LIMIT} redirections")


async def _judged(url: httpx.URL, listed: PrivateHosts, resolve: Resolve) -> Sequence[str]:
    """Return where the name in `url` leads; it is looked up.

    Raises:
        ToolFailedError: it leads nowhere, or to what its name does not let expect.
    """
    name = single_line(_host(url), TITLE_WIDTH)
    addresses = await resolve(_host(url), url.port or _PORTS[url.scheme])
    if not addresses:
        raise ToolFailedError(f"there is no host {name}")
    if not listed.include(_host(url), addresses):
        leads = ", ".join(addresses)
        raise ToolFailedError(
            f"{name} is not open to everybody: it leads to {leads}. Consent to a name does not "
            "hold for a private address; that can be fetched by its number, or by its name "
            "where the configuration lists it in fetch.allow_private."
        )
    return addresses


def _parsed(text: str) -> httpx.URL:
    """Return the address, without a fragment.

    Raises:
        ToolFailedError: it is none that may be fetched.
    """
    # Imported where somebody fetches: the agent starts without it.
    import httpx

    shown = single_line(text, TITLE_WIDTH)
    try:
        url = httpx.URL(text) if len(text) <= URL_LIMIT else None
        # Looked at here, because a name such as `xn--a` only turns out to be none when it is read.
        host = url.host if url is not None else ""
    except (httpx.InvalidURL, ValueError):
        url, host = None, ""
    if url is None or not host or not 0 < (url.port or 1) < 65536:
        raise ToolFailedError(f"{shown} is not a web address")
    if url.scheme not in _PORTS:
        raise ToolFailedError(f"{shown}: only http and https are fetched")
    if url.userinfo:
        raise ToolFailedError(f"{host}: an address with a name or a password is not fetched")
    return url.copy_with(fragment=None)


def _redirected(url: httpx.URL, goal: str) -> httpx.URL:
    import httpx

    try:
        return _parsed(str(url.join(goal)))
    except (httpx.InvalidURL, ValueError):
        raise ToolFailedError(
            f"{_shown(url)} redirects to something that is not an address"
        ) from None


def _host(url: httpx.URL) -> str:
    """Return the host as it is looked up."""
    return url.raw_host.decode("ascii", "replace")


def _site(url: httpx.URL) -> str:
    """Return the host, and the port where it is none of the usual ones."""
    return url.netloc.decode("ascii", "replace")


def _shown(url: httpx.URL) -> str:
    return single_line(str(url), TITLE_WIDTH)


def _is_same_site(one: httpx.URL, other: httpx.URL) -> bool:
    """Return whether consent to `one` is consent to `other`, which may only be safer.

    A port is None where it is the usual one of the scheme.
    """
    is_safer = one.scheme == "http" or other.scheme == "https"
    return is_safer and (one.raw_host, one.port) == (other.raw_host, other.port)


@asynccontextmanager
async def _response(url: httpx.URL, addresses: Sequence[str]) -> AsyncGenerator[httpx.Response]:
    """Send the request to the first of `addresses` that answers.

    Raises:
        ToolFailedError: none does.
    """
    import httpx

    headers = {
        "Host": _site(url),
        "User-Agent": f"acp-agent/{VERSION}",
        "Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.5",
        # What is packed small may be large without end.
        "Accept-Encoding": "identity",
    }
    trust = httpx.create_ssl_context() if url.scheme == "https" else False
    timeout = httpx.Timeout(TIME_LIMIT, connect=CONNECT_LIMIT)
    async with httpx.AsyncClient(verify=trust, timeout=timeout, trust_env=False) as client:
        why = "no connection"
        for address in addresses[:ADDRESS_LIMIT]:
            request = client.build_request(
                "GET",
                url.copy_with(host=address.partition("%")[0]),
                headers=headers,
                extensions={"sni_hostname": _host(url)},
            )
            try:
                answer = await client.send(request, stream=True)
            except httpx.ConnectError as problem:
                why = str(problem) or why
                continue
            except httpx.TimeoutException:
                why = "no answer in time"
                continue
            except httpx.HTTPError as problem:
                why = str(problem) or "the answer is not HTTP"
                break
            except ValueError:
                # The client reads where an answer redirects to, although it is not to follow.
                why = "it redirects to something that is not an address"
                break
            try:
                yield answer
            except httpx.HTTPError:
                raise ToolFailedError(f"{_shown(url)}: the answer was cut off") from None
            finally:
                await answer.aclose()
            return
    raise ToolFailedError(f"{_shown(url)}: {single_line(why, TITLE_WIDTH)}")


async def _body(answer: httpx.Response) -> tuple[bytes, bool]:
    """Return the beginning of what stands there, and whether that is all."""
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise ToolFailedError("the answer is packed, although that was not wanted")
    kept = bytearray()
    async for chunk in answer.aiter_raw():
        kept += chunk
        if len(kept) > SIZE_LIMIT:
            return bytes(kept[:SIZE_LIMIT]), False
    return bytes(kept), True


async def _outcome(url: httpx.URL, answer: httpx.Response) -> Outcome:
    """Return what stands there as text."""
    body, is_all = await _body(answer)
    kind = answer.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    status = answer.status_code
    raw: dict[str, Json] = {"status": status, "contentType": kind[:100], "bytes": len(body)}
    if not kind.startswith("text/") and not kind.endswith(_TEXTS):
        raise ToolFailedError(f"{_shown(url)}: {single_line(kind, 100)} is not text")
    try:
        text = body.decode(answer.charset_encoding or "utf-8", errors="replace")
    except (LookupError, ValueError):
        text = body.decode(errors="replace")
    if kind in _HTML:
        # What it knows of letters with names is read in for pages only.
        from acp_agent.tools.html_text import text_of

        text = await anyio.to_thread.run_sync(text_of, text, abandon_on_cancel=True)
    if not is_all:
        text = f"{text}\n… only the first {SIZE_LIMIT} bytes were read"
    if 200 <= status < 300:
        return Outcome(shorten(text), fenced(text), raw)
    reason = f"{_shown(url)} answers with status {status}"
    return Outcome(
        shorten(f"{reason}\n{text}"), [text_content(reason), *fenced(text)], raw, is_failed=True
    )
