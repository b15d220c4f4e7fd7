"""A model of a service that may be reached elsewhere, by another key, or not at all, from now on.

The client decides that while the agent runs. What answers is made anew for each way, and a reply
that has begun goes on as it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from acp_agent.models.providers import SET_BY_CLIENT, Provider, SettingsError, provider_at
from acp_agent.models.types import (
    Effort,
    HistoryEntry,
    Model,
    ModelEvent,
    ModelFailedError,
    SlashCommand,
    ToolSpec,
    takes_images,
)


class ProviderModel:
    """Precedes what answers.

    `find` tells where the service is and by which key it is asked, as the user has set it; `make`
    makes what answers for it, with an effort where one was chosen; `forget` forgets the key that
    was kept for it. `is_replayed` says that nothing goes out, and nothing needs a key.
    """

    commands: Sequence[SlashCommand] = ()

    def __init__(
        self,
        find: Callable[[], Provider],
        make: Callable[[Provider, Effort | None], Model],
        *,
        forget: Callable[[], None],
        is_replayed: bool = False,
    ) -> None:
        self._find = find
        self._forget = forget
        self._make = make
        self._is_replayed = is_replayed
        self.service = find()
        """How the service is reached now."""
        self.is_enabled = True
        self._is_set = False
        self._is_signed_out = False
        self._is_refused = False
        """Whether the service did not take the key."""
        self._made: dict[Effort | None, Model] = {}

    @property
    def now(self) -> Model:
        """What answers now, where no effort was chosen."""
        return self._model(None)

    @property
    def name(self) -> str:
        """What it is called on screens."""
        return self.now.name

    @property
    def takes_images(self) -> bool:
        """Whether it looks at the images of a prompt."""
        return takes_images(self.now)

    @property
    def lacks_key(self) -> bool:
        """Whether it cannot answer for want of a key."""
        return self.service.needs_key and self.service.key is None and not self._is_replayed

    @property
    def wants_key(self) -> bool:
        """Whether the user's own key decides about its answers."""
        return self.service.needs_key and not self._is_replayed

    def at(self, effort: str) -> Model:
        """Return the model as it thinks with that effort, reached as this one is."""
        return _Aimed(self, cast("Effort", effort))

    async def reply(
        self,
        history: Sequence[HistoryEntry],
        tools: Sequence[ToolSpec],
        effort: Effort | None = None,
    ) -> AsyncGenerator[ModelEvent]:
        """Ask the service as it is reached now, and yield what it streams."""
        if not self.is_enabled:
            sentence = f"{self.service.title} was switched off by the client; choose another model."
            raise ModelFailedError(sentence)
        self.refresh_key()
        replying = self._model(effort).reply(history, tools)
        try:
            async for event in replying:
                yield event
            self._is_refused = False
        except ModelFailedError as problem:
            self._is_refused = problem.needs_key
            raise
        finally:
            if isinstance(replying, AsyncGenerator):
                # As of every stream that is not read to its end.
                await replying.aclose()

    def refresh_key(self) -> None:
        """Take the key that the user has brought meanwhile, if one or another one is wanted.

        Raises:
            ModelFailedError: what holds keys cannot be read.
        """
        wants_one = self.lacks_key or self._is_refused
        if wants_one and not self._is_set and not self._is_signed_out:
            self._find_now()

    def route(self, url: str, headers: Mapping[str, str]) -> None:
        """Reach the service at `url` from now on, with these headers and no key of ours.

        Raises:
            SettingsError: that is no address.
        """
        service = replace(
            provider_at(self.service.prefix, url, None, {}),
            url_variable=f"the address {SET_BY_CLIENT}",
            key_origin=SET_BY_CLIENT,
        )
        self._reach(_with(service, headers))
        self._is_set = self.is_enabled = True

    def disable(self) -> None:
        """Answer no more, until it is routed."""
        self.is_enabled = False

    def sign_in(self) -> bool:
        """Use the user's own key again; return whether there is one.

        Raises:
            ModelFailedError: what holds keys cannot be read.
        """
        self._is_signed_out = self._is_set = False
        self._find_now()
        return not self.lacks_key

    def sign_out(self) -> None:
        """Use no key of the user any more, and forget the one that was kept.

        Raises:
            SettingsError: it cannot be forgotten; it is not used all the same.
        """
        self._is_signed_out = True
        if self.wants_key:
            self._reach(replace(self.service, key=None))
            self._forget()

    def _find_now(self) -> None:
        try:
            self._reach(self._find())
        except SettingsError as problem:
            raise ModelFailedError(str(problem), needs_key=True) from None

    def _reach(self, service: Provider) -> None:
        if service != self.service:
            self.service = service
            self._made.clear()

    def _model(self, effort: Effort | None) -> Model:
        if effort not in self._made:
            self._made[effort] = self._make(self.service, effort)
        return self._made[effort]


class _Aimed:
    """A model that thinks with an effort of its own."""

    commands: Sequence[SlashCommand] = ()

    def __init__(self, model: ProviderModel, effort: Effort) -> None:
        self._model = model
        self._effort: Effort = effort

    @property
    def name(self) -> str:
        """What it is called on screens."""
        return self._model.name

    @property
    def takes_images(self) -> bool:
        """Whether it looks at the images of a prompt."""
        return self._model.takes_images

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent]:
        """Ask the service, and yield what it streams."""
        return self._model.reply(history, tools, self._effort)


def _with(service: Provider, headers: Mapping[str, str]) -> Provider:
    """Return `service` as it is asked with these headers.

    A key among them becomes the service's key: as such it is kept out of everything that is told.
    """
    rest = dict(headers)
    for name, value in headers.items():
        scheme, _, token = value.partition(" ")
        if name.lower() == "authorization" and scheme.lower() == "bearer" and token.strip():
            del rest[name]
            service = replace(service, key=token.strip(), is_bearer=True)
        elif name.lower() == "x-api-key" and service.api == "anthropic" and value.strip():
            del rest[name]
            service = replace(service, key=value.strip(), is_bearer=False)
    return replace(service, headers=tuple(sorted(rest.items())))
