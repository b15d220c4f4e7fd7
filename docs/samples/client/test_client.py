import sys

import pytest

CLIENT = [sys.executable, "client.py"]


def test_reply_is_printed(acp_client):
    run = acp_client([*CLIENT, "hello", "{agent}"], script="agent.py")
    run.assert_passed()
    assert run.stdout == "Hello. What shall I do?\n[end_turn]\n"


def test_permission_is_never_given(acp_client):
    run = acp_client([*CLIENT, "delete it", "{agent}"], script="agent.py")
    run.assert_passed()
    assert "Not deleted." in run.stdout


@pytest.mark.acp_recording("hello.acp.ndjson")
def test_client_sends_what_it_sent(acp_client):
    acp_client([*CLIENT, "hello", "{agent}"], script="agent.py").assert_passed()
