"""Chains of proxies: one hop of one, between a conductor (the client) and a proxy (the agent).

What passes through several hops cannot be seen in the recording of one.

Source: ACP, `proxy/*` (unstable).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, members, quoted
from acp_inspector.lint.registry import answers, asks, calls, check, learns, results
from acp_inspector.lint.state import Ask
from acp_protocol.jsonrpc import Json

SUCCESSOR: Final = "proxy/successor"
INITIALIZE: Final = "proxy/initialize"


@dataclass(slots=True)
class _Hop:
    """How the component of this hop was begun, and what its successor answered."""

    forwarded: Ask | None = None
    """The `initialize` that the proxy sent to its successor."""
    version: Json = None
    """The version that the successor answered."""


@learns(asks(SUCCESSOR))
def _keep_forwarded(moment: Moment) -> None:
    is_initialize = moment.side == "agent" and moment.params.get("method") == "initialize"
    if is_initialize and moment.key is not None:
        moment.state.of(_Hop).forwarded = moment.state.newest


@learns(results(SUCCESSOR))
def _keep_version(moment: Moment) -> None:
    hop = moment.state.of(_Hop)
    if moment.ask is not None and moment.ask is hop.forwarded:
        hop.version = moment.result_object.get("protocolVersion")


@check("ACP-L501", calls(SUCCESSOR), fix="Begin each component with a successor as a proxy.")
def proxies_are_begun_as_such(moment: Moment) -> Found:
    """Tell of a successor's messages on a hop that was begun as an ordinary agent's."""
    begun = moment.state.initialize
    if begun is None:
        return None
    if begun.method == INITIALIZE:
        return FINE
    return moment.problem("the hop was begun with plain initialize", begun, path="method")


@check("ACP-L502", answers(INITIALIZE), fix="Ask the successor before answering.")
def proxies_ask_their_successor_first(moment: Moment) -> Found:
    """Tell of a proxy that answers for a successor it has not asked."""
    if moment.kind == "failure":
        return None
    if moment.state.of(_Hop).forwarded is not None:
        return FINE
    return moment.problem("the successor was not asked to initialize", moment.ask)


@check("ACP-L503", results(INITIALIZE), fix="Answer with the successor's version.")
def proxies_keep_the_version(moment: Moment) -> Found:
    """Tell of a proxy that answers with another version than its successor."""
    hop = moment.state.of(_Hop)
    if hop.version is None:
        return None
    version = moment.result_object.get("protocolVersion")
    if version == hop.version:
        return FINE
    return moment.problem(
        f"the successor answered version {quoted(hop.version)}, the proxy {quoted(version)}",
        hop.forwarded,
        path="result.protocolVersion",
    )


@check("ACP-L504", calls(SUCCESSOR), fix="Wrap params as they are: an object or an array.")
def wrapped_params_are_structured(moment: Moment) -> Found:
    """Tell of wrapped params that no JSON-RPC message can have."""
    params = moment.params.get("params")
    if params is None or isinstance(params, dict | list):
        return FINE
    return moment.problem(f"the wrapped params are {quoted(params)}", path="params.params")


@check("ACP-L505", calls(SUCCESSOR), fix="Leave the wrapped _meta alone.")
def metas_are_kept_apart(moment: Moment) -> Found:
    """Tell of an envelope's `_meta` that stands in the wrapped message too."""
    outer = members(moment.params.get("_meta"))
    inner = members(members(moment.params.get("params")).get("_meta"))
    if not outer:
        return None
    if all(name in inner and inner[name] == value for name, value in outer.items()):
        return moment.problem("the envelope's _meta was copied", path="params.params._meta")
    return FINE


@check("ACP-L506", calls(SUCCESSOR), fix="Cancel the envelope's request on its own hop.")
def cancelling_stays_on_its_hop(moment: Moment) -> Found:
    """Tell of a cancel that is wrapped."""
    if moment.params.get("method") == "$/cancel_request":
        return moment.problem("a $/cancel_request is wrapped", path="params.method")
    return FINE
