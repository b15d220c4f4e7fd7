"""Logging in and out: which keys models are asked with, and who is let in.

A key never passes through here. The user brings it by the environment or types it in on a terminal,
and the client says no more than which of the two it was.

Source: ACP, Authentication; ACP version 2, Authentication; unstable, `auth/status`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from acp_agent.handlers.dialect import ClientDialect
from acp_agent.handlers.params import Handler, Params, invalid_params
from acp_agent.models.factory import ProviderModel
from acp_agent.models.types import ModelFailedError
from acp_agent.services import AgentServices
from acp_agent.settings.providers import SettingsError
from acp_agent.updates.v1 import Notifier
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.jsonrpc import Json

STUB: Final = "stub"
"""The id of the login that accepts everybody."""


@dataclass(frozen=True, slots=True)
class AgentLogin:
    """A way to log in."""

    id: str
    name: str
    description: str
    prefix: str | None = None
    """The provider whose key it needs; None for the stub."""
    arguments: tuple[str, ...] = ()
    """Arguments of the agent on a terminal; none if the agent logs in by itself."""

    def as_json(self, version: int) -> dict[str, Json]:
        """Return the method as that version of the protocol shows it."""
        named: dict[str, Json] = {"name": self.name, "description": self.description}
        if self.arguments:
            named |= {"type": "terminal", "args": list(self.arguments)}
        if version == 1:
            return {"id": self.id, **named}
        return {"type": "agent", "methodId": self.id, **named}


class AuthHandlers:
    """Handles requests about logging in, on one connection."""

    def __init__(
        self, services: AgentServices, client: Notifier, version: int, dialect: ClientDialect
    ) -> None:
        self._models = [model for model in services.models if isinstance(model, ProviderModel)]
        self._all_have_providers = len(self._models) == len(services.models)
        self._client = client
        self._dialect = dialect
        self._mode = services.settings.auth.mode
        self._version = version
        self._is_unstable = services.settings.protocol.unstable
        self._is_logged_in = False
        """Whether the client has logged in by the stub."""
        self._methods = self._login_methods()
        self._offered = self._methods
        self.handlers: dict[str, Handler] = {}
        if self._methods or version == 1:
            self.handlers["authenticate" if version == 1 else "auth/login"] = self._log_in
        if self._methods:
            self.handlers["logout" if version == 1 else "auth/logout"] = self._log_out
        if self._is_unstable:
            self.handlers["auth/status"] = self._status

    def listed_methods(self, *, has_terminal: bool) -> list[dict[str, Json]]:
        """Return the methods as `initialize` offers them to a client with or without terminals."""
        self._offered = [each for each in self._methods if has_terminal or not each.arguments]
        return [method.as_json(self._version) for method in self._offered]

    def capabilities(self) -> dict[str, Json]:
        """Return the capabilities about logging in."""
        auth: dict[str, Json] = {}
        if self._methods and self._version == 1:
            auth["logout"] = {}
        if self._is_unstable:
            auth["status"] = {}
        return {"auth": auth} if auth else {}

    def require_login(self) -> None:
        """Refuse a client that has to log in first.

        Raises:
            RequestFailedError: that is so; its data holds the login methods.
        """
        with self.with_methods():
            if self._mode == "required" and not self._is_logged_in:
                raise RequestFailedError(jsonrpc.AUTH_REQUIRED, "Log in first, by the stub")
            for model in self._models:
                # The key may have been stored meanwhile.
                with _as_auth_error():
                    model.refresh_key()
            if self._all_have_providers and all(model.lacks_key for model in self._models):
                raise _key_required(self._models[0])

    @contextmanager
    def with_methods(self) -> Generator[None]:
        """Add the login methods to errors that demand a login."""
        try:
            yield
        except RequestFailedError as problem:
            if problem.code != jsonrpc.AUTH_REQUIRED or problem.data is not None:
                raise
            data = {"authMethods": [method.as_json(self._version) for method in self._offered]}
            raise RequestFailedError(problem.code, problem.message, data) from None

    def _login_methods(self) -> list[AgentLogin]:
        methods = [AgentLogin(STUB, "Stub", "Lets everybody in")] if self._mode != "keys" else []
        services = {
            model.service.prefix: model.service for model in self._models if model.wants_key
        }
        for prefix, service in services.items():
            name = f"{service.title} key, environment"
            about = f"Set {' or '.join(service.key_variables)} where the agent is started"
            methods.append(AgentLogin(f"{prefix}-env", name, about, prefix))
            if service.takes_typed:
                name = f"{service.title} key, typed in"
                file = "a file that only you can read"
                about = f"Type in a key of {service.title}; it is kept in {file}"
                arguments = ("--login", prefix)
                methods.append(AgentLogin(f"{prefix}-login", name, about, prefix, arguments))
        return methods

    async def _log_in(self, params: Params) -> Json:
        id_ = params["methodId"]
        method = next((each for each in self._offered if each.id == id_), None)
        before = self._state()
        if method is None and self._mode == "keys":
            if self._dialect.is_used(params):
                # Its clients expect that every attempt succeeds; this one changes nothing.
                return {}
            none = "" if self._methods else "; there is none at all"
            raise invalid_params(f"methodId: there is no method {id_!r}{none}")
        if method is not None and method.arguments:
            raise invalid_params(
                f"methodId: {id_} is for a terminal: start the agent there with its args"
            )
        if method is None or method.prefix is None:
            # The stub accepts everybody, whatever the method.
            self._is_logged_in = True
        else:
            for model in self._models:
                if model.service.prefix == method.prefix:
                    with _as_auth_error():
                        has_key = model.sign_in()
                    if not has_key:
                        raise _key_required(model)
        return Response({}, lambda: self._notify_change(before))

    async def _log_out(self, params: Params) -> Json:
        del params
        before = self._state()
        self._is_logged_in = False
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
        with_key = [model for model in self._models if model.wants_key]
        ready = [model for model in with_key if not model.lacks_key]
        accounts: dict[str, Json] = {}
        # The last one counts: the first model is the default one.
        for model in reversed(ready):
            label = f"{model.service.title} API key"
            is_active = model is self._models[0] and self._all_have_providers
            accounts[label] = {"label": label, "active": is_active}
        if self._mode == "required" and not self._is_logged_in:
            state = "unauthenticated"
        elif self._all_have_providers and with_key:
            is_in = any(not model.lacks_key for model in self._models)
            state = "authenticated" if is_in else "unauthenticated"
        else:
            state = "authenticated" if self._is_logged_in else "not_required"
        return {"state": state} | ({"accounts": list(accounts.values())} if accounts else {})

    async def _notify_change(self, before: Mapping[str, Json]) -> None:
        now = self._state()
        if self._is_unstable and now != before:
            await self._client.notify("auth/status_update", now)


@contextmanager
def _as_auth_error() -> Generator[None]:
    """Turn a failure to read a key into an error that demands a login."""
    try:
        yield
    except ModelFailedError as problem:
        raise RequestFailedError(jsonrpc.AUTH_REQUIRED, str(problem)) from None


def _key_required(model: ProviderModel) -> RequestFailedError:
    service = model.service
    names = " or ".join(service.key_variables)
    login = ", or log in" if service.takes_typed else ""
    reason = f"{service.title} needs a key: set {names} where the agent is started{login}"
    return RequestFailedError(jsonrpc.AUTH_REQUIRED, reason)
