"""Filled databases cached for the next evaluation: a set is stored again only if something about it has changed."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from django.db import connections
from django.db.migrations.loader import MigrationLoader

from bench.evaluate.question_files import CORPUS_RULES
from bench.evaluate.scratch_database import scratch_database, use_database
from storage.encryption import database_key
from storage.locks import take_lock
from storage.sqlite.dialect import FileInUse, database_files, exclusive_access

# What decides whether and how a text is stored: a changed rule is not measured on what the former one let in.
CODE = tuple(
    Path(__file__).parents[2] / name for name in ("access", "guard", "memories", "sources", "storage")
)


def fingerprint(corpus: Path, model: str) -> str:
    """Hash of what a cached database depends on: texts, model, migrations, code with its SQL, and the encryption's key."""
    digest = sha256(f"{model} {CORPUS_RULES}".encode())
    if (key := database_key()) is not None:
        digest.update(key.id)
    digest.update(corpus.read_bytes())
    loader = MigrationLoader(None)
    digest.update(repr(sorted(loader.disk_migrations)).encode())
    for folder in CODE:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def cached_database(folder: Path, name: str, mark: str, fill: Callable[[], object]) -> Iterator[Path]:
    """Use the cached database with this name and mark during the block; `fill` fills it if it does not exist yet.

    One process fills it while others wait. It gets its name when it is whole, so neither a failed fill nor a killed
    process leaves half of it. Databases of the same name with another mark are deleted unless another process uses them.
    """
    path = folder / f"{name}-{mark}.db"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / f"{name}.lock").open("w") as lock:
        take_lock(lock.fileno(), wait_s=math.inf)
        if not path.exists():
            part = folder / f"{name}.part"
            part.unlink(missing_ok=True)
            with scratch_database():
                fill()
                with connections["default"].cursor() as cursor:
                    cursor.execute("VACUUM INTO %s", [str(part)])
            part.chmod(0o600)
            part.replace(path)
            for old in {*folder.glob(f"{name}-*.db")} - {path}:
                with suppress(FileInUse), exclusive_access(old):
                    for file in database_files(old):
                        file.unlink(missing_ok=True)
        with use_database(path):
            connections["default"].ensure_connection()  # marks it as in use before the lock is released
            lock.close()
            yield path
