"""Have a program run by the server of `tests/warm.py`, and end as it does.

Every start pays for what is imported here.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import _signal
import _socket
import array
import marshal
import os
import sys

PASSED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGUSR1)


def launch(address: str, words: list[str]) -> int:
    """Run `python WORDS`, and return the status that it ends with."""
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(address)
        is_warm = server.recv(1)
    except OSError:
        is_warm = b""
    if not is_warm:
        os.execv(sys.executable, [sys.executable, *words])
    for number in PASSED_ON:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda number, _: server.send(bytes([number])) and None)
    asked = marshal.dumps((words, dict(os.environb)))
    descriptors = array.array("i", [0, 1, 2, os.open(".", os.O_RDONLY)])
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
    server.sendmsg([len(asked).to_bytes(4, "big")], rights)
    server.sendall(asked)
    # Whoever waits for the end of a stream waits for the program alone.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors[:3]:
        os.dup2(nothing, descriptor)
    return int.from_bytes(server.recv(4) or b"\0\0\1\0", "big")


if __name__ == "__main__":
    status = launch(sys.argv[1], sys.argv[2:])
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != _signal.SIGKILL:
            _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))
