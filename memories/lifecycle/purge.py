"""Destroying a memory and everything that was made from its text, with a certificate of what was looked at."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.models import AuditPayload
from memories.language.cleaning import first_words, fold
from memories.models import Checkpoint, Link, Memory, Piece, RecallLog, Tombstone, TombstoneKind
from memories.queries.by_text import single_version_copies
from memories.queries.versions import versions_of
from memories.recall.recall_log import COUNTER
from memories.search.schema import begin_purge, end_purge
from memories.store.derived import DerivedChanges, WithdrawalReach, find_reach, withdraw_derived
from memories.store.purge_hooks import PurgedTexts, clear_outside, note_outside, quoting, run_purge_hooks
from memories.store.search_columns import NEIGHBOUR_WORDS
from memories.store.threads import refresh_threads
from memories.store.tombstones import lay_tombstone
from memories.types import State

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
    checked: tuple[str, ...] = ()  # copies beside the database, such as backups


@dataclass(frozen=True)
class PurgeResult:
    """A purge's certificate, and what followed for memories that rested on what is gone."""

    certificate: Certificate
    followed: DerivedChanges


def purge_rows(actor: Actor, memory: Memory, *, reason: str) -> PurgeResult:
    """Destroy all versions of a memory, what was made from their texts, and what holds them; one transaction.

    The audit rows stay, without what they said; a tombstone per text of its own keeps it from coming back.
    """
    # Recalls that wait to be logged may hold the text. Where they cannot be written they are dropped, which does it too.
    with suppress(DatabaseError):
        COUNTER.flush()
    # Folding the whole log takes seconds, so it is done before the write lock; what comes in later is folded under it.
    logged = _quoting_recalls([row.content for row in what_goes(memory).rows])
    begin_purge(connection)
    with transaction.atomic():
        doomed = what_goes(memory)
        chain = doomed.rows
        _check_rights(actor, chain)
        followed = withdraw_derived(actor, doomed.reach, is_purge=True)
        certificate = _destroy(actor, doomed, reason=reason, logged=logged)
        note_outside()
    ids, texts = frozenset(certificate.ids), tuple(dict.fromkeys(row.content for row in chain))
    remains = _leftovers(texts)
    if connection.in_atomic_block:
        # By then; the caller's transaction holds the pages until its end.
        transaction.on_commit(lambda: end_purge(connection))
        transaction.on_commit(lambda: clear_outside(ids, texts))
        return PurgeResult(replace(certificate, remains=remains), followed)
    held = () if end_purge(connection) else (WAL_IS_HELD,)
    outside = clear_outside(ids, texts)
    remains = (*held, *remains, *outside.remains)
    return PurgeResult(replace(certificate, remains=remains, checked=outside.checked), followed)


def purge_from_copy(actor: Actor, ids: Iterable[UUID], texts: tuple[str, ...] = (), *, reason: str) -> int:
    """Do in a copy of the store that is open now, such as a backup, what purges did in the store; give the rows.

    What was made from the memories in the copy goes with them, and what quotes `texts`. One transaction.
    """
    begin_purge(connection)
    gone = 0
    with transaction.atomic():
        for id_ in ids:
            memory = Memory.objects.filter(id=id_).select_related("group", "thread").first()
            if memory is not None:  # else it is not in this copy, or went with another one
                doomed = what_goes(memory)
                withdraw_derived(actor, doomed.reach, is_purge=True)
                gone += _destroy(actor, doomed, reason=reason, logged=LoggedRecalls((), 0)).memories
        if texts:
            gone += _purge_recall_log(_quoting_recalls(list(texts)))
            gone += sum(run_purge_hooks(PurgedTexts((), texts)).values())
    return gone


@dataclass(frozen=True)
class PurgeTargets:
    """What a purge destroys: a memory with its wordings, and what was made from their texts."""

    own: tuple[Memory, ...]
    reach: WithdrawalReach

    @property
    def rows(self) -> list[Memory]:
        """All rows, each once."""
        return list({row.key: row for row in (*self.own, *self.reach.doomed())}.values())


def what_goes(memory: Memory) -> PurgeTargets:
    """Give what a purge of the memory would destroy; writes nothing."""
    own = _with_wordings([*versions_of(memory), *single_version_copies(memory)])
    return PurgeTargets(tuple(own), find_reach(memory, own))


def purge_forgotten(
    actor: Actor, memories: Sequence[Memory], *, reason: str, at_once: int = 10
) -> list[Certificate]:
    """Destroy memories that nobody may restore any more, all their versions and what holds their texts.

    `at_once` of them in one transaction; the log of recalls is searched once, before. Nobody asked for it, so no
    tombstone bars their texts and backups are left to their rotation. The caller has made sure that nothing which counts
    was made from them, has called begin_purge(), and empties the WAL at its end.
    """
    rows = _with_wordings([version for memory in memories for version in versions_of(memory)])
    logged = _quoting_recalls([row.content for row in rows])
    parts = (memories[at : at + at_once] for at in range(0, len(memories), at_once))
    return [_purge_some(actor, part, reason=reason, logged=logged) for part in parts]


def _purge_some(
    actor: Actor, memories: Sequence[Memory], *, reason: str, logged: "LoggedRecalls"
) -> Certificate:
    with transaction.atomic():
        # Again, under the lock: somebody may have restored one meanwhile.
        still = Memory.objects.filter(key__in=[memory.key for memory in memories], state=State.FORGOTTEN)
        rows = _with_wordings([version for memory in still for version in versions_of(memory)])
        _check_rights(actor, rows)
        doomed = PurgeTargets(tuple(rows), WithdrawalReach(memories[0]))
        return _destroy(actor, doomed, reason=reason, logged=logged, bars=False)


def _destroy(
    actor: Actor, doomed: PurgeTargets, *, reason: str, logged: "LoggedRecalls", bars: bool = True
) -> Certificate:
    """Delete the rows and all that hangs on them, lay tombstones, and have other places clear their copies.

    Where not `bars`, no tombstone is laid and those that stand stay as they are.
    """
    chain = doomed.rows
    ids, keys = [row.id for row in chain], [row.key for row in chain]
    texts = tuple(dict.fromkeys(row.content for row in chain))
    for row in (
        doomed.own if bars else ()
    ):  # a summary holds other memories' texts as well: none is barred by it
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
    cleared = run_purge_hooks(PurgedTexts(tuple(keys), texts))
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
class LoggedRecalls:
    """Keys of logged recalls that quote a text, and the last key that was looked at."""

    keys: tuple[int, ...]
    last: int


def _quoting_recalls(texts: list[str], *, after: int = 0) -> LoggedRecalls:
    """Find logged queries that hold one of the texts, however it is spelt, among the rows after a key."""
    wanted, found, last = [fold(text) for text in texts], list[int](), after
    rows = RecallLog.objects.filter(pk__gt=after).order_by("pk").values_list("pk", "query")
    for key, query in rows.iterator(chunk_size=2000):
        last = key
        folded = fold(query)
        if any(text in folded for text in wanted):
            found.append(key)
    return LoggedRecalls(tuple(found), last)


def _purge_recall_log(*parts: LoggedRecalls) -> int:
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
