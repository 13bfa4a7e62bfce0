"""PostgreSQL's own programs: pg_dump writes a database to a file, pg_restore reads it into an empty one."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from django.db import connection
from psycopg import sql

from access.errors import Unavailable

# Only the owner of an extension may comment on it, and a dump repeats its comment; Loci's tables have none.
_NO_COMMENTS: Final = "--no-comments"
# Parameters of Django's connection that libpq does not know.
_DJANGO_OWN: Final = frozenset({"prepare_threshold", "cursor_factory", "context", "server_side_binding"})
_SERVER_DATABASE: Final = "postgres"  # which every server has, to rename others from
_VERSION = re.compile(r"(\d+)(?:\.\d+)*")


def check_tools() -> None:
    """Raise Unavailable if the programs are missing or older than the server."""
    for program in ("pg_dump", "pg_restore"):
        path = shutil.which(program)
        wanted: int = connection.pg_version // 10000  # type: ignore[attr-defined]
        if path is None:
            raise Unavailable(
                f"There is no {program} here, which backups on PostgreSQL need.",
                hint=f"Install PostgreSQL's client programs, version {wanted} or newer, on this machine.",
            )
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
        found = _VERSION.search(told)
        if found is not None and int(found[1]) < wanted:
            raise Unavailable(
                f"{program} is of version {found[0]}, older than the server ({wanted}).",
                hint=f"Install PostgreSQL's client programs, version {wanted} or newer, on this machine.",
            )


def dump(database: str, target: Path, *, snapshot: str = "") -> None:
    """Write a database, as of an exported snapshot or now, to a file. Not compressed: the archive does that."""
    chosen = [f"--snapshot={snapshot}"] if snapshot else []
    _run_tool("pg_dump", database, "--format=custom", "--compress=0", *chosen, f"--file={target}")
    target.chmod(0o600)


def load(source: Path, database: str) -> None:
    """Read a dump into an empty database; the first error ends it."""
    _run_tool("pg_restore", database, "--exit-on-error", str(source))


def _run_tool(program: str, database: str, *options: str) -> None:
    """Run a program connected to the database; Unavailable with what it said if it fails."""
    params = libpq_params(database)
    password = params.pop("password", None)
    environment = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    path = shutil.which(program) or program
    address = psycopg.conninfo.make_conninfo("", **params)
    command = [path, f"--dbname={address}", "--no-owner", "--no-privileges", _NO_COMMENTS, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Unavailable(f"{program} failed: {lines[0]}.", hint="Nothing was changed.")


def libpq_params(database: str) -> dict[str, Any]:
    """The store's connection parameters, for another database of its server."""
    params: dict[str, Any] = connection.get_connection_params()
    return {name: value for name, value in params.items() if name not in _DJANGO_OWN} | {"dbname": database}


@contextmanager
def server() -> Iterator[psycopg.Connection[Any]]:
    """A connection to the server, outside of any store and transaction."""
    with psycopg.connect("", **libpq_params(_SERVER_DATABASE), autocommit=True) as found:
        yield found


def create_database(name: str) -> None:
    """Make an empty database that can have the extension `vector`; Unavailable if the role may not.

    From template0: what was added to template1 would collide with the dump. pgvector is not a trusted extension, so a
    role that is not an administrator gets it with template1.
    """
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    for template in ("template0", "template1"):
        try:
            with server() as found:
                found.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise Unavailable(
                "The role of DATABASE_URL may not create databases, and a backup is verified in one.",
                hint="Run as the server's administrator: ALTER ROLE name CREATEDB.",
            ) from error
        if _can_have_vectors(name):
            return
        drop_databases([name])
    raise Unavailable(
        "The role of DATABASE_URL may not create the extension vector, which the database of a backup needs.",
        hint="Run as the server's administrator: psql template1 -c 'CREATE EXTENSION vector'.",
    )


def _can_have_vectors(database: str) -> bool:
    """True if the database has the extension `vector`, or the role may make it there; nothing is made."""
    try:
        with psycopg.connect("", **libpq_params(database)) as found:
            found.execute("CREATE EXTENSION IF NOT EXISTS vector")
            found.rollback()  # the dump says in which schema
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def drop_databases(names: Iterable[str]) -> None:
    """Drop databases, also while there are connections to them."""
    with server() as found:
        for name in names:
            found.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
