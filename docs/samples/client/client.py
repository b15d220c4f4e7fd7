"""A small client: starts an agent, sends one prompt, and prints the reply."""

import json
import subprocess
import sys


def main(prompt: str, command: list[str]) -> int:
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ids = iter(range(1000))

    def send(**message: object) -> None:
        agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        agent.stdin.flush()

    def request(method: str, **params: object) -> dict:
        id_ = next(ids)
        send(id=id_, method=method, params=params)
        for line in agent.stdout:
            message = json.loads(line)
            if message.get("method") == "session/update":
                update = message["params"]["update"]
                if update["sessionUpdate"] == "agent_message_chunk":
                    print(update["content"]["text"], end="")
            elif message.get("method") == "session/request_permission":
                send(id=message["id"], result={"outcome": {"outcome": "cancelled"}})
            elif message.get("id") == id_:
                return message["result"]
        sys.exit("the agent has left")

    request("initialize", protocolVersion=1, clientCapabilities={})
    session = request("session/new", cwd="/", mcpServers=[])["sessionId"]
    blocks = [{"type": "text", "text": prompt}]
    result = request("session/prompt", sessionId=session, prompt=blocks)
    print(f"\n[{result['stopReason']}]")
    agent.stdin.close()
    return agent.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
