"""What a person needs to reach Loci: its address, and the lines that connect an agent."""

import json
import os
import shlex
import sys
from pathlib import Path

from django.conf import settings

from access.errors import LociError
from access.server_address import running_address

WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - read, not listened on


def base_url() -> str:
    """Give the address that people and agents use, without a slash at the end.

    That is the public one, else the one of the server that runs, else the one that it would have by the settings.
    """
    server = settings.LOCI.server
    if server.public_url:
        return str(server.public_url).rstrip("/")
    if running := running_address(settings.LOCI.home):
        return running
    host = WILDCARD_HOSTS.get(server.host, f"[{server.host}]" if ":" in server.host else server.host)
    return f"http://{host}:{server.port}"


def claude_line(secret: str) -> str:
    """Give the command that connects Claude Code."""
    return f'claude mcp add --transport http loci {base_url()}/mcp --header "Authorization: Bearer {secret}"'


def client_json(secret: str) -> str:
    """Give the same as the JSON that most other clients read."""
    server = {
        "type": "http",
        "url": f"{base_url()}/mcp",
        "headers": {"Authorization": f"Bearer {secret}"},
    }
    return json.dumps({"mcpServers": {"loci": server}})


def command_line(words: str) -> str:
    """Give one of Loci's commands as this person has to type it: "loci …", or by way of manage.py."""
    program = "loci"
    if Path(sys.argv[0]).name == "manage.py":
        program = f"{_shown(Path(sys.executable))} {_shown(Path(sys.argv[0]))}"
    home = os.environ.get("LOCI_HOME", "").strip()
    place = f"LOCI_HOME={shlex.quote(str(settings.LOCI.home))} " if home and not _is_usual_home() else ""
    return f"{place}{program} {words}"


def render_error(error: LociError) -> str:
    """Give an error as one JSON line, as REST would say it."""
    return json.dumps(error.as_dict(), ensure_ascii=False)


def _is_usual_home() -> bool:
    return bool(settings.LOCI.home == Path("~/.loci").expanduser().absolute())


def _shown(path: Path) -> str:
    """Give a path as short as it can be typed from here."""
    path = path.absolute()
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
