"""Reversal: the one function that takes a change back, whoever made it and whatever it was.

Undo of a write, of a decision in the Review, of a run, an import or a move, and the verb `restore`, choose rows and call
`reverse()`. It writes rows itself, so it is a change that can be reversed in its turn.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.additions import additions
from access.answers import Answer
from access.audit import AuditEvent, Operation
from access.errors import Conflict, LociError, SensitiveText
from access.groups import hold_groups
from access.limits.quota import GroupRoom
from access.models import AuditEntry, Group, RowChange
from memories.draft import guard_draft, held_for_person, stored_door
from memories.lifecycle.edit import as_draft
from memories.lifecycle.entering import group_of, said_by
from memories.lifecycle.propose import CAPS
from memories.lifecycle.target import (
    check_no_live_copy,
    check_not_barred,
    check_not_withdrawn,
    check_scope,
    refuse_withdrawn_labels,
    require_right,
)
from memories.lifecycle.undo.rows import DELETED, MEMORY, RANKS, STAYS, FormerRow
from memories.lifecycle.undo.words import describe, operation_of, told
from memories.models import FindingStatus, Memory, MemoryFinding, Tombstone, TombstoneKind
from memories.queries.by_text import left_out_with
from memories.queries.snapshot import RELATED_ROWS, changes, snapshot
from memories.queries.versions import IN_TWO_GROUPS, head_of, versions_of
from memories.queries.visibility import has_begun
from memories.store.derived import find_reach, withdraw_derived, withdraw_left_behind
from memories.store.policy import Change, held_with
from memories.store.supersede import move_ends
from memories.store.threads import filter_tokens, refresh_around, refresh_threads
from memories.store.withdrawn.marks import LABELS, find_repeated, repeated_text
from memories.types import WITHDRAWN_TRUSTS, State, Trust
from relations.models import Relation, RelationEvidence
from storage.changes import changing, current_change

# Columns that say whether a memory counts and where: a row that another change touched there since was built on.
_DECIDED: Final = frozenset({"state", "trust", "superseded_by_id", "root_id", "group_id"})
_ENTERING: Final = frozenset({"group_id", "instructions", "title", "url", "tags", "metadata", "reason"})
_TIES: Final = frozenset({"superseded_by_id", "root_id", "group_id"})  # a chain is in one group

_Row = TypeVar("_Row", bound=Model)


@dataclass(frozen=True)
class StayingRow(Answer):
    """A row that a reversal left as it is, and why."""

    table: str
    row: int
    id: str
    why: str


@dataclass
class Reversed:
    """What a reversal did: rows put back, rows hidden or closed that the change had made, those left, consequences."""

    restored: int = 0
    hidden: int = 0
    kept: list[StayingRow] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    memories: list[UUID] = field(default_factory=list)
    carried: list[UUID] = field(default_factory=list)  # versions that edits made since, put back as well

    def add(self, other: "Reversed") -> None:
        """Add what another part of the same reversal did."""
        self.restored += other.restored
        self.hidden += other.hidden
        self.kept += other.kept
        self.lines += other.lines
        self.memories += other.memories
        self.carried += other.carried


class _MemoryStays(Conflict):
    """A row that the change made is part of a memory that stays."""


def _changed_since(memory: Memory, *, field: str = "") -> Conflict:
    """The error of undoing something whose result is no longer there."""
    return Conflict(
        f"{memory.id} has changed since: it is {memory.state} and {memory.trust}.",
        hint="Nothing was changed. It was undone already, or something else changed the memory.",
        field=field,
    )


def held_error(why: str, *, field: str) -> Conflict:
    """The error of undoing what the actor could not do at once: it would wait for a curator."""
    return Conflict(
        f"It cannot be undone: {why}.", hint="Nothing was changed. Ask a curator of the group.", field=field
    )


@dataclass(frozen=True)
class Terms:
    """The terms of a reversal.

    `partial`: what changed since stays and is listed; else it is a Conflict and nothing happens, as it is for the memories
    whose keys are `required`. `force`: it is put back
    all the same, unless a person decided about it. `right` is what the actor needs in each memory's group. `besides` are
    changes that count as this one's, such as the others of the same run. `is_decision`: a decision of the Review is taken
    back. `field` is the argument that errors name.
    """

    reason: str
    partial: bool = False
    required: frozenset[int] = frozenset()
    force: bool = False
    right: str = WRITE
    besides: frozenset[int] = frozenset()
    is_decision: bool = False
    field: str = ""


def reverse(actor: Actor, rows: Sequence[FormerRow], terms: Terms) -> Reversed:
    """Take back what changes did to these rows, in one transaction.

    1. hold the groups; check the rights, and that nothing was built on the rows since
    2. take back the rows that refer to memories, hide the memories that the change made, put the others' fields back
    3. admit what counts again: it never has more trust than it had, keeps what the guard found, and an end that passed
       meanwhile has passed
    4. log each memory; all of it is a change that can be reversed itself

    Raises:
        Conflict: a row has changed or is in use since, or may not count again (without `partial`), or a group is full.
        NotPermitted: the actor may not write in a group.
    """
    with changing(), transaction.atomic():
        work = _Reversal(actor, terms)
        work.hold(rows)
        for row in sorted(rows, key=work.rank):
            work.take_back(row)
        work.finish()
    return work.done


class _Reversal:
    """One reversal under way."""

    def __init__(self, actor: Actor, terms: Terms) -> None:
        self.actor, self.terms, self.done = actor, terms, Reversed()
        self.now = timezone.now()
        self.memories: dict[int, Memory] = {}
        self._taken: list[FormerRow] = []
        self._events: list[AuditEvent] = []
        self._revived_roots: dict[int, Memory] = {}
        self._touched: list[Memory] = []
        self._left_threads: set[int] = set()
        self._back: list[int] = []  # keys of memories that count again
        self._tied: list[int] = []  # keys of memories whose group or place in a chain is put back
        self._torn: dict[int, UUID] = {}
        self._open: list[Counter[int]] = []  # what waits for a person already, as CAPS count it
        # The texts that were live in each group, and that are.
        self._lost: dict[Group, list[str]] = defaultdict(list)
        self._gained: dict[Group, list[str]] = defaultdict(list)
        self._moved: dict[Group, list[Memory]] = defaultdict(list)
        self._staying: set[int] = set()  # keys of memories that stay as they are

    def hold(self, rows: Sequence[FormerRow]) -> None:
        """Hold the groups of the rows' memories, then read those; find the chains in which an earlier version returns."""
        keys = [row.row for row in rows if row.is_memory]
        wanted = Memory.objects.filter(key__in=keys)
        groups = set(wanted.values_list("group_id", flat=True))
        groups |= {value for row in rows for value in row.values.get("group_id", ()) if row.is_memory}
        hold_groups(groups)
        self._open = [cap.count(self.actor) for cap in CAPS]
        self.memories = wanted.select_related(*RELATED_ROWS).in_bulk()
        self._tied = [row.row for row in rows if row.is_memory and not _TIES.isdisjoint(row.values)]
        self._torn = self._find_torn()
        for row in rows:
            memory = self.memories.get(row.row) if row.is_memory else None
            is_live = memory is not None and row.values.get("state", (memory.state, ""))[0] == State.LIVE
            if memory is not None and is_live and _comes_back(row):
                root = row.values.get("root_id", (memory.root_id, None))[0] or memory.key
                self._revived_roots[root] = memory

    def rank(self, row: FormerRow) -> tuple[int, int, int]:
        """The order: referring rows, memories that the change made, those that stop counting, those that count again, new parts."""
        if not row.is_memory:
            is_part = row.made and bool(row.table.part_of)
            return RANKS[row.table.name] + is_part * len(RANKS), 0, -row.last
        stage = 0 if row.made else 2 if _comes_back(row) else 1
        return RANKS[MEMORY.name], stage, -row.last

    def take_back(self, row: FormerRow) -> None:
        """Take one row back, or note why it stays; without `partial` that is an error."""
        try:
            with transaction.atomic():
                self._take_back(row)
        except _MemoryStays as error:
            self._keep(row, error)
            return
        except IntegrityError:
            line = gettext("Another row has taken its place.")
            refusal: LociError = Conflict(line, hint="Nothing was changed.")
        except LociError as error:
            refusal = error
        else:
            return
        memory = self.memories.get(row.row) if row.is_memory else None
        if row.made and memory is not None and memory.is_name_alone:  # other relations name it
            self.done.lines.append(refusal.message)
        elif not self.terms.partial or (row.is_memory and row.row in self.terms.required):
            raise refusal
        self._keep(row, refusal)

    def _keep(self, row: FormerRow, refusal: LociError) -> None:
        """Note why a row stays; the new parts of a memory stay with it."""
        if row.is_memory:
            self._staying.add(row.row)
        found = row.table.model._base_manager.filter(pk=row.row).first()
        id_ = str(getattr(found, "id", row.row))
        self.done.kept.append(StayingRow(row.table.name, row.row, id_, refusal.message))

    def _take_back(self, row: FormerRow) -> None:
        if row.is_memory:
            memory = self.memories.get(row.row)
            if memory is None:
                raise Conflict(gettext("It was purged since."), field=self.terms.field)
            self._hide(row, memory) if row.made else self._put_back(row, memory)
        elif row.made:
            self._close(row)
        elif row.removed:
            found = row.table.model(pk=row.row, **row.before())
            _check_texts(self.actor, found)
            found.save(force_insert=True)
            self.done.restored += 1
        else:
            self._set(row)
        self._taken.append(row)

    # --- rows that refer to memories

    def _close(self, row: FormerRow) -> None:
        found = row.table.model._base_manager.filter(pk=row.row).first()
        made = row.table.made
        if found is None or made == STAYS:
            return
        self._require_in(getattr(found, "group_id", None))
        if (part_of := row.table.part_of) and getattr(found, part_of) in self._staying:
            raise _MemoryStays(gettext("Its memory stays."))
        if self._is_decided(found, row):
            raise self._decided_since()
        self._tell(found, is_made=True)
        if made == DELETED:
            found.delete()
        elif callable(made):
            type(found)._base_manager.filter(pk=row.row).update(**made(self.actor, self.now))
        self.done.hidden += 1

    def _is_decided(self, found: Model, row: FormerRow) -> bool:
        """True if another change touched a row since this one made it. A purge keeps no changes, and nothing reverses it."""
        is_purged = isinstance(found, Tombstone) and found.kind == TombstoneKind.PURGED
        return is_purged or bool(self._later_changes(row))

    def _decided_since(self) -> Conflict:
        return Conflict(
            gettext("A person has decided about it since."),
            hint="Nothing was changed.",
            field=self.terms.field,
        )

    def _check_mark(self, mark: Tombstone, row: FormerRow) -> None:
        """Raise Conflict if a tombstone that is put in force again would hide what only a person may hide, or one that is lifted is another's by now."""
        if row.values["lifted_at"][0] is not None:
            if self._is_decided(mark, row):
                raise self._decided_since()
            return
        text = Memory.objects.filter(id=mark.memory_id).select_related("group").first()
        # What the same change takes away is checked by itself.
        hidden = [row for row in left_out_with([text]) if row.key not in self.memories] if text else []
        if text is not None and (why := held_with(self.actor, Change.RETRACT, text, hidden)):
            raise held_error(why, field=self.terms.field)

    def _set(self, row: FormerRow) -> None:
        """Put the columns of a row back that still have the values which the change gave them."""
        found = row.table.model._base_manager.filter(pk=row.row).first()
        if found is None:
            raise Conflict(gettext("It was deleted since."), field=self.terms.field)
        self._require_in(getattr(found, "group_id", None))
        if isinstance(found, Tombstone) and "lifted_at" in row.values:
            self._check_mark(found, row)
        new = self._fitting(found, row)
        if any(old is None and name.endswith("_at") for name, old in new.items()) or _ENTERING & set(new):
            _check_texts(self.actor, _with_values(found, new))
        type(found)._base_manager.filter(pk=row.row).update(**new)
        self.done.restored += 1
        self._tell(found, is_made=False)

    def _fitting(self, found: Model, row: FormerRow) -> dict[str, Any]:
        """The former values of the columns that nothing changed since; with `partial`, the others stay and are named.

        Raises:
            Conflict: a column changed since that may not stay alone, or any without `partial`.
        """
        changed = [] if self.terms.force else [n for n in row.values if not _is_as_left(found, row, n)]
        # A cycle put it behind another summary: it stays there.
        moot = set[str]() if self.terms.partial else {"summary_id"} & {*changed}
        changed = [name for name in changed if name not in moot]
        is_whole = not row.is_memory or bool(_DECIDED & set(changed)) or len(changed) == len(row.values)
        if changed and (not self.terms.partial or is_whole):
            if isinstance(found, Memory):
                raise _changed_since(found, field=self.terms.field)
            line, hint = gettext("It has changed since."), gettext("Nothing was changed.")
            raise Conflict(line, hint=hint, field=self.terms.field)
        id_ = str(getattr(found, "id", row.row))
        for name in changed:
            why = gettext("{name} has changed since").format(name=name)
            self.done.kept.append(StayingRow(row.table.name, row.row, id_, why))
        new = {name: old for name, (old, _) in row.values.items() if name not in {*changed, *moot}}
        for name in ("last_accessed", "confirmed_at"):  # recalled or confirmed since
            if isinstance(found, Memory) and getattr(found, name) != row.values.get(name, (0, 0))[1]:
                new.pop(name, None)
        if isinstance(found, Memory) and "access_count" in new:  # recalls since stay counted
            old, after = row.values["access_count"]
            new["access_count"] = max(0, found.access_count - (after - old))
        return new

    def _require_in(self, group: int | None) -> None:
        if group is not None and not self.actor.may(self.terms.right, group):
            require_right(self.actor, Memory(group=Group.objects.get(pk=group)), right=self.terms.right)

    def _tell(self, found: Model, *, is_made: bool) -> None:
        """Log what was done to a row that is not a memory, and say it."""
        event, line = told(found, is_made=is_made, reason=self.terms.reason)
        if event is not None:
            self._events.append(event)
        if line:
            self.done.lines.append(line)

    # --- memories

    def _hide(self, row: FormerRow, memory: Memory) -> None:
        """Hide a memory that the change made, as if it had not been stored; a version goes behind the one that returns."""
        require_right(self.actor, memory, right=self.terms.right)
        is_wording = memory.state == State.MERGED
        if not is_wording and (memory.state != State.LIVE or head_of(memory).key != memory.key):
            raise _changed_since(memory, field=self.terms.field)
        self._refuse_built_on(row, memory)
        former = self._revived_roots.get(memory.root_key)
        new: dict[str, Any] = {"state": State.FORGOTTEN, "superseded_by": None}
        new |= {"retired_at": self.now, "source_ref": ""}
        if former is not None and former.key != memory.key and not is_wording:
            new |= {"state": State.SUPERSEDED, "superseded_by": former}
        reach = find_reach(memory, [memory])
        line = gettext("{id} is hidden, as if it had not been stored")
        line = gettext("the wording {id} is hidden") if is_wording else line
        self._write(memory, new, Operation.FORGET)
        withdraw_derived(self.actor, reach)
        self.done.hidden += 1
        self.done.lines.append(line.format(id=memory.id))

    def _refuse_built_on(self, row: FormerRow, memory: Memory) -> None:
        """Raise Conflict if something led to a new memory, or another person or agent changed it, since it was made."""
        for later in self._later_changes(row):
            # Of a run or an import stays what anybody changed since, in any way.
            touched = set(later.vals or ()) - _COUNTERS
            if touched and (self.terms.partial or _DECIDED & touched):
                raise _changed_since(memory, field=self.terms.field)
        self._refuse_changed_by_others(row, memory)
        if use := self._use_of(memory):
            raise Conflict(
                f"{memory.id} is in use since: {use}.",
                hint="Nothing was changed. Undo that first.",
                field=self.terms.field,
            )

    def _refuse_changed_by_others(self, row: FormerRow, memory: Memory) -> None:
        """Raise Conflict if another person or agent changed the memory since; what they did would go with it."""
        ids = {memory.id, *(version.id for version in versions_of(memory))}
        entries = AuditEntry.objects.filter(origin=audit.OWN, memory_id__in=ids)
        mine = self._own_changes(row)
        last = entries.filter(change__in=mine).order_by("-key").first()
        since = entries.filter(key__gt=last.key) if last is not None else entries.none()
        other = since.exclude(actor=self.actor.name, token=self.actor.token_id).exclude(change__in=mine)
        if (by := other.order_by("key").first()) is not None:
            raise Conflict(
                f"{by.actor} has changed {memory.id} since: {Operation(by.operation).label}.",
                hint="Nothing was changed. Inspect the memory, and correct it as it is now.",
                field=self.terms.field,
            )

    def _use_of(self, memory: Memory) -> str:
        """What leads to a memory that is a chain of its own, in words; empty if nothing does."""
        coming_back = [key for key, row in self.memories.items() if row.key != memory.key]
        leading = Memory.objects.filter(superseded_by=memory).exclude(pk__in=coming_back)
        if memory.root_id is None:
            current = Relation.objects.filter(retired_at=None)
            if current.filter(Q(subject=memory) | Q(object=memory)).exists():
                return gettext("a relation leads to it")
            if RelationEvidence.objects.filter(memory=memory, relation__retired_at=None).exists():
                return gettext("it is evidence of a relation")
        return gettext("another memory became part of it or leads to it") if leading.exists() else ""

    def _put_back(self, row: FormerRow, memory: Memory) -> None:
        """Put a memory's columns back, in the version that counts too if an edit carried them on."""
        require_right(self.actor, memory, right=self.terms.right)
        is_back = all(getattr(memory, name) == old for name, (old, _) in row.values.items())
        if memory.id in self.done.carried and is_back:
            return  # it was put back with the version before it
        if "group_id" in row.values:
            for group in row.values["group_id"]:
                if not self.actor.may(CURATE, group):
                    self._require_in(group)
        has_ended = memory.state in (State.RETRACTED, State.SUPERSEDED, State.MERGED)
        if self.terms.force and has_ended and _comes_back(row):
            raise Conflict(gettext("It is {state} since.").format(state=pgettext("word", memory.state)))
        is_label = not row.values.keys().isdisjoint({"trust", "pinned"}) and "state" not in row.values
        is_retired = is_label and memory.state != State.LIVE
        if is_retired and not self.terms.partial and self._was_retired_since(row):
            raise _changed_since(memory, field=self.terms.field)
        if _goes_away(row) and not self.terms.partial:
            self._refuse_changed_by_others(row, memory)
        new = self._fitting(memory, row)
        has_moved = not row.values.keys().isdisjoint({"scope", "group_id"})
        is_shared_anew = memory.state == State.LIVE and has_moved
        if is_shared_anew or _comes_back(row):
            new |= _admit_again(self.actor, memory, new, takes_back=self.terms.is_decision)
            self._back.append(memory.pk)
        elif not new.keys().isdisjoint(LABELS):
            refuse_withdrawn_labels(self.actor, _with_values(memory, new))
        operation = operation_of(row)
        carried = self._versions_with(row, memory)
        self._write(memory, new, operation)
        for version in carried:
            self.done.carried.append(version.id)
            self._write(version, {name: old for name, (old, _) in row.values.items()}, operation)
        self.done.restored += 1
        self.done.lines.append(describe(memory, row))

    def _was_retired_since(self, row: FormerRow) -> bool:
        """True unless the row was a former version already, which a quarantine hid with the current one."""
        return not row.last or any("state" in (later.vals or {}) for later in self._later_changes(row))

    def _versions_with(self, row: FormerRow, memory: Memory) -> list[Memory]:
        """The version that counts, if an edit since carried this row's values on to it."""
        if memory.superseded_by_id is None or not set(row.values) <= _CARRIED_BY_EDITS:
            return []
        head = head_of(memory)
        carries = all(_is_as_left(head, row, name) for name in row.values)
        return [head] if carries and head.root_key == memory.root_key else []

    def _write(self, memory: Memory, new: dict[str, Any], operation: Operation) -> None:
        before = snapshot(memory)
        if "thread_id" in new and memory.thread_id is not None:
            self._left_threads.add(memory.thread_id)
        values = ({"state_changed_at": self.now} if "state" in new else {}) | new | {"updated_at": self.now}
        if not new.keys().isdisjoint({"scope", "group_id"}):
            values["filter"] = filter_tokens(_with_values(memory, new))
        Memory.objects.filter(pk=memory.pk).update(**values)
        fresh = Memory.objects.select_related(*RELATED_ROWS).get(pk=memory.pk)
        self.memories[memory.pk] = fresh
        for row, texts in ((memory, self._lost), (fresh, self._gained)):
            if row.state == State.LIVE:
                texts[row.group].append(row.content)
        for name in vars(fresh):
            if not name.startswith("_"):
                setattr(memory, name, getattr(fresh, name))
        memory._state.fields_cache.clear()
        differences = changes(before, snapshot(fresh))
        payload = {"changes": differences, "reason": self.terms.reason, "undone": True}
        if operation == Operation.MOVE and "group" in differences:
            former = Group.objects.get(slug=differences["group"][0])
            left = {"moved_to": fresh.group.slug, "reason": self.terms.reason}
            self._events.append(AuditEvent(operation, fresh.id, former.id, payload=left))
            self._moved[fresh.group].append(fresh)
        self._events.append(AuditEvent(operation, fresh.id, fresh.group.id, payload=payload))
        self._touched.append(fresh)
        self.done.memories.append(fresh.id)

    # --- the end

    def finish(self) -> None:
        """Refresh what searches read, mark what was taken back, and log.

        Raises:
            Conflict: a chain would be in two groups, since versions joined it after a move, or more would wait for a
                person again than may.
            GroupFull: more would count again than a group has room for.
        """
        for group, gained in self._gained.items():
            GroupRoom().take(group, gained, self._lost[group], is_written=True)
        for cap, before in zip(CAPS, self._open, strict=True):
            cap.check_opened(self.actor, before)
        for key, id_ in self._find_torn().items():
            if key not in self._torn:
                line = gettext(
                    "{id} would be in another group than its other versions, or than what replaced it since."
                )
                hint = gettext("Nothing was changed. Move it with 'move', which takes all of them along.")
                raise Conflict(line.format(id=id_), hint=hint, field=self.terms.field)
        for group, moved in self._moved.items():
            withdraw_left_behind(self.actor, moved, group)
        refresh_around(self._touched)
        refresh_threads(sorted(self._left_threads))
        back = [memory for key in self._back if (memory := self.memories[key]).state == State.LIVE]
        for memory in back:  # its day counts again, whatever the day of what stood in its place
            if memory.valid_from is not None and (memory.version > 1 or not has_begun(memory, self.now)):
                move_ends(self.actor, memory, memory.valid_from, self.now)
        anew = [m for m in back if m.trust not in WITHDRAWN_TRUSTS and has_begun(m, self.now)]
        for link in additions("comparisons of what counts anew") if anew else ():
            link(self.actor, anew)
        taken = [row for row in self._taken if row.last]
        for row in taken:
            kept = RowChange.objects.filter(
                kept=row.table.name, row=row.row, key__range=(row.first, row.last)
            )
            own = kept.exclude(op="b").filter(change__in=self._own_changes(row))
            own.update(undone_by=current_change())
        # Reversing a reversal: what it took back stands again.
        changes_taken = {row.change for row in taken} - {0, None}
        RowChange.objects.filter(undone_by__in=changes_taken).update(undone_by=None)
        audit.append_many(self.actor, self._events)

    def _find_torn(self) -> dict[int, UUID]:
        """The memories around those that are put back whose chain is in two groups: ids by key."""
        if not self._tied:
            return {}
        keys = self._tied
        near = Q(key__in=keys) | Q(superseded_by__in=keys) | Q(root__in=keys)
        return dict(Memory.objects.filter(near & IN_TWO_GROUPS).order_by("key").values_list("key", "id"))

    def _own_changes(self, row: FormerRow) -> frozenset[int]:
        return self.terms.besides | {row.change}

    def _later_changes(self, row: FormerRow) -> QuerySet[RowChange]:
        """What other changes did to the row since and was not taken back."""
        rows = RowChange.objects.filter(kept=row.table.name, row=row.row)
        undoing = rows.exclude(undone_by=None).values("undone_by")
        later = rows.filter(key__gt=row.last, undone_by=None).exclude(change__in=self._own_changes(row))
        return later.exclude(change=current_change() or 0).exclude(change__in=undoing).exclude(op="b")


# Columns that change by themselves.
_COUNTERS: Final = frozenset(
    {"decayed_at", "access_count", "last_accessed", "state_changed_at", "confirmed_at"}
)
# Columns that a new version takes from the one before it.
_CARRIED_BY_EDITS: Final = frozenset(
    {"confidence", "decayed_at", "importance", "pinned", "tags", "metadata", "expires_at"}
)


def _comes_back(row: FormerRow) -> bool:
    """True if the row is live after its reversal and was not before it."""
    before, after = row.values.get("state", (None, None))
    if before == State.LIVE and after != State.LIVE:
        return True
    was, now = row.values.get("trust", (None, None))
    hidden = (Trust.REJECTED, Trust.QUARANTINED, Trust.CANDIDATE)
    return now in hidden and was is not None and was not in hidden


def _goes_away(row: FormerRow) -> bool:
    """True if the row is live before its reversal and not after it."""
    before, after = row.values.get("state", ("", ""))
    return bool(after == State.LIVE and before != State.LIVE)


def _is_as_left(found: Model, row: FormerRow, name: str) -> bool:
    """True if the row's column still has the value that the change gave it."""
    return name in _COUNTERS or getattr(found, name) == row.values[name][1]


def _admit_again(actor: Actor, memory: Memory, new: dict[str, Any], *, takes_back: bool) -> dict[str, Any]:
    """Check that a memory may count again with these columns; return the columns that come out differently.

    A text that the guard would hold today goes to quarantine, unless a curator lets it in or a person has kept it. An end that passed meanwhile
    has passed: recall asks for the time. `takes_back`: see check_not_barred().

    Raises:
        Conflict: its text was withdrawn, or is live elsewhere; a later version counts; its group became private.
    """
    as_new = _with_values(memory, new)
    check_scope(as_new)
    if memory.state == State.SUPERSEDED:  # whatever became of a later version
        check_not_barred(actor, as_new, takes_back=takes_back)
    else:
        check_not_withdrawn(actor, as_new, takes_back=takes_back)
    if new.get("state", memory.state) == State.LIVE:
        check_no_live_copy(as_new)
    trust = new.get("trust", memory.trust)
    is_decided = actor.decides(as_new.group_id)
    kept = MemoryFinding.objects.filter(memory=memory, status=FindingStatus.KEPT)
    if is_decided or trust in WITHDRAWN_TRUSTS or kept.exists():
        return {}
    return {"trust": Trust.QUARANTINED} if _is_held(as_new, as_new.group) else {}


def _check_texts(actor: Actor, row: Model) -> None:
    """Raise Conflict if a row other than a memory holds a text that was withdrawn since, or states it as a relation does."""
    if not (said := said_by(row)):
        return
    [repeated] = find_repeated([(group_of(row).key, said)])
    if repeated is not None:
        raise repeated_text(actor, repeated[1], path=repeated[0])


def _with_values(row: _Row, new: dict[str, Any]) -> _Row:
    """A copy of the row with other values of some columns, not saved."""
    as_new = copy(row)
    as_new._state = copy(row._state)
    as_new._state.fields_cache = {}
    for name, value in new.items():
        setattr(as_new, name, value)
    return as_new


def _is_held(memory: Memory, group: Group) -> bool:
    """True if the guard would hold the memory's text for a person today."""
    try:
        return bool(held_for_person(guard_draft(as_draft(memory), group, stored_door(memory))))
    except SensitiveText:
        return True
