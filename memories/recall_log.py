"""The recall log and access counters: buffered in the process after the answer and written in batches.

A recall never waits for the write lock. A killed process loses what it had not written; that is accepted.
"""

import logging
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)
from django.db.models import F, TextField, Value
from django.db.models.functions import Coalesce, Greatest

from access.groups.guarding import mask_words
from access.models import Group
from access.tokens import PENDING_TOKEN_USES, TOKEN_USE_HOOKS, flush_token_use
from memories.models import Memory, RecallLog
from memories.store.withdrawn.tombstones import purged_texts
from storage.bulk import ManyInsert
from storage.compiled_queries import CompiledUpdate

log = logging.getLogger(__name__)
_LOG = ManyInsert(RecallLog)


def _latest_access(at: str) -> Greatest:
    """The later of `at` and the row's last access, which another process may have written."""
    moment = Value(at, output_field=TextField())
    return Greatest(Coalesce("last_accessed", moment, output_field=TextField()), moment)


# One update per recalled memory: compiling each again took an eighth of a busy server's time.
_ACCESSED = CompiledUpdate(
    lambda count, at, key: (
        Memory.objects.filter(key=key),
        {"access_count": F("access_count") + count, "last_accessed": _latest_access(at)},
    ),
    3,
)
_MAX_PENDING = 500  # recalls in the buffer; older ones are dropped, never the answer


@dataclass(frozen=True)
class PendingRecall:
    """A recall that is not written yet."""

    at: datetime
    group_key: int | None
    actor: str
    via: str
    mode: str
    query: str
    hits: tuple[tuple[int, float], ...]
    duration_ms: float
    abstained: bool
    degraded: bool
    user_key: int | None = None


class RecallCounter:
    """The process's buffer of recalls to be written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[PendingRecall] = []
        self._timer: threading.Timer | None = None

    def add(self, recall: PendingRecall) -> None:
        """Buffer a recall; it is written within retrieval.access_flush_s seconds."""
        with self._lock:
            self._pending = [*self._pending[-_MAX_PENDING + 1 :], recall]
            self._start_timer()

    def schedule(self) -> None:
        """Flush within retrieval.access_flush_s seconds, even if only a token's last use is pending."""
        with self._lock:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is None and settings.LOCI.retrieval.access_flush_s > 0:
            self._timer = threading.Timer(settings.LOCI.retrieval.access_flush_s, self._flush_in_thread)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> int:
        """Write pending recalls and the tokens' last use in one transaction; returns the number of recalls.

        After a failure of the connection, such as a lock that was not free in time, they are pending again.
        """
        with self._lock:
            pending, self._pending, self._timer = self._pending, [], None
        if pending or PENDING_TOKEN_USES:
            uses = dict(PENDING_TOKEN_USES)
            try:
                with transaction.atomic():
                    write_recalls(pending)
                    flush_token_use()
            except (OperationalError, InterfaceError):
                for token, at in uses.items():
                    PENDING_TOKEN_USES.setdefault(token, at)
                with self._lock:
                    self._pending = [*pending, *self._pending][-_MAX_PENDING:]
                    self._start_timer()
                raise
        return len(pending)

    def _flush_in_thread(self) -> None:
        try:
            self.flush()
        except DatabaseError:
            log.exception("recall counters could not be written")
        finally:
            close_old_connections()
            connection.close()


COUNTER = RecallCounter()
TOKEN_USE_HOOKS.append(COUNTER.schedule)


def write_recalls(recalls: Sequence[PendingRecall]) -> None:
    """Write log rows and add to the memories' access counters; recalls of text purged since are dropped."""
    recalls = without_purged(recalls)
    groups = Group.objects.in_bulk({recall.group_key for recall in recalls if recall.group_key is not None})
    _LOG.add(
        [
            RecallLog(
                at=recall.at,
                group_id=recall.group_key,
                actor=recall.actor,
                via=recall.via,
                mode=recall.mode,
                query=mask_words(recall.query, group=groups.get(recall.group_key)),
                hits=pack_hits(recall.hits),
                duration_ms=recall.duration_ms,
                abstained=recall.abstained,
                degraded=recall.degraded,
            )
            for recall in recalls
        ]
    )
    counts: dict[int, int] = {}
    latest: dict[int, datetime] = {}
    for recall in recalls:
        for key, _ in recall.hits:
            counts[key] = counts.get(key, 0) + 1
            latest[key] = max(recall.at, latest.get(key, recall.at))
    to_column = connection.ops.adapt_datetimefield_value
    _ACCESSED.run_each([(count, str(to_column(latest[key])), key) for key, count in counts.items()])


def without_purged(recalls: Sequence[PendingRecall]) -> list[PendingRecall]:
    """The recalls without those of a memory that no longer exists, of a closed account, or with a purged text as query.

    A purge or the erasure of a person clears the log, but another process may flush its buffer later.
    """
    keys = {key for recall in recalls for key, _ in recall.hits}
    existing = set(Memory.objects.filter(key__in=keys).values_list("key", flat=True))
    purged = purged_texts({recall.query for recall in recalls})
    askers = {recall.user_key for recall in recalls if recall.user_key is not None}
    people = {None, *User.objects.filter(pk__in=askers, is_active=True).values_list("pk", flat=True)}
    return [
        r for r in recalls
        if r.query not in purged and r.user_key in people and existing.issuperset(key for key, _ in r.hits)
    ]  # fmt: skip


def pack_hits(hits: Sequence[tuple[int, float]]) -> bytes:
    """Pack (memory key, score) pairs, 12 bytes each, little-endian."""
    return b"".join(struct.pack("<qf", key, score) for key, score in hits)


def unpack_hits(blob: bytes) -> list[tuple[int, float]]:
    """The (memory key, score) pairs that pack_hits() packed."""
    return [(key, score) for key, score in struct.iter_unpack("<qf", bytes(blob))]
