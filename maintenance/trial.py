"""Trying something out on a copy of the store: a dry run does what the real one would, and nothing of it stays."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

PAGES_AT_ONCE = 2_000  # 8 MB; writers get their turn in between
PAUSE_S = 0.005
STALE_S = 3_600  # a copy this old was left by a process that was killed
PREFIX = ".trial-"
T = TypeVar("T")


def tried(work: Callable[[], T]) -> T:
    """Give what `work` answers when it runs on a copy of the database as it is now.

    On SQLite the copy is a file in LOCI_HOME, made while others read and write, and `work` runs in a thread of its own
    whose connection leads there. Elsewhere `work` runs in a transaction that is rolled back.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            answer = work()
            transaction.set_rollback(True)
        return answer
    home = Path(settings.LOCI.home)
    _remove_stale(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home) as folder:
        return _in_thread(lambda: _on_copy(work, Path(folder) / "memory.db"))


def _remove_stale(home: Path) -> None:
    for folder in home.glob(f"{PREFIX}*"):
        if time.time() - folder.stat().st_mtime > STALE_S:
            shutil.rmtree(folder, ignore_errors=True)


def _on_copy(work: Callable[[], T], path: Path) -> T:
    real = connections["default"]
    real.ensure_connection()
    copy = type(real)({**real.settings_dict, "NAME": str(path)}, "default")
    try:
        _fill(copy, real)
        connections["default"] = copy
        return work()
    finally:
        copy.close()
        real.close()


def _fill(copy: BaseDatabaseWrapper, real: BaseDatabaseWrapper) -> None:
    copy.ensure_connection()
    source: Any = real.connection
    source.backup(copy.connection, pages=PAGES_AT_ONCE, sleep=PAUSE_S)


def _in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread, whose connections are its own; raise here what it raises there."""
    answers: list[T] = []
    faults: list[BaseException] = []

    def body() -> None:
        try:
            answers.append(work())
        except BaseException as fault:  # raised again below
            faults.append(fault)
        finally:
            connections.close_all()

    thread = threading.Thread(target=body, name="loci-trial")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return answers[0]
