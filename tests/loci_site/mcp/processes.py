"""A Loci of its own for a test: a home folder with the model, its tables, the first token, and processes on it."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.fresh_homes import made_once, with_tables
from tests.settings import ENCRYPTION, MODELS, REPOSITORY

SECRET = "first.token"
PREPARE = """
from loci_site.management.first_start import create_first_access
print(create_first_access().token)
"""


@dataclass(frozen=True)
class Installation:
    """A prepared home folder, and the secret of its first token."""

    home: Path
    secret: str

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.home)


def environment_of(home: Path) -> dict[str, str]:
    """What a process sees: this home, and nothing of the user's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCI_")}
    own = {
        "LOCI_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "loci_site.settings",
        "LOCI_EMBEDDING_HUB": "false",
    }
    return kept | ENCRYPTION | own


def make_home(folder: Path) -> Path:
    """A home folder without tables, with the model where there is one."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    if MODELS.is_dir():
        (home / "models").symlink_to(MODELS)
    return home


def install(folder: Path) -> Installation:
    """A home folder with its tables, its first admin and its first token; a copy of one that is made once."""
    home = folder / "home"
    shutil.copytree(made_once("installed", _install), home, symlinks=True)
    return Installation(home, (home / SECRET).read_text())


def _install(home: Path) -> None:
    bare = Installation(with_tables(home), "")
    (home / SECRET).write_text(run_in(bare, PREPARE))


def run_in(installed: Installation, code: str) -> str:
    """Run some lines in a process of their own on this home; what they print."""
    done = subprocess.run(
        [sys.executable, "-c", f"import django\ndjango.setup()\n{code}"],
        cwd=REPOSITORY,
        env=installed.environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


@contextmanager
def serving(installed: Installation, **environment: str) -> Iterator[str]:
    """A real server that has started; its /mcp.

    A client that finds out the era gives up after ten seconds and takes the older one, so the start is waited for here: the
    port listens from the beginning.
    """
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "loci_site.asgi:application", "--fd", str(listening.fileno())],
            cwd=REPOSITORY,
            env=installed.environment | environment,
            pass_fds=[listening.fileno()],
        )
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            httpx2.get(f"{address}/health", timeout=120).raise_for_status()
            yield f"{address}/mcp"
        finally:
            process.terminate()
            process.wait()


def stdio_command(*options: str, **environment: str) -> dict[str, Any]:
    """What StdioServerParameters takes to start `manage.py mcp --stdio`."""
    return {
        "command": sys.executable,
        "args": ["manage.py", "mcp", "--stdio", *options],
        "cwd": str(REPOSITORY),
        "env": environment,
    }
