"""Methods by which a client sets the URLs and headers of model services; unstable.

The settings hold for this process. Headers may hold secrets: they are neither sent nor logged.

Source: ACP, unstable, `providers/list`, `providers/set`, `providers/disable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from acp_agent.handlers.params import Handler, Params, invalid_params
from acp_agent.models.factory import ProviderModel
from acp_agent.models.types import Model
from acp_agent.settings.providers import SettingsError
from acp_protocol.jsonrpc import Json

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TRANSPORT_HEADERS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class ProviderHandlers:
    """Handles requests about providers: each is a service that one of the models belongs to."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._first = models[0]
        self._models: dict[str, list[ProviderModel]] = {}
        for model in models:
            if isinstance(model, ProviderModel):
                self._models.setdefault(model.service.prefix, []).append(model)
        self.handlers: Mapping[str, Handler] = {
            "providers/list": self._list,
            "providers/set": self._set,
            "providers/disable": self._disable,
        }

    async def _list(self, params: Params) -> Json:
        del params
        providers: list[Json] = []
        for id_, [model, *_] in self._models.items():
            api = model.service.api
            current = {"apiType": api, "baseUrl": model.service.base_url}
            providers.append(
                {
                    "providerId": id_,
                    "supported": [api],
                    "required": self._is_required(id_),
                    "current": current if model.is_enabled else None,
                }
            )
        return {"providers": providers}

    async def _set(self, params: Params) -> Json:
        id_, kind = params["providerId"], params["apiType"]
        models = self._models.get(id_)
        if models is None:
            raise invalid_params(f"params.providerId: there is no provider {id_!r}")
        if kind != (api := models[0].service.api):
            raise invalid_params(f"params.apiType: {kind!r} is not spoken here, {api!r} is")
        headers: Mapping[str, str] = params.get("headers") or {}
        for name, value in headers.items():
            _check_header(name, value)
        try:
            for model in models:
                model.route(params["baseUrl"], headers)
        except SettingsError as problem:
            raise invalid_params(f"params.baseUrl: {problem}") from None
        return {}

    async def _disable(self, params: Params) -> Json:
        id_ = params["providerId"]
        if self._is_required(id_):
            raise invalid_params(
                f"params.providerId: {id_} is required: its model serves by default"
            )
        # An unknown one counts as disabled.
        for model in self._models.get(id_, []):
            model.disable()
        return {}

    def _is_required(self, id_: str) -> bool:
        """Return whether sessions begin with a model of that provider."""
        return any(model is self._first for model in self._models.get(id_, []))


def _check_header(name: str, value: str) -> None:
    """Refuse a header that cannot be sent, without repeating its value."""
    is_valid = all(char.isascii() and (char.isprintable() or char == "\t") for char in value)
    if not _TOKEN.fullmatch(name) or not is_valid:
        raise invalid_params("params.headers: a name or a value holds what no header may hold")
    if name.lower() in _TRANSPORT_HEADERS:
        raise invalid_params(f"params.headers: {name.lower()} belongs to the transport")
