"""The files of `deploy/`: what they say is what the programs understand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from acp_agent.continuum.config import read_config
from acp_agent.door.flags import new_serve_parser
from acp_agent.settings.load import load_settings
from tests.agent.test_failover import NAMES, TEMPORARY, nginx
from tests.conftest import ROOT

__all__ = ["nginx"]

DEPLOY = ROOT / "deploy"
LIMIT = 30


def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def unit() -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "acp-agent@.service")
    return parser


def test_the_configuration_is_valid_and_serves_other_machines() -> None:
    settings = load_settings(read_config(DEPLOY / "acp-agent.toml"), {}, {}).settings()
    assert settings.http.listen == "0.0.0.0:8765"
    assert settings.http.plain
    assert settings.http.allow_host == ("agents.example",)


def test_the_commands_have_options_that_exist() -> None:
    commands = [unit()["Service"]["ExecStart"].replace("%i", "a")]
    commands += [f"acp-agent {compose()[name]['command']}" for name in NAMES]
    for command in commands:
        program, serve, *options = shlex.split(command)
        assert (Path(program).name, serve) == ("acp-agent", "serve")
        parsed = vars(new_serve_parser().parse_args(options))
        assert parsed["http.affinity"] in NAMES
        assert parsed["config"] == Path("/etc/acp-agent/acp-agent.toml")


def test_the_example_for_nginx_has_the_addresses_and_names_of_the_agents() -> None:
    example = (DEPLOY / "nginx.conf").read_text()
    addresses = {compose()[name]["networks"]["inner"]["ipv4_address"] for name in NAMES}
    assert set(re.findall(r"server (.*):8765", example)) == addresses
    for name in NAMES:
        address = compose()[name]["networks"]["inner"]["ipv4_address"]
        preferred = rf"upstream agents_{name} {{\s*server {re.escape(address)}:8765 max_fails=0;"
        assert re.search(preferred, example)
        assert re.search(rf"^ +{name} +agents_{name};$", example, re.MULTILINE)


def test_nginx_takes_the_example(nginx: str, tmp_path: Path) -> None:
    certificate = trustme.CA().issue_cert("agents.example")
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.cert_chain_pems[0].write_to_path(pem)
    certificate.private_key_pem.write_to_path(key)
    example = (DEPLOY / "nginx.conf").read_text()
    example = example.replace("/etc/ssl/agents.example.pem", str(pem))
    example = example.replace("/etc/ssl/private/agents.example.key", str(key))
    example = example.replace("listen 443", "listen 127.0.0.1:8443")
    temporary = "".join(f"{kind}_temp_path {tmp_path / kind};" for kind in TEMPORARY)
    (tmp_path / "acp.conf").write_text(example)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path / 'pid'}; events {{}} http {{ {temporary} include acp.conf; }}"
    )
    command = [nginx, "-t", "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "acp-agent@.service").read_text()
    text = text.replace("/opt/acp-console/bin/acp-agent", "/bin/true")
    path = tmp_path / "acp-agent@a.service"
    path.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "")
