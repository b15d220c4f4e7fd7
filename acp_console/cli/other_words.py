"""What to do instead, for words that other tools have as commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_RECORD: Final = "acp-console proxy --record FILE -- COMMAND records the traffic of an agent"
_READ: Final = "acp-console show FILE prints a recording, acp-console inspect FILE browses it"
_FIND: Final = "acp-console show --filter EXPR FILE prints the frames that match"
_SCREEN: Final = "acp-console sessions export --to html writes a chat as a page; there is no other"
_RUNNING: Final = "acp-console attach watches a running proxy; --ask sends it commands"
_CHAT: Final = "acp-console chat AGENT chats, acp-console exec PROMPT runs one turn"
_SERVE: Final = "acp-agent serve puts our agent on the network, acp-console bridge any other"
_CONFIG: Final = "acp-console doctor names the file config.toml; acp-agent config is for our agent"
_AGENTS: Final = "acp-console agents lists the agents, with what installs each"
_LINT: Final = "acp-console lint FILE checks a recording, acp-console conform AGENT an agent"
_REMOVE_SECRETS: Final = "acp-console redact FILE -o OUT removes the secrets of a recording"
_HELP: Final = "acp-console help lists the topics, acp-console --help the commands"

OTHER_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("record", "capture", "dump", "sniff", "trace", "log", "tap"), _RECORD),
    **dict.fromkeys(("view", "open", "read", "cat", "print", "browse", "tui", "ui"), _READ),
    **dict.fromkeys(("query", "find", "search", "grep", "filter"), _FIND),
    **dict.fromkeys(("ctl", "watch", "ps", "tail", "intercept", "break"), _RUNNING),
    **dict.fromkeys(("run", "prompt", "ask", "talk", "start"), _CHAT),
    **dict.fromkeys(("serve", "server", "listen", "http"), _SERVE),
    **dict.fromkeys(("web", "browser", "html"), _SCREEN),
    **dict.fromkeys(("config", "settings", "set"), _CONFIG),
    **dict.fromkeys(("list", "install", "add", "registry"), _AGENTS),
    **dict.fromkeys(("validate", "check", "verify", "audit"), _LINT),
    **dict.fromkeys(("anonymize", "sanitize", "scrub"), _REMOVE_SECRETS),
    **dict.fromkeys(("documentation", "manual", "man", "commands", "topics"), _HELP),
    "rules": "acp-console lint --rules lists the rules and explains those that you name",
    "setup": "acp-console help editors has what each editor needs, also with acp-console proxy",
    "export": "acp-console sessions export ID -o FILE saves a chat; show --json prints a recording",
    "mcp": "acp-console exec --mcp FILE gives an agent MCP servers; the chat reads config.toml",
    "login": "acp-console agents login AGENT logs in",
    "resume": "acp-console sessions resume ID goes on with a session",
    "history": "acp-console sessions lists the sessions of chats",
    "compare": "acp-console diff A B compares two recordings",
    "convert": "acp-console import FILE -o OUT converts the log of another tool",
    "play": "acp-console replay FILE -- COMMAND plays the client of a recording",
    "fake": "acp-console mock FILE plays the agent of a recording",
    "version": "acp-console --version",
    "update": "acp-console agents update takes a newer catalogue of agents",
}
"""Word and hint; a word that has become a command is looked up there first."""
