"""Made-up secrets and harmless text, in every form in which messages carry them.

A seed generates all values, so no secret is in the sources. In a template, `¤` is the secret; `{x}`
are parts that the seed chooses.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

Maker: TypeAlias = Callable[[random.Random], str]

ALNUM: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
WORDS: Final = [
    "amber",
    "anchor",
    "basket",
    "candle",
    "cobalt",
    "copper",
    "dragon",
    "ember",
    "falcon",
    "forest",
    "garnet",
    "harbor",
    "hunter",
    "island",
    "jasper",
    "kettle",
    "lantern",
    "magnet",
    "marble",
    "meadow",
    "orchid",
    "pepper",
    "quartz",
    "river",
    "saddle",
    "silver",
    "summer",
    "thunder",
    "timber",
    "tunnel",
    "velvet",
    "walnut",
    "willow",
    "winter",
]


def some(count: int, alphabet: str = ALNUM) -> Maker:
    """Return a maker of `count` characters, digits and letters among them if both are possible."""
    kinds = [set(string.digits), set(string.ascii_letters)]
    wanted = [kind for kind in kinds if kind & set(alphabet)] if count > 2 else []

    def make(r: random.Random) -> str:
        while True:
            value = "".join(r.choices(alphabet, k=count))
            if all(kind & set(value) for kind in wanted):
                return value

    return make


def form(pattern: str) -> Maker:
    """Return a maker of `pattern`, in which `<n>` are letters and digits, `<nx>` hex digits."""
    alphabets = {
        "": ALNUM,
        "x": HEX,
        "X": HEX.upper(),
        "l": string.ascii_lowercase + string.digits,
        "U": string.ascii_uppercase + "234567",
        "d": string.digits,
        "u": ALNUM + "_-",
        "b": ALNUM + "+/",
        "c": ALNUM + "./",
    }

    def make(r: random.Random) -> str:
        def part(found: re.Match[str]) -> str:
            body = some(int(found[1]) - 2, alphabets[found[2]])(r)
            # Neither end is a mark that could as well belong to the text around.
            ends = ALNUM if found[2] in "ubc" else alphabets[found[2]]
            return r.choice(ends) + body + r.choice(ends)

        return re.sub(r"<([0-9]+)([a-zA-Z]?)>", part, pattern)

    return make


def password(r: random.Random) -> str:
    """Return what a password manager suggests."""
    size = r.randint(8, 18)
    return some(3)(r) + some(size, ALNUM + "!%^*+./-_~:?@#")(r) + some(2)(r)


def plain_password(r: random.Random) -> str:
    """Return a password of letters and digits."""
    return some(r.randint(8, 20))(r)


def dotted(r: random.Random) -> str:
    """Return `word.word`, as it is in many tokens."""
    return some(r.randint(4, 12))(r) + "." + some(r.randint(4, 12))(r)


def words_with_dot(r: random.Random) -> str:
    return f"{r.choice(WORDS)}.{r.choice(WORDS).title()}{r.choice(['', '7', '42'])}"


def word(r: random.Random) -> str:
    return r.choice(WORDS)


def passphrase(r: random.Random) -> str:
    return "-".join(r.sample(WORDS, 4))


def user_password(r: random.Random) -> str:
    """Return user and password in base64, as in `Basic` and in Docker's configuration."""
    return base64.b64encode(f"{word(r)}:{password(r)}".encode()).decode()


def jwt(r: random.Random) -> str:
    parts = [
        {"alg": "HS256", "typ": "JWT"},
        {"sub": some(8)(r), "exp": r.randint(10**9, 2 * 10**9)},
    ]
    head = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts
    ]
    return ".".join([*head, form("<43u>")(r)])


def pem(r: random.Random) -> str:
    kind = r.choice(["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
    body = "\n".join(form("<64b>")(r) for _ in range(r.randint(2, 6)))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def discord(r: random.Random) -> str:
    user = base64.b64encode(str(r.randint(10**17, 10**18 - 1)).encode()).decode().rstrip("=")
    return f"{user}.{form('<6u>')(r)}.{form('<38u>')(r)}"


ANYWHERE: Final = (
    "¤",
    "it is ¤ now",
    "see ¤.",
    "({¤})".replace("{¤}", "¤"),
    "'¤'",
    '["¤"]',
    "first line\n¤\nlast line",
    "value=¤",
    "- ¤, and more",
    "`¤`",
)
"""Templates for secrets that are recognized wherever they are."""
SHAPES: Final[dict[str, Maker]] = {
    "anthropic": form("sk-ant-api03-<80u>AA"),
    "openai": form("sk-proj-<48u>"),
    "openrouter": form("sk-or-v1-<64x>"),
    "github-classic": form("ghp_<36>"),
    "github-fine": form("github_pat_<22>_<59>"),
    "gitlab": form("glpat-<20u>"),
    "google-api": form("AIza<35u>"),
    "google-oauth": form("ya29.<60u>"),
    "aws-id": form("AKIA<16U>"),
    "slack": form("xoxb-<12d>-<12d>-<24>"),
    "slack-webhook": form("<9X>/B<9X>/<24>"),
    "huggingface": form("hf_<34>"),
    "npm": form("npm_<36>"),
    "pypi": form("pypi-AgEIcHlwaS5vcmc<60u>"),
    "stripe": form("sk_live_<24>"),
    "groq": form("gsk_<52>"),
    "digitalocean": form("dop_v1_<64x>"),
    "sendgrid": form("SG.<22u>.<43u>"),
    "telegram": form("<9d>:AA<33u>"),
    "vault": form("hvs.<90u>"),
    "discord": discord,
    "mapbox": lambda r: "sk.eyJ1Ijoi" + form("<60>.<22u>")(r),
    "netlify": form("nfp_<36>"),
    "rubygems": form("rubygems_<48x>"),
    "grafana": form("glsa_<32>_<8x>"),
    "figma": form("figd_<40u>"),
    "atlassian": form("ATATT3xFfGF0<170u>=<8X>"),
    "newrelic": form("NRAK-<27U>"),
    "azure-secret": form("<3>8Q~<34u>"),
    "jwt": jwt,
    "pem": pem,
    "bcrypt": form("$2b$12$<53c>"),
    "sha512-crypt": form("$6$<16c>$<86c>"),
    "argon2": form("$argon2id$v=19$m=65536,t=3,p=4$<22b>$<43b>"),
    "django-hash": form("pbkdf2_sha256$600000$<22>$<43b>="),
    "ssha": form("{SSHA}<38b>=="),
}
CARRIERS: Final[dict[str, tuple[str, ...]]] = {
    "slack-webhook": ("post to https://hooks.slack.com/services/¤ please",),
    "pem": ("¤", "key:\n¤\n", 'say "x"\n¤\nend'),
    "telegram": tuple(each for each in ANYWHERE if "=" not in each),
}
NAMED: Final[dict[str, tuple[Maker, tuple[str, ...]]]] = {
    "env-dotted": (
        dotted,
        ("export {CAPS}=¤", "{CAPS}=¤ ./run", "env {CAPS}=¤ cmd --x", "A=1\n{CAPS}=¤\nB=2"),
    ),
    "env-dotted-words": (
        words_with_dot,
        ("export {CAPS}=¤", "{CAPS}=¤", "docker run -e {CAPS}=¤ it"),
    ),
    "env-word": (word, ("export {CAPS}=¤", "{CAPS}=¤ psql -h db", "A=1\n{CAPS}=¤\nB=2")),
    "env-password": (password, ("{CAPS}=¤", "export {CAPS}=¤", "X=1\n{CAPS}=¤\nY=2")),
    "env-quoted": (password, ('export {CAPS}="¤"', "{CAPS}='¤'", '{CAPS} = "¤"', 'set "{CAPS}=¤"')),
    "env-passphrase": (passphrase, ("{CAPS}=¤", "export {CAPS}='¤'")),
    "env-slash": (
        lambda r: "/" + form("<39b>")(r),
        ("{CAPS}=¤", "export {CAPS}=¤", 'AWS_SECRET_ACCESS_KEY="¤"'),
    ),
    "aws-secret": (
        form("<40b>"),
        (
            "AWS_SECRET_ACCESS_KEY=¤",
            "aws_secret_access_key = ¤",
            "SecretAccessKey: ¤",
            "secretAccessKey: '¤'",
        ),
    ),
    "aws-secret-slash": (
        lambda r: "/" + form("<39b>")(r),
        (
            "aws_secret_access_key = ¤",
            "aws_secret_access_key=¤",
            "SecretAccessKey: ¤",
            '"SecretAccessKey": "¤"',
        ),
    ),
    "powershell": (password, ('$env:{CAPS} = "¤"', "$env:{CAPS}='¤'")),
    "dockerfile": (plain_password, ("ENV {CAPS} ¤", "ENV {CAPS}=¤", "ARG {CAPS}=¤")),
    "yaml": (plain_password, ("{name}: ¤", "db:\n  {name}: ¤\n  port: 5432", "- {name}: ¤")),
    "yaml-quoted": (password, ('{name}: "¤"', "db:\n  {name}: '¤'\n  port: 5432")),
    "yaml-env": (word, ("environment:\n  {CAPS}: ¤\n", "  {CAPS}: ¤")),
    "toml": (password, ('{name} = "¤"', "[db]\n{name} = '¤'\nport = 1")),
    "ini": (plain_password, ("[db]\n{name}=¤\nport=1", "{name} = ¤", "smtp_pass = ¤")),
    "properties": (
        dotted,
        ("spring.datasource.password=¤", "db.password = ¤", "mail.smtp.password: ¤"),
    ),
    "smtp-pass": (plain_password, ("smtp_pass: ¤", "smtp_pass=¤", "smtpPass: '¤'", "SMTP_PASS=¤")),
    "pass": (plain_password, ("pass=¤", "user=me pass=¤", "pass: ¤", "pass: '¤'")),
    "pwd": (
        plain_password,
        (
            "Server=db;Uid=me;Pwd=¤;",
            "pwd=¤",
            "PWD=¤;DATABASE=x",
            "Driver=x;UID=sa;PWD=¤",
            "uid=sa pwd=¤",
        ),
    ),
    "connection": (
        lambda r: form("<86b>")(r) + "==",
        (
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=¤;EndpointSuffix=core.x",
            "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=¤",
        ),
    ),
    "libpq": (dotted, ("host=db user=me password=¤ dbname=x", "host=db password='¤' user=me")),
    "header": (
        dotted,
        (
            "X-Api-Key: ¤",
            "curl -H 'X-Auth-Token: ¤' https://h",
            "> PRIVATE-TOKEN: ¤",
            "x-goog-api-key: ¤\r\nHost: h",
        ),
    ),
    "header-word": (
        passphrase,
        ("X-Api-Key: ¤", "X-Vault-Token: ¤\r\n", 'headers["X-Api-Key"] = "¤"'),
    ),
    "bearer": (
        dotted,
        ("Authorization: Bearer ¤", "authorization: bearer ¤", '-H "Authorization: Bearer ¤"'),
    ),
    "basic": (
        user_password,
        ("Authorization: Basic ¤", "Proxy-Authorization: Basic ¤", '"Authorization": "Basic ¤"'),
    ),
    "authorization": (
        plain_password,
        ("Authorization: ¤", "Authorization: Token ¤", "authorization: ApiKey ¤"),
    ),
    "cookie": (
        lambda r: f"sid={plain_password(r)}; x={some(6)(r)}",
        ("Cookie: ¤", "Set-Cookie: ¤\r\n", "cookie: ¤"),
    ),
    "option": (
        dotted,
        ("tool --token ¤", "tool --api-key=¤ --x", "run --password ¤ deploy", "--client-secret ¤"),
    ),
    "option-word": (
        word,
        ("tool --password=¤", "tool --db-password ¤ --port 1", "login --user me --password ¤"),
    ),
    "option-password": (
        password,
        ("tool --password ¤", "tool --token=¤ now", "psql --password '¤'"),
    ),
    "short-option": (
        plain_password,
        ("mysql -u root -p¤ db", "sshpass -p ¤ ssh h", "curl -u me:¤ https://h"),
    ),
    "url": (
        plain_password,
        ("postgres://me:¤@db:5432/x", "https://me:¤@h/r.git", "redis://:¤@cache:6379/0"),
    ),
    "query": (
        plain_password,
        (
            "https://h/x?access_token=¤&page=2",
            "/cb?state=1&client_secret=¤",
            "https://h/?api_key=¤",
        ),
    ),
    "form-body": (
        plain_password,
        ("password=¤&user=me", "grant_type=password&username=me&password=¤", "user=me&pass=¤"),
    ),
    "netrc": (password, ("machine h login me password ¤", "machine h\n  login me\n  password ¤\n")),
    "npmrc": (dotted, ("//registry.example/:_authToken=¤", "_authToken=¤", "//r/:_password=¤")),
    "npmrc-auth": (user_password, ("_auth=¤", "//r/:_auth=¤", "_auth = ¤")),
    "docker-auth": (
        user_password,
        (
            '{"auths":{"hub.example":{"auth":"¤"}}}',
            '{\n  "auths": {\n    "h": {\n      "auth": "¤"\n    }\n  }\n}',
        ),
    ),
    "xml-element": (
        password,
        (
            "<password>¤</password>",
            "<server>\n <id>x</id>\n <password>¤</password>\n</server>",
            "<apiKey>¤</apiKey>",
        ),
    ),
    "xml-word": (
        word,
        (
            "<password>¤</password>",
            "<ns:Password>¤</ns:Password>",
            '<Password Type="Text">¤</Password>',
        ),
    ),
    "xml-attribute": (
        plain_password,
        (
            '<add key="ApiKey" value="¤" />',
            '<user name="x" password="¤"/>',
            "<property name='db.password' value='¤'/>",
        ),
    ),
    "python": (
        password,
        (
            'password = "¤"',
            "connect(user='me', password='¤')",
            'api_key: str = "¤"',
            'cfg["password"] = "¤"',
        ),
    ),
    "javascript": (
        password,
        ("const apiKey = '¤';", 'password: "¤",', "client_secret => '¤'", "auth: { token: `¤` }"),
    ),
    "json-key": (
        word,
        (
            '{"password":"¤"}',
            '{"a":1,"clientSecret":"¤"}',
            '{"env":[{"name":"DB_PASS","value":"¤"}]}',
            '{"headers":{"Authorization":"Bearer ¤"}}',
        ),
    ),
    "json-args": (
        word,
        (
            '{"args":["--api-key","¤"]}',
            '["tool","--password","¤"]',
            '{"command":"mysql","args":["-p¤"]}',
        ),
    ),
    "terraform": (
        password,
        ('variable "x" {\n  password = "¤"\n}', 'master_password = "¤"', 'secret_key   = "¤"'),
    ),
    "kubectl": (
        plain_password,
        (
            "--from-literal=password=¤",
            "kubectl create secret generic x --from-literal=api-token=¤",
        ),
    ),
    "prose": (
        plain_password,
        ("the API key: ¤", "Password: ¤", "secret key = ¤", "Your access token: ¤"),
    ),
}
CAPS: Final = [
    "API_KEY",
    "DB_PASSWORD",
    "DISCORD_TOKEN",
    "MAPBOX_TOKEN",
    "VAULT_TOKEN",
    "PGPASSWORD",
    "CLIENT_SECRET",
    "DB_PASS",
    "APP_SECRET",
    "SMTP_PASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "ADMIN_PW",
    "NPM_AUTH",
    "SECRET_KEY",
    "MYSQL_ROOT_PASSWORD",
    "GH_PAT",
    "JWT_SECRET",
    "SECRET_KEY_BASE",
]
NAMES: Final = [
    "password",
    "db_password",
    "dbPassword",
    "apiKey",
    "api_key",
    "secret",
    "clientSecret",
    "client_secret",
    "authToken",
    "access_token",
    "secret_key",
    "passphrase",
    "admin-password",
]

HARMLESS: Final[dict[str, tuple[str, ...]]] = {
    "commit": (
        "commit {hex40}",
        "git show {hex40}",
        "{hex7} fix: {w}",
        "HEAD is now at {hex7} {w} the {w}",
    ),
    "index-line": (
        "index {hex7}..{hex7} 100644",
        "diff --git a/{w}.py b/{w}.py\nindex {hex7}..{hex7}",
    ),
    "digest": ("sha256:{hex64}", "{hex64}  {w}.tar.gz", "image@sha256:{hex64}", "md5 {hex32}"),
    "integrity": ('"integrity": "sha512-{b86}=="', "--hash=sha256:{hex64} \\"),
    "uuid": ("{uuid}", "session {uuid} started", "id={uuid}", '"requestId": "{uuid}"'),
    "ids": ("toolu_01{an22}", "call_{an24}", "msg_{an20}", "sess_{hex32}", "req-{hex16}"),
    "path": (
        "/usr/lib/{w}/{w}-2.{d2}/{w}.so",
        "/home/me/{w}/{w}/{w}_test.py:{d2}",
        "C:\\Users\\me\\{w}\\{w}.txt",
    ),
    "temporary-path": ("/tmp/{w}-{an8}/{w}.log", "/var/folders/zz/{an8}/T/{w}"),
    "url": (
        "https://example.com/{w}/{w}?page={d2}&sort={w}",
        "see http://localhost:80{d2}/{w}#{w}",
    ),
    "ssh-url": (
        "git@github.com:{w}/{w}.git",
        "ssh://git@host/{w}/{w}.git",
        "git+https://github.com/{w}/{w}",
    ),
    "scoped-package": (
        "npm i @{w}/{w}@1.{d2}.0",
        "https://packages.example/@{w}/{w}/-/{w}-1.0.{d2}.tgz",
    ),
    "version": ("{w}=={d2}.{d2}.{d2}", "{w} v1.{d2}.0-rc.{d2}+build.{d2}", "python3.{d2}"),
    "email": ("{w}.{w}@example.com", "Signed-off-by: {w} <{w}@example.com>"),
    "timestamp": ("2026-01-{d2}T10:{d2}:{d2}.123Z {w}", "[10:{d2}:{d2}] {w} {w}"),
    "prose-password": (
        "Your password must be {d2} characters long",
        "Please reset the password of {w}",
        "the password is stored hashed",
    ),
    "prose-token": (
        "a token {w} is expired",
        "the access token: string",
        "token count: {d2}345678",
        "we used {d2} tokens",
    ),
    "prose-secret": (
        "the secret of {w} is the {w}",
        "It's no secret: {w} wins",
        "Secret: use {w} and {w}",
    ),
    "prose-key": (
        "The API key: required for {w}",
        "api key: see the {w} page",
        "key: {w}",
        "press any key: {w}",
    ),
    "prose-option": (
        "use --token to authenticate",
        "the --password option is deprecated",
        "pass --api-key when {w} is on",
        "--password: read from {w}",
    ),
    "prose-header": (
        "the Authorization header is missing",
        "Authorization: required",
        "send the X-Api-Key header",
        "Cookie: name=value",
    ),
    "prose-bearer": ("bearer of {w} news", "a Bearer token is needed", "use Bearer authentication"),
    "prose-auth": (
        "auth: required",
        "auth: oauth2",
        "auth = {w}Auth()",
        "auth: enabled",
        "auth={w}",
    ),
    "prose-pass": (
        "{d2} passed, 1 failed",
        "pass: {d2}",
        "first pass: {w}",
        "the tests pass: all of them",
        "pass = true",
    ),
    "working-directory": (
        "PWD=/home/me/{w}",
        "pwd=/srv/{w}/{w}",
        "OLDPWD=/tmp/{w}-{d2}",
        "pwd: ~/{w}",
    ),
    "missing": (
        "OPENAI_API_KEY is not set",
        "API_KEY: missing",
        "GITHUB_TOKEN=required",
        "DB_PASSWORD: not set",
    ),
    "variable": (
        "API_KEY=$API_KEY",
        'export DB_PASSWORD="${{DB_PASSWORD}}"',
        "token: ${{TOKEN:-}}",
        "--token $TOKEN",
        "PASSWORD=${{X}}",
    ),
    "template": (
        "password: {{{{ secret }}}}",
        "API_KEY={{{{ .Values.apiKey }}}}",
        "token: ${{{{ secrets.GITHUB_TOKEN }}}}",
        "<password>${{db.password}}</password>",
    ),
    "placeholder": (
        "password: <your-password>",
        "API_KEY=your-api-key-here",
        "TOKEN=<token>",
        "password=********",
        "api_key: xxxxxxxx",
        "API_KEY=changeme",
    ),
    "windows-variable": ("set API_KEY=%API_KEY%", "--password %PASSWORD%"),
    "python-environ": (
        'password = os.environ["{W}"]',
        "API_KEY = os.getenv('{W}')",
        'token=os.environ.get("{W}", "")',
        "password=getpass.getpass()",
    ),
    "python-basic": (
        'headers = {{"Authorization": "Basic " + base64.standard_b64encode(raw).decode()}}',
        "req.add_header('Authorization', 'Basic ' + base64.b64encode(s))",
        'auth = "Basic " + base64.standard_b64encode(creds).decode("ascii")',
        'h = "Authorization: Basic " + base64.standard_b64encode(x)',
    ),
    "python-bearer": (
        '"Authorization": f"Bearer {{{w}_token}}"',
        "headers['Authorization'] = 'Bearer ' + self.{w}_token",
        "Authorization: Bearer {{token}}",
    ),
    "python-reference": (
        "token = request.{w}.token",
        "password=config.{w}_password",
        "secret = self.{w}.secret_value",
        "api_key=settings.API_KEY,",
    ),
    "python-annotation": (
        "token: str",
        "def login(password: str, token: Optional[str] = None)",
        "api_key: SecretStr",
        "password: bytes | None = None",
        "secret: {W}Secret",
    ),
    "python-call": (
        "password = read_{w}()",
        "token = {w}.create_token(user)",
        "secret=base64.b64decode(value)",
        "api_key = get_secret('{w}')",
    ),
    "python-constant": (
        "TOKEN = request.token",
        "API_KEY_HEADER = 'X-Api-Key'",
        'GRANT_TYPE_PASSWORD = "password"',
        'STORAGE_KEY = "{w}-settings"',
        'CACHE_KEY = "{w}"',
    ),
    "python-keyword": (
        "tokenizer(text, max_tokens={d2})",
        "next_page_token={w}",
        "sort(key=str.lower)",
        "key=lambda x: x.{w}",
    ),
    "typescript": (
        "token: string;",
        "password?: string",
        "apiKey: string | undefined,",
        "secret: Buffer;",
        "type Props = {{ token: Token{W}; }}",
    ),
    "typescript-reference": (
        "apiKey: process.env.{W}_KEY,",
        "const token = useToken{W}();",
        "password: form.value.{w}",
        "token: props.{w}Token,",
        "const {{ token }} = await {w}()",
    ),
    "typescript-shorthand": (
        "password: passwordHash,",
        "token: accessToken,",
        "auth: authToken",
        "secret: clientSecret",
        "token: authService.{w}",
    ),
    "minified": (
        'throw Error("state "+e+", token: "+F);switch(H[0]){{case {d2}:f.push(F),E.push("x")}}',
        "throw r.hash={{text:`merge ${{r}}`,token:`merge ${{r}} ${{s}}`}}",
        "auth: OAuthMCPServer{W}Params",
    ),
    "rust": (
        "let token = self.{w}.clone();",
        "password: &str,",
        "token: Option<String>,",
        "pub secret: SecretString,",
    ),
    "go": (
        'Token string `json:"token"`',
        'password := os.Getenv("{W}")',
        "token := ctx.Value({w}Key)",
        "Secret: cfg.{w}.Secret,",
    ),
    "java": (
        '@Value("${{db.password}}") String password;',
        'String token = request.getHeader("{W}");',
        "private String password;",
    ),
    "shell": (
        "read -s PASSWORD",
        "TOKEN=$(cat /run/secrets/{w})",
        "PASSWORD=`pass show {w}`",
        '[ -z "$API_KEY" ] && exit 1',
    ),
    "file-of-secret": (
        "SECRET=/run/secrets/{w}",
        "API_KEY_FILE=/etc/{w}/key",
        "password_file: /run/secrets/{w}",
        "SSL_KEY=/etc/ssl/{w}.pem",
        "--token-file ~/.{w}/token",
    ),
    "lexer": (
        "token = TOKEN_{W}",
        "token: Token.{W}",
        "case Token.{W}: return",
        "tokens[{d2}] = {w}",
        "token = lexer.next_token",
    ),
    "dictionary-keys": (
        "primaryKey: {w}_id",
        "key: '{w}-{d2}'",
        "publicKey: {w}",
        'sortKey = "{w}"',
        "foreignKey: '{w}Id'",
    ),
    "form-html": (
        '<input type="password" name="password" id="{w}">',
        '<label for="password">Password</label>',
        'autocomplete="current-password"',
        "<PasswordField />",
        "<password/>",
    ),
    "i18n": (
        'password: "Password"',
        "'password' => 'Password'",
        'token: "Token"',
        'forgot_password: "Forgot your password?"',
        '<string name="password">Password</string>',
    ),
    "translation": ('jwt: "โทเคน JWT"', 'password: "Пароль"', "password: 'Mot de passe'"),
    "schema": (
        '{{"password":{{"type":"string"}},"token":{{"type":"string"}}}}',
        '{{"name":"API_KEY","label":"Key","required":true}}',
        '{{"required":["token","password"]}}',
    ),
    "json-rpc": (
        '{{"jsonrpc":"2.0","id":{d2},"method":"session/prompt","params":{{"sessionId":"{uuid}"}}}}',
        '{{"progressToken":"{uuid}","inputTokens":{d2}}}',
        '{{"authMethods":[{{"id":"agent-login","name":"Log in"}}]}}',
    ),
    "stack-trace": (
        '  File "/usr/lib/python3.11/{w}.py", line {d2}, in {w}',
        "    at {w}.{w} (/srv/{w}/dist/index.js:{d2}:{d2})",
        "Error: {w} at Token.{w}",
    ),
    "test-output": (
        "tests/{w}/test_{w}.py::test_password_is_{w} PASSED",
        "FAILED test_token - AssertionError: {w}",
        "ok {d2} - secret {w}",
    ),
    "css": (
        ".token.{w} {{ color: #{hex6}; }}",
        "@media print {{ .password {{ display: none }} }}",
        "--token-{w}: #{hex6};",
    ),
    "sql": (
        "SELECT password FROM users WHERE id = {d2}",
        "ALTER TABLE t ADD COLUMN token text",
        "UPDATE users SET password = NULL",
    ),
    "terminal": (
        "drwxr-xr-x  {d2} me me 4096 Jan {d2} {w}",
        "$ ls -la {w} && cd {w}",
        "Downloading {w}-1.{d2}.whl (1{d2} kB)",
    ),
    "markdown": (
        "| `token` | string | the token of {w} |",
        "- **password**: the user's password",
        "## Secrets: {w} and {w}",
        "[token]: https://example.com/{w}",
    ),
    "percent": (
        "https://h/{w}%20{w}?q=a%3Db",
        "100%25 of {w}",
        "file:///home/me/{w}%20{w}.txt",
        "rate {d2}%",
    ),
    "base64-data": (
        "data:image/png;base64,{b200}",
        "sourceMappingURL=data:application/json;base64,{b200}",
    ),
    "public-key": (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} me@{w}",
        "-----BEGIN PUBLIC KEY-----\n{b64}\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n{b64}\n-----END CERTIFICATE-----",
    ),
    "dollar": ("costs $6$ or $1 each", "$2 and $5$ of {w}", "awk '{{print $1$2}}'", "${w}$"),
    "command": (
        "mkdir -p {w}/{w}",
        "ssh -p 22{d2} me@{w}",
        "docker run -p 80{d2}:80 {w}",
        "mysql -u root -p {w}",
        "curl -u me https://h/{w}",
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with a secret; with none if it is harmless."""

    kind: str
    text: str
    secret: str = ""


def secrets(seed: int, count: int) -> Iterator[Sample]:
    """Yield `count` texts with a secret of each kind."""
    shapes = {name: (make, CARRIERS.get(name, ANYWHERE)) for name, make in SHAPES.items()}
    for kind, (make, templates) in (shapes | NAMED).items():
        r = random.Random(f"{seed} {kind}")
        for n in range(count):
            secret = make(r)
            template = templates[n % len(templates)]
            if kind in NAMED:
                template = template.replace("{CAPS}", r.choice(CAPS))
                template = template.replace("{name}", r.choice(NAMES))
            yield Sample(kind, template.replace("¤", secret), secret)


def harmless(seed: int, count: int) -> Iterator[Sample]:
    """Yield `count` harmless texts of each kind."""
    for kind, templates in HARMLESS.items():
        r = random.Random(f"{seed} {kind}")
        for n in range(count):
            yield Sample(kind, _filled(templates[n % len(templates)], r))


_PART: Final = re.compile(r"\{(w|W|uuid|d2|(?:hex|an|b)[0-9]+)\}")


def _filled(template: str, r: random.Random) -> str:
    def part(found: re.Match[str]) -> str:
        name = found[1]
        size = int(re.sub(r"\D", "", name) or 0)
        match name.rstrip(string.digits):
            case "w":
                return word(r)
            case "W":
                return word(r).title()
            case "uuid":
                return str(uuid.UUID(int=r.getrandbits(128), version=4))
            case "d":
                return str(r.randint(10, 99))
            case "hex":
                return some(size, HEX)(r)
            case "an":
                return some(size)(r)
            case _:
                return some(size, ALNUM + "+/")(r)

    return _PART.sub(part, template).replace("{{", "{").replace("}}", "}")


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a text, and to read a part of what was written."""

    write: Callable[[str, random.Random], str]
    read: Callable[[str], str]


def _json(text: str, _: random.Random) -> str:
    return json.dumps({"update": {"text": text}}, ensure_ascii=False)


def _json_in_json(text: str, r: random.Random) -> str:
    return _json(_json(text, r), r)


def _escaped(text: str, _: random.Random) -> str:
    units = text.encode("utf-16-be").hex()
    return (
        '{"text":"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"}'
    )


def _coloured(text: str, r: random.Random) -> str:
    """Colour words, as a terminal shows them; sequences are also inside of secrets."""
    pieces: list[str] = []
    for each in re.split(r"(\W+)", text):
        before, after = (f"\x1b[{r.choice(['', '0', '1;31', '38;5;208', '39;49'])}m" for _ in "ab")
        pieces.append(f"{before}{each}{after}" if r.random() < 0.6 else each)
    return "".join(pieces)


def _coloured_inside(text: str, r: random.Random) -> str:
    """Put a sequence at any place, as after a wrapped line or a highlighted match."""
    places = sorted(r.sample(range(len(text) + 1), min(3, len(text))))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    return r.choice(["\x1b[1;33m", "\x1b[m", "\x1b[K", "\x1b[0m"]).join(pieces)


def _percent(text: str, r: random.Random) -> str:
    return r.choice(["", "https://h.example/cb?state=", "redirect: "]) + quote(text, safe="")


def _unquoted(part: str) -> str:
    return str(json.loads(f'"{part}"'))


def _without_colour(part: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", part)


FORMS: Final[dict[str, Form]] = {
    "plain": Form(lambda text, _: text, str),
    "in JSON": Form(_json, _unquoted),
    "JSON in JSON": Form(_json_in_json, lambda part: _unquoted(_unquoted(part))),
    "\\u-escaped": Form(_escaped, _unquoted),
    "coloured": Form(_coloured, _without_colour),
    "coloured inside": Form(_coloured_inside, _without_colour),
    "percent-encoded": Form(_percent, unquote),
}
"""Streamed text is a form too, but takes several lines."""


def in_chunks(text: str, r: random.Random) -> list[str]:
    """Return `text` in chunks as small as the tokens of a model."""
    chunks: list[str] = []
    while text:
        size = r.randint(1, 9)
        chunks.append(text[:size])
        text = text[size:]
    return chunks


def streamed(chunks: list[str]) -> list[str]:
    """Return the lines of a recording in which an agent streams `chunks`."""
    lines: list[str] = []
    for number, chunk in enumerate(chunks, start=2):
        content = {"type": "text", "text": chunk}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": "s", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        entry = {"n": number, "t": 0.1, "from": "agent", "msg": message}
        lines.append(json.dumps(entry, ensure_ascii=number % 2 == 0, separators=(",", ":")))
    return lines
