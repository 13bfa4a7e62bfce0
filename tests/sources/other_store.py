"""A second store: another home folder, another database file, real processes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class OtherStore:
    home: Path

    @classmethod
    def made(cls, home: Path) -> "OtherStore":
        return cls(with_tables(home))

    @property
    def environment(self) -> dict[str, str]:
        mine = {"LOCI_HOME": str(self.home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
        return {**os.environ, **mine, "PYTHONPATH": str(REPOSITORY)}

    def manage(self, *words: str) -> Answer:
        """Run a command in this store."""
        return self.run("manage.py", *words)

    def run(self, *words: str) -> Answer:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=REPOSITORY,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def dump(self) -> dict[str, Any]:
        """Every row of the store, as tests.sources.dump reads it."""
        answer = self.run("-m", "tests.sources.dump")
        assert answer.code == 0, answer.err
        dumped: dict[str, Any] = answer.json
        return dumped
