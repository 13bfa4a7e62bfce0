"""A real web process over a copy of the seeded store, with REST and commands for the tests."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

PEOPLE = "people.json"
LONGEST_S = 200


@dataclass(frozen=True)
class Site:
    """A running Loci: its address, its home, and the token and the login of each person of bench.demo."""

    url: str
    home: Path
    tokens: dict[str, str]
    logins: dict[str, str]

    def call(self, who: str, method: str, path: str, body: Any = None) -> Any:
        """Call the REST API with a person's token: `call("alice", "POST", "memories", {...})`."""
        request = urllib.request.Request(
            f"{self.url}/api/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.tokens[who]}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            with refused:
                raise AssertionError(f"{method} {path}: {refused.code} {refused.read().decode()}") from None

    def store(self, content: str, *, who: str = "alice", group: str = "ledger", **fields: Any) -> str:
        """Id of a new memory, visible in its group only."""
        body = {"content": content, "group": group, "scope": "group", **fields}
        stored: str = self.call(who, "POST", "memories", body)["id"]
        return stored

    def memory(self, id_: str, *, who: str = "alice") -> dict[str, Any]:
        """One memory as REST returns it."""
        found: dict[str, Any] = self.call(who, "GET", f"memories/{id_}")
        return found

    def wait_for_model(self) -> None:
        """Wait until the web process has loaded its model."""
        for _ in range(10 * LONGEST_S):
            with urllib.request.urlopen(f"{self.url}/health", timeout=LONGEST_S) as answer:
                if json.load(answer)["checks"]["model"]["detail"] == "loaded":
                    return
            time.sleep(0.1)
        raise AssertionError("the model was never loaded")

    def manage(self, *words: str) -> str:
        """Output of a command run on the same store."""
        return self.run("manage.py", *words)

    def run(self, *words: str) -> str:
        """Output of Python run with these words on the same store."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=REPOSITORY,
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


def seed_home(home: Path) -> None:
    """Make a home with a filled store; PEOPLE holds the tokens and logins."""
    with_tables(home)
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.seed"],
        cwd=REPOSITORY,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=LONGEST_S * 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (home / PEOPLE).write_text(done.stdout)


@contextmanager
def serving(seeded: Path, home: Path, **variables: str) -> Iterator[Site]:
    """Serve a copy of the seeded home, with these variables; the first request waits in the open socket until the process is ready.

    It is asked here: a browser gives up after seconds, and on a busy machine a start takes longer.
    """
    shutil.copytree(seeded, home, symlinks=True)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(64)
        port = sock.getsockname()[1]
        with (
            (home / "server.txt").open("w") as said,
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "loci_site.server.web",
                    "--parent",
                    str(os.getpid()),
                    "--fd",
                    str(sock.fileno()),
                ],
                cwd=REPOSITORY,
                env=environment(home) | {"LOCI_PORT": str(port)} | variables,
                pass_fds=[sock.fileno()],
                stdout=said,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/login/", timeout=LONGEST_S).close()
                yield Site(f"http://127.0.0.1:{port}", home, **json.loads((home / PEOPLE).read_text()))
            finally:
                process.terminate()
    # What the server logs as an error is a fault, whatever the pages looked like.
    log = (home / "server.txt").read_text()
    assert " ERROR " not in log, log[-8000:]
    assert "Traceback" not in log, log[-8000:]


def environment(home: Path) -> dict[str, str]:
    """Environment of a process on that home."""
    return {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
