"""Scripts of agents that understand only a dialect, and show it late."""

ACPEX = """
# Looks official until the first prompt, which it wants in `content`.
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    params, id_ = message["params"], message["id"]
    if message["method"] == "initialize":
        tell(id=id_, result={"protocolVersion": 1, "agentCapabilities": {}})
    elif message["method"] == "session/new":
        tell(id=id_, result={"sessionId": "s1"})
    elif "content" in params:
        text = {"type": "text", "text": "got " + params["content"][0]["text"]}
        tell(id=id_, result={"content": [text], "stopReason": "done"})
    else:
        REFUSE
"""
REFUSES = 'tell(id=id_, error={"code": -32602, "message": "missing content"})'
CRASHES = "sys.stderr.write(\"KeyError: 'content'\"); sys.exit(1)"
LENGTHS = """
def receive():
    header = sys.stdin.buffer.readline()
    if not header.startswith(b"Content-Length: "):
        REFUSE
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(int(header[16:])))
def send(**message):
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    sys.stdout.buffer.flush()
abilities = {"file_read": True, "file_write": True, "slash_commands": [], "session_fork": False}
send(id=receive()["id"], result=abilities)
send(id=receive()["id"], result={"session_id": "s1"})
prompt = receive()
send(id=prompt["id"], result={"role": "agent", "content": [{"type": "text", "text": "hi there"}]})
receive()
"""
DIES = 'sys.stderr.write("missing Content-Length"); sys.exit(9)'
ANSWERS = 'send(id=None, error={"code": -32700, "message": "?"}); time.sleep(60)'
_OFFICIAL = """
answer = iter([{"protocolVersion": 1, "agentCapabilities": {}}, {"sessionId": "s1"}])
for result in answer:
    send(id=receive()["id"], result=result)
prompt = receive()
text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi there"}}
send(method="session/update", params={"sessionId": "s1", "update": text})
send(id=prompt["id"], result={"stopReason": "end_turn"})
receive()
"""
OFFICIAL = LENGTHS[: LENGTHS.index("abilities")] + _OFFICIAL
"""An agent of the protocol that has headers."""

ECHO = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    print("got", line, file=sys.stderr, flush=True)
    answer = {"error": {"code": CODE, "message": "bad: " + line, "data": request}}
    if request["method"] == "initialize":
        able = {"image": False, "audio": False, "embeddedContext": False, "mcp": False}
        logins = [{"id": "key", "name": "Key"}]
        opened = {"protocolVersion": 1, "agentCapabilities": able, "authMethods": logins}
        answer = {"result": opened}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""
"""An agent of Continuum Router that refuses everything, and repeats what it refuses."""

AS_EVERYBODY = """
first = json.loads("{" + sys.stdin.readline())
tell(id=first["id"], result={"protocolVersion": 1})
open_session()
prompt = hear("session/prompt")
say("hi from ")
end(prompt)
"""
"""An agent of the protocol that has read the first byte already."""
