"""Passwords in short options, and options that only look like theirs."""

from __future__ import annotations

import json

import pytest

from acp_inspector.redaction.detector import SecretDetector
from acp_inspector.redaction.patterns import RULES, ParsedCommandLine, command_spans


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("mysql -u root -pS3cr3tPw db", ["S3cr3tPw"]),
        ("mysql -u root -p'S3cr 3tPw' db", ["S3cr 3tPw"]),
        ("mysql -u root '-pS3cr 3tPw' db", ["S3cr 3tPw"]),
        ("mysqldump --all-databases -pletmein|gzip", ["letmein"]),
        ("mariadb-admin -pletmein ping", ["letmein"]),
        ("mysql -h db -P 3306 -pletmein -e 'select 1'", ["letmein"]),
        ("sshpass -p letmein ssh me@host", ["letmein"]),
        ("sshpass -pletmein ssh me@host", ["letmein"]),
        ('sudo /usr/bin/sshpass -p "let me in" scp x me@host:', ["let me in"]),
        ("cd x; mysql -pone && sshpass -p two ssh h", ["one", "two"]),
        ("$(sshpass -p letmein ssh h)", ["letmein"]),
        ("redis-cli -h cache -a letmein ping", ["letmein"]),
        ("mongodump -u me -p letmein", ["letmein"]),
        ("sqlcmd -S db -U sa -P 'Str0ng!'", ["Str0ng!"]),
        ("7z x -pletmein it.7z", ["letmein"]),
        ("zip -P letmein it.zip it", ["letmein"]),
        ("ldapsearch -D cn=me -w letmein", ["letmein"]),
        ("docker login -u me -p letmein hub", ["letmein"]),
        ("curl -u me:letmein https://h", ["letmein"]),
        ("curl -s --user='me:let:me:in' h", ["let:me:in"]),
        ("mysql -p db", []),
        ("mysql -p$PASSWORD db", []),
        ('mysql -p"${PASSWORD}" db', []),
        ("sshpass -p <password> ssh h", []),
        ("sshpass -e ssh -p 2222 h", []),
        ("docker run -p 8080:80 it", []),
        ("docker login; ssh -p 2222 h", []),
        ("mkdir -p letmein", []),
        ("cp -pletmein mysql", []),
        ("curl -u me h", []),
        ("mysql; ls -pletmein", []),
        ("notmysql -pletmein", []),
        ("the mysql option -p", []),
    ],
)
def test_a_password_behind_its_option_is_found(text: str, secrets: list[str]) -> None:
    assert [text[start:end] for start, end in command_spans(text)] == secrets


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["mysql", "-u", "root", "-pletmein", "db"], "letmein"),
        (["sshpass", "-p", "letmein", "ssh", "h"], "letmein"),
        (["env", "A=b", "/usr/bin/sshpass", "-p", "let me in", "ssh"], "let me in"),
        (["curl", "-u", "me:letmein"], "letmein"),
        (["sh", "-c", "mysql -pletmein"], "letmein"),
        (["mysql", "-p", "letmein"], None),
        (["docker", "run", "-p", "letmein"], None),
        (["mysql", "-p"], None),
        (["mkdir", "-pletmein"], None),
    ],
)
@pytest.mark.parametrize("is_split", [False, True])
def test_it_is_found_among_the_words_of_a_command_too(
    words: list[str], secret: str | None, *, is_split: bool
) -> None:
    reported = {"command": words[0], "args": words[1:]} if is_split else {"argv": words}
    hits = SecretDetector(RULES, {}).find(json.dumps(reported))
    assert [hit.value for hit in hits] == ([secret] if secret else [])
    assert all(json.dumps(reported)[hit.start : hit.end] == secret for hit in hits)


def test_a_line_is_read_word_by_word() -> None:
    line = ParsedCommandLine()
    assert [line.secret_in(word) for word in ("-p", "x", "sshpass", "-p", "y", "-pz", "")] == [
        *(None, None, None, None),
        *(0, 2, None),
    ]


def test_a_long_text_is_read_in_one_go() -> None:
    for text in ("mysql ", "mysql '", "mysql -p", "mysql \\", "mysql" + "x" * 100, "docker login "):
        assert sum(1 for _ in command_spans(text * 20_000)) <= 20_000
