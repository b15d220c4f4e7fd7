"""Which names promise a secret: of members, headers, variables and options."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHOUTED: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")

NAME_LIMIT: Final = 80
"""Characters of a name, at most; what is longer is prose."""
WORD_LIMIT: Final = 3
"""Words of a name with spaces in it, at most."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LAST: Final = _words(
    "authorization bearer cookie cookies credential credentials jwt passcode passphrase passwd "
    "password passwords pwd secret secrets apikey apikeys"
)
_TOKENS_OF_NO_WORTH: Final = _words(
    "bos cancel cancellation continuation eos first last mask max next page pad per progress "
    "stop sync unk"
)
_KEYS_OF_WORTH: Final = _words(
    "access account api auth encryption license master private proxy secret service session "
    "shared signing storage subscription"
)
_KEYS_OF_NO_WORTH: Final = _words("cache foreign hot partition primary public sort")
_RUN_TOGETHER: Final = (
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
_SHOUTED_LAST: Final = frozenset({"AUTH", "KEY", "PASS", "PAT", "PW"})
_WORKING_DIRECTORIES: Final = frozenset({"PWD", "OLDPWD", "pwd"})


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Tell whether what is called `name` is a secret, as a person who reads it would say.

    `apiKey`, `x-api-key`, `GITHUB_TOKEN` and `DB_PASS` are; `maxTokens`, `progressToken`,
    `API_KEY_FILE` and `publicKey` are not.
    """
    if len(name) > NAME_LIMIT or name.count(" ") >= WORD_LIMIT or name in _WORKING_DIRECTORIES:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or any(not (char.isalnum() or char in "_-. /$:") for char in name):
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _LAST or last.endswith(_RUN_TOGETHER):
        return True
    if last == "token":
        return before not in _TOKENS_OF_NO_WORTH
    if last == "key" and before in _KEYS_OF_WORTH:
        return True
    return _is_shouted_secret(name, before)


def _is_shouted_secret(name: str, before: str) -> bool:
    """Tell it of the name of an environment variable, in which less is left to context."""
    if not _SHOUTED.fullmatch(name):
        return False
    return name.rpartition("_")[2] in _SHOUTED_LAST and before not in _KEYS_OF_NO_WORTH
