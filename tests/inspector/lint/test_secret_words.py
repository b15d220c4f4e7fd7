"""What asks for a secret is told from what only speaks of one."""

from __future__ import annotations

import pytest

from acp_inspector.lint.text_checks import asks_secret, names_secret

SECRETS = [
    *("password", "github_token", "githubToken", "GitHub tokens", "Your API key", "API_KEY"),
    *("api-key", "Client Secret", "token", "Card number", "Password for the server", "privateKey"),
    *("API key (optional)", "Enter your password", "credentials"),
]
OTHERS = [
    *("maxTokens", "Token limit", "tokens", "Number of tokens", "tokenBudget", "Context tokens"),
    *("passwordManager", "Which password manager do you use?", "Password policy name", "author"),
    *("secret-free branch name", "Branch for the password change", "key", "secretName", ""),
]
REQUESTS = [
    *("Please enter your password", "Provide your GitHub token to continue.", "Paste the API key"),
    *("enter password", "Enter the one-time admin password for the server"),
]
TALK = [
    *("Which password manager do you use?", "Enter a name for the token", "How many tokens?"),
    *("Do not enter your password here", "Never share a token", "Don't type your password"),
    *("Enter your password manager's name", "Enter a branch name that contains no password", ""),
]


@pytest.mark.parametrize("label", SECRETS)
def test_a_label_asks_for_what_its_last_words_name(label: str) -> None:
    assert names_secret(label)


@pytest.mark.parametrize("label", OTHERS)
def test_a_label_may_speak_of_secrets(label: str) -> None:
    assert not names_secret(label)


@pytest.mark.parametrize("text", REQUESTS)
def test_a_sentence_asks_by_a_verb(text: str) -> None:
    assert asks_secret(text)


@pytest.mark.parametrize("text", TALK)
def test_a_sentence_may_speak_of_secrets(text: str) -> None:
    assert not asks_secret(text)
