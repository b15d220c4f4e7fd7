"""Ends the child processes of a process that was killed and could not end them itself.

A shell waits for the end of a pipe that only this process holds, which closes however the process
ends. Over the pipe it gets the process groups that are alive; at the end it ends those that remain.

The id of a group can be reused as soon as the group is empty, and the system does not report that.
So the caller unwatches a group that it finds empty; and where the system reports start times of
processes (Linux), a group whose leader has changed is left alone.

There is no event loop here, because the proxy has none.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Final

SHELL: Final = "/bin/sh"
EXIT_TIMEOUT_S: Final = 1
"""Seconds that programs have to exit by themselves; many do at the end of their stdin."""
TERM_TIMEOUT_S: Final = 2
"""Seconds that they have to exit after SIGTERM."""
CLOSE_TIMEOUT_S: Final = 1.0
"""Seconds that the shell has to exit when it is not needed any more."""
SCRIPT: Final = r"""
trap "" HUP INT TERM
exit_timeout=$1 term_timeout=$2 mark=$3
groups=" "

# Set group and began to the process group and the start time of a process, if known.
read_stat() {
    stat=
    read -r stat <"/proc/$1/stat"
    set -- ${stat##*") "}
    group=${3-} began=${20-}
}

# Keep the living groups, each with the start time of its leader, until the end of the pipe.
read_groups() {
    while read -r command group_id; do
        case $command in
        +)
            read_stat "$group_id"
            groups="$groups$group_id:$began "
            ;;
        -)
            rest=${groups#*" $group_id:"}
            groups="${groups%%" $group_id:"*} ${rest#* }"
            ;;
        .)
            exit
            ;;
        esac
    done
}

# Send a signal to all that are left, or 0 to test; fail if there are none.
signal() {
    found=1
    for each in $groups; do
        group_id=${each%:*}
        read_stat "$group_id"
        [ -z "$began" ] || [ "$began" = "${each#*:}" ] || continue
        kill -s "$1" -- "-$group_id" && found=0
    done
    for path in $(strays); do
        stray=${path#/proc/} stray=${stray%/environ}
        read_stat "$stray"
        case $groups in
        *" $group:"*) ;;
        *) kill -s "$1" "$stray" && found=0 ;;
        esac
    done
    return "$found"
}

# List the environments of all processes with the mark, in or outside of their groups.
strays() {
    [ -z "$mark" ] || grep -lsF -e "$mark" /proc/[0-9]*/environ
}

# Wait some seconds; exit when none is left.
await() {
    seconds=$1
    while [ "$seconds" -gt 0 ]; do
        signal 0 || exit
        sleep 1 || exit
        seconds=$((seconds - 1))
    done
}

read_groups
await "$exit_timeout"
signal TERM || exit
await "$term_timeout"
# A process outside of its group may start others meanwhile.
for _ in 1 2 3 4 5; do
    signal KILL || exit
done
"""
"""Needs a POSIX shell, kill, sleep and grep; waits in steps of a second."""


class OrphanGuard:
    """Ends the process groups that it watches if this process ends without ending them.

    Its shell holds none of our descriptors and no directory, has a session of its own, and is
    started for the first group. Without a shell there is no guard. A fork of this process neither
    holds the pipe nor has a guard.
    """

    def __init__(
        self,
        exit_timeout: int = EXIT_TIMEOUT_S,
        term_timeout: int = TERM_TIMEOUT_S,
        mark: str = "",
        *,
        shell: str = SHELL,
        script: str = SCRIPT,
    ) -> None:
        """Watch nothing yet; the shell is started later.

        The groups have `exit_timeout` seconds to exit by themselves, and `term_timeout` seconds
        after SIGTERM. On Linux, processes with `mark` in their environment are ended as well.
        """
        timeouts = (str(exit_timeout), str(term_timeout))
        self._command = (shell, "-c", script, "acp-guard", *timeouts, mark)
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def watch(self, group: int) -> None:
        """End the group after this process; it is alive, or its leader has not been reaped."""
        with self._lock:
            if not self._is_over and group not in self._groups:
                self._groups.add(group)
                self._send(f"+ {group}\n")

    def unwatch(self, group: int) -> None:
        """Stop watching the group; no error if it is not watched."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._send(f"- {group}\n")

    def kill(self) -> None:
        """Kill the groups at once, without waiting for a thread that may be stuck."""
        for group in tuple(self._groups):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def close(self) -> None:
        """End the groups that are still watched, and stop watching.

        Waits for the shell to exit if no group is left.
        """
        with self._lock:
            self._is_over = True
            shell, self._shell = self._shell, None
            atexit.unregister(self.close)
            _guards.discard(self)
        if shell is None:
            return
        if self._groups:
            _detach(shell)
            return
        _write(shell, ".\n")
        _close(shell)
        try:
            shell.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()

    def _send(self, line: str) -> None:
        """Send a command to the shell; start another shell if it is gone or does not read."""
        if self._shell is not None and _write(self._shell, line):
            return
        if self._shell is not None:
            self._shell.kill()
            _close(self._shell)
            self._shell.wait()
            self._shell = None
        if self._groups:
            self._start()

    def _start(self) -> None:
        try:
            shell = self._shell = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            return
        assert shell.stdin is not None
        # A stopped shell must not block us.
        os.set_blocking(shell.stdin.fileno(), False)
        _write(shell, "".join(f"+ {group}\n" for group in sorted(self._groups)))
        atexit.unregister(self.close)
        atexit.register(self.close)
        _guards.add(self)

    def disable_in_child(self) -> None:
        """Stop guarding in a forked child, which would keep the pipe open."""
        self._lock = threading.Lock()
        self._is_over = True
        self._groups.clear()
        shell, self._shell = self._shell, None
        if shell is not None:
            _detach(shell)


def _write(shell: subprocess.Popen[bytes], text: str) -> bool:
    """Write `text`; return whether the pipe took all of it."""
    assert shell.stdin is not None
    try:
        return os.write(shell.stdin.fileno(), text.encode()) == len(text)
    except OSError:
        return False


def _close(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    with suppress(OSError):
        shell.stdin.close()


def _detach(shell: subprocess.Popen[bytes]) -> None:
    _close(shell)
    # It is not waited for: it exits after us, or is the child of another process.
    shell.returncode = 0


_guards: set[OrphanGuard] = set()
"""The guards that have, or had, a shell."""


os.register_at_fork(after_in_child=lambda: [guard.disable_in_child() for guard in _guards])
