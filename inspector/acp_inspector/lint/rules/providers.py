"""Model providers that a client configures.

Source: ACP, `providers/*` (unstable).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import answers, asks, check, learns, results
from acp_inspector.lint.rules.errors import OTHER_REASONS
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

METHODS: Final = ("providers/list", "providers/set", "providers/disable")
PROVIDERS: Final = 10_000
FITTING: Final = "Set listed providers to kinds that they support; refuse others with -32602."


@dataclass(slots=True)
class _Provider:
    point: Point
    supported: frozenset[str]
    is_required: bool
    disabled: Point | None = None


@dataclass(slots=True)
class _Providers:
    """Providers as they were listed last."""

    of: dict[str, _Provider] = field(default_factory=dict[str, _Provider])


def _listed(moment: Moment) -> list[dict[str, Json]]:
    return [members(each) for each in entries(moment.result_object.get("providers"))]


def _named(moment: Moment) -> tuple[str, _Provider] | None:
    """Return the provider that a request, or its answer, names, where it was listed."""
    params = moment.params if moment.ask is None else moment.ask.params
    id_ = params.get("providerId")
    known = moment.state.of(_Providers).of
    return (id_, known[id_]) if isinstance(id_, str) and id_ in known else None


@learns(results("providers/list"))
def _keep_providers(moment: Moment) -> None:
    providers = moment.state.of(_Providers)
    for each in _listed(moment):
        id_ = each.get("providerId")
        if isinstance(id_, str) and len(providers.of) < PROVIDERS:
            before = providers.of.get(id_)
            words = (word for word in entries(each.get("supported")) if isinstance(word, str))
            providers.of[id_] = _Provider(
                moment.point,
                frozenset(words),
                each.get("required") is True,
                before.disabled if before is not None else None,
            )


@learns(results("providers/disable", "providers/set"))
def _switch_provider(moment: Moment) -> None:
    named = _named(moment)
    if named is not None:
        named[1].disabled = moment.point if moment.method == "providers/disable" else None


@check("ACP-L399", asks(*METHODS), fix="Use providers only where the agent claims them.")
def providers_are_claimed(moment: Moment) -> Found:
    """Tell of providers where the agent claims none."""
    if moment.state.claims("agent", "providers"):
        return FINE
    return moment.problem(
        "the agent did not claim providers", moment.state.initialize, path="method"
    )


@check("ACP-L400", answers("providers/disable"), fix="Refuse with -32602.")
def required_providers_stay(moment: Moment) -> Found:
    """Tell of a required provider that was disabled, or refused in another way."""
    named = _named(moment)
    if named is None or not named[1].is_required:
        return None
    if moment.kind == "failure" and moment.code == -32602:
        return FINE
    what = "a result" if moment.kind == "result" else str(moment.code)
    return moment.problem(
        f"{quoted(named[0])} is required; disabling it is answered with {what}",
        named[1].point,
        moment.ask,
    )


@check("ACP-L401", results("providers/list"), fix="List it, without current.")
def disabled_providers_stay_listed(moment: Moment) -> Found:
    """Tell of a disabled provider that is gone, or still has a configuration."""
    told = ((each.get("providerId"), each) for each in _listed(moment))
    listed = {id_: each for id_, each in told if isinstance(id_, str)}
    is_any = False
    for id_, provider in moment.state.of(_Providers).of.items():
        if provider.disabled is None:
            continue
        is_any = True
        if id_ not in listed:
            return moment.problem(f"{quoted(id_)} is disabled and not listed", provider.disabled)
        if listed[id_].get("current") is not None:
            return moment.problem(
                f"{quoted(id_)} is disabled and has a current configuration", provider.disabled
            )
    return FINE if is_any else None


@check("ACP-L402", results("providers/list"), fix="Leave headers away; they hold secrets.")
def lists_hold_no_headers(moment: Moment) -> Found:
    """Tell of headers in a list."""
    for n, each in enumerate(_listed(moment)):
        for place, held in (("", each), (".current", members(each.get("current")))):
            if "headers" in held:
                return moment.problem(
                    "the list holds headers", path=f"result.providers.{n}{place}.headers"
                )
    return FINE


@check("ACP-L403", asks("providers/set"), fix=FITTING)
def kinds_are_supported(moment: Moment) -> Found:
    """Tell of a kind of API that the provider does not support."""
    named, kind = _named(moment), moment.params.get("apiType")
    if named is None or not isinstance(kind, str):
        return None
    if kind in named[1].supported:
        return FINE
    return moment.problem(
        f"{quoted(named[0])} does not support {quoted(kind)}", named[1].point, path="params.apiType"
    )


@check("ACP-L403", answers("providers/set"), fix=FITTING)
def unknown_providers_are_refused(moment: Moment) -> Found:
    """Tell of a provider that is set though the last list did not have it."""
    known, ask = moment.state.of(_Providers).of, moment.ask
    id_ = ask.params.get("providerId") if ask is not None else None
    if not isinstance(id_, str) or not known or len(known) >= PROVIDERS or id_ in known:
        return None
    if moment.code == -32602:
        return FINE
    if moment.code in OTHER_REASONS:
        return None
    what = "a result" if moment.kind == "result" else str(moment.code)
    return moment.problem(f"{quoted(id_)} was not listed; setting it is answered with {what}", ask)
