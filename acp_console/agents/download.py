"""Downloads a file that the user asked for."""

from __future__ import annotations

from time import monotonic
from typing import Final

import httpx

from acp_protocol.errors import AcpError
from acp_protocol.net import is_loopback

TIMEOUT_S: Final = 30.0
"""Seconds to connect, and seconds for the content."""
MAX_REDIRECTS: Final = 5


class DownloadError(AcpError):
    """A file cannot be downloaded; the message says why."""


def download(url: str, max_bytes: int, *, timeout: float = TIMEOUT_S) -> bytes:
    """Return what is at a URL, at most `max_bytes`; it and every redirection needs https.

    Raises:
        DownloadError: it cannot be downloaded.
    """
    try:
        with (
            httpx.Client(
                timeout=timeout,
                follow_redirects=True,
                max_redirects=MAX_REDIRECTS,
                event_hooks={"request": [_check_scheme]},
            ) as client,
            client.stream("GET", url) as response,
        ):
            if not response.is_success:
                raise DownloadError(f"{url}: the server answered with {response.status_code}")
            content = bytearray()
            end = monotonic() + timeout
            for piece in response.iter_bytes():
                content += piece
                if monotonic() > end:
                    raise DownloadError(f"{url}: it took more than {timeout:g} s")
                if len(content) > max_bytes:
                    raise DownloadError(f"{url}: larger than {max_bytes // 2**20} MiB")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadError(f"{url}: cannot be downloaded: {error}") from None
    return bytes(content)


def _check_scheme(request: httpx.Request) -> None:
    if request.url.scheme != "https" and not is_loopback(request.url.host):
        raise DownloadError(f"{request.url}: needs https")
