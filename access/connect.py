"""Connection details: the address of Loci and the commands that connect an agent."""

import fcntl
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext

from storage.locks import take_lock
from storage.version import DISTRIBUTION

ADDRESS_FILE = "up.address"


@contextmanager
def publish_address(home: Path, url: str) -> Iterator[None]:
    """Make running_address() return `url` during the block; for the one process that holds LOCI_HOME.

    The file is locked before it gets its name, so no other process ever reads half of it. The kernel releases the lock
    however this process ends, and a file without a lock is ignored.
    """
    file = home / ADDRESS_FILE
    part = file.with_name(f".{ADDRESS_FILE}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, url.encode())
        part.replace(file)
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def running_address(home: Path) -> str | None:
    """The address of the server that runs with the data in `home`; None if no server runs."""
    try:
        with (home / ADDRESS_FILE).open(encoding="utf-8") as file:
            if not take_lock(file.fileno(), is_shared=True):
                return file.read()
    except OSError:
        return None
    return None


SCRIPTS = ("loci", DISTRIBUTION)
UVX_FOLDER = "archive-v0"  # in uv's cache: the environments of uvx, whose programs are on no PATH
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - read, not listened on


def base_url() -> str:
    """The address that people and agents use, without a trailing slash.

    The public URL if it is set, else the address of the running server, else the address that the settings give it.
    """
    server = settings.LOCI.server
    if server.public_url:
        return str(server.public_url).rstrip("/")
    if running := running_address(settings.LOCI.home):
        return running
    host = _WILDCARD_HOSTS.get(server.host, f"[{server.host}]" if ":" in server.host else server.host)
    return f"http://{host}:{server.port}"


def claude_line(secret: str) -> str:
    """The command that connects Claude Code."""
    return f'claude mcp add --transport http loci {base_url()}/mcp --header "Authorization: Bearer {secret}"'


def client_json(secret: str) -> str:
    """The same connection as the JSON that most other clients read."""
    server = {
        "type": "http",
        "url": f"{base_url()}/mcp",
        "headers": {"Authorization": f"Bearer {secret}"},
    }
    return json.dumps({"mcpServers": {"loci": server}})


@dataclass(frozen=True)
class ConnectLine:
    """What a person pastes to connect one client, and where."""

    client: str
    where: str
    text: str


def connect_lines(secret: str) -> list[ConnectLine]:
    """The lines for the usual clients, each with the token in it."""
    address, header = f"{base_url()}/mcp", f"Authorization: Bearer {secret}"
    codex = (
        f"export LOCI_TOKEN={secret}\ncodex mcp add loci --url {address} --bearer-token-env-var LOCI_TOKEN"
    )
    server = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {secret}"}}
    code = shlex.quote(json.dumps({"name": "loci", **server}))
    return [
        ConnectLine("Claude Code", gettext("In a terminal"), claude_line(secret)),
        ConnectLine("Codex", gettext("In a terminal; LOCI_TOKEN must be set whenever Codex starts"), codex),
        ConnectLine("Cursor", gettext("In ~/.cursor/mcp.json"), client_json(secret)),
        ConnectLine("VS Code", gettext("In a terminal"), f"code --add-mcp {code}"),
        ConnectLine(
            "Gemini CLI",
            gettext("In a terminal"),
            f'gemini mcp add --transport http --header "{header}" loci {address}',
        ),
        ConnectLine(
            gettext("Any other client"),
            gettext("In its JSON configuration of MCP servers"),
            client_json(secret),
        ),
    ]


def command_line(words: str) -> str:
    """A Loci command as this user must type it: "loci …", its path, through uvx or through manage.py."""
    is_default_home = settings.LOCI.home == Path("~/.loci").expanduser().absolute()
    has_own_home = bool(os.environ.get("LOCI_HOME", "").strip()) and not is_default_home
    home = f"LOCI_HOME={shlex.quote(str(settings.LOCI.home))} " if has_own_home else ""
    return f"{home}{program_called()} {words}"


def program_called() -> str:
    """The program as this user can call it again."""
    called = Path(sys.argv[0])
    if called.name == "manage.py":
        return f"{_shortest(Path(sys.executable))} {_shortest(called)}"
    if called.name not in SCRIPTS:
        return "loci"
    if UVX_FOLDER in Path(sys.prefix).parts:
        return f"uvx {DISTRIBUTION}"
    found = shutil.which(called.name)
    if called.exists() and not (found and called.samefile(found)):
        return _shortest(called)
    return called.name


def _shortest(path: Path) -> str:
    """The path quoted for the shell, relative to the current folder if it lies below."""
    path = path.absolute()
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
