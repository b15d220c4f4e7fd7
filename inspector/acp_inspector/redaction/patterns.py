"""Patterns and names by which secrets are recognized.

Source: each pattern names its source; docs/redaction.md has the list. If a provider does not
document the length of a token, the pattern requires enough characters to exclude ordinary words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from acp_inspector.recording.format import RecordingError

_NAME_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UPPER_CASE: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")

NAME_LIMIT: Final = 80
"""Longest name, in characters; longer texts are prose."""
WORD_LIMIT: Final = 3
"""A name contains fewer spaces than this."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LAST: Final = _words(
    "authorization bearer cookie cookies credential credentials jwt passcode passphrase passwd "
    "password passwords pwd secret secrets apikey apikeys"
)
_AMBIGUOUS_LAST: Final = _words("auth pass pwd")
_HARMLESS_PASSES: Final = _words(
    "boarding compute depth final first full last low max min multi next render second shadow "
    "single third two"
)
_HARMLESS_TOKENS: Final = _words(
    "bos cancel cancellation continuation eos first last mask max next page pad per progress "
    "stop sync unk"
)
_SECRET_KEYS: Final = _words(
    "access account api app auth consumer encryption license master private proxy secret service "
    "session shared signing storage subscription webhook"
)
_HARMLESS_KEYS: Final = _words("cache foreign hot partition primary public sort")
_COMPOUNDS: Final = (
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authkey",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "idtoken",
    "passphrase",
    "password",
    "privatekey",
    "refreshtoken",
    "secretkey",
    "sessiontoken",
)
_UPPER_CASE_LAST: Final = frozenset({"AUTH", "KEY", "PASS", "PAT", "PW"})
_WORKING_DIRECTORIES: Final = frozenset({"PWD", "OLDPWD", "pwd"})


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether `name` is the name of a secret.

    `apiKey`, `x-api-key`, `GITHUB_TOKEN` and `DB_PASS` are; `maxTokens`, `progressToken`,
    `API_KEY_FILE` and `publicKey` are not.
    """
    if len(name) > NAME_LIMIT or name.count(" ") >= WORD_LIMIT or name in _WORKING_DIRECTORIES:
        return False
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if words[-3:] == ["secret", "key", "base"]:
        words.pop()
    if words[:3] == ["access", "control", "allow"]:
        # A header that says whether credentials may be sent.
        return False
    if not words or any(not (char.isalnum() or char in "_-. /$:") for char in name):
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _LAST or last.endswith(_COMPOUNDS):
        return True
    if last == "pass" and name[0].islower():
        return bool(before) and before not in _HARMLESS_PASSES
    if last == "token":
        return before not in _HARMLESS_TOKENS
    if last == "key" and before in _SECRET_KEYS:
        return True
    ending = name.rpartition("_")[2] if _UPPER_CASE.fullmatch(name) else ""
    return ending in _UPPER_CASE_LAST and before not in _HARMLESS_KEYS


@lru_cache(maxsize=4096)
def is_ambiguous_name(name: str) -> bool:
    """Return whether `name` is often, but not always, the name of a secret: `auth`, `pass`, `pwd`.

    Its value is a secret only if it does not consist of words.
    """
    words = [word.lower() for word in _NAME_WORD.findall(name[-NAME_LIMIT:])]
    return bool(words) and words[-1] in _AMBIGUOUS_LAST and len(words) < 3


_END: Final = r"(?![A-Za-z0-9_-])"
_START: Final = r"(?:(?<![A-Za-z0-9_])|(?<=[0-9;\[]m)|(?<=\\[nrt]))"
"""Not inside of a word, but after a terminal colour or an escaped newline, which end in letters."""


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A rule that finds secrets by their form."""

    name: str
    about: str
    source: str
    pattern: re.Pattern[str]
    """The secret is the last group that matched, or the whole match without groups."""
    hints: tuple[str, ...]
    """Every text with such a secret contains one of these; a fast test."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of the secrets of this form in `text`."""
        if any(hint in text for hint in self.hints):
            for found in self.pattern.finditer(text):
                yield found.span(found.lastgroup or 0)


def _pattern(name: str, about: str, source: str, *alternatives: str, hints: str) -> SecretPattern:
    pattern = re.compile("|".join(alternatives))
    return SecretPattern(name, about, source, pattern, tuple(hints.split(" ")))


def _token(*forms: str) -> str:
    """Return the pattern for a token of one of these forms."""
    return rf"{_START}(?:{'|'.join(forms)}){_END}"


SECRET_PATTERNS: Final[tuple[SecretPattern, ...]] = (
    _pattern(
        "pem",
        "private keys in PEM, OpenSSH and PGP armour, also cut off",
        "RFC 7468; OpenSSH PROTOCOL.key; RFC 9580",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        hints="PRIVATE",
    ),
    _pattern(
        "anthropic",
        "Anthropic API, admin and OAuth keys",
        "Anthropic API documentation; gitleaks `anthropic-api-key`",
        _token(r"sk-ant-[A-Za-z0-9_-]{16,500}+"),
        hints="sk-ant-",
    ),
    _pattern(
        "openai",
        "OpenAI keys (`sk-`, `sk-proj-`, `sk-svcacct-`, `sk-admin-`) and those of others who write "
        "them so (OpenRouter, DeepSeek, Moonshot)",
        "OpenAI and OpenRouter API documentation; gitleaks `openai-api-key`",
        _token(r"sk-(?!ant-)(?=[A-Za-z_-]{0,60}+[0-9])[A-Za-z0-9_-]{20,500}+"),
        hints="sk-",
    ),
    _pattern(
        "github",
        "GitHub tokens of every kind",
        'GitHub Docs, "GitHub\'s token formats"',
        _token(r"gh[pousr]_[A-Za-z0-9_.-]{20,}"),
        _token(r"github_pat_[A-Za-z0-9_]{22,}"),
        hints="ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    ),
    _pattern(
        "gitlab",
        "GitLab tokens",
        'GitLab Docs, "Token overview"',
        _token(
            r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.-]{20,}",
        ),
        hints="glpat- gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- "
        "glffct- glwt-",
    ),
    _pattern(
        "google",
        "Google API keys, OAuth secrets and access tokens",
        "Google Cloud documentation; gitleaks `gcp-api-key`",
        _token(r"AIza[A-Za-z0-9_-]{35}"),
        _token(r"GOCSPX-[A-Za-z0-9_-]{20,}"),
        _token(r"ya29\.[A-Za-z0-9_-]{20,}"),
        hints="AIza GOCSPX- ya29.",
    ),
    _pattern(
        "aws",
        "AWS access key ids and Bedrock keys; the secrets beside them are found by their names",
        'AWS IAM User Guide, "Unique identifiers"; gitleaks `aws-access-token`',
        _token(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
        r"(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/]{100,}={0,2}",
        hints="AKIA ASIA ABIA ACCA ABSK",
    ),
    _pattern(
        "slack",
        "Slack tokens and webhooks",
        'Slack API documentation, "Token types"; gitleaks `slack-*`',
        _token(r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
        _token(r"xapp-[0-9]-[A-Za-z0-9-]{10,}"),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/+_-]{20,})",
        hints="xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- hooks.slack.com",
    ),
    _pattern(
        "token",
        "tokens with the mark of their provider: Hugging Face, npm, PyPI, Stripe, Groq, xAI, "
        "Perplexity, Replicate, Cerebras, Fireworks, Tavily, Docker, DigitalOcean, Linear, Notion, "
        "Sentry, Databricks, Vault, SendGrid, Telegram, Shopify, Postman, Doppler, Supabase, "
        "Mapbox, Grafana, Figma, Atlassian, New Relic, Azure, Netlify, "
        "RubyGems",
        "the providers' documentation; gitleaks rules of those names",
        _token(
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
            r"[ps]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
            r"gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}",
            r"figd_[A-Za-z0-9_-]{40,}",
            r"ATATT3x[A-Za-z0-9_=-]{100,}",
            r"NRAK-[A-Z0-9]{27}",
            r"[A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,37}",
            r"nfp_[A-Za-z0-9]{36}",
            r"rubygems_[a-f0-9]{48}",
        ),
        hints="hf_ api_org_ npm_ pypi- _live_ _test_ _prod_ whsec_ gsk_ xai- pplx- r8_ csk- fw_ "
        "tvly- dckr_ _v1_ lin_ ntn_ secret_ sntrys_ sntryu_ dapi hvs. hvb. hvr. SG. :AA shpat_ "
        "shpca_ shppa_ shpss_ PMAK- dp.pt. dp.st. dp.ct. dp.sa. sbp_ sb_ AGE-SECRET-KEY "
        "k.eyJ glsa_ glc_ figd_ ATATT3x NRAK- Q~ nfp_ rubygems_",
    ),
    _pattern(
        "discord",
        "Discord bot tokens",
        "Discord API documentation; detect-secrets `DiscordBotTokenDetector`",
        r"[MNO](?<![A-Za-z0-9_-].)[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"
        rf"{_END}",
        hints=".",
    ),
    _pattern(
        "password-hash",
        "hashed passwords: crypt, bcrypt, Argon2, Django, Werkzeug, LDAP, PostgreSQL",
        "crypt(5); PHC string format; RFC 3112; documentation of Django, Werkzeug and PostgreSQL",
        # Each begins with a letter or sign that is rare, not with a condition: that is fast.
        r"\$(?<![A-Za-z0-9$].)(?:[1-7]|2[abxy]?|y|gy|apr1|P|H|sha1|md5|argon2(?:id|i|d)|scrypt|"
        r"pbkdf2(?:-sha[0-9]+)?)\$[A-Za-z0-9./+=,$-]{20,512}",
        r"(?:pbkdf2_sha[0-9]+|bcrypt_sha256|argon2|scrypt|pbkdf2)(?::[a-z0-9]+)*\$"
        r"[A-Za-z0-9./+=,$-]{30,512}",
        r"\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT)\}[A-Za-z0-9./+$]{20,256}={0,2}",
        r"SCRAM-SHA-(?:1|256)\$[0-9]{4,9}:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=:]{40,}",
        hints="$ SHA} SHA256} SHA512} MD5} CRYPT}",
    ),
    _pattern(
        "jwt",
        "JSON Web Tokens, signed and encrypted",
        "RFC 7519, RFC 7516",
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*){{2,4}}",
        hints="eyJ",
    ),
    _pattern(
        "bearer",
        "tokens after Bearer; those after Basic are found by the name of their header",
        "RFC 6750",
        r"\b(?:[Bb]earer|BEARER)\s+(?P<secret>(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{12,}=*)",
        hints="earer BEARER",
    ),
    _pattern(
        "url-userinfo",
        "the password in a URL, or a token in its place",
        "RFC 3986, section 3.2.1",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/?#@:\"'<>\\]*:(?P<secret>[^\s/?#@\"'<>\\]+)|"
        r"(?P<token>(?=[^\s/?#@:]*[0-9])[A-Za-z0-9_.~%-]{20,}))@",
        hints="@",
    ),
)
"""All patterns, most specific first."""


_QUERY: Final = re.compile(
    r"[?&;#](?P<name>[A-Za-z0-9_.~%-]{1,60})=(?P<value>[^\s&;#\"'<>\\`)\]}]+)"
)
_QUERY_NAMES: Final = frozenset({"key", "sig", "signature", "x-amz-signature", "x-goog-signature"})
_MIN_QUERY: Final = 6


def query_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the secrets in queries and fragments of URLs in `text`."""
    for found in _QUERY.finditer(text):
        name = found["name"]
        if len(found["value"]) < _MIN_QUERY:
            continue
        if name.lower() in _QUERY_NAMES or names_secret(name, found["value"]):
            yield found.span("value")


_CANDIDATE: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_.%-])[A-Za-z0-9_-]{32,128}={0,2}(?![A-Za-z0-9+/=_-])"
)
_ID: Final = re.compile(
    r"(?:[a-z]{2,16}[_-])?(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]+|"
    r"[0-9A-HJKMNP-TV-Z]{26})"
)
_NAMED_IDS: Final = re.compile(
    r"AAAA[A-Z]|sha\d{3}-|"
    r"(?:toolu|call|msg|req|resp|run|chatcmpl|sess|session|thread|item|fc|rs|gen|evt|task|tool)[a-z]{0,8}[_-]",
    re.IGNORECASE,
)
_LOWER_CASE_RUN: Final = re.compile(r"[A-Za-z][a-z]{3,}")
_MIN_OF_KIND: Final = 3
"""Least number of digits, of capitals and of small letters."""
_MIN_BITS: Final = 4.2
"""Least entropy in bits per character; prose has about 4.0 at these lengths, base64 4.6."""


def entropy_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the words in `text` that are random enough to be secrets.

    Ids, hashes, paths and words that do not mix three kinds of characters are not.
    """
    for found in _CANDIDATE.finditer(text):
        word = found[0]
        counts = (sum(map(kind, word)) for kind in (str.isdigit, str.isupper, str.islower))
        if min(counts) < _MIN_OF_KIND or _ID.fullmatch(word) or _NAMED_IDS.match(word):
            continue
        # Names in code are long runs of lower-case letters.
        in_runs = sum(len(run) for run in _LOWER_CASE_RUN.findall(word))
        size = len(word)
        bits = -sum(n / size * math.log2(n / size) for n in Counter(word).values())
        if in_runs * 3 <= size and bits >= _MIN_BITS:
            yield found.span()


_QUOTE: Final = r"""\\*["'`]"""
_NAME_ENDS: Final = "|".join(
    sorted(
        word.lower()[-3:].rjust(3, ".")
        for word in {*_LAST, *_AMBIGUOUS_LAST, *_COMPOUNDS, *_UPPER_CASE_LAST, "token", "base"}
    )
)
_NAME_END: Final = rf"(?<=(?i:{_NAME_ENDS}|..[0-9_]))(?P<closing>{_QUOTE})?"
_NAME: Final = re.compile(
    rf"""(?P<name>[A-Za-z_$-](?<![\w.«-].)[\w.$-]{{0,80}}+)
    (?=(?:{_QUOTE})?\]?\s{{0,4}}[=:]){_NAME_END}\]?
    (?P<separator>
        \s{{0,4}}(?:=>|:=|=|:(?:\ ?[A-Za-z][\w.|\[\] ]{{0,40}}=(?=\s?["'`]))?)\s{{0,4}})""",
    re.VERBOSE,
)
"""The name of a value, and what separates both.

Patterns that are searched everywhere begin with a character, not with a condition: that is fast.
"""
_OPTION: Final = re.compile(
    rf"-(?<![\w.«-].)(?P<name>-?[A-Za-z][\w.-]{{0,79}}+){_NAME_END}(?P<separator>(?!))?\ {{1,4}}"
)
"""An option before its value."""
_VALUE: Final = re.compile(
    rf"""(?:[bfru]{{0,2}}(?P<quote>{_QUOTE}))?
    (?P<scheme>(?i:bearer|basic|token|digest|apikey|negotiate|bot)\ {{1,4}})?
    (?(quote)(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\r\n]))++)(?:(?P=quote)|\Z)
      |(?P<bare>[^\s"'`\\;&|<>()\[\]{{}},$«»][^\s"'`\\;&|<>()\[\]{{}},«»]*+))""",
    re.VERBOSE,
)
_IN_VARIABLE: Final = re.compile(r"[^\s\"'`\\;&|<>()«»]+")
"""The value of an environment variable, which may contain brackets and commas."""
_NEXT_PAIR: Final = re.compile(r"[;&][\w .-]{1,40}=")
_PROSE: Final = re.compile(r" [a-z]{2,}(?: |[.,]?$)")
_LINE_END: Final = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_ELEMENT: Final = re.compile(
    r"<(?:\w{1,20}:)?(?P<name>[A-Za-z][\w.-]{0,79}+)(?:\s[^<>]{0,200})?>\s{0,80}"
    r"(?P<value>[^<>\s]{3,1024}+)\s{0,80}</(?:\w{1,20}:)?(?P=name)>"
)
_DOCKER: Final = re.compile(
    r"ENV(?<!\w...)[ \t]{1,8}(?P<name>[A-Z][A-Z0-9_]{1,79}+)[ \t]{1,8}(?P<value>[^\s=$<\"']\S{3,}+)"
)
_ATTRIBUTES: Final = re.compile(
    r"""(?:key|name)\s?=\s?(["'])(?P<name>[\w.:-]{1,80})\1\s{1,80}"""
    r"""value\s?=\s?(["'])(?P<value>[^"'<>]{3,1024}+)\3"""
)
_COOKIE: Final = re.compile(
    r"(?:[cC]ookie|COOKIE)\s{0,4}:\s{0,4}([^\s;=\"'`\\]{1,80}+=[^\r\n\"'`\\]{4,4096}+)"
)
_NETRC: Final = re.compile(
    r"(?:login\s{1,8}\S{1,80}+\s{1,8}| (?<!\S.)(?<!\S..))password\s{1,8}(\S{4,200}+)"
)
_WHOLE: Final = ((_COOKIE, ("ookie", "OOKIE")), (_NETRC, ("password",)))
"""Cookie headers and netrc lines, with hints that every text with one contains."""
_FIRST_WORD: Final = re.compile(r"\b(?:access|api|auth|client|private|secret) \Z", re.IGNORECASE)
_LONGEST_WORD: Final = len("private ")
_NO_VALUES: Final = re.compile(
    r"""\$[A-Za-z_]\w*|\$\{.*|\$\(.*|<.*>|<|\{.*|\[.*|%\w+%|[*•.xX_-]{3,}|
    (?:process\.env|os\.environ|import\.meta|env|ENV|secrets)[.\[(].*|
    .*(?:…|\.{3})|
    (?i:your[-_ ].*|.*[-_ ]here|changeme|.?redacted.?|true|false|null|none|nil|string|required|
    optional|include|omit|undefined|bearer|basic|oauth2?|same-origin|number|boolean|object|str|int|
    bytes|any|self|this|secret|token|password|api[-_]?key|
    enabled|disabled|missing|unset|invalid|expired|empty|present|configured|hidden|default|unknown)""",
    re.VERBOSE,
)
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGIT: Final = re.compile(r"[0-9]")
_ROOTS: Final = _words(
    "args auth cfg config credentials ctx data env event form input options opts os params process "
    "props req request res response secrets self session settings state this token user values"
)
"""Variables whose members are passed on in code."""
_PATH: Final = re.compile(r"(?:~|\.{0,2}|[A-Za-z]:)[/\\].*")
_SEPARATORS: Final = re.compile(r"[._/:@$\\>=~-]+|[,.?!]? ")
_CODE_WORD: Final = re.compile(
    r"(?i:oauth2|base64(?:url)?|b64|sha\d{1,3}|utf8|s3|i18n|x509|ec2|md5|k8s|p12|pkcs\d{1,2})"
)
_WORD: Final = re.compile(r"[^\W\d_]*(?:[0-9]{0,2}|256|384|512|25519)|[0-9]{4}")
_CONSONANTS: Final = re.compile(r"[b-df-hj-np-tv-xz]{6}|[B-DF-HJ-NP-TV-XZ]{6}")
_CODE: Final = re.compile(r"\w\([^)]*\)|\);|\$\{")
"""A call or a part of a template, also where a quote was the end of a string."""
_MIN_HUMP: Final = 2.5
"""Least letters between capitals in a name of several words, on average."""
_MIN_VALUE: Final = 4
_MIN_BARE: Final = 6
_MIN_PASSPHRASE: Final = 16
_MIN_WHOLE: Final = 8
_MAX_WORDS: Final = 256
"""Longest value that may consist of words, in characters."""


def consists_of_words(value: str) -> bool:
    """Return whether `value` is made of words or names in code, not of random characters."""
    sentence = f"{value} " if " " in value else value
    for part in _SEPARATORS.split(_CODE_WORD.sub("", sentence)):
        if not _WORD.fullmatch(part) or _CONSONANTS.search(part):
            return False
        letters = part.rstrip("0123456789")
        if len(letters) > 3 and len(letters) < _MIN_HUMP * len(_NAME_WORD.findall(letters)):
            return False
    return True


def is_placeholder_value(value: str) -> bool:
    """Return whether `value` is a variable, a type, asterisks or the like instead of a secret."""
    return _NO_VALUES.fullmatch(value) is not None


def names_secret(name: str, value: str) -> bool:
    """Return whether `name` gives `value` away as a secret."""
    if is_secret_name(name):
        return True
    return is_ambiguous_name(name) and not consists_of_words(value) and not _PATH.fullmatch(value)


def assignment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the values in `text` that are assigned to names of secrets.

    Code that only refers to a secret (`token = request.token`, `$TOKEN`) has none.
    """
    for pattern, hints in _WHOLE:
        if any(hint in text for hint in hints):
            for found in pattern.finditer(text):
                value = found[1]
                if len(value) >= _MIN_WHOLE and _LETTER.search(value) and _DIGIT.search(value):
                    yield found.span(1)
    yield from _in_markup(text)
    for pattern in (_NAME, _OPTION):
        at = 0
        while found := pattern.search(text, at):
            # The value may be the name of the next assignment.
            at = found.end()
            if _is_named(found, text) and (span := _assigned(found, text)):
                yield span
                at = span[1]


def _in_markup(text: str) -> Iterator[tuple[int, int]]:
    for pattern, hint in ((_ELEMENT, "</"), (_ATTRIBUTES, "value"), (_DOCKER, "ENV")):
        if hint in text:
            for found in pattern.finditer(text):
                name, value = found["name"], found["value"]
                is_label = is_placeholder_value(value) or name.lower() == value.lower()
                if names_secret(name, value) and not is_label:
                    yield found.span("value")


def _is_named(found: re.Match[str], text: str) -> bool:
    """Return whether a name, alone or with the word before it, names a secret."""
    name = found["name"].lstrip("-")
    if is_secret_name(name) or is_ambiguous_name(name):
        return True
    if name.lower() not in {"key", "secret", "token"}:
        return False
    at = found.start("name")
    before = _FIRST_WORD.search(text[max(at - _LONGEST_WORD - 1, 0) : at])
    return before is not None and is_secret_name(before[0] + name)


def _assigned(found: re.Match[str], text: str) -> tuple[int, int] | None:
    """Return the span of the secret that follows its name; None if it is none."""
    name, separator = found["name"].lstrip("-"), found["separator"]
    assigned = _VALUE.match(text, found.end())
    if assigned is None:
        return None
    is_bare = assigned["quoted"] is None
    start, end = assigned.span("bare" if is_bare else "quoted")
    is_variable = name.isupper() and separator == "="
    if is_variable and assigned["quote"] == "`":
        # The output of a command.
        return None
    if is_bare and is_variable and not assigned["scheme"]:
        whole = _IN_VARIABLE.match(text, start)
        end = whole.end() if whole else end
    value = text[start:end].rstrip(",.?" if is_bare else "")
    end = start + len(value)
    if len(value) > _MAX_WORDS:
        return None if not is_bare and _CODE.search(value) else (start, end)
    if len(value) < _MIN_VALUE or is_placeholder_value(value.strip()) or "://" in value:
        return None
    has_scheme = assigned["scheme"] is not None and name.lower().endswith("authorization")
    is_announced = has_scheme or _is_announced(found, text, end)
    is_path = _PATH.fullmatch(value) is not None
    if not consists_of_words(value):
        is_long = is_announced or not is_bare or len(value) >= _MIN_BARE
        is_text = not is_announced and (
            _CODE.search(value) is not None or (" " in value and not _DIGIT.search(value))
        )
        is_secret = is_long and not is_text and (is_secret_name(name) or not is_path)
    elif is_path or text[end : end + 1] in {"(", "["}:
        is_secret = False
    elif is_announced:
        is_secret = has_scheme or not _is_reference(value, is_variable=is_variable)
    elif is_bare and _LAST_WORD.split(name)[-1].lower() in _PASSWORD_NAMES:
        is_secret = _is_simple_password(value)
    else:
        # A passphrase.
        is_secret = (
            not is_bare
            and is_secret_name(name)
            and len(value) >= _MIN_PASSPHRASE
            and " " not in value
            and not is_secret_name(value)
            and not name.lower().endswith(("key", "token"))
        )
    return (start, end) if is_secret else None


def _is_announced(found: re.Match[str], text: str, end: int) -> bool:
    """Return whether a value follows even if it looks like a word.

    That is so for variables of the environment, headers, options and pairs.
    """
    name, separator = found["name"].lstrip("-"), found["separator"]
    value = text[found.end() : end]
    if separator is None:
        return not (_PROSE.match(text, end) or value.isupper() or value.startswith("-"))
    if separator == "=":
        is_pair = text[found.start() - 1 : found.start()] in {";", "&", "?"}
        is_first = _NEXT_PAIR.match(text, end) is not None
        return name.isupper() or name != found["name"] or is_pair or is_first
    is_bare = value[:1] not in {'"', "'", "`", "\\"}
    if "-" in name and (name[0].isupper() or name.startswith("x-")):
        # Behind a quoted name, a bare word is a variable.
        return not (is_bare and found["closing"])
    if not name.isupper() or name.lower() in _LAST | {"token"}:
        return False
    if "=" in separator:
        return not name.endswith(("KEY", "TOKEN"))
    return not is_bare or _LINE_END.match(text, end) is not None


def _is_reference(value: str, *, is_variable: bool) -> bool:
    """Return whether words with dots are a member in code, such as `request.token`.

    A variable of the environment has a text as its value; code is rarely written that way.
    """
    root, *members = re.split(r"\.|::|->", value)
    if not members:
        return False
    return root.lower() in _ROOTS or (not is_variable and is_secret_name(members[-1]))


_LAST_WORD: Final = re.compile(r"[._-]")
_PASSWORD_NAMES: Final = frozenset({"password", "passwd", "passphrase", "pwd", "pass"})


def _is_simple_password(value: str) -> bool:
    """Return whether a bare word is a password as `hunter2` is, not a name as `password2` is."""
    return (
        len(value) >= _MIN_BARE
        and value.islower()
        and _DIGIT.search(value) is not None
        and value.isalnum()
        and not any(name in value for name in _PASSWORD_NAMES)
    )


MAX_COMMAND_CHARACTERS: Final = 2000
"""Most characters of a command line that are parsed."""


@dataclass(frozen=True, slots=True)
class _Command:
    """A command and the options that take its password."""

    name: re.Pattern[str]
    attached: tuple[str, ...] = ()
    """Options with the password in the same word."""
    separate: tuple[str, ...] = ()
    """Options with the password in the next word."""
    subcommand: str = ""
    """The subcommand that has these options."""
    separator: str = ""
    """Separates the user name from the password."""
    own_options: str = ""
    """Options with a value, of a command that runs another command."""


def _named(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{names})(?:\.exe)?")


_COMMANDS: Final = (
    _Command(_named("mysql[a-z_]*|mariadb(?:-[a-z]+)*"), attached=("-p",)),
    _Command(_named("7z[ar]?"), attached=("-p",)),
    _Command(_named("sshpass"), attached=("-p",), separate=("-p",), own_options="-p -P -f -d"),
    _Command(_named("redis-cli"), separate=("-a",)),
    _Command(_named("mongo(?:sh|dump|restore|export|import)?"), separate=("-p",)),
    _Command(_named("sqlcmd|bcp"), attached=("-P",), separate=("-P",)),
    _Command(_named("zip|unzip"), separate=("-P",)),
    _Command(_named("ldap[a-z]+"), attached=("-w",), separate=("-w",)),
    _Command(_named("docker|podman|helm|az"), separate=("-p",), subcommand="login"),
    _Command(
        _named("curl"),
        attached=("-u", "--user=", "-U", "--proxy-user="),
        separate=("-u", "--user", "-U", "--proxy-user"),
        separator=":",
    ),
)
"""Source: their manuals."""
_BEGINNINGS: Final = (
    *("mysql", "mariadb", "7z", "sshpass", "redis-cli", "mongo", "sqlcmd", "bcp", "zip", "unzip"),
    *("ldap", "docker", "podman", "helm", "az", "curl"),
)
_COMMAND_NAME: Final = re.compile(rf"(?<![\w.-])(?:{'|'.join(_BEGINNINGS)})[a-z_.-]*+(?=\s)")
_COMMAND_WORD: Final = re.compile(
    r"""(?:'[^'\n]*+'|"[^"\n]*+"|\\.|[^\s'"\\;|&<>()`])++|[;|&\n()`]"""
)
_ENDS: Final = frozenset(";|&\n()`")


class ParsedCommandLine:
    """Finds passwords in the words of a command line."""

    __slots__ = ("_command", "_is_active", "_previous")

    def __init__(self) -> None:
        self._command: _Command | None = None
        self._is_active = True
        self._previous = ""

    def secret_in(self, word: str) -> int | None:
        """Process the next word; return the index at which a secret in it starts."""
        previous, self._previous = self._previous, word
        name = word.rpartition("/")[2]
        if found := next((each for each in _COMMANDS if each.name.fullmatch(name)), None):
            # Also after `sudo` and the like.
            self._command, self._is_active = found, not found.subcommand
            return None
        if self._command is None:
            return None
        if not self._is_active:
            self._is_active = word == self._command.subcommand
            return None
        command = self._command
        is_option = word.startswith("-")
        if command.own_options and not is_option and previous not in command.own_options.split():
            # What follows is the command that this one runs.
            self._command = None
        if previous in command.separate and not is_option:
            start = 0
        else:
            attached = (len(each) for each in command.attached if word.startswith(each))
            start = next(attached, len(word))
        if command.separator:
            end = word.find(command.separator, start)
            start = len(word) if end < 0 else end + 1
        return start if start < len(word) else None


def command_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the passwords in command lines in `text`."""
    if not any(hint in text for hint in _BEGINNINGS):
        return
    at = 0
    while found := _COMMAND_NAME.search(text, at):
        line = ParsedCommandLine()
        at = found.end()
        for word in _COMMAND_WORD.finditer(
            text, found.start(), found.start() + MAX_COMMAND_CHARACTERS
        ):
            at = max(at, word.end())
            if word[0] in _ENDS:
                break
            begin, end = _unquoted(text, *word.span())
            if (start := line.secret_in(text[begin:end])) is not None:
                start, end = _unquoted(text, begin + start, end)
                if start < end and not is_placeholder_value(text[start:end]):
                    yield start, end


def _unquoted(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without its quotes; the opening quote may be before the span."""
    quote = text[end - 1]
    if quote not in "'\"":
        return start, end
    found = text.count(quote, start, end)
    if found == 2 and text[start] == quote:
        return start + 1, end - 1
    return (start, end - 1) if found == 1 else (start, end)


RULES: Final[dict[str, str]] = {
    **{shape.name: shape.about for shape in SECRET_PATTERNS},
    "url-query": "values in the query or fragment of a URL whose names promise a secret",
    "environment": "the values of this process's environment variables whose names promise one",
    "key": "values whose member, header, variable or option promises a secret by its name",
    "assignment": "the same in running text: API_KEY=…, password: '…', --token …",
    "entropy": "long words too random to be anything else; ids, hashes and paths are not",
}
"""All rules and what they find, most specific first; a secret counts for its first rule."""


class UnknownRuleError(RecordingError):
    """There is no rule of that name."""


class UnmatchedRuleError(RecordingError):
    """A rule that was requested by name found nothing."""


def chosen_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named rules in the order of `RULES`; all rules if there are no names.

    Raises:
        UnknownRuleError: there is no rule of a name.
    """
    wanted = set(names)
    if unknown := sorted(wanted - set(RULES)):
        raise UnknownRuleError(f"there is no rule {unknown[0]!r}; there are: {', '.join(RULES)}")
    return tuple(name for name in RULES if name in wanted or not wanted)
