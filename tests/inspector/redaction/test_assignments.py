"""Secrets in running text that a name announces, and code that only names them."""

from __future__ import annotations

import pytest

from acp_inspector.redaction.patterns import assignment_spans


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export API_KEY=abc123def", "abc123def"),
        ("DB_PASSWORD=hunter2.secret", "hunter2.secret"),
        ("password=hunter2", "hunter2"),
        ("passwd: letmein99", "letmein99"),
        ("export API_KEY='abc 123'", "abc 123"),
        ('{"password": "hunter2!"}', "hunter2!"),
        ('"{\\"password\\":\\"hunter2!\\"}"', "hunter2!"),
        ("password: s3cr3tpass", "s3cr3tpass"),
        ("curl -H 'X-Api-Key: abc123def456'", "abc123def456"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "dXNlcjpwYXNzd29yZDE="),
        ("Authorization: Bearer abc.def-ghi_jkl", "abc.def-ghi_jkl"),
        ("Proxy-Authorization: Basic correct-horse", "correct-horse"),
        ("Authorization: Bearer <token>", None),
        ("the authorization token of yesterday", None),
        ("PGPASSWORD=tuesday psql -h db", "tuesday"),
        ("PGPASSWORD=changeme psql", None),
        ("TOKEN=request.token", None),
        ("SECRET=/run/secrets/it", None),
        ("tool --token abc123def456 --page 2", "abc123def456"),
        ("tool --api-key=abc123def456", "abc123def456"),
        ("config['secret'] = 'abc123def'", "abc123def"),
        ("client_secret => 'abc123def'", "abc123def"),
        ("api key: abcdef123456", "abcdef123456"),
        ("the Secret Key = 'abcdef123456'", "abcdef123456"),
        ("> Cookie: session=abc123; theme=dark\r\n> Host: h", "session=abc123; theme=dark"),
        ("Set-Cookie: sid=abc123def; Path=/", "sid=abc123def; Path=/"),
        ("machine api.h login me password s3cr3t99 port 1", "s3cr3t99"),
        ("cookie: the value of it", None),
        ("Cookie: name=value", None),
        ("please login and then password reset", None),
        ("the access token: string", None),
        ("token = request.token2", None),
        ("password = getpass()", None),
        ("api_key=$API_KEY", None),
        ('api_key="${API_KEY}"', None),
        ("password=os.environ['P1']", None),
        ("token: string", None),
        ("the token abc123def456 is prose", None),
        ("maxTokens: 123456789abc", None),
        ("API_KEY=<your-api-key-1>", None),
        ("DISCORD_TOKEN=tiger.moth", "tiger.moth"),
        ("AWS_SECRET_ACCESS_KEY=/wJalrX8UtnFEMI/K7MDENG", "/wJalrX8UtnFEMI/K7MDENG"),
        ("aws_secret_access_key = /wJalrX8UtnFEMI/K7MDENG", "/wJalrX8UtnFEMI/K7MDENG"),
        ("Server=db;Uid=me;Pwd=tiger;", "tiger"),
        ("PWD=/tmp/x9k3q7/it", None),
        ("pass=h7nter2x", "h7nter2x"),
        ("smtp_pass: h7nter2x", "h7nter2x"),
        ("<password>tiger</password>", "tiger"),
        ("<Password>${db.password}</Password>", None),
        ("_auth=bWU6aHVudGVyMg==", "bWU6aHVudGVyMg=="),
        ("auth: oauth2", None),
        ('"Authorization": "Basic " + base64.standard_b64encode(it)', None),
        ('"Expected, token: "+e);switch(x[0]){case 1:y.push("z")}', None),
        ("password: passwordHash", None),
        ("X-Api-Key: tiger-moth", "tiger-moth"),
        ("tool --password tiger --port 1", "tiger"),
        ("the --password option is new", None),
        ("ENV API_KEY tiger.moth", "tiger.moth"),
        ("password: ********", None),
        ("password = password2", None),
        ("API_TOKEN=settings.token", None),
        ("passwd=newValue1", None),
    ],
)
def test_a_value_after_the_name_of_a_secret_is_found(text: str, secret: str | None) -> None:
    found = [text[start:end] for start, end in assignment_spans(text)]
    assert found[:1] == ([secret] if secret else [])
    # The cookies of a header may be found once more.
    assert all(each in (secret or "") for each in found)


def test_a_long_line_without_an_end_is_read_in_one_go() -> None:
    assert list(assignment_spans("a=" * 200_000)) == []
    assert list(assignment_spans("token:" * 100_000)) == [(6, 600_000)]
    assert list(assignment_spans("cookie:" * 100_000)) == [(7, 700_000)]
    assert list(assignment_spans("login a password " * 50_000 + "cookie: a" * 50_000)) == []
    assert list(assignment_spans("api " * 200_000)) == []
