"""Names that promise a secret, and names that only sound so."""

from __future__ import annotations

import pytest

from acp_inspector.redaction.patterns import is_secret_name

WORTHY = """
apiKey api_key x-api-key X-Api-Key GITHUB_TOKEN DB_PASS OPENAI_KEY proxy_key Authorization
Proxy-Authorization set-cookie AWS_SECRET_ACCESS_KEY secretAccessKey accessToken authToken password
db.password API_KEY_2 _authToken client_secret token passphrase privateKey NPM_AUTH credentials
"""
UNWORTHY = """
maxTokens progressToken API_KEY_FILE publicKey inputTokens tokenCount PWD key id sessionId
nextPageToken secretary keyboard monkey author passed cacheKey CACHE_KEY PUBLIC_KEY tokenizer
sessionUpdate toolCallId compass bypass authMethods authenticate
access-control-allow-credentials
"""


@pytest.mark.parametrize("name", WORTHY.split())
def test_a_name_that_promises_a_secret_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", UNWORTHY.split())
def test_a_name_that_only_sounds_so_is_left_alone(name: str) -> None:
    assert not is_secret_name(name)


def test_prose_is_no_name() -> None:
    assert not is_secret_name("what is your password")
    assert not is_secret_name("why, the password")
    assert not is_secret_name("a" * 100 + "password")
