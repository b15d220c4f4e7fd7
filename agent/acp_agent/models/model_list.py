"""Asks a service which models it has, when the agent starts with `PROVIDER:*`.

Source: OpenAI API, "List models"; Anthropic API, "List Models"; Gemini API, "models.list".
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import anyio
import httpx

from acp_agent.models.errors import ServiceFailedError
from acp_agent.models.http import network_client, service_headers, ssl_context
from acp_agent.settings.providers import Provider, SettingsError
from acp_protocol.json_codec import Json, parse
from acp_protocol.json_values import as_list, as_object, as_string

TIMEOUT_S: Final = 5.0
"""For all pages."""
SIZE_LIMIT: Final = 4 * 2**20
"""Bytes of one page."""
PAGE_LIMIT: Final = 20
MODEL_LIMIT: Final = 200
"""Models that are offered; more are of no use in a menu."""
NAME_LIMIT: Final = 200
"""Characters of one name."""


class _UnlistedError(Exception):
    """The service does not list its models; the message says why."""


def list_models(
    service: Provider, *, timeout: float = TIMEOUT_S, size_limit: int = SIZE_LIMIT
) -> list[str]:
    """Return the names of the models that `service` has, in its order, from all pages.

    `timeout` is in seconds, for the whole list.

    Raises:
        SettingsError: it does not list them, or has none.
    """
    try:
        return anyio.run(_names, service, timeout, size_limit)
    except ServiceFailedError as error:
        raise SettingsError(str(error)) from None
    except (TimeoutError, httpx.TimeoutException):
        why = f"no response within {timeout:g} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        why = "it cannot be reached"
    except _UnlistedError as error:
        why = str(error)
    raise SettingsError(
        f"{service.title} at {service.base_url} does not say which models it has: {why}. Name one "
        f"of them instead of {service.prefix}:*, or check {service.url_variable}."
    )


async def _names(service: Provider, timeout: float, size_limit: int) -> list[str]:
    is_anthropic = service.api == "anthropic"
    url = service.base_url + ("/v1/models" if is_anthropic else "/models")
    query = {"limit": str(MODEL_LIMIT)} if is_anthropic else {}
    headers = service_headers(service)
    names: dict[str, None] = {}
    with anyio.fail_after(timeout):
        async with network_client(url, ssl_context(url), timeout) as client:
            for _ in range(PAGE_LIMIT):
                async with client.stream("GET", url, params=query, headers=headers) as response:
                    page = as_object(await _page(response, size_limit))
                ids = [as_string(as_object(each).get("id")) for each in as_list(page.get("data"))]
                before = len(names)
                for id_ in ids:
                    if id_.strip() and id_.isprintable() and len(id_) <= NAME_LIMIT:
                        names[id_] = None
                cursor = _next_page(page, ids, is_anthropic=is_anthropic)
                # A page without a new name may lead in a circle.
                if cursor is None or len(names) == before or len(names) >= MODEL_LIMIT:
                    break
                query |= cursor
    if not names:
        raise _UnlistedError("it has none")
    return list(names)[:MODEL_LIMIT]


def _next_page(
    page: Mapping[str, Json], ids: list[str], *, is_anthropic: bool
) -> dict[str, str] | None:
    """Return the query of the page after `page`; None if it is the last one."""
    if token := as_string(page.get("nextPageToken")):
        return {"pageToken": token}
    last = as_string(page.get("last_id")) or (ids[-1] if ids else "")
    if page.get("has_more") is not True or not last:
        return None
    return {"after_id" if is_anthropic else "after": last}


async def _page(response: httpx.Response, size_limit: int) -> Json:
    if response.status_code != HTTPStatus.OK:
        raise _UnlistedError(f"its response has status {response.status_code}")
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > size_limit:
            raise _UnlistedError("its response does not end")
    try:
        return parse(body)
    except ValueError:
        raise _UnlistedError("its response is not JSON") from None
