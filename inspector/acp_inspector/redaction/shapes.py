"""How secrets look that can be told by their shape alone.

Source: each row names who describes the shape; docs/redaction.md has the list. Where a provider
says nothing of the length, the row asks for enough of it that no word of prose passes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp_inspector.redaction.names import is_secret_name

_END: Final = r"(?![A-Za-z0-9_-])"
_START: Final = r"(?:(?<![A-Za-z0-9_])|(?<=[0-9;\[]m)|(?<=\\[nrt]))"
"""Not inside of a word; but a colour of a terminal and an escaped line end in letters as well."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A rule: what it is called, what it finds, and who says that secrets look so."""

    name: str
    about: str
    source: str
    pattern: re.Pattern[str]
    """The group that it matched last, or all of it where it has none, is the secret."""
    hints: tuple[str, ...]
    """One of these stands in every text with such a secret; looking for them is quick."""

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where in `text` a secret of this shape begins and ends."""
        if any(hint in text for hint in self.hints):
            for found in self.pattern.finditer(text):
                yield found.span(found.lastgroup or 0)


def _shape(name: str, about: str, source: str, *alternatives: str, hints: str) -> Shape:
    pattern = re.compile("|".join(alternatives))
    return Shape(name, about, source, pattern, tuple(hints.split(" ")))


def _token(prefix: str, rest: str) -> str:
    return rf"{_START}{prefix}{rest}{_END}"


def _any_of(*tokens: str) -> str:
    return rf"{_START}(?:{'|'.join(tokens)}){_END}"


SHAPES: Final[tuple[Shape, ...]] = (
    _shape(
        "pem",
        "private keys in PEM, OpenSSH and PGP armour, also cut off",
        "RFC 7468; OpenSSH PROTOCOL.key; RFC 9580",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        hints="PRIVATE",
    ),
    _shape(
        "anthropic",
        "Anthropic API, admin and OAuth keys",
        "Anthropic API documentation; gitleaks `anthropic-api-key`",
        _token("sk-ant-", r"[A-Za-z0-9_-]{16,500}+"),
        hints="sk-ant-",
    ),
    _shape(
        "openai",
        "OpenAI keys (`sk-`, `sk-proj-`, `sk-svcacct-`, `sk-admin-`) and those of others who write "
        "them so (OpenRouter, DeepSeek, Moonshot)",
        "OpenAI and OpenRouter API documentation; gitleaks `openai-api-key`",
        _token("sk-", r"(?!ant-)(?=[A-Za-z_-]{0,60}+[0-9])[A-Za-z0-9_-]{20,500}+"),
        hints="sk-",
    ),
    _shape(
        "github",
        "GitHub tokens of every kind",
        'GitHub Docs, "GitHub\'s token formats"',
        _token("gh[pousr]_", r"[A-Za-z0-9_.-]{20,}"),
        _token("github_pat_", r"[A-Za-z0-9_]{22,}"),
        hints="ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    ),
    _shape(
        "gitlab",
        "GitLab tokens",
        'GitLab Docs, "Token overview"',
        _token(
            "gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-", r"[A-Za-z0-9_.-]{20,}"
        ),
        hints="glpat- gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- "
        "glffct- glwt-",
    ),
    _shape(
        "google",
        "Google API keys, OAuth secrets and access tokens",
        "Google Cloud documentation; gitleaks `gcp-api-key`",
        _token("AIza", r"[A-Za-z0-9_-]{35}"),
        _token("GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
        _token(r"ya29\.", r"[A-Za-z0-9_-]{20,}"),
        hints="AIza GOCSPX- ya29.",
    ),
    _shape(
        "aws",
        "AWS access key ids and Bedrock keys; the secrets beside them are found by their names",
        'AWS IAM User Guide, "Unique identifiers"; gitleaks `aws-access-token`',
        _token("(?:AKIA|ASIA|ABIA|ACCA)", r"[A-Z2-7]{16}"),
        r"(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/]{100,}={0,2}",
        hints="AKIA ASIA ABIA ACCA ABSK",
    ),
    _shape(
        "slack",
        "Slack tokens and webhooks",
        'Slack API documentation, "Token types"; gitleaks `slack-*`',
        _token(r"xox[a-z](?:\.xox[a-z])?-", r"[A-Za-z0-9-]{10,}"),
        _token("xapp-", r"[0-9]-[A-Za-z0-9-]{10,}"),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/+_-]{20,})",
        hints="xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- hooks.slack.com",
    ),
    _shape(
        "token",
        "tokens with the mark of their provider: Hugging Face, npm, PyPI, Stripe, Groq, xAI, "
        "Perplexity, Replicate, Cerebras, Fireworks, Tavily, Docker, DigitalOcean, Linear, Notion, "
        "Sentry, Databricks, Vault, SendGrid, Telegram, Shopify, Postman, Doppler, Supabase",
        "the providers' documentation; gitleaks rules of those names",
        _any_of(
            r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
            r"npm_[A-Za-z0-9]{36}",
            r"pypi-AgE[A-Za-z0-9_-]{50,}",
            r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}",
            r"whsec_[A-Za-z0-9+/]{24,}",
            r"gsk_[A-Za-z0-9]{40,}",
            r"xai-[A-Za-z0-9]{60,}",
            r"pplx-[A-Za-z0-9]{32,}",
            r"r8_[A-Za-z0-9]{37}",
            r"csk-[A-Za-z0-9]{40,}",
            r"fw_[A-Za-z0-9]{22,}",
            r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}",
            r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
            r"do[opr]_v1_[a-f0-9]{64}",
            r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
            r"(?:ntn_|secret_)(?=[A-Za-z]*[0-9])[A-Za-z0-9]{40,}",
            r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
            r"dapi[a-f0-9]{32}(?:-[0-9])?",
            r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
            r"SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
            r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}",
            r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
            r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
            r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{40,}",
            r"sb(?:p|_secret)_[A-Za-z0-9_-]{20,}",
            r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
        ),
        hints="hf_ api_org_ npm_ pypi- _live_ _test_ _prod_ whsec_ gsk_ xai- pplx- r8_ csk- fw_ "
        "tvly- dckr_ _v1_ lin_ ntn_ secret_ sntrys_ sntryu_ dapi hvs. hvb. hvr. SG. :AA shpat_ "
        "shpca_ shppa_ shpss_ PMAK- dp.pt. dp.st. dp.ct. dp.sa. sbp_ sb_ AGE-SECRET-KEY",
    ),
    _shape(
        "jwt",
        "JSON Web Tokens, signed and encrypted",
        "RFC 7519, RFC 7516",
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*){{2,4}}",
        hints="eyJ",
    ),
    _shape(
        "bearer",
        "what stands behind Bearer; what stands behind Basic is found by its header's name",
        "RFC 6750",
        r"\b(?:[Bb]earer|BEARER)\s+(?P<secret>(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{12,}=*)",
        hints="earer BEARER",
    ),
    _shape(
        "url-userinfo",
        "the password of a URL, or the token that stands in its place",
        "RFC 3986, section 3.2.1",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/?#@:\"'<>\\]*:(?P<secret>[^\s/?#@\"'<>\\]+)|"
        r"(?P<token>(?=[^\s/?#@:]*[0-9])[A-Za-z0-9_.~%-]{20,}))@",
        hints="@",
    ),
)
"""Every shape, most telling first."""


_QUERY: Final = re.compile(
    r"[?&;#](?P<name>[A-Za-z0-9_.~%-]{1,60})=(?P<value>[^\s&;#\"'<>\\`)\]}]+)"
)
_QUERY_NAMES: Final = frozenset({"key", "sig", "signature", "x-amz-signature", "x-goog-signature"})
_LEAST_QUERY: Final = 6


def query_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in `text` the value of a URL's query or fragment is a secret."""
    for found in _QUERY.finditer(text):
        name = found["name"]
        is_long = len(found["value"]) >= _LEAST_QUERY
        if is_long and (name.lower() in _QUERY_NAMES or is_secret_name(name)):
            yield found.span("value")


_CANDIDATE: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9_-]{32,128}={0,2}(?![A-Za-z0-9+/=_-])"
)
_ID: Final = re.compile(
    r"(?:[a-z]{2,16}[_-])?(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]+|"
    r"[0-9A-HJKMNP-TV-Z]{26})"
)
_NAMED_IDS: Final = re.compile(
    r"(?:toolu|call|msg|req|resp|run|chatcmpl|sess|session|thread|item|fc|rs|gen|evt|task|tool)[a-z]{0,8}[_-]",
    re.IGNORECASE,
)
_LEAST_BITS: Final = 4.2
"""Bits a character must carry; prose has about 4.0 at these lengths, base64 above 4.6."""


def entropy_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in `text` a word is too random to be anything but a secret.

    Ids, hashes, paths and what mixes no three kinds of characters are none.
    """
    for found in _CANDIDATE.finditer(text):
        word = found[0]
        if _mixes_three_kinds(word) and not _is_id(word) and _bits(word) >= _LEAST_BITS:
            yield found.span()


def _mixes_three_kinds(word: str) -> bool:
    digits = sum(char.isdigit() for char in word)
    upper = sum(char.isupper() for char in word)
    lower = sum(char.islower() for char in word)
    return digits >= 3 and upper >= 3 and lower >= 3 and not _has_words(word)


_SPOKEN: Final = re.compile(r"[A-Za-z][a-z]{3,}")


def _has_words(word: str) -> bool:
    """Tell whether much of `word` is made of runs of small letters, as names in code are."""
    return sum(len(run) for run in _SPOKEN.findall(word)) * 3 > len(word)


def _is_id(word: str) -> bool:
    return _ID.fullmatch(word) is not None or _NAMED_IDS.match(word) is not None


def _bits(word: str) -> float:
    size = len(word)
    return -sum(n / size * math.log2(n / size) for n in Counter(word).values())
