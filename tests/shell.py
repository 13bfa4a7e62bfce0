"""Commands on a home of their own, one after the other in one process: starting Python and Django takes a second each time."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.settings import REPOSITORY


@dataclass(frozen=True)
class Done:
    """What a command left: its exit status and what it said."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Shell:
    """`shell("stats", "--json")` runs a command on `home`."""

    home: Path
    process: subprocess.Popen[str]

    def __call__(self, *words: str) -> Done:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the process of {words} ended with status {self.process.wait()}"
        return Done(**json.loads(line))

    def alone(self, *words: str) -> Done:
        """Run a command that starts others, in a process of its own."""
        ended = subprocess.run(
            [sys.executable, "manage.py", *words],
            check=False,
            cwd=REPOSITORY,
            env=_environment(self.home),
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Done(ended.returncode, ended.stdout, ended.stderr)


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}


@contextmanager
def shell(home: Path, **settings: str) -> Iterator[Shell]:
    """A process that runs commands on this home, with settings from the environment."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.command_loop"],
        cwd=REPOSITORY,
        env=_environment(home) | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Shell(home, process)
        process.communicate()
