"""Which models a service has, by its own word.

It is asked at the start of the agent, and only where somebody wants all of its models to choose
from: nobody waits for it otherwise.

Source: OpenAI API, "List models"; Anthropic API, "List Models".
"""

from __future__ import annotations

import json
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from acp_agent.models.services import Service, SettingsError
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    import httpx

TIME_LIMIT: Final = 5.0
"""Seconds that a service has to answer."""
SIZE_LIMIT: Final = 4 * 2**20
"""Bytes of its answer."""
MODEL_LIMIT: Final = 200
"""Models that are offered: nobody chooses from more."""
NAME_LIMIT: Final = 200
"""Characters of one name."""
_VERSION: Final = "2023-06-01"
_NEAR: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def named_by(service: Service) -> list[str]:
    """Return the names of the models that `service` has, in its order.

    Raises:
        SettingsError: it does not tell, or has none; the message tells why.
    """
    found: Json = _asked(service)
    entries: Json = cast("dict[str, Json]", found).get("data") if isinstance(found, dict) else None
    listed = cast("list[Json]", entries) if isinstance(entries, list) else []
    names = [
        cast("dict[str, Json]", each).get("id") if isinstance(each, dict) else None
        for each in listed
    ]
    fit = [name for name in names if isinstance(name, str) and _is_name(name)]
    if not fit:
        raise _silent(service, "it has none")
    return list(dict.fromkeys(fit))[:MODEL_LIMIT]


def _is_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= NAME_LIMIT


def _asked(service: Service) -> Json:
    # Imported where a service is asked: most agents start without it.
    import httpx

    path = f"/v1/models?limit={MODEL_LIMIT}" if service.speech == "anthropic" else "/models"
    is_near = (urlsplit(service.base_url).hostname or "") in _NEAR
    headers = _headers(service) | dict(service.headers)
    try:
        with (
            httpx.Client(timeout=TIME_LIMIT, trust_env=not is_near) as client,
            client.stream("GET", service.base_url + path, headers=headers) as answer,
        ):
            if answer.status_code != HTTPStatus.OK:
                raise _silent(service, f"it answers with status {answer.status_code}")
            return json.loads(_body(service, answer))
    except httpx.TimeoutException:
        raise _silent(service, f"no answer within {TIME_LIMIT:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        raise _silent(service, "it is not reached") from None
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, SettingsError):
            raise
        raise _silent(service, "its answer is no JSON") from None


def _body(service: Service, answer: httpx.Response) -> bytes:
    until = monotonic() + TIME_LIMIT
    body = bytearray()
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > SIZE_LIMIT or monotonic() > until:
            raise _silent(service, "its answer does not end")
    return bytes(body)


def _headers(service: Service) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}
    if service.speech == "anthropic":
        headers["anthropic-version"] = _VERSION
    if service.key is None:
        return headers
    if service.is_bearer:
        return headers | {"Authorization": f"Bearer {service.key}"}
    return headers | {"x-api-key": service.key}


def _silent(service: Service, why: str) -> SettingsError:
    return SettingsError(
        f"{service.title} at {service.base_url} does not say which models it has: {why}. Name one "
        f"of them instead of {service.prefix}:*, or check {service.url_variable}."
    )
