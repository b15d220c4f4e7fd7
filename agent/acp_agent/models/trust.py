"""Whom a connection to a service is trusted with, and why one did not come about safely."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx

from acp_agent.models.refusals import ServiceFailedError


def certificates(url: str) -> ssl.SSLContext:
    """Return whom to trust at `url`; nobody where no certificate is to come.

    Raises:
        ServiceFailedError: the user's own cannot be read.
    """
    if not url.startswith("https:") and is_near(url):
        # Reading them takes longer than all else of a connection.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except OSError:
        raise ServiceFailedError(
            "The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read."
        ) from None


def distrust(problem: BaseException) -> str | None:
    """Return why no safe connection came about; None if `problem` is another one."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted, {cause.verify_message}"
        # Who hangs up meanwhile may have been started anew.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return "it does not speak TLS as we do"
        cause = cause.__cause__ or cause.__context__
    return None


def is_near(url: str) -> bool:
    """Return whether `url` is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
