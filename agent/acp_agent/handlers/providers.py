"""Methods by which a client sets the URLs and headers of model services; unstable.

The settings hold for this process. Headers may hold secrets: they are neither sent nor logged.

Source: ACP, unstable, `providers/list`, `providers/set`, `providers/disable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from acp_agent.models.providers import SettingsError
from acp_agent.models.routed import ProviderModel
from acp_agent.models.types import Model
from acp_agent.params import Handler, Params, invalid_params
from acp_protocol.jsonrpc import Json

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
"""Headers that belong to the transport."""


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
        return {"providers": [self._shown(id_) for id_ in self._models]}

    async def _set(self, params: Params) -> Json:
        id_, kind = params["providerId"], params["apiType"]
        models = self._models.get(id_)
        if models is None:
            raise invalid_params(f"params.providerId: there is no provider {id_!r}")
        if kind != (spoken := models[0].service.api):
            raise invalid_params(f"params.apiType: {kind!r} is not spoken here, {spoken!r} is")
        headers = cast("Mapping[str, str]", params.get("headers") or {})
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
        """Whether sessions begin with a model of that provider."""
        return any(model is self._first for model in self._models.get(id_, []))

    def _shown(self, id_: str) -> dict[str, Json]:
        model = self._models[id_][0]
        current = {"apiType": model.service.api, "baseUrl": model.service.base_url}
        return {
            "providerId": id_,
            "supported": [model.service.api],
            "required": self._is_required(id_),
            "current": current if model.is_enabled else None,
        }


def _check_header(name: str, value: str) -> None:
    """Refuse a header that cannot be sent, without repeating its value."""
    is_fit = all(sign.isascii() and (sign.isprintable() or sign == "\t") for sign in value)
    if not _TOKEN.fullmatch(name) or not is_fit:
        raise invalid_params("params.headers: a name or a value holds what no header may hold")
    if name.lower() in _OURS:
        raise invalid_params(f"params.headers: {name.lower()} belongs to the transport")
