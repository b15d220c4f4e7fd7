"""Logging in and out: which keys models are asked with, and who is let in.

A key never passes through here. The user brings it by the environment or types it in on a terminal,
and the client says no more than which of the two it was.

Source: ACP, Authentication; ACP version 2, Authentication; unstable, `auth/status`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_agent.models.providers import SettingsError
from acp_agent.models.routed import ProviderModel
from acp_agent.models.types import Model, ModelFailedError
from acp_agent.params import CONTINUUM, Handler, Params, dict_or_empty, invalid_params
from acp_agent.updates.v1 import Notifier
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.jsonrpc import Json

AuthMode: TypeAlias = Literal["keys", "stub", "required"]
"""By the keys that models need; besides, a login that takes everybody, or that is needed first."""
STUB: Final = "stub"


@dataclass(frozen=True, slots=True)
class LoginMethod:
    """A way to log in."""

    id: str
    name: str
    description: str
    prefix: str | None = None
    """The service that it is about; None for the stub."""
    arguments: tuple[str, ...] = ()
    """Of the agent on a terminal; none where the agent logs in by itself."""


class AuthHandlers:
    """Answers what is asked about logging in, on one connection."""

    def __init__(
        self,
        models: Sequence[Model],
        client: Notifier,
        *,
        mode: AuthMode,
        version: int,
        is_unstable: bool,
    ) -> None:
        self._models = [model for model in models if isinstance(model, ProviderModel)]
        self._is_all = len(self._models) == len(models)
        self._client = client
        self._mode = mode
        self._version = version
        self._is_unstable = is_unstable
        self._is_let_in = False
        """Whether somebody has logged in by the stub."""
        self._methods = self._offers()
        self._shown = self._methods
        self.handlers = self._handlers()

    def listed_methods(self, *, has_terminal: bool) -> list[dict[str, Json]]:
        """Return the methods as `initialize` offers them to a client with or without terminals."""
        self._shown = [each for each in self._methods if has_terminal or not each.arguments]
        return [self._method_json(method) for method in self._shown]

    def capabilities(self) -> dict[str, Json]:
        """Return what is claimed as capabilities."""
        claims: dict[str, Json] = {}
        if self._methods and self._version == 1:
            claims["logout"] = {}
        if self._is_unstable:
            claims["status"] = {}
        return {"auth": claims} if claims else {}

    def require_login(self) -> None:
        """Refuse whoever has to log in first.

        Raises:
            RequestFailedError: that is so; the answer holds the methods.
        """
        with self.with_methods():
            if self._mode == "required" and not self._is_let_in:
                raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Log in first, by the stub")
            lacking = [model for model in self._models if _lacks_key(model)]
            if self._is_all and len(lacking) == len(self._models):
                raise RequestFailedError(jsonrpc.AUTH_REQUIRED, _want(lacking[0]))

    @contextmanager
    def with_methods(self) -> Generator[None]:
        """Let refusals for want of a login tell by which methods there is one."""
        try:
            yield
        except RequestFailedError as problem:
            if problem.code != jsonrpc.AUTH_REQUIRED or problem.data is not None:
                raise
            data = {"authMethods": [self._method_json(method) for method in self._shown]}
            raise RequestFailedError(problem.code, problem.message, data) from None

    def _offers(self) -> list[LoginMethod]:
        offers = [LoginMethod(STUB, "Stub", "Lets everybody in")] if self._mode != "keys" else []
        wanting = {model.service.prefix: model for model in self._models if model.wants_key}
        for prefix, model in wanting.items():
            title = model.service.title
            names = " or ".join(model.service.key_variables)
            about = f"Set {names} where the agent is started"
            offers.append(LoginMethod(f"{prefix}-env", f"{title} key, environment", about, prefix))
            about = f"Type in a key of {title}; it is kept in a file that only you can read"
            arguments = ("--login", prefix)
            name = f"{title} key, typed in"
            if model.service.takes_typed:
                offers.append(LoginMethod(f"{prefix}-login", name, about, prefix, arguments))
        return offers

    def _handlers(self) -> Mapping[str, Handler]:
        names = {1: ("authenticate", "logout"), 2: ("auth/login", "auth/logout")}[self._version]
        handlers: dict[str, Handler] = {}
        if self._methods or self._version == 1:
            handlers[names[0]] = self._log_in
        if self._methods:
            handlers[names[1]] = self._log_out
        if self._is_unstable:
            handlers["auth/status"] = self._status
        return handlers

    async def _log_in(self, params: Params) -> Json:
        id_ = params["methodId"]
        method = next((each for each in self._shown if each.id == id_), None)
        before = self._state()
        if (
            method is None
            and self._mode == "keys"
            and CONTINUUM in dict_or_empty(params.get("_meta"))
        ):
            # Its stub takes every attempt; here that lets nobody in who was not in before.
            return {}
        if method is None and self._mode == "keys":
            none = "" if self._methods else "; there is none at all"
            raise invalid_params(f"methodId: there is no method {id_!r}{none}")
        if method is not None and method.arguments:
            raise invalid_params(
                f"methodId: {id_} is for a terminal: start the agent there with its args"
            )
        if method is None or method.prefix is None:
            # As the Continuum Router does: whoever tries is let in.
            self._is_let_in = True
        else:
            self._sign_in(method.prefix)
        return Response({}, lambda: self._notify_change(before))

    def _sign_in(self, prefix: str) -> None:
        for model in self._models:
            if model.service.prefix != prefix:
                continue
            try:
                is_in = model.sign_in()
            except ModelFailedError as problem:
                raise RequestFailedError(jsonrpc.AUTH_REQUIRED, str(problem)) from None
            if not is_in:
                raise RequestFailedError(jsonrpc.AUTH_REQUIRED, _want(model))

    async def _log_out(self, params: Params) -> Json:
        del params
        before = self._state()
        self._is_let_in = False
        try:
            for model in self._models:
                model.sign_out()
        except SettingsError as problem:
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, str(problem)) from None
        return Response({}, lambda: self._notify_change(before))

    async def _status(self, params: Params) -> Json:
        del params
        return self._state()

    def _state(self) -> dict[str, Json]:
        wanting = [model for model in self._models if model.wants_key]
        accounts = {
            f"{model.service.title} API key": {
                "label": f"{model.service.title} API key",
                "active": model is self._models[0] and self._is_all,
            }
            for model in reversed(wanting)
            if not model.lacks_key
        }
        if self._mode == "required" and not self._is_let_in:
            state = "unauthenticated"
        elif self._is_all and wanting:
            is_in = any(not model.lacks_key for model in self._models)
            state = "authenticated" if is_in else "unauthenticated"
        else:
            state = "authenticated" if self._is_let_in else "not_required"
        shown: dict[str, Json] = {"state": state}
        return shown | ({"accounts": list(accounts.values())} if accounts else {})

    async def _notify_change(self, before: Mapping[str, Json]) -> None:
        now = self._state()
        if self._is_unstable and now != before:
            await self._client.notify("auth/status_update", now)

    def _method_json(self, method: LoginMethod) -> dict[str, Json]:
        """Return a method as the protocol shows it."""
        kind = "terminal" if method.arguments else "agent"
        named: dict[str, Json] = {"name": method.name, "description": method.description}
        if method.arguments:
            named["args"] = list(method.arguments)
        if self._version >= 2:
            return {"type": kind, "methodId": method.id, **named}
        return {"id": method.id, **named} | ({"type": kind} if method.arguments else {})


def _lacks_key(model: ProviderModel) -> bool:
    """Whether a model cannot answer for want of a key, which may have been brought meanwhile."""
    try:
        model.refresh_key()
    except ModelFailedError as problem:
        raise RequestFailedError(jsonrpc.AUTH_REQUIRED, str(problem)) from None
    return model.lacks_key


def _want(model: ProviderModel) -> str:
    names = " or ".join(model.service.key_variables)
    or_ = ", or log in" if model.service.takes_typed else ""
    return f"{model.service.title} needs a key: set {names} where the agent is started{or_}"
