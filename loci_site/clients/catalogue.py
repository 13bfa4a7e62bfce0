"""The clients that Loci connects, and what each of their files gets. A new client is one entry of CLIENTS."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

USER, PROJECT = "user", "project"
_HOOK_TIMEOUT_S: Final = 2  # of the client; `loci-hook` ends within one
# What the parts of --hooks stand for.
HOOK_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "start": ("session-start",),
    "prompt": ("prompt",),
    "capture": ("prompt", "stop", "pre-compact", "post-compact", "session-end"),
}


class Format(StrEnum):
    """How a file is changed. A snippet is only shown: the client's file may have comments."""

    JSON = "json"
    TOML = "toml"
    SNIPPET = "snippet"


@dataclass(frozen=True)
class McpServer:
    """The MCP server as a client's file names it."""

    url: str
    authorization: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": self.authorization}


@dataclass(frozen=True)
class ConfigFile:
    """A file of a client by scope, relative to the home folder or the project.

    `server` gives what stands under `server_keys`, `hooks` the list of each of the client's events, under "hooks".
    `always` are keys that the file needs besides.
    """

    paths: Mapping[str, str]
    format: Format = Format.JSON
    server_keys: tuple[str, ...] = ()
    server: Callable[[McpServer], dict[str, Any]] | None = None
    events: Mapping[str, str] = field(default_factory=dict)
    hook: Callable[[str], dict[str, Any]] | None = None
    always: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ClientSpec:
    """A client: its files, and what its person has to know or do."""

    name: str
    title: str
    files: tuple[ConfigFile, ...]
    note: str = ""


def nested(command: str) -> dict[str, Any]:
    """A hook as Claude Code and Codex write it."""
    return {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_TIMEOUT_S}]}


def _nested_ms(command: str) -> dict[str, Any]:
    """A hook as Gemini CLI writes it: its time is in milliseconds."""
    return {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_TIMEOUT_S * 1000}]}


def _flat(command: str) -> dict[str, Any]:
    return {"command": command, "timeout": _HOOK_TIMEOUT_S}


def _by_shell(command: str) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": _HOOK_TIMEOUT_S}


def _typed_http(server: McpServer) -> dict[str, Any]:
    return {"type": "http", "url": server.url, "headers": server.headers}


# Codex has the same names.
CLAUDE_EVENTS: Final = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "stop": "Stop",
    "pre-compact": "PreCompact",
    "post-compact": "PostCompact",
    "session-end": "SessionEnd",
}
_GEMINI_EVENTS: Final = {
    "session-start": "SessionStart",
    "prompt": "BeforeAgent",
    "stop": "AfterAgent",
    "pre-compact": "PreCompress",
    "session-end": "SessionEnd",
}
_CURSOR_EVENTS: Final = {
    "session-start": "sessionStart",
    "prompt": "beforeSubmitPrompt",
    "stop": "afterAgentResponse",
    "pre-compact": "preCompact",
    "session-end": "sessionEnd",
}
_COPILOT_EVENTS: Final = {"session-start": "sessionStart", "session-end": "sessionEnd"}
_MCP_SERVERS: Final = ("mcpServers", "loci")

CLIENTS: Final[dict[str, ClientSpec]] = {
    spec.name: spec
    for spec in (
        ClientSpec(
            "claude-code",
            "Claude Code",
            (
                ConfigFile(
                    {USER: ".claude.json", PROJECT: ".mcp.json"}, server_keys=_MCP_SERVERS, server=_typed_http
                ),
                ConfigFile(
                    {USER: ".claude/settings.json", PROJECT: ".claude/settings.json"},
                    events=CLAUDE_EVENTS,
                    hook=nested,
                ),
            ),
        ),
        ClientSpec(
            "codex",
            "Codex",
            (
                ConfigFile({USER: ".codex/config.toml", PROJECT: ".codex/config.toml"}, Format.TOML),
                ConfigFile(
                    {USER: ".codex/hooks.json", PROJECT: ".codex/hooks.json"},
                    events=CLAUDE_EVENTS,
                    hook=nested,
                ),
            ),
            "Codex runs no hook until you trust it, and does not say so: open it, type /hooks and allow the hooks of Loci.",
        ),
        ClientSpec(
            "gemini",
            "Gemini CLI",
            (
                ConfigFile(
                    {USER: ".gemini/settings.json", PROJECT: ".gemini/settings.json"},
                    server_keys=_MCP_SERVERS,
                    server=lambda server: {"httpUrl": server.url, "headers": server.headers},
                    events=_GEMINI_EVENTS,
                    hook=_nested_ms,
                ),
            ),
        ),
        ClientSpec(
            "cursor",
            "Cursor",
            (
                ConfigFile(
                    {USER: ".cursor/mcp.json", PROJECT: ".cursor/mcp.json"},
                    server_keys=_MCP_SERVERS,
                    server=lambda server: {"url": server.url, "headers": server.headers},
                ),
                ConfigFile(
                    {USER: ".cursor/hooks.json", PROJECT: ".cursor/hooks.json"},
                    events=_CURSOR_EVENTS,
                    hook=_flat,
                    always={"version": 1},
                ),
            ),
            "Cursor 3 does not show its model what a session starts with; 'loci connect cursor --scope project' names the tools in AGENTS.md.",
        ),
        ClientSpec(
            "vscode",
            "VS Code",
            (
                ConfigFile(
                    {USER: ".config/Code/User/mcp.json", PROJECT: ".vscode/mcp.json"},
                    server_keys=("servers", "loci"),
                    server=_typed_http,
                ),
            ),
            "VS Code also runs the hooks of Claude Code's settings: 'loci connect claude-code' serves both.",
        ),
        ClientSpec(
            "copilot-cli",
            "Copilot CLI",
            (
                ConfigFile(
                    {USER: ".copilot/mcp-config.json"},
                    server_keys=_MCP_SERVERS,
                    server=lambda server: {**_typed_http(server), "tools": ["*"]},
                ),
                ConfigFile(
                    {USER: ".copilot/hooks/loci.json", PROJECT: ".github/hooks/loci.json"},
                    events=_COPILOT_EVENTS,
                    hook=_by_shell,
                    always={"version": 1},
                ),
            ),
        ),
        ClientSpec(
            "opencode",
            "OpenCode",
            (
                ConfigFile(
                    {USER: ".config/opencode/opencode.json", PROJECT: "opencode.json"},
                    server_keys=("mcp", "loci"),
                    server=lambda server: {
                        "type": "remote",
                        "url": server.url,
                        "headers": server.headers,
                        "enabled": True,
                    },
                ),
            ),
            "OpenCode has no hooks that run a command: it gets the tools alone.",
        ),
        ClientSpec(
            "cline",
            "Cline",
            (
                ConfigFile(
                    {
                        USER: ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
                    },
                    server_keys=_MCP_SERVERS,
                    server=lambda server: {
                        "type": "streamableHttp",
                        "url": server.url,
                        "headers": server.headers,
                    },
                ),
            ),
        ),
        ClientSpec(
            "windsurf",
            "Windsurf",
            (
                ConfigFile(
                    {USER: ".codeium/windsurf/mcp_config.json"},
                    server_keys=_MCP_SERVERS,
                    server=lambda server: {"serverUrl": server.url, "headers": server.headers},
                ),
            ),
        ),
        ClientSpec(
            "zed",
            "Zed",
            (
                ConfigFile(
                    {USER: ".config/zed/settings.json", PROJECT: ".zed/settings.json"},
                    Format.SNIPPET,
                    server_keys=("context_servers", "loci"),
                    server=lambda server: {"url": server.url, "headers": server.headers},
                ),
            ),
        ),
    )
}
