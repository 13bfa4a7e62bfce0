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
from storage.faults import find_storage_fault

_PROBE_EVERY_S = 10.0
# A write that waits longer than this counts as failed, though it may still succeed.
WRITE_WAIT_S = 3.0
PROBE = "health"
# After a failure: on a disk that is nearly full a small row is written where a memory is not.
_PROBE_CHARS = 512 * 1024
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
# Errors of a single statement, which say nothing about the database.
_STATEMENT_ERRORS = (IntegrityError, DataError, ProgrammingError)


@dataclass(frozen=True)
class LastWrite:
    """The last write: when it ended (monotonic seconds), and why it failed, if it did."""

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
            if last is not None and not last.error and time.monotonic() - last.at < _PROBE_EVERY_S:
                return last
            try:
                write_probe(_PROBE_CHARS if last is not None and last.error else 0)
            except DatabaseError as error:
                self.note_failure(error)
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
        except _STATEMENT_ERRORS:
            raise
        except DatabaseError as error:
            self.note_failure(error)
            raise
        # After a failure only a probe says that all is well: its COMMIT worked, and it was as large as a memory.
        if self.last is None or not self.last.error:
            self._note("")
        return result

    def note_failure(self, error: Exception) -> None:
        """Remember that a statement or a COMMIT failed."""
        self._note(find_storage_fault(error) or type(error).__name__)

    def _note(self, error: str) -> None:
        self.last = LastWrite(time.monotonic(), error)


def write_probe(chars: int = 0) -> None:
    """Write one row in a short transaction, and make sure that so many characters find room on the disk."""
    now = timezone.now()
    with transaction.atomic():
        filled = {"last_finished": now, "last_error": "0" * chars}
        JobLock.objects.update_or_create(name=PROBE, defaults=filled)
        if chars:
            JobLock.objects.filter(name=PROBE).update(last_error="")


WATCH = WriteWatch()
