"""Whether this process can still write: it records how its writes end, and makes one of its own if there were none.

With a full disk or a read-only file every read still succeeds, so nothing else would notice.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, DataError, IntegrityError, ProgrammingError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from maintenance.models import JobLock

PROBE_EVERY_S = 10.0
# A write that waits longer than this counts as failed, though it may still succeed.
WRITE_WAIT_S = 3.0
PROBE = "health"
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
# Errors of a single statement, which say nothing about the database.
STATEMENT_ERRORS = (IntegrityError, DataError, ProgrammingError)


@dataclass(frozen=True)
class LastWrite:
    """The last write: when it ended (monotonic seconds), and the name of its error if it failed."""

    at: float
    error: str = ""


class WriteWatch:
    """The last write of this process, shared by its threads."""

    def __init__(self) -> None:
        self.last: LastWrite | None = None
        self._probing = threading.Lock()
        self._probing_since = 0.0

    def watch(self, *, connection: BaseDatabaseWrapper, **_: Any) -> None:
        """Watch a new connection; a receiver of Django's connection_created."""
        if self._follow not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._follow)

    def probe(self) -> LastWrite:
        """The last write; makes a new one if it failed or is older than PROBE_EVERY_S.

        One caller at a time waits for the database; the others get the known result at once.
        """
        if not self._probing.acquire(blocking=False):
            return self._known_so_far()
        try:
            self._probing_since = time.monotonic()
            last = self.last
            if last is not None and not last.error and time.monotonic() - last.at < PROBE_EVERY_S:
                return last
            try:
                write_probe()
            except DatabaseError as error:  # a COMMIT fails outside the watched statements
                self._note(type(error).__name__)
            else:
                self._note("")
            return self.last or LastWrite(time.monotonic())
        finally:
            self._probing.release()

    def _known_so_far(self) -> LastWrite:
        if time.monotonic() - self._probing_since > WRITE_WAIT_S:
            return LastWrite(self._probing_since, f"a write has waited for more than {WRITE_WAIT_S:g} s")
        return self.last or LastWrite(time.monotonic())

    def _follow(
        self, execute: Callable[..., Any], sql: object, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        if not str(sql).startswith(WRITES):
            return execute(sql, params, many, context)
        try:
            result = execute(sql, params, many, context)
        except STATEMENT_ERRORS:
            raise
        except DatabaseError as error:
            self._note(type(error).__name__)
            raise
        self._note("")
        return result

    def _note(self, error: str) -> None:
        self.last = LastWrite(time.monotonic(), error)


def write_probe() -> None:
    """Write one row in a short transaction."""
    now = timezone.now()
    with transaction.atomic():
        JobLock.objects.update_or_create(name=PROBE, defaults={"last_finished": now})


WATCH = WriteWatch()
