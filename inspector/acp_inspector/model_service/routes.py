"""The base URLs that agents read from their environment, and what each API says about an error.

A route is a model service: the first segment of a path on our server names it. `{url}` in the value
of a variable is the address of the route; its path ends like that of the service, because some
agents look at it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json

Api: TypeAlias = Literal["openai", "anthropic", "gemini"]

URL: Final = "{url}"
"""Placeholder for the address of a route in the value of a variable."""
PUBLIC: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "mistral": "https://api.mistral.ai/v1",
    "deepseek": "https://api.deepseek.com",
    "xai": "https://api.x.ai/v1",
    "kimi": "https://api.kimi.com/coding/v1",
}
"""The public address of each service whose variables are always set."""
VARIABLES: Final[Mapping[str, str]] = {
    "OPENAI_BASE_URL": "openai",
    "OPENAI_API_BASE": "openai",
    "ANTHROPIC_BASE_URL": "anthropic",
    "GOOGLE_GEMINI_BASE_URL": "gemini",
    "OPENROUTER_BASE_URL": "openrouter",
    "MISTRAL_BASE_URL": "mistral",
    "DEEPSEEK_BASE_URL": "deepseek",
    "XAI_BASE_URL": "xai",
    "KIMI_BASE_URL": "kimi",
    "GENERIC_BASE_URL": "generic",
    "OLLAMA_HOST": "ollama",
    "OLLAMA_BASE_URL": "ollama",
    "OLLAMA_API_BASE": "ollama",
    "VLLM_BASE_URL": "vllm",
    "LLAMACPP_BASE_URL": "llamacpp",
    "CONTINUUM_BASE_URL": "continuum",
    "LITELLM_BASE_URL": "litellm",
    "DASHSCOPE_BASE_URL": "dashscope",
    "AZURE_OPENAI_ENDPOINT": "azure",
    "GOOGLE_VERTEX_BASE_URL": "vertex",
    "ANTHROPIC_VERTEX_BASE_URL": "anthropic-vertex",
    "CODE_ASSIST_ENDPOINT": "code-assist",
}
"""Variables with base URLs, and the service of each; those without a public address are only taken
over if they are set."""


_RECORDED_VALUE: Final = re.compile(r"\{url\}(?:/[\w.~-]+)*/?", re.ASCII)
_NAME: Final = re.compile(r"[\w.-]{0,64}", re.ASCII)
_BASE_PATH: Final = re.compile(r"(?:/[\w.~:+-]+)*", re.ASCII)


class RouteError(AcpError):
    """A URL of a model service cannot be used."""


@dataclass(slots=True)
class Route:
    """A model service behind our server."""

    name: str
    """The first segment of its paths on our server; empty for paths that begin with no name."""
    upstream: str
    """The base URL of the service; empty if it is not known."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """The variables that are set for it, with `{url}` for its address."""

    @property
    def base_path(self) -> str:
        return urlsplit(self.upstream).path.rstrip("/")

    @property
    def is_plain(self) -> bool:
        """Whether its address is one in which only the path is its own."""
        return bool(_NAME.fullmatch(self.name) and _BASE_PATH.fullmatch(self.base_path))

    def refused_variables(self) -> dict[str, str]:
        """Return the variables that a cassette must not set.

        It may come from anybody: it sets those that a model service has, to our server, and
        neither those by which programs find code nor addresses of others.
        """
        return {
            name: value
            for name, value in self.variables.items()
            if not (name in VARIABLES and self.is_plain and _RECORDED_VALUE.fullmatch(value))
        }

    def relative(self, path: str) -> str:
        """Return `path` below the base URL of the service."""
        base = self.base_path
        return path.removeprefix(base) if base and f"{path}/".startswith(f"{base}/") else path

    def environment(self, root: str) -> dict[str, str]:
        """Return the variables for an agent, if our server is at `root`."""
        url = f"{root}/{self.name}{self.base_path}"
        return {name: value.replace(URL, url) for name, value in self.variables.items()}


def plan_routes(
    environment: Mapping[str, str],
    upstreams: Mapping[str, str],
    added: Mapping[str, str],
    recorded: Sequence[Route] = (),
) -> list[Route]:
    """Return the routes for an agent with this environment; the last one has no name.

    Args:
        environment: The agent's variables.
        upstreams: Base URLs by name of a route or a variable; that of all others by an empty name.
        added: Further variables with their values, in which `{url}` is the address of a route.
        recorded: The routes of a cassette, which take precedence over all but `upstreams`. Only
            variables of model services are set because of them.

    Raises:
        RouteError: a URL is invalid, the service of a variable is not known, or a name in
            `upstreams` is the name of nothing.
    """
    recorded = [route for route in recorded if route.is_plain]
    stored = {name: route for route in recorded for name in route.variables}
    refused = {name for route in recorded for name in route.refused_variables()}
    wanted = {name: URL for name, service in VARIABLES.items() if service in PUBLIC}
    wanted |= {name: URL for name in VARIABLES if environment.get(name)}
    wanted |= {
        name: value
        for route in recorded
        for name, value in route.variables.items()
        if name not in refused
    }
    routes: dict[str, Route] = {}
    unused = set(upstreams) - {""}
    for name, value in (wanted | dict(added)).items():
        service = VARIABLES.get(name, name.lower())
        unused -= {name, service}
        # What is only a value, as of a key, needs no service.
        upstream = "" if URL not in value else _upstream(name, service, environment, upstreams)
        if name in stored and not {name, service, ""} & set(upstreams):
            service, upstream = stored[name].name, stored[name].upstream
        if URL in value and not upstream:
            raise RouteError(
                f"cannot set {name}: the address of its model service is not known",
                hint=f"name it by --upstream {name}=URL",
            )
        route = routes.setdefault(service, Route(service, upstream))
        if route.upstream != upstream and URL in value:
            service = name.lower()
            route = routes.setdefault(service, Route(service, upstream))
        route.variables[name] = value
    if unused:
        raise RouteError(
            f"--upstream: {min(unused)} is the name of no service and no variable",
            hint="--env NAME adds a variable; services: " + ", ".join(sorted(routes)),
        )
    unnamed = [route.upstream for route in recorded if not route.name]
    default = upstreams.get("") or next(iter(unnamed), "")
    return [*routes.values(), Route("", checked_url(default) if default else "")]


def _upstream(
    name: str, service: str, environment: Mapping[str, str], upstreams: Mapping[str, str]
) -> str:
    candidates = (
        upstreams.get(name),
        upstreams.get(service),
        upstreams.get(""),
        environment.get(name),
        PUBLIC.get(service),
    )
    found = next(filter(None, candidates), "")
    return checked_url(found) if found else ""


def checked_url(text: str) -> str:
    """Return `text` as a base URL without a slash at its end; http where it has no scheme.

    Raises:
        RouteError: it is no HTTP URL, or contains a user or a query.
    """
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        # Reading it checks it.
        _ = parts.port
    except ValueError:
        is_valid, parts = False, urlsplit("")
    if not is_valid:
        raise RouteError("the base URL of a model service is not an HTTP URL")
    if parts.username or parts.query or parts.fragment:
        raise RouteError(
            f"the base URL at {parts.hostname} has a user, a query or a fragment",
            hint="pass keys as the agent itself does; the cassette would contain the URL",
        )
    return url.rstrip("/")


def route_of(routes: Sequence[Route], path: str) -> tuple[Route, str]:
    """Return the route of a path on our server, and the path below its base URL."""
    first, slash, rest = path[1:].partition("/")
    for route in routes:
        if route.name and route.name == first:
            return route, route.relative(slash + rest)
    return routes[-1], routes[-1].relative(path)


def api_of(path: str) -> Api:
    """Return the API that a path belongs to; most unknown ones resemble OpenAI's."""
    if ":" in path.rpartition("/")[2] or path.startswith("/v1beta/"):
        return "gemini"
    return "anthropic" if "/messages" in path or path.startswith("/v1/models") else "openai"


def error_body(api: Api, status: int, text: str) -> Json:
    """Return an error in the form of an API."""
    match api:
        case "openai":
            kind = "invalid_request_error" if status < 500 else "server_error"
            return {"error": {"message": text, "type": kind, "param": None, "code": None}}
        case "anthropic":
            kind = "invalid_request_error" if status < 500 else "api_error"
            return {"type": "error", "error": {"type": kind, "message": text}}
        case "gemini":
            kind = "FAILED_PRECONDITION" if status < 500 else "UNAVAILABLE"
            return {"error": {"code": status, "message": text, "status": kind}}
