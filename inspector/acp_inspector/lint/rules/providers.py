"""Model providers that a client configures.

Source: ACP, `providers/*` (unstable).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, check, checked_by, fix, track
from acp_inspector.lint.rules.errors import OTHER_REASONS
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import INVALID_PARAMS, Json

rule = LintSubject("providers", page="rfds/custom-llm-endpoint.mdx")

METHODS: Final = ("providers/list", "providers/set", "providers/disable")
PROVIDERS: Final = 10_000


@dataclass(slots=True)
class _Provider:
    point: Point
    supported: frozenset[str]
    is_required: bool
    disabled: Point | None = None


class _Providers(dict[str, _Provider]):
    """The last list of providers."""


def _listed(context: Context) -> list[dict[str, Json]]:
    return [as_object(each) for each in as_list(context.result_object.get("providers"))]


def _named(context: Context) -> tuple[str, _Provider] | None:
    """Return the provider that a request, or its response, names, if it was listed."""
    params = context.params if context.request is None else context.request.params
    id_ = params.get("providerId")
    known = context.state.of(_Providers)
    return (id_, known[id_]) if isinstance(id_, str) and id_ in known else None


@track(on.result("providers/list"))
def _keep_providers(context: Context) -> None:
    providers = context.state.of(_Providers)
    for each in _listed(context):
        id_ = each.get("providerId")
        if isinstance(id_, str) and len(providers) < PROVIDERS:
            before = providers.get(id_)
            words = (word for word in as_list(each.get("supported")) if isinstance(word, str))
            providers[id_] = _Provider(
                context.point,
                frozenset(words),
                each.get("required") is True,
                before.disabled if before is not None else None,
            )


@track(on.result("providers/disable", "providers/set"))
def _switch_provider(context: Context) -> None:
    named = _named(context)
    if named is not None:
        named[1].disabled = context.point if context.method == "providers/disable" else None


@rule.error(399, "should", "client", on.request(*METHODS))
@fix("Use providers only where the agent claims them.")
@checked_by(claimed, v1="providers")
def undeclared_providers() -> None:
    """`providers/*` only with the `providers` capability."""


@rule.error(400, "must", "agent", on.response("providers/disable"))
@fix("Refuse with -32602.")
def required_provider_disabled(context: Context) -> CheckResult:
    """Disabling a `required` provider is answered -32602."""
    named = _named(context)
    if named is None or not named[1].is_required:
        return None
    if context.kind == "failure" and context.code == INVALID_PARAMS:
        return OK
    what = "a result" if context.kind == "result" else str(context.code)
    return context.problem(
        f"{quoted(named[0])} is required; disabling it is answered with {what}",
        named[1].point,
        context.request,
    )


@rule.error(401, "must", "agent", on.result("providers/list"))
@fix("List it, without current.")
def disabled_provider_missing(context: Context) -> CheckResult:
    """A disabled provider stays listed with `current` null or absent."""
    pairs = ((each.get("providerId"), each) for each in _listed(context))
    listed = {id_: each for id_, each in pairs if isinstance(id_, str)}
    is_any = False
    for id_, provider in context.state.of(_Providers).items():
        if provider.disabled is None:
            continue
        is_any = True
        if id_ not in listed:
            return context.problem(f"{quoted(id_)} is disabled and not listed", provider.disabled)
        if listed[id_].get("current") is not None:
            return context.problem(
                f"{quoted(id_)} is disabled and has a current configuration", provider.disabled
            )
    return OK if is_any else None


@rule.warning(403, "should", "client", on.request("providers/set"))
@fix("Set listed providers to kinds that they support; refuse others with -32602.")
def unsupported_api_type(context: Context) -> CheckResult:
    """`apiType` is in `supported`; unknown ids expect -32602."""
    named, kind = _named(context), context.params.get("apiType")
    if named is None or not isinstance(kind, str):
        return None
    if kind in named[1].supported:
        return OK
    return context.problem(
        f"{quoted(named[0])} does not support {quoted(kind)}", named[1].point, at="apiType"
    )


@check("unsupported-api-type", on.response("providers/set"))
def unknown_providers_are_refused(context: Context) -> CheckResult:
    known, ask = context.state.of(_Providers), context.request
    id_ = ask.params.get("providerId") if ask is not None else None
    if not isinstance(id_, str) or not known or len(known) >= PROVIDERS or id_ in known:
        return None
    if context.code == INVALID_PARAMS:
        return OK
    if context.code in OTHER_REASONS:
        return None
    what = "a result" if context.kind == "result" else str(context.code)
    return context.problem(f"{quoted(id_)} was not listed; setting it is answered with {what}", ask)


@rule.error(402, "implied", "agent", on.result("providers/list"))
@fix("Leave out headers; they hold secrets.")
@checked_by(schema, at=("providers.*.headers", "providers.*.current.headers"), kinds="member")
def provider_headers_listed() -> None:
    """`providers/list` never returns headers."""
