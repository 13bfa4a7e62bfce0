"""Destroying a memory and everything that was made from its text, with a certificate of what was looked at."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.errors import NotPermitted
from access.models import AuditPayload
from memories.chains import versions_of
from memories.context import NEIGHBOUR_WORDS
from memories.index.schema import begin_purge, end_purge
from memories.models import Checkpoint, Link, Memory, Piece, RecallLog, Tombstone, TombstoneKind
from memories.placing import refresh_threads
from memories.purge_hooks import Doomed, quoting, run_purge_hooks
from memories.recall.counting import COUNTER
from memories.text import first_words, fold
from memories.tombstones import lay_tombstone
from memories.types import Operation, State

ROWS_AT_ONCE = 500
WAL_IS_HELD = (
    "the write-ahead log still holds earlier pages, because a reader keeps it open: "
    "end what reads the database (or restart Loci) and the text is gone from the files too"
)


@dataclass(frozen=True)
class Certificate:
    """What a purge destroyed and checked; counts of rows.

    `cleared` counts what other places blotted out. `remains` says in words where the text may still stand: nothing
    is certified of what it names.
    """

    at: datetime
    ids: tuple[UUID, ...]
    memories: int
    pieces: int
    links: int
    log_payloads: int
    recall_logs: int
    cleared: dict[str, int] = field(default_factory=dict)
    remains: tuple[str, ...] = ()


def purge_rows(actor: Actor, memory: Memory, *, reason: str) -> Certificate:
    """Destroy all versions of a memory and what holds their text; one transaction.

    The audit rows stay, without what they said; a tombstone per text keeps it from coming back.
    """
    # Recalls that wait to be logged may hold the text. Where they cannot be written they are dropped, which does it too.
    with suppress(DatabaseError):
        COUNTER.flush()
    # Folding the whole log takes seconds, so it is done before the write lock; what comes in later is folded under it.
    logged = _quoting_recalls([row.content for row in _with_wordings(versions_of(memory))])
    begin_purge(connection)
    with transaction.atomic():
        chain = _with_wordings(versions_of(memory))
        _check_rights(actor, chain)
        certificate = _destroy(actor, chain, reason=reason, logged=logged)
    if connection.in_atomic_block:
        transaction.on_commit(lambda: end_purge(connection))
        is_file_cleared = True  # by then; the caller's transaction holds the pages until its end
    else:
        is_file_cleared = end_purge(connection)
    remains = _leftovers(tuple(row.content for row in chain))
    return replace(certificate, remains=remains if is_file_cleared else (WAL_IS_HELD, *remains))


def _destroy(actor: Actor, chain: list[Memory], *, reason: str, logged: "Logged") -> Certificate:
    """Delete the rows and all that hangs on them, lay tombstones, and have other places clear their copies."""
    ids, keys = [row.id for row in chain], [row.key for row in chain]
    texts = tuple(dict.fromkeys(row.content for row in chain))
    for row in chain:
        mark = lay_tombstone(actor, row, kind=TombstoneKind.PURGED, reason=reason)
        # One that a retraction left may quote the text in its reason.
        Tombstone.objects.filter(pk=mark.pk).update(kind=TombstoneKind.PURGED, reason=reason)
    payloads, _ = AuditPayload.objects.filter(entry__memory_id__in=ids).delete()
    recalls = _purge_recall_log(logged, _quoting_recalls(list(texts), after=logged.last))
    links = Link.objects.filter(Q(source__in=keys) | Q(target__in=keys)).count()
    pieces = Piece.objects.filter(memory__in=keys).count()
    Memory.objects.filter(key__in=keys).update(superseded_by=None)
    # Versions point to their root, which may not go first.
    Memory.objects.filter(key__in=keys, root__isnull=False).delete()
    Memory.objects.filter(key__in=keys).delete()
    # In any state: a forgotten turn keeps its neighbours' words too.
    refresh_threads(sorted({row.thread_id for row in chain if row.thread_id is not None}))
    cleared = run_purge_hooks(Doomed(tuple(keys), texts))
    for row in chain:
        audit.append(actor, Operation.PURGE, memory_id=row.id, group=row.group.id, payload={"reason": reason})
    return Certificate(
        timezone.now(), tuple(ids), len(ids), pieces, links, payloads, recalls, cleared=cleared
    )


def _check_rights(actor: Actor, chain: list[Memory]) -> None:
    """Raise NotPermitted where a version stands in a group that the actor may not curate."""
    for row in chain:
        if not actor.may(CURATE, row.group_id):
            raise NotPermitted(
                "Part of this memory stands in a group that you may not curate.", hint="Ask a curator there."
            )


def _with_wordings(chain: list[Memory]) -> list[Memory]:
    """Add what went into any version, with its own versions: other wordings, and chains that it took the place of."""
    found = {row.key: row for row in chain}
    fresh = list(found)
    while fresh:
        roots = {found[key].root_key for key in fresh}
        went_in = Q(superseded_by__in=fresh, state__in=[State.MERGED, State.SUPERSEDED])
        rows = Memory.objects.filter(went_in | Q(root__in=roots) | Q(key__in=roots)).select_related(
            "group", "thread"
        )
        fresh = [row.key for row in rows if row.key not in found]
        found |= {row.key: row for row in rows if row.key in fresh}
    return list(found.values())


@dataclass(frozen=True)
class Logged:
    """Keys of logged recalls that quote a text, and the last key that was looked at."""

    keys: tuple[int, ...]
    last: int


def _quoting_recalls(texts: list[str], *, after: int = 0) -> Logged:
    """Find logged queries that hold one of the texts, however it is spelt, among the rows after a key."""
    wanted, found, last = [fold(text) for text in texts], list[int](), after
    rows = RecallLog.objects.filter(pk__gt=after).order_by("pk").values_list("pk", "query")
    for key, query in rows.iterator(chunk_size=2000):
        last = key
        folded = fold(query)
        if any(text in folded for text in wanted):
            found.append(key)
    return Logged(tuple(found), last)


def _purge_recall_log(*parts: Logged) -> int:
    """Drop logged recalls, some at a time: a database takes a limited number of parameters."""
    keys = [key for part in parts for key in part.keys]
    return sum(
        RecallLog.objects.filter(pk__in=keys[at : at + ROWS_AT_ONCE]).delete()[0]
        for at in range(0, len(keys), ROWS_AT_ONCE)
    )


def _leftovers(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Say in which columns one of the texts still stands, letter by letter, and in how many rows."""
    starts = tuple(first_words(text, NEIGHBOUR_WORDS) for text in texts)
    found = {
        "other memories quote it": quoting(Memory.objects.all(), "content", texts),
        "contexts hold it": quoting(Memory.objects.all(), "context", starts),
        "other memories' metadata hold it": quoting(Memory.objects.all(), "metadata", texts),
        "logged queries hold it": quoting(RecallLog.objects.all(), "query", texts),
        "rows of the audit log quote it": quoting(AuditPayload.objects.all(), "payload", texts),
        "checkpoints hold it": quoting(Checkpoint.objects.all(), "state", texts),
    }
    counts = ((said, rows.count()) for said, rows in found.items())
    return tuple(f"{count} {said}" for said, count in counts if count)
