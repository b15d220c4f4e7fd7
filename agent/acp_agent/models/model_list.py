"""Asks a service which models it has.

This happens when the agent starts, and only where the user wants to choose from all models of a
service.

Source: OpenAI API, "List models"; Anthropic API, "List Models"; Gemini API, "models.list".
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from acp_agent.models.providers import Provider, SettingsError
from acp_agent.models.wire import entries, members, text
from acp_protocol.json_codec import Json, parse

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 5.0
"""Seconds that a service has for all pages."""
SIZE_LIMIT: Final = 4 * 2**20
"""Bytes of one page."""
PAGE_LIMIT: Final = 20
MODEL_LIMIT: Final = 200
"""Models that are offered; more are of no use in a menu."""
NAME_LIMIT: Final = 200
"""Characters of one name."""


def list_models(
    service: Provider, *, timeout: float = TIMEOUT_S, size_limit: int = SIZE_LIMIT
) -> list[str]:
    """Return the names of the models that `service` has, in its order, from all pages.

    `timeout` is in seconds, for the whole list.

    Raises:
        SettingsError: it does not list them, or has none.
    """
    # Imported here, because most agents start without it.
    import httpx

    from acp_agent.models.errors import ServiceFailedError
    from acp_agent.models.http import is_loopback_url, service_headers, ssl_context

    is_anthropic = service.api == "anthropic"
    url = service.base_url + ("/v1/models" if is_anthropic else "/models")
    query = {"limit": str(MODEL_LIMIT)} if is_anthropic else {}
    until = monotonic() + timeout
    names: dict[str, None] = {}
    cursor: dict[str, str] | None = {}
    try:
        with httpx.Client(
            verify=ssl_context(url),
            timeout=timeout,
            trust_env=not is_loopback_url(url),
            headers=service_headers(service),
        ) as client:
            for _ in range(PAGE_LIMIT):
                query_string = urlencode(query | cursor)
                with client.stream(
                    "GET", f"{url}?{query_string}" if query_string else url
                ) as response:
                    page = members(_page(service, response, until, size_limit))
                before = len(names)
                ids = [text(members(each).get("id")) for each in entries(page.get("data"))]
                names |= dict.fromkeys(filter(_is_name, ids))
                cursor = _next_page(page, ids, is_anthropic=is_anthropic)
                # A page without a new name leads in a circle.
                if cursor is None or len(names) == before or len(names) >= MODEL_LIMIT:
                    break
    except httpx.TimeoutException:
        raise _unlisted(service, f"no answer within {timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        raise _unlisted(service, "it is not reached") from None
    except ServiceFailedError as problem:
        raise SettingsError(str(problem)) from None
    if not names:
        raise _unlisted(service, "it has none")
    return list(names)[:MODEL_LIMIT]


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= NAME_LIMIT


def _next_page(
    page: Mapping[str, Json], ids: list[str], *, is_anthropic: bool
) -> dict[str, str] | None:
    """Return the query of the page behind `page`; None if it is the last one."""
    if token := text(page.get("nextPageToken")):
        return {"pageToken": token}
    last = text(page.get("last_id")) or (ids[-1] if ids else "")
    if page.get("has_more") is not True or not last:
        return None
    return {"after_id" if is_anthropic else "after": last}


def _page(service: Provider, response: httpx.Response, until: float, size_limit: int) -> Json:
    if response.status_code != HTTPStatus.OK:
        raise _unlisted(service, f"it answers with status {response.status_code}")
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > size_limit or monotonic() > until:
            raise _unlisted(service, "its answer does not end")
    try:
        return parse(bytes(body))
    except ValueError:
        raise _unlisted(service, "its answer is no JSON") from None


def _unlisted(service: Provider, why: str) -> SettingsError:
    return SettingsError(
        f"{service.title} at {service.base_url} does not say which models it has: {why}. Name one "
        f"of them instead of {service.prefix}:*, or check {service.url_variable}."
    )
