"""Removal: destroy memories and everything made from their texts, and certify what was destroyed and checked.

One function, `destroy`, serves whoever asks: a person's purge, retention, backups, and what a move left behind.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.answers import Answer, ShownAs
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.groups import hold_groups
from access.models import Group
from memories.lifecycle.purge.places import find_recalls
from memories.lifecycle.purge.targets import (
    PurgeTargets,
    counts,
    find_purge_targets,
    find_quoting,
    find_staying,
    texts_of,
    versions_of_all,
    with_wordings,
)
from memories.models import Link, Memory, Piece, Tombstone, TombstoneKind
from memories.recall_log import COUNTER
from memories.search.schema import begin_purge, end_purge
from memories.store.change import change_row
from memories.store.derived import WITHDRAWN, DerivedChanges, withdraw_derived
from memories.store.places import (
    PurgedTexts,
    clear_outside_copies,
    erase_copies,
    find_copies,
    find_outside_copies,
    note_outside_copies,
)
from memories.store.policy import Change, held_with
from memories.store.supersede import call_off_plan
from memories.store.threads import refresh_threads
from memories.store.withdrawn.tombstones import lay_tombstone
from memories.types import State
from storage.changes import keeping_nothing
from storage.dialect import dialect

WAL_IS_HELD = (
    "the write-ahead log still holds earlier pages, because a reader keeps it open: "
    "end what reads the database (or restart Loci) and the text is gone from the files too"
)


class Why(StrEnum):
    """What makes a removal right."""

    NAMED = "a person or agent named the memory, or saw it in a preview"
    ENDED = "an end that was set for it has passed"
    MOVED = "it moved to another group, and a person wants its former group to forget it"


@dataclass(frozen=True)
class Because:
    """Why rows are destroyed: decides which of them may go, and what follows.

    Only NAMED bars the texts from coming back and reaches backups. With MOVED, `group` is the one that the memories left:
    they stay, and only its copies of their texts are erased.
    """

    why: Why
    reason: str = ""
    group: Group | None = None

    def allows(self, row: Memory, shown: frozenset[int], now: datetime) -> bool:
        """True if a row that counts may be destroyed; `shown`: the roots of the chains that were named or shown."""
        if self.why is Why.NAMED:
            return row.root_key in shown
        if self.why is Why.ENDED:
            return row.expires_at is not None and row.expires_at <= now
        return self.why is Why.MOVED


@dataclass(frozen=True)
class Certificate(Answer):
    """What a removal destroyed and checked; counts of rows.

    `recall_logs` were deleted because their questions quote the text; the questions of `recalls_blanked`, which found the
    memory, were blanked. `cleared` counts the rows that the other places cleared. `remains` names the places that were asked
    afterwards and still have the text: nothing is certified about them. `checked` names copies outside the database, such as
    backups. `spared` rows count, and nothing allowed to destroy them.
    `scan` of the files for whole sentences is "done", "left out", or pending until the caller's transaction commits.
    """

    at: datetime
    ids: tuple[UUID, ...] = ()
    memories: int = 0
    pieces: int = 0
    links: int = 0
    log_payloads: int = 0
    recall_logs: int = 0
    recalls_blanked: int = 0
    cleared: dict[str, int] = field(default_factory=dict)
    remains: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    spared: Annotated[
        tuple[UUID, ...], ShownAs(about="Ids of rows that count, which nothing allowed to destroy.")
    ] = ()
    scan: Annotated[
        str,
        ShownAs(
            about="Search of database, logs, hooks and backups for sentences of the texts: `done`, `left out` or `pending`."
        ),
    ] = "pending"


@dataclass(frozen=True)
class _PurgeResult:
    """A purge's certificate, the changes of memories that were derived from what is gone, what is gone, and its notes."""

    certificate: Certificate
    followed: DerivedChanges
    gone: PurgedTexts
    notes: dict[str, str] = field(default_factory=dict)


def purge_rows(
    actor: Actor,
    memories: Sequence[Memory],
    *,
    reason: str,
    quotes: bool = False,
    check: Callable[[PurgeTargets], object] | None = None,
    follow: Callable[[], object] | None = None,
    is_part: bool = False,
) -> _PurgeResult:
    """Destroy all versions of named memories of one group, what was made from their texts, and all copies; one transaction.

    The audit rows stay without their payloads; a tombstone for each of their own texts keeps the text from coming back.
    `quotes` destroys the memories that quote them too, where the actor curates. `check` may refuse what would be destroyed,
    under the lock; `follow` runs last inside the transaction. After those with `is_part` the caller calls end_parts().

    Raises:
        NotPermitted: a version belongs to a group that the actor may not curate, or the actor is an agent and a person
            verified or pinned a memory that would be destroyed or hidden with them.
        InvalidInput: too many memories quote them.
    """
    # Recalls that wait to be logged may hold the text. If they cannot be written, they are dropped: that clears them too.
    with suppress(DatabaseError):
        COUNTER.flush()
    # Reading the whole log takes seconds, so do it before the write lock; later rows are read under the lock.
    known = find_purge_targets(memories, find_quoting(actor, memories) if quotes else ())
    recalls = find_recalls({row.key for row in known.rows})
    begin_purge(connection)
    with keeping_nothing(), transaction.atomic():
        hold_groups({row.group_id for row in known.rows})
        doomed = find_purge_targets(memories, find_quoting(actor, memories) if quotes else ())
        _refuse_protected(actor, doomed)
        if check is not None:
            check(doomed)
        consequences = doomed.describe(is_done=True)
        done = destroy(actor, doomed, Because(Why.NAMED, reason), recalls=recalls)
        done = replace(done, followed=replace(done.followed, consequences=consequences))
        if follow is not None:
            follow()
        notes = note_outside_copies()
    if is_part:
        return replace(done, notes=notes)
    remains = (*find_copies(actor, done.gone), *dialect().purge_leaves)
    if connection.in_atomic_block:
        # `remains` is as of now; the caller's transaction holds the pages until its end.
        transaction.on_commit(partial(end_purge, connection))
        transaction.on_commit(partial(clear_outside_copies, done.gone, notes))
        return replace(done, certificate=replace(done.certificate, remains=remains))
    held = () if end_purge(connection) else (WAL_IS_HELD,)
    outside = clear_outside_copies(done.gone, notes)
    remains = (*held, *remains, *outside.remains)
    certificate = replace(done.certificate, remains=remains, checked=outside.checked, scan=outside.scan)
    return replace(done, certificate=certificate)


def end_parts(actor: Actor, parts: Sequence[_PurgeResult]) -> tuple[str, ...]:
    """Empty the write-ahead log and clear the outside copies, once after many purges; the places that still have a text."""
    remains = (*(() if end_purge(connection) else (WAL_IS_HELD,)), *dialect().purge_leaves)
    if not parts:
        return remains

    def joined(name: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for each in parts for value in getattr(each.gone, name)))

    gone = PurgedTexts(joined("keys"), joined("texts"), joined("ids"), joined("groups"))
    notes = {name: " ".join(each.notes[name] for each in parts) for name in parts[0].notes}
    return (*remains, *find_copies(actor, gone), *clear_outside_copies(gone, notes).remains)


def preview_purge(actor: Actor, memories: Sequence[Memory], *, quotes: bool = False) -> tuple[str, ...]:
    """What a purge of the memories would destroy besides them, and which places have their texts; writes nothing."""
    doomed = find_purge_targets(memories, find_quoting(actor, memories) if quotes else ())
    _refuse_protected(actor, doomed)
    gone = texts_of(doomed.rows)
    return (*doomed.describe(), *find_copies(actor, gone, is_preview=True), *find_outside_copies(gone))


def _refuse_protected(actor: Actor, doomed: PurgeTargets) -> None:
    """Raise NotPermitted if the actor is an agent and a person verified or pinned what it would destroy or hide, in any version."""
    held_with(actor, Change.PURGE, doomed.own[0], (*doomed.rows, *doomed.hidden))


def purge_from_copy(actor: Actor, ids: Iterable[UUID], texts: tuple[str, ...] = (), *, reason: str) -> int:
    """Repeat purges in the open copy of the store, such as a backup; return the number of destroyed rows.

    Memories derived from the purged ones and other copies of `texts` go too. One transaction.
    """
    begin_purge(connection)
    gone = 0
    with keeping_nothing(), transaction.atomic():
        for id_ in ids:
            memory = Memory.objects.filter(id=id_).select_related("group", "thread").first()
            if memory is not None:  # else this copy does not have it, or it went with another one
                doomed = find_purge_targets([memory])
                gone += destroy(actor, doomed, Because(Why.NAMED, reason)).certificate.memories
        if texts:
            gone += sum(erase_copies(PurgedTexts((), texts)).values())
    return gone


def purge_ended(actor: Actor, memories: Sequence[Memory], *, reason: str) -> Certificate:
    """Destroy forgotten memories past their retention: all their versions and all copies of their texts; one transaction.

    It was not asked for, so no tombstone bars the texts and backups are left to their rotation. The caller has made sure
    that no live memory was made from them, has called begin_purge(), and empties the WAL afterwards.
    """
    with keeping_nothing(), transaction.atomic():
        hold_groups({memory.group_id for memory in memories})
        # Read again under the lock: one may have been restored meanwhile.
        still = Memory.objects.filter(key__in=[memory.key for memory in memories], state=State.FORGOTTEN)
        targets = PurgeTargets(tuple(with_wordings(list(versions_of_all(still)))))
        return destroy(actor, targets, Because(Why.ENDED, reason)).certificate


def destroy(
    actor: Actor, doomed: PurgeTargets, because: Because, *, recalls: tuple[list[int], int] = ([], 0)
) -> _PurgeResult:
    """Delete the rows with everything attached to them and let every place erase its copies; one transaction.

    A chain with a row that counts is spared, unless `because` allows its end. `recalls`: what find_recalls() found before.

    Raises:
        NotPermitted: a row belongs to a group that the actor may not curate.
    """
    left = because.group if because.why is Why.MOVED else None
    with transaction.atomic():
        now = timezone.now()
        all_rows = doomed.rows
        counting = [row for row in all_rows if counts(row, now)]
        kept = {row.root_key for row in counting if not because.allows(row, doomed.shown, now)}
        rows = [row for row in all_rows if row.root_key not in kept]
        if not all(actor.may(CURATE, row.group_id) for row in rows):
            raise NotPermitted(
                "A version of this memory belongs to a group that you may not curate.",
                hint="Ask a curator of that group.",
            )
        gone, (found, last) = texts_of(rows), recalls
        reason = gone.quotes.blank(because.reason)
        if because.why in (Why.NAMED, Why.MOVED):
            found = [*found, *find_recalls(set(gone.keys), after=last, group=left)[0]]
        followed, counted = DerivedChanges(), (0, 0)
        if left is None:
            if doomed.reach is not None:
                followed = withdraw_derived(actor, doomed.reach, is_purge=True)
            linked = Link.objects.filter(Q(source__in=gone.keys) | Q(target__in=gone.keys))
            counted = Piece.objects.filter(memory__in=gone.keys).count(), linked.count()
            own = [row for row in doomed.own if row.root_key not in kept]
            _delete_rows(actor, own, gone, reason=reason, bars=because.why is Why.NAMED)
        within = left.pk if left is not None else None
        cleared = erase_copies(replace(gone, within=within, recalls=tuple(found)))
        if left is None or any(cleared.values()):
            operation = Operation.PURGE if left is None else Operation.CLEAR
            payload = {"reason": reason} if reason or left is None else {}
            events = [AuditEvent(operation, row.id, (left or row.group).id, payload=payload) for row in rows]
            audit.append_many(actor, events)
    payloads, deleted, blanked = (cleared.pop(name, 0) for name in ("log payloads", "recalls", "questions"))
    spared = tuple(row.id for row in all_rows if row.root_key in kept)
    certificate = Certificate(
        now, gone.ids, len(rows), *counted, payloads, deleted, blanked, cleared=cleared, spared=spared
    )
    return _PurgeResult(certificate, followed, gone)


def _delete_rows(actor: Actor, own: Sequence[Memory], gone: PurgedTexts, *, reason: str, bars: bool) -> None:
    """Delete memories; take the ends off what their plans would replace, lay tombstones, and free wordings of others."""
    keys = frozenset(gone.keys)
    for row in own:
        if row.superseded_by_id is None:
            call_off_plan(actor, row, besides=keys)
    # Only its own texts: a summary contains other memories' texts as well, so none is barred because of it.
    for row in own if bars else ():
        mark = lay_tombstone(actor, row, kind=TombstoneKind.PURGED, reason=reason)
        # The reason of a tombstone left by a retraction may quote the text.
        if mark is not None:
            Tombstone.objects.filter(pk=mark.pk).update(kind=TombstoneKind.PURGED, reason=reason)
    for wording, version in find_staying(own):
        values = {"state": State.SUPERSEDED, "superseded_by": version}
        change_row(actor, Operation.SUPERSEDE, wording, values, reason=WITHDRAWN)
    rows = Memory.objects.filter(key__in=keys)
    threads = sorted(set(rows.exclude(thread=None).values_list("thread", flat=True)))
    rows.update(superseded_by=None)
    # Versions refer to their root, so the root must go last.
    rows.filter(root__isnull=False).delete()
    rows.delete()
    # Rows in any state: a forgotten turn keeps its neighbours' words too.
    refresh_threads([key for key in threads if key is not None])
