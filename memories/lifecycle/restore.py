"""Restoring: what a change took away counts again. It chooses the rows; `undo.reverse` puts them back."""

from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from access.actor import CURATE, WRITE, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import hold_groups
from access.models import AuditEntry, RowChange
from memories.draft import clean_reason
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.target import ChangeResult, find_version, require_person, require_right
from memories.lifecycle.undo import UNDO_HOURS
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import MEMORY, FormerRow, rows_of, table_named
from memories.models import Link, LinkKind, LinkStatus, Memory, Tombstone, TombstoneKind
from memories.queries.labels import doubts_of
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of
from memories.store.policy import Change, is_by_agent, log_of
from memories.store.supersede import rows_called_off
from memories.store.withdrawn.marks import refuse_withdrawn_reason
from memories.types import SUMMARY_SOURCE, VISIBLE_TRUSTS, RecallTreatment, State, recall_treatment

RESTORABLE: Final = (State.FORGOTTEN, State.EXPIRED, State.DORMANT, State.MERGED)


@one_change
def restore(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Make a forgotten, expired, dormant, merged or superseded memory live again: exactly the version with this id.

    A compacted event is live: it comes out of its summary, for good.

    What took it away is taken back as a whole where nothing was built on that since, else the memory comes back alone. A
    retracted text comes back by lifting its tombstone, or by an agent that retracted it by mistake less than UNDO_HOURS
    ago. Where memories.store.policy holds the change back, or a person forgot the memory, an agent's waits as a proposal.

    Raises:
        Conflict: it is in another state, the same text or a later version of it is live, or its text was withdrawn.
        NotPermitted: a person, or a curator, is needed.
    """
    reason = clean_reason(reason)
    memory = find_version(actor, id_, right=WRITE)
    refuse_withdrawn_reason(actor, memory.group, reason)
    if memory.state == State.SUPERSEDED:
        change, target = Change.RESTORE_VERSION, require_right(actor, head_of(memory), right=WRITE)
        if target.key == memory.key:
            raise Conflict(f"{memory.id} has no later version.", hint="Store its text again.")
        if target.state not in (State.LIVE, State.RETRACTED):
            line = f"{target.id}, the current version, is {target.state}."
            raise Conflict(line, hint="Restore that one first.")
    elif memory.state == State.RETRACTED and _is_own_retraction(actor, memory):
        change, target = Change.RESTORE_VERSION, memory
    elif memory.state in RESTORABLE or memory.summary_id is not None:
        change, target = Change.RESTORE, memory
        last = log_of(memory, Operation.MERGE).first() if memory.state == State.MERGED else None
        if last is not None and "moved" in last.payload:  # a kept wording was merged by no person
            require_person(actor, "undo the merge of")
            require_right(actor, memory, right=CURATE)
    else:
        raise Conflict(
            f"{memory.id} is {memory.state}; 'restore' needs a memory that is {' or '.join(RESTORABLE)}.",
            hint=_hint_instead(memory),
        )
    hidden = log_of(memory, Operation.FORGET).first() if memory.state == State.FORGOTTEN else None
    is_persons = hidden is not None and not is_by_agent(hidden)
    return change_or_propose(
        actor, change, target, partial(carry_out, actor, memory, reason=reason),
        reason=reason, dry_run=dry_run, arguments={"version": str(memory.id)},
        why=gettext("a person forgot it, so a curator decides") if is_persons and not actor.is_person else "",
        reached=lambda: list(rows_called_off(memory)),
    )  # fmt: skip


def carry_out(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Put the memory back, whoever may decide about it. One transaction."""
    memory = find_version(actor, memory.id, right=WRITE)
    # A former version takes the place of the current one.
    before = snapshot(head_of(memory) if memory.state == State.SUPERSEDED else memory)
    with transaction.atomic():
        hold_groups([memory.group_id])
        # The rest of the change that took it away stays where it was built on since.
        terms = Terms(reason, partial=memory.state != State.SUPERSEDED, required=frozenset({memory.key}))
        done = reverse(actor, _rows_to_restore(memory), terms)
        memory.refresh_from_db()
        differences = changes(before, snapshot(memory))
        transaction.set_rollback(dry_run)
    count = 0 if dry_run else done.restored + done.hidden
    stays = (gettext("{id} stays as it is: {why}").format(id=row.id, why=row.why) for row in done.kept)
    told = gettext("{id} is current again").format(id=memory.id)
    others = (line for line in done.lines if line != told)
    lines = tuple(dict.fromkeys((_consequence_of(memory), *others, *stays)))
    return ChangeResult(
        Operation.RESTORE.value, memory.id, memory.state, memory.trust, count, lines, dry_run, changes=differences
    )  # fmt: skip


def _rows_to_restore(memory: Memory) -> list[FormerRow]:
    """The rows to put back so that this version counts again, or is listed by itself again."""
    if memory.state == State.LIVE:
        return _rows_of_summary(memory)
    if memory.state == State.SUPERSEDED:
        return _rows_of_version(memory, head_of(memory))
    if memory.state == State.EXPIRED:
        return [_own_row(memory)]
    taken = RowChange.objects.filter(
        kept=MEMORY.name, row=memory.key, op="u", undone_by=None, vals__has_key="state"
    ).order_by("-key").first()  # fmt: skip
    if taken is None or (taken.vals or {})["state"][1] != memory.state:
        return [*_tombstones_of(memory), _own_row(memory)]
    found = rows_of([taken.change])
    own = [row for row in found if row.is_memory and row.row == memory.key]
    own[0].values |= _own_row(memory).values
    # A run, or the deletion of a conversation, took many away; only this one was asked for.
    of_many = Q(run__isnull=False) | Q(operation=Operation.THREAD)
    return own if AuditEntry.objects.filter(of_many, change=taken.change).exists() else found


def _rows_of_summary(event: Memory) -> list[FormerRow]:
    """The event without its summary, and the summary's link to it, so that no later summary takes it."""
    links = Link.objects.filter(kind=LinkKind.DERIVED, target=event.root_key, status=LinkStatus.OPEN)
    table = table_named(Link._meta.db_table)
    own = links.filter(source__source=SUMMARY_SOURCE).values_list("pk", flat=True)
    dismissed = {"status": (LinkStatus.DISMISSED, LinkStatus.OPEN)}
    alone = FormerRow(MEMORY, event.key, values={"summary_id": (None, event.summary_id)})
    return [alone, *(FormerRow(table, key, values=dict(dismissed)) for key in own)]


def _own_row(memory: Memory) -> FormerRow:
    """The memory's row as it counts, whatever it was before."""
    values = {
        "state": (State.LIVE, memory.state),
        "decayed_at": (timezone.now(), memory.decayed_at),  # it does not pay for the time it was away
        "retired_at": (None, memory.retired_at),
        "superseded_by_id": (None, memory.superseded_by_id),
    }
    if memory.state == State.EXPIRED:
        values["expires_at"] = (None, memory.expires_at)
    return FormerRow(MEMORY, memory.key, values=values)


def _tombstones_of(memory: Memory) -> list[FormerRow]:
    """The tombstone that the retraction of this memory left."""
    marks = Tombstone.objects.filter(memory_id=memory.id, group=memory.group, lifted_at=None)
    table = table_named(Tombstone._meta.db_table)
    own = marks.filter(kind=TombstoneKind.RETRACTED)
    return [FormerRow(table, mark.key, made=True) for mark in own]


def _rows_of_version(version: Memory, head: Memory) -> list[FormerRow]:
    """The rows by which a former version takes the place of the current one, with its own fields and trust."""
    now = timezone.now()
    back = _own_row(version)
    back.values["version"] = (head.version + 1, version.version)
    if version.valid_to_known_at is not None:  # its successor set the end of its valid time
        back.values["valid_to"] = (None, version.valid_to)
        back.values["valid_to_known_at"] = (None, version.valid_to_known_at)
    away = FormerRow(MEMORY, head.key, values={"superseded_by_id": (version.key, head.superseded_by_id)})
    if head.state == State.LIVE:
        away.values |= {"state": (State.SUPERSEDED, head.state), "retired_at": (now, head.retired_at)}
    if head.source_ref and head.root_key == version.root_key:
        away.values["source_ref"] = ("", head.source_ref)
        back.values["source_ref"] = (head.source_ref, version.source_ref)
    return [away, back]


def _consequence_of(memory: Memory) -> str:
    """Whether recall returns the memory now."""
    if memory.expires_at is not None and memory.expires_at <= timezone.now():
        return gettext("its end has passed: recall returns it once that is changed")
    if recall_treatment(memory.state, memory.trust) is RecallTreatment.HIDE:
        trust = pgettext("word", memory.trust)
        return gettext("it is {trust}: recall does not return it yet").format(trust=trust)
    return gettext("recall returns it again")


def _hint_instead(memory: Memory) -> str:
    """What to do with a memory that 'restore' does not fit."""
    if memory.state != State.LIVE:
        return (
            "A retracted text can be stored again after a curator lifts its tombstone; "
            f"an agent can restore what it retracted itself for {UNDO_HOURS} hours."
        )
    if doubts_of(memory):
        return gettext(
            "It is disputed. A curator decides: 'verify' or 'approve' if it is right, 'reject' if it is wrong."
        )
    if memory.trust in VISIBLE_TRUSTS:
        return gettext("There is nothing to restore.")
    line = gettext("Its trust is '{trust}'. A curator decides: 'approve' lets it in.")
    return line.format(trust=pgettext("word", memory.trust))


def _is_own_retraction(actor: Actor, memory: Memory) -> bool:
    """True if this agent, with this token, retracted the memory less than UNDO_HOURS ago."""
    last = log_of(memory, Operation.RETRACT).first()
    if actor.is_person or last is None or last.at <= timezone.now() - timedelta(hours=UNDO_HOURS):
        return False
    return (last.actor, last.token) == (actor.name, actor.token_id)
