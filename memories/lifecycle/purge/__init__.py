"""Purging: destroy a memory and everything made from its text, and certify what was destroyed and checked."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.groups.locks import hold_groups
from access.models import AuditEntry, AuditPayload, Group, SavedFilter
from memories.language.cleaning import first_words, fold
from memories.models import (
    Checkpoint,
    Doubt,
    Link,
    Memory,
    Piece,
    RecallLog,
    Thread,
    Tombstone,
    TombstoneKind,
)
from memories.queries.by_text import single_version_copies
from memories.queries.coming import read_plan
from memories.queries.versions import head_of, versions_of
from memories.recall.recall_log import COUNTER, unpack_hits
from memories.search.schema import begin_purge, end_purge
from memories.store import call_off_plan
from memories.store.derived import DerivedChanges, WithdrawalReach, find_reach, withdraw_derived
from memories.store.purge_hooks import (
    REDACTION,
    PurgedTexts,
    clear_outside_copies,
    note_outside_copies,
    redact,
    rows_quoting,
    run_purge_hooks,
)
from memories.store.search_columns import NEIGHBOUR_WORDS
from memories.store.threads import refresh_threads
from memories.store.withdrawn.tombstones import lay_tombstone
from memories.types import State
from storage.dialect import dialect

ROWS_AT_ONCE = 500
MAX_NAMED = 5  # rows named in a line of what remains
WAL_IS_HELD = (
    "the write-ahead log still holds earlier pages, because a reader keeps it open: "
    "end what reads the database (or restart Loci) and the text is gone from the files too"
)


@dataclass(frozen=True)
class Certificate:
    """What a purge destroyed and checked; counts of rows.

    `recall_logs` were deleted because their questions quote the text; the questions of `recalls_blanked`, which found the
    memory, were blanked. `cleared` counts the rows that the purge hooks cleared. `remains` names the places where the
    text may still be: nothing is certified about them. `checked` names copies beside the database, such as backups.
    `scan` of the files for whole sentences is "done", "left out", or pending until the caller's transaction commits.
    """

    at: datetime
    ids: tuple[UUID, ...]
    memories: int
    pieces: int
    links: int
    log_payloads: int
    recall_logs: int
    recalls_blanked: int = 0
    cleared: dict[str, int] = field(default_factory=dict)
    remains: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    scan: str = "pending"


@dataclass(frozen=True)
class PurgeResult:
    """A purge's certificate, and the changes of memories that were derived from what is gone."""

    certificate: Certificate
    followed: DerivedChanges


def purge_rows(
    actor: Actor,
    memories: Sequence[Memory],
    *,
    reason: str,
    follow: Callable[[], object] | None = None,
) -> PurgeResult:
    """Destroy all versions of memories of one group, what was made from their texts, and all copies; one transaction.

    The audit rows stay without their payloads; a tombstone for each of their own texts keeps the text from coming back.
    `follow` runs last inside the transaction.
    """
    # Recalls that wait to be logged may hold the text. If they cannot be written, they are dropped: that clears them too.
    with suppress(DatabaseError):
        COUNTER.flush()
    # Folding the whole log takes seconds, so do it before the write lock; later rows are folded under the lock.
    logged = find_logged_recalls(find_purge_targets(*memories).rows)
    begin_purge(connection)
    with transaction.atomic():
        hold_groups([memories[0].group_id])
        doomed = find_purge_targets(*memories)
        chain = doomed.rows
        check_purge_rights(actor, chain)
        followed = withdraw_derived(actor, doomed.reach, is_purge=True)
        certificate = destroy(actor, doomed, reason=reason, logged=logged)
        if follow is not None:
            follow()
        notes = note_outside_copies()
    ids, texts = frozenset(certificate.ids), tuple(dict.fromkeys(row.content for row in chain))
    remains = (*find_remains(actor, texts), *dialect().purge_leaves)
    if connection.in_atomic_block:
        # `remains` is as of now; the caller's transaction holds the pages until its end.
        transaction.on_commit(lambda: end_purge(connection))
        transaction.on_commit(lambda: clear_outside_copies(ids, texts, notes))
        return PurgeResult(replace(certificate, remains=remains), followed)
    held = () if end_purge(connection) else (WAL_IS_HELD,)
    outside = clear_outside_copies(ids, texts, notes)
    remains = (*held, *remains, *outside.remains)
    return PurgeResult(
        replace(certificate, remains=remains, checked=outside.checked, scan=outside.scan), followed
    )


def purge_from_copy(actor: Actor, ids: Iterable[UUID], texts: tuple[str, ...] = (), *, reason: str) -> int:
    """Repeat purges in the open copy of the store, such as a backup; return the number of destroyed rows.

    Memories derived from the purged ones and logged recalls that quote `texts` go too. One transaction.
    """
    begin_purge(connection)
    gone = 0
    with transaction.atomic():
        for id_ in ids:
            memory = Memory.objects.filter(id=id_).select_related("group", "thread").first()
            if memory is not None:  # else this copy does not have it, or it went with another one
                doomed = find_purge_targets(memory)
                withdraw_derived(actor, doomed.reach, is_purge=True)
                gone += destroy(actor, doomed, reason=reason, logged=LoggedRecalls()).memories
        if texts:
            gone += purge_recall_log(find_quoting_recalls(texts))
            gone += sum(run_purge_hooks(PurgedTexts((), texts)).values())
    return gone


@dataclass(frozen=True)
class PurgeTargets:
    """What a purge destroys: memories with their wordings, and everything made from their texts."""

    own: tuple[Memory, ...]
    reach: WithdrawalReach

    @property
    def rows(self) -> list[Memory]:
        """All rows, each once."""
        return list({row.key: row for row in (*self.own, *self.reach.doomed())}.values())


def find_purge_targets(*memories: Memory) -> PurgeTargets:
    """What a purge of the memories, at least one, would destroy; writes nothing."""
    rows = [row for each in memories for row in (*versions_to_purge(each), *single_version_copies(each))]
    own = with_wordings(rows)
    return PurgeTargets(tuple(own), find_reach(memories[0], own))


def versions_to_purge(memory: Memory) -> list[Memory]:
    """All versions of a memory; of a plan whose day has not come only the plan's own, since the others hold today."""
    head, versions = head_of(memory), versions_of(memory)
    plan = read_plan(head, timezone.now())
    others = {row.key for row in plan.replaces} | {
        row.key for row in versions if row.state == State.LIVE and row.key != head.key
    }
    holds = any(row.key in others for row in versions)
    return list(plan.rows) if holds and memory.key in {row.key for row in plan.rows} else versions


def purge_forgotten(
    actor: Actor, memories: Sequence[Memory], *, reason: str, at_once: int = 10
) -> list[Certificate]:
    """Destroy forgotten memories past their retention: all their versions and all copies of their texts.

    `at_once` of them per transaction; the recall log is searched once, before. Nobody asked for this purge, so no
    tombstone bars the texts and backups are left to their rotation. The caller has made sure that no live memory was
    made from them, has called begin_purge(), and empties the WAL afterwards.
    """
    rows = with_wordings([version for memory in memories for version in versions_of(memory)])
    logged = find_quoting_recalls([row.content for row in rows])
    batches = (memories[at : at + at_once] for at in range(0, len(memories), at_once))
    return [_purge_batch(actor, batch, reason=reason, logged=logged) for batch in batches]


def _purge_batch(
    actor: Actor, memories: Sequence[Memory], *, reason: str, logged: "LoggedRecalls"
) -> Certificate:
    with transaction.atomic():
        # Read again under the lock: somebody may have restored one meanwhile.
        still = Memory.objects.filter(key__in=[memory.key for memory in memories], state=State.FORGOTTEN)
        rows = with_wordings([version for memory in still for version in versions_of(memory)])
        check_purge_rights(actor, rows)
        doomed = PurgeTargets(tuple(rows), WithdrawalReach(memories[0]))
        return destroy(actor, doomed, reason=reason, logged=logged, bars=False)


def destroy(
    actor: Actor, doomed: PurgeTargets, *, reason: str, logged: "LoggedRecalls", bars: bool = True
) -> Certificate:
    """Delete the rows and everything attached to them, lay tombstones, and run the purge hooks; in a transaction.

    Without `bars`, no tombstone is laid or changed.
    """
    chain = doomed.rows
    ids, keys = [row.id for row in chain], [row.key for row in chain]
    for row in doomed.own:
        if row.superseded_by_id is None:
            call_off_plan(actor, row, besides=frozenset(keys))
    texts = tuple(dict.fromkeys(row.content for row in chain))
    reason = redact(reason, texts)
    # Only its own texts: a summary contains other memories' texts as well, so none is barred because of it.
    for row in doomed.own if bars else ():
        mark = lay_tombstone(actor, row, kind=TombstoneKind.PURGED, reason=reason)
        # The reason of a tombstone left by a retraction may quote the text.
        if mark is not None:
            Tombstone.objects.filter(pk=mark.pk).update(kind=TombstoneKind.PURGED, reason=reason)
    payloads, _ = AuditPayload.objects.filter(entry__memory_id__in=ids).delete()
    later = (
        find_logged_recalls(chain, after=logged.last)
        if bars
        else find_quoting_recalls(texts, after=logged.last)
    )
    recalls, blanked = purge_recall_log(logged, later), blank_questions(logged, later)
    links = Link.objects.filter(Q(source__in=keys) | Q(target__in=keys)).count()
    pieces = Piece.objects.filter(memory__in=keys).count()
    Memory.objects.filter(key__in=keys).update(superseded_by=None)
    # Versions refer to their root, so the root must go last.
    Memory.objects.filter(key__in=keys, root__isnull=False).delete()
    Memory.objects.filter(key__in=keys).delete()
    # Rows in any state: a forgotten turn keeps its neighbours' words too.
    refresh_threads(sorted({row.thread_id for row in chain if row.thread_id is not None}))
    groups = tuple({row.group_id for row in chain})
    cleared = run_purge_hooks(PurgedTexts(tuple(keys), texts, tuple(ids), groups))
    for row in chain:
        audit.append(actor, Operation.PURGE, memory_id=row.id, group=row.group.id, payload={"reason": reason})
    return Certificate(
        timezone.now(), tuple(ids), len(ids), pieces, links, payloads, recalls, blanked, cleared=cleared
    )


def check_purge_rights(actor: Actor, chain: list[Memory]) -> None:
    """Raise NotPermitted if a version belongs to a group that the actor may not curate."""
    for row in chain:
        if not actor.may(CURATE, row.group_id):
            raise NotPermitted(
                "A version of this memory belongs to a group that you may not curate.",
                hint="Ask a curator of that group.",
            )


def with_wordings(chain: list[Memory]) -> list[Memory]:
    """The rows, and all versions of whatever went into them: other wordings, and chains that they superseded."""
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
    """Keys of logged recalls whose questions quote a text, of others that found a memory, and the last key examined."""

    quoting: tuple[int, ...] = ()
    finding: tuple[int, ...] = ()
    last: int = 0


def find_logged_recalls(
    rows: Sequence[Memory], *, after: int = 0, group: Group | None = None
) -> LoggedRecalls:
    """Logged recalls whose questions quote one of the memories' texts, or that found one of them, after a key.

    A question that found a memory seldom quotes it whole, and may still hold what was to be destroyed. `group`: only recalls
    in this group.
    """
    texts, keys = [row.content for row in rows], {row.key for row in rows}
    return find_quoting_recalls(texts, keys, after=after, group=group)


def find_quoting_recalls(
    texts: Iterable[str], keys: Set[int] = frozenset(), *, after: int = 0, group: Group | None = None
) -> LoggedRecalls:
    """Logged recalls whose questions contain one of the texts, whatever its spelling, or that found one of the keys."""
    wanted, quoting, finding, last = [fold(text) for text in texts], list[int](), list[int](), after
    rows = RecallLog.objects.filter(pk__gt=after).order_by("pk")
    if group is not None:
        rows = rows.filter(group=group)
    for row, query, hits in rows.values_list("pk", "query", "hits").iterator(chunk_size=2000):
        last = row
        folded = fold(query)
        if any(text in folded for text in wanted):
            quoting.append(row)
        elif query != REDACTION and any(key in keys for key, _ in unpack_hits(bytes(hits))):
            finding.append(row)
    return LoggedRecalls(tuple(quoting), tuple(finding), last)


def purge_recall_log(*parts: LoggedRecalls) -> int:
    """Delete the logged recalls whose questions quote a text; return their number."""
    return sum(RecallLog.objects.filter(pk__in=keys).delete()[0] for keys in in_batches(parts, "quoting"))


def blank_questions(*parts: LoggedRecalls) -> int:
    """Blank the questions of the logged recalls that found a memory; return their number."""
    found = in_batches(parts, "finding")
    return sum(RecallLog.objects.filter(pk__in=keys).update(query=REDACTION) for keys in found)


def in_batches(parts: Sequence[LoggedRecalls], name: str) -> Iterator[list[int]]:
    """The keys of all parts in batches, since a database limits the number of parameters."""
    keys = [key for part in parts for key in getattr(part, name)]
    return (keys[at : at + ROWS_AT_ONCE] for at in range(0, len(keys), ROWS_AT_ONCE))


@dataclass(frozen=True)
class TextPlace:
    """A column that may contain a text: rows, and the lookups of the rows' groups and public names."""

    line: str
    rows: "QuerySet[Any]"
    column: str
    group: str = "group__id"
    names: tuple[str, ...] = ("id",)


def find_remains(actor: Actor, texts: tuple[str, ...]) -> tuple[str, ...]:
    """A line for each kind of row that still contains one of the texts letter by letter, with the number of rows.

    Rows of groups that the actor may read are named, those of other groups only counted.
    """
    starts = tuple(first_words(text, NEIGHBOUR_WORDS) for text in texts)
    memories, log = Memory.objects.all(), AuditEntry.objects.all()
    return tuple(
        line
        for place, wanted in (
            (TextPlace("other memories quote it", memories, "content"), texts),
            (TextPlace("contexts contain it", memories, "context"), starts),
            (TextPlace("other memories contain it in their metadata", memories, "metadata"), texts),
            (TextPlace("logged queries contain it", RecallLog.objects.all(), "query", names=()), texts),
            (TextPlace("rows of the audit log quote it", AuditPayload.objects.all(), "payload", "entry__group",
                       ("entry__chain", "entry__seq")), texts),
            (TextPlace("rows of the audit log name it", log, "subject", "group", ("chain", "seq")), texts),
            (TextPlace("checkpoints contain it", Checkpoint.objects.all(), "state"), texts),
            (TextPlace("instructions of groups contain it", Group.objects.all(), "instructions", "id", ("slug",)),
             texts),
            (TextPlace("titles of groups contain it", Group.objects.all(), "title", "id", ("slug",)), texts),
            (TextPlace("names of threads contain it", Thread.objects.all(), "name"), texts),
            (TextPlace("reasons of tombstones contain it", Tombstone.objects.all(), "reason"), texts),
            (TextPlace("reasons of links contain it", Link.objects.all(), "reason", "source__group__id"), texts),
            (TextPlace("reasons of disputes contain it", Doubt.objects.all(), "reason", "memory__group__id"), texts),
            (TextPlace("saved filters contain it", SavedFilter.objects.all(), "asked", "", ()), texts),
        )
        for line in describe_place(actor, place, wanted)
    )  # fmt: skip


def describe_place(actor: Actor, place: TextPlace, texts: tuple[str, ...]) -> Iterator[str]:
    """The lines about one place: the rows that the actor may read by name, and the number of the others."""
    found = rows_quoting(place.rows, place.column, texts)
    readable = found
    if not actor.all_groups:
        entered = Group.objects.filter(key__in=actor.roles).values("id")
        readable = found.filter(**{f"{place.group}__in": entered}) if place.group else found.none()
    count, others = readable.count(), found.count() - readable.count()
    if count:
        rows = readable.order_by("pk").values_list(*place.names)[:MAX_NAMED] if place.names else []
        named = ", ".join(".".join(map(str, row)) for row in rows)
        yield f"{count} {place.line}" + (f": {named}" if named else "")
    if others:
        yield f"{others} {place.line}, in groups that you may not read"
