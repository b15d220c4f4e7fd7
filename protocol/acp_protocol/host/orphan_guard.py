"""What ends the programs of a process that is killed and can do nothing about it any more.

A shell waits for the end of a pipe that only its process holds, which comes however that one ends.
Over the pipe it hears which process groups live; those that are left at its end, it ends.

The number of a group is free for others as soon as nobody is left in it, and nobody reports that.
So whoever has a group watched takes it back when it is seen empty; and where the system tells when
a process began (Linux), a group is left alone that has another leader than at first.

No event loop here: the proxy has none.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from contextlib import suppress
from typing import Final

SHELL: Final = "/bin/sh"
PATIENCE: Final = 1
"""Seconds that programs have to end by themselves: for many, the end of their stdin is a sign."""
GRACE: Final = 2
"""Seconds that they have after SIGTERM."""
FAREWELL: Final = 1.0
"""Seconds that the shell has to be gone once it is not needed any more."""
SCRIPT: Final = r"""
trap "" HUP INT TERM
patience=$1 grace=$2 mark=$3
groups=" "

# Say of a process in which group it is and when it began, as far as the system tells.
look() {
    stat=
    read -r stat <"/proc/$1/stat"
    set -- ${stat##*") "}
    group=${3-} began=${20-}
}

# Keep the groups that live, each with the beginning of its leader, until the end of the pipe.
hear() {
    while read -r word told; do
        case $word in
        +)
            look "$told"
            groups="$groups$told:$began "
            ;;
        -)
            rest=${groups#*" $told:"}
            groups="${groups%%" $told:"*} ${rest#* }"
            ;;
        .)
            exit
            ;;
        esac
    done
}

# Send a signal to all that are left, 0 for none; fail if nobody is.
signal() {
    found=1
    for each in $groups; do
        told=${each%:*}
        look "$told"
        [ -z "$began" ] || [ "$began" = "${each#*:}" ] || continue
        kill -s "$1" -- "-$told" && found=0
    done
    for path in $(strays); do
        stray=${path#/proc/} stray=${stray%/environ}
        look "$stray"
        case $groups in
        *" $group:"*) ;;
        *) kill -s "$1" "$stray" && found=0 ;;
        esac
    done
    return "$found"
}

# Name the environments with the mark: of those that have left their groups, and of the others.
strays() {
    [ -z "$mark" ] || grep -lsF -e "$mark" /proc/[0-9]*/environ
}

# Leave them some seconds; when nobody is left, there is nothing more to do.
await() {
    seconds=$1
    while [ "$seconds" -gt 0 ]; do
        signal 0 || exit
        sleep 1 || exit
        seconds=$((seconds - 1))
    done
}

hear
await "$patience"
signal TERM || exit
await "$grace"
# Who leaves its group may start others meanwhile.
for _ in 1 2 3 4 5; do
    signal KILL || exit
done
"""
"""Needs a POSIX shell and its kill, sleep and grep; is patient in steps of a second."""


class OrphanGuard:
    """Ends the process groups that it watches, should this process end without having done so.

    Its shell holds no descriptor of ours and no directory, is in a session of its own, and is there
    from the first group on. Where there is no shell, nobody waits. A fork of this process neither
    holds the pipe nor has a guard.
    """

    def __init__(self, patience: int = PATIENCE, grace: int = GRACE, mark: str = "") -> None:
        """Begin without a group; so far there is no shell.

        `patience` and `grace` are in seconds: so long who is watched has to end by itself, and then
        by SIGTERM. Who has `mark` in its environment is ended as well, where the system tells it.
        """
        self._words = (str(patience), str(grace), mark)
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def watch(self, group: int) -> None:
        """Let the group end after this process; it lives, or its leader has not been reaped."""
        with self._lock:
            if not self._is_over and group not in self._groups:
                self._groups.add(group)
                self._tell(f"+ {group}\n")

    def unwatch(self, group: int) -> None:
        """Leave the group alone from now on; twice is no error, nor is one never watched."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._tell(f"- {group}\n")

    def close(self) -> None:
        """Watch no more: those of the groups that were not dismissed are ended now.

        Waits for the end of the shell, where there is nothing left for it to do.
        """
        with self._lock:
            self._is_over = True
            shell, self._shell = self._shell, None
            atexit.unregister(self.close)
            _guards.discard(self)
        if shell is None:
            return
        if self._groups:
            _let_go(shell)
            return
        _write(shell, ".\n")
        _close(shell)
        try:
            shell.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()

    def _tell(self, line: str) -> None:
        """Have the shell know what is new; another has to do if it is gone or takes nothing."""
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
                [SHELL, "-c", SCRIPT, "acp-guard", *self._words],
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
        # Who stops the shell does not stop us.
        os.set_blocking(shell.stdin.fileno(), False)
        _write(shell, "".join(f"+ {group}\n" for group in sorted(self._groups)))
        atexit.unregister(self.close)
        atexit.register(self.close)
        _guards.add(self)

    def disable_in_child(self) -> None:
        """Be no guard any more, in a fork: its pipe would outlive the process that is watched."""
        self._lock = threading.Lock()
        self._is_over = True
        self._groups.clear()
        shell, self._shell = self._shell, None
        if shell is not None:
            _let_go(shell)


def _write(shell: subprocess.Popen[bytes], text: str) -> bool:
    """Tell whether all of `text` went into the pipe."""
    assert shell.stdin is not None
    try:
        return os.write(shell.stdin.fileno(), text.encode()) == len(text)
    except OSError:
        return False


def _close(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    with suppress(OSError):
        shell.stdin.close()


def _let_go(shell: subprocess.Popen[bytes]) -> None:
    _close(shell)
    # It is not waited for: it ends after us, or is the child of another process.
    shell.returncode = 0


_guards: set[OrphanGuard] = set()
"""Those that have, or had, a shell."""


def _forget_in_fork() -> None:
    for guard in _guards:
        guard.disable_in_child()


os.register_at_fork(after_in_child=_forget_in_fork)
