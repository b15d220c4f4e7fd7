"""What is decided about tool calls before the user is asked, and what "always" comes to.

`PermissionRules` is what whoever runs the agent has set. A `Rule` is what a user has said for good
in one session: a kind, and what it may touch, as in `edit src/**` or `execute git status`.

Source: Continuum Router, "Permissions"; ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from acp_agent.tools.subject import Subject
from acp_agent.tools.tool import Kind

PolicyId: TypeAlias = Literal["allow_read", "ask_always", "allow_all"]

_TREE: Final = "**"
_MANY_IN_ONE: Final = frozenset(
    {"apt", "brew", "bun", "cargo", "dotnet", "git", "go", "gradle", "just", "make", "mvn", "npm"}
    | {"pip", "pnpm", "poetry", "rustup", "systemctl", "yarn"}
)
"""Programs whose first argument says what they do: "always" holds for both words."""
_RUNNERS: Final = frozenset(
    {"awk", "bash", "bunx", "busybox", "chroot", "dash", "deno", "doas", "docker", "env", "fd"}
    | {"find", "fish", "gawk", "ionice", "ksh", "kubectl", "lua", "nice", "node", "nohup", "npx"}
    | {"parallel", "perl", "php", "pipx", "podman", "powershell", "pwsh", "ruby", "rsync", "script"}
    | {"sed", "setsid", "sh", "ssh", "stdbuf", "strace", "su", "sudo", "tar", "tclsh", "tcsh"}
    | {"time", "timeout", "uv", "uvx", "vi", "vim", "watch", "xargs", "zsh"}
)
"""Programs that run whatever their arguments say: "always" holds for these very words only."""


@dataclass(frozen=True, slots=True)
class PermissionRules:
    """What whoever runs the agent has decided; the user's own "always" comes before it."""

    default_policy: PolicyId = "allow_read"
    """Decides where no list names the kind, until the session chooses another policy."""
    auto_allow: frozenset[Kind] = frozenset()
    """Kinds that nobody is asked about."""
    always_ask: frozenset[Kind] = frozenset()
    """Kinds that the user is asked about, whatever mode and policy say."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Calls of one kind that touch one thing."""

    kind: Kind
    subject: Subject
    is_open: bool = False
    """Whether whatever begins with the words of `subject` is meant, too."""

    def covers(self, kind: Kind, subject: Subject) -> bool:
        """Return whether a call of `kind` that touches `subject` is meant."""
        if kind != self.kind or subject.area != self.subject.area:
            return False
        words, known = subject.words, self.subject.words
        if not self.is_open:
            return words == known
        # Below the session's directory lies nothing that has to be named absolutely.
        is_far = subject.area == "path" and bool(words) and words[0] == "/" and known[:1] != ("/",)
        return words[: len(known)] == known and not is_far

    def __str__(self) -> str:
        """Spell the rule out, so that whoever agrees to it knows to what."""
        shown = str(self.subject)
        if self.is_open and self.subject.area == "path":
            shown = f"{shown}/{_TREE}" if self.subject.words else _TREE
        return f"{self.kind} {shown}".strip()


def lasting(kind: Kind, subject: Subject) -> list[Rule]:
    """Return what "always" may mean for a call of `kind` that touches `subject`, narrow first."""
    if subject.area == "command":
        return [_for_command(kind, subject)]
    if subject.area == "name":
        return [Rule(kind, subject)]
    everything = Rule(kind, Subject("path", ()), is_open=True)
    if not subject.words:
        return [everything]
    *folder, _ = subject.words
    if folder in ([], ["/"]):
        narrow = Rule(kind, subject)
    else:
        narrow = Rule(kind, Subject("path", tuple(folder)), is_open=True)
    is_far = subject.words[0] == "/"
    return [narrow] if is_far else [narrow, everything]


def _for_command(kind: Kind, subject: Subject) -> Rule:
    program, *arguments = subject.words
    name = PurePath(program).name.rstrip("0123456789.").lower()
    if name in _MANY_IN_ONE:
        is_named = bool(arguments) and not arguments[0].startswith("-")
        if is_named:
            return Rule(kind, Subject("command", (program, arguments[0])), is_open=True)
        return Rule(kind, subject)
    if name in _RUNNERS or name.startswith("python"):
        return Rule(kind, subject)
    return Rule(kind, Subject("command", (program,)), is_open=True)
