"""A LOCI_HOME for one proof, and Loci's own commands in it, each in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.proof.proof import REPOSITORY, ProofError

COMMAND_S = 900
# What a home's processes get of this process's own settings: on which SQLite, and whether encrypted.
KEPT_SETTINGS = ("LOCI_SQLITE_DRIVER", "LOCI_STORAGE_ENCRYPTION", "LOCI_DB_KEY")
TOKEN_FILE = "proof.token"
VARIABLES_FILE = "proof.variables"  # JSON; what else a home's processes get, such as DATABASE_URL


@dataclass(frozen=True)
class Home:
    """A folder with a database of its own and the installed model; `secret` is a token that may write anywhere."""

    path: Path
    secret: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to work in this home and nowhere else."""
        return environment(self.path)

    def written(self) -> int:
        """How many bytes were written to the database's log of writes: it grows with every transaction."""
        url = own_variables(self.path).get("DATABASE_URL")
        if url is None:
            wal = self.path / "memory.db-wal"
            return wal.stat().st_size if wal.exists() else 0
        import psycopg  # noqa: PLC0415 - only where a proof uses PostgreSQL

        with psycopg.connect(url) as connection:
            [(place,)] = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchall()
        return int(place)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start `manage.py` with these arguments."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(command, cwd=REPOSITORY, env=self.environment, text=True, **options)

    def manage(self, *words: str, sent: str | None = None) -> str:
        """Run one of Loci's commands to its end; what it printed. Raises ProofError where it fails."""
        return run([sys.executable, "manage.py", *words], self.path, sent=sent)

    def ask(self, function: str, **told: Any) -> Any:
        """What a function of bench ("proof.witness:check") returns in a process of its own in this home."""
        command = [sys.executable, "-m", "bench.proof.inside", function]
        return json.loads(run(command, self.path, sent=json.dumps(told)).splitlines()[-1])

    def witness(self, function: str, **told: Any) -> Any:
        """The answer of `bench.proof.witness`, which looks at the database from inside."""
        return self.ask(f"proof.witness:{function}", **told)

    def check(self, told: dict[str, Any]) -> dict[str, Any]:
        """Let the witness compare the database with what was sent and acknowledged.

        Vectors are owed where a text came before the model was loaded. They are then made as the worker makes them, and
        the witness looks again: `owed` says how many there were.
        """
        seen: dict[str, Any] = self.witness("check", **told)
        if not seen["owed"]:
            return seen
        left = self.witness("settle")["still_owed"]
        again: dict[str, Any] = self.witness("check", **told)
        unmade = [f"{left} vectors are still owed after the model was there"] if left else []
        return again | {"owed": seen["owed"], "faults": [*seen["faults"], *again["faults"], *unmade]}


def make_home(path: Path, variables: Mapping[str, str] = {}) -> Home:
    """Make a fresh home, whatever was at `path` before: model linked, migrated, with a user and a token.

    `variables` are set for each of its processes, such as DATABASE_URL for an empty database.
    """
    shutil.rmtree(path, ignore_errors=True)
    made = os.environ.get("LOCI_TEST_PROOF_HOME")  # set by the tests of the small forms
    if made and not variables:
        shutil.copytree(made, path, symlinks=True)
        return open_home(path)
    path.mkdir(mode=0o700, parents=True)
    (path / VARIABLES_FILE).write_text(json.dumps({**variables}), encoding="utf-8")
    (path / "models").symlink_to(installed_models())
    secret = Home(path, "").witness("prepare")["secret"]
    (path / TOKEN_FILE).write_text(secret, encoding="ascii")
    return Home(path, secret)


def open_home(path: Path) -> Home:
    """Open a home that make_home() has made."""
    return Home(path, (path / TOKEN_FILE).read_text(encoding="ascii"))


def installed_models() -> Path:
    """The folder with the embedding model."""
    folder = Path(os.environ.get("LOCI_TEST_MODELS") or REPOSITORY / ".loci-test" / "models").absolute()
    if not any(folder.glob("*/model.json")):
        raise ProofError(f"No embedding model in {folder.name}. Run: manage.py model install --dest {folder}")
    return folder


def environment(home: Path) -> dict[str, str]:
    """This process's environment, with `home` as the only setting of Loci."""
    foreign = ("DATABASE_URL", "DATABASE_REPLICA_URL", "REDIS_URL")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in foreign and (not name.startswith("LOCI_") or name in KEPT_SETTINGS)
    }
    own = {"LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings", "NO_PROXY": "127.0.0.1"}
    own["LOCI_CLOCK_AHEAD"] = "1"  # cycles of weeks to come run for real
    # What a killed process printed must be out.
    return kept | own | {"LOCI_LOG_LEVEL": "INFO", "PYTHONUNBUFFERED": "1"} | own_variables(home)


def own_variables(home: Path) -> dict[str, str]:
    """What a home's processes get beside LOCI_HOME."""
    file = home / VARIABLES_FILE
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def run(command: Sequence[str], home: Path, *, sent: str | None = None) -> str:
    """Run a command in a home to its end; what it printed. Raises ProofError with its last words."""
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment(home),
        input=sent,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode != 0 or "is locked" in done.stderr:  # nothing may ever be told of a lock
        words = "\n".join(done.stderr.splitlines()[-20:])
        raise ProofError(f"{' '.join(command[1:4])} ended with {done.returncode}:\n{words}")
    return done.stdout
