"""The rows that a change can be taken back in, and what changes did to them.

`TABLES` names their tables: the columns that come back, and what becomes of a new row. To add one, add a line: the next
migrate makes its triggers (storage/journal.py). What changes did is what the triggers kept, or for changes of 0.3.0, what
the log says of them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Field, FloatField, JSONField, Model
from django.utils import timezone

from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.models import AuditEntry, Group, RowChange
from memories.models import (
    Checkpoint,
    Doubt,
    DoubtStatus,
    Link,
    Memory,
    MemoryFinding,
    MovedSource,
    Proposal,
    ProposalStatus,
    Thread,
    Tombstone,
)
from memories.queries.snapshot import as_json
from memories.search.schema import SqlStatement
from relations.models import EntityAlias, Relation, RelationEvidence
from storage.journal import KeptTable, drop_triggers

_Closing = Callable[[Actor, datetime], dict[str, Any]]
DELETED: Final = "deleted"
STAYS: Final = "stays"


@dataclass(frozen=True)
class _ReversibleTable:
    """A model with the columns that a reversal puts back.

    `made` says what becomes of a row that the change made: DELETED, STAYS, or the values that close it. Memories have a
    rule of their own: they are hidden. `part_of` is the column of the memory that the row is a part of, and stays with.
    """

    model: type[Model]
    columns: tuple[str, ...]
    made: str | _Closing = STAYS
    part_of: str = ""

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def kept(self) -> KeptTable:
        """The table as the triggers see it."""
        fields = {name: self.model._meta.get_field(name) for name in self.columns}
        key = self.model._meta.pk
        return KeptTable(
            self.name,
            key.attname if key is not None else "",
            self.columns,
            frozenset(name for name, field in fields.items() if isinstance(field, FloatField)),
            keeps_deleted=self.made == DELETED,
        )

    def typed(self, name: str, value: Any) -> Any:
        """A value that a trigger kept, as the model has it."""
        field = self.model._meta.get_field(name)
        if value is None or not isinstance(field, Field):
            return value
        if isinstance(field, JSONField):
            return json.loads(value) if isinstance(value, str) else value
        if field.is_relation:
            return value
        found = field.to_python(value)
        if isinstance(field, DateTimeField) and isinstance(found, datetime) and found.tzinfo is None:
            return found.replace(tzinfo=UTC)  # SQLite keeps no zone
        return found


MEMORY: Final = _ReversibleTable(
    Memory,
    (
        "group_id", "scope", "thread_id", "position", "state", "trust", "tags", "metadata", "source", "source_ref",
        "confidence", "importance", "access_count", "last_accessed", "pinned", "outside", "anchor_commit", "decayed_at", "superseded_by_id", "root_id", "summary_id", "version",
        "valid_from", "valid_to", "valid_to_known_at", "retired_at", "state_changed_at", "confirmed_at", "expires_at",
    ),
)  # fmt: skip
# In the order in which a reversal takes them, but for the new parts of memories, which come last: a tombstone bars what comes
# back, and relations keep a memory in use.
TABLES: Final = (
    _ReversibleTable(
        Tombstone,
        ("kind", "scope", "memory_id", "reason", "author_name", "lifted_at", "lifted_by"),
        lambda actor, now: {"lifted_at": now, "lifted_by": actor.name},
    ),
    _ReversibleTable(
        Proposal,
        ("status", "closed_at", "closed_by", "group_id", "memory_id"),
        lambda actor, now: {"status": ProposalStatus.STALE, "closed_at": now, "closed_by": actor.name},
    ),
    _ReversibleTable(RelationEvidence, ("relation_id", "memory_id"), DELETED),
    _ReversibleTable(
        Relation,
        ("group_id", "subject_id", "object_id", "confidence", "valid_from", "valid_to", "valid_to_known_at", "retired_at", "metadata"),
        lambda _, now: {"retired_at": now, "updated_at": now},
    ),
    _ReversibleTable(EntityAlias, ("group_id", "memory_id", "name", "fold", "created_at", "run"), DELETED, "memory_id"),
    _ReversibleTable(MovedSource, ("group_id", "source", "source_ref", "to_id"), DELETED),
    _ReversibleTable(
        MemoryFinding,
        ("id", "memory_id", "kind", "places", "treatment", "status", "scan", "former_treatment", "at", "settled_by"),
        DELETED,
        "memory_id",
    ),
    _ReversibleTable(
        Checkpoint,
        ("id", "group_id", "thread_id", "state", "created_at", "author_id", "author_name", "token_id", "held"),
        DELETED,
    ),
    _ReversibleTable(Thread, ("group_id", "title", "url", "tags", "deleted_at", "summary_id")),
    _ReversibleTable(Group, ("instructions",)),
    _ReversibleTable(
        Doubt,
        ("memory_id", "status", "settled_by", "settled_at", "how"),
        lambda actor, now: {
            "status": DoubtStatus.SETTLED, "settled_by": actor.name[:300], "settled_at": now, "how": "undo",
        },
    ),
    MEMORY,
    _ReversibleTable(
        Link,
        (
            "id", "kind", "source_id", "target_id", "status", "score", "reason", "evidence", "created_at", "author_name", "run",
            "settled_at", "settled_by",
        ),
        DELETED,
        "source_id",
    ),
)  # fmt: skip
RANKS: Final = {table.name: rank for rank, table in enumerate(TABLES)}


@cache
def table_named(name: str) -> _ReversibleTable:
    """The entry of a table."""
    return TABLES[RANKS[name]]


class _KeptRows:
    """The triggers of all tables, among the objects that the store has besides the search's own."""

    table: Final = MEMORY.name

    def statements(self, vendor: str) -> tuple[SqlStatement, ...]:
        made = (statement for table in TABLES for statement in table.kept.statements(vendor))
        return tuple(SqlStatement(name, sql) for name, sql in made)

    def drop(self, connection: BaseDatabaseWrapper) -> None:
        for table in TABLES:
            drop_triggers(connection, table.kept)

    def apply(self, connection: BaseDatabaseWrapper) -> None:
        """Make the triggers anew, since a table's columns may have changed; none on a table of an older release."""
        self.drop(connection)
        inspect = connection.introspection
        existing = set(inspect.table_names())
        with connection.cursor() as cursor:
            for table in (table for table in TABLES if table.name in existing):
                columns = {column.name for column in inspect.get_table_description(cursor, table.name)}
                if columns.issuperset(table.kept.columns):
                    for _, sql in table.kept.statements(connection.vendor):
                        cursor.execute(sql)


KEPT_ROWS: Final = _KeptRows()


# Operations of 0.3.0 whose log row has every value that comes back.
_CHANGED: Final = frozenset(
    {
        Operation.TRUST, Operation.VERIFY, Operation.PIN, Operation.UNPIN, Operation.FORGET, Operation.REINFORCE, Operation.EDIT,
        Operation.SUPERSEDE, Operation.MERGE,
    }
)  # fmt: skip
_KEYS: Final = {"superseded_by": "superseded_by_id", "root": "root_id"}
_BOOKKEEPING: Final = frozenset({"updated_at", "state_changed_at", "access_count", "last_accessed"})


@dataclass
class FormerRow:
    """What a change did to one row: `made` or `removed` it, or changed columns, `{name: (before, after)}`."""

    table: _ReversibleTable
    row: int
    first: int = 0  # keys of the kept rows that this one is made of
    last: int = 0
    made: bool = False
    removed: bool = False
    values: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    change: int = 0

    @property
    def is_memory(self) -> bool:
        """True for a row of a memory."""
        return self.table is MEMORY

    def before(self) -> dict[str, Any]:
        """The values that come back."""
        return {name: old for name, (old, _) in self.values.items()}


def rows_of(changes: Collection[int]) -> list[FormerRow]:
    """What the changes did to each row and was not taken back, in all: a row that they touched twice is one."""
    found: dict[tuple[str, int], FormerRow] = {}
    kept = RowChange.objects.filter(change__in=list(changes), undone_by=None).exclude(op="b").order_by("key")
    for entry in kept.iterator():
        _add_change(found, entry)
    return [row for row in found.values() if is_left(row)]


def _add_change(found: dict[tuple[str, int], FormerRow], entry: RowChange) -> None:
    table = table_named(entry.kept)
    row = found.setdefault((entry.kept, entry.row), FormerRow(table, entry.row, first=entry.key))
    row.last, row.change = entry.key, entry.change
    if entry.op == "i":
        row.made = True
    elif entry.op == "d":
        row.removed = True
        row.values = {
            name: (row.values.get(name, (table.typed(name, old), None))[0], None)
            for name, (old, _) in (entry.vals or {}).items()
        }
    else:
        for name, (old, new) in (entry.vals or {}).items():
            first = row.values.get(name, (table.typed(name, old), None))[0]
            row.values[name] = (first, table.typed(name, new))


def is_left(row: FormerRow) -> bool:
    """True if the changes left the row otherwise than they found it."""
    if row.made or row.removed:
        return not (row.made and row.removed)
    row.values = {name: pair for name, pair in row.values.items() if pair[0] != pair[1]}
    return bool(row.values)


def pack_batch(
    keys: Sequence[int], before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """The values of one update of many rows now, as JSON; a column of one repeated value is stored as that value."""
    packed = {name: [_pack(before[name]), _pack(after[name])] for name in before}
    return {"pk": list(keys), "at": as_json(timezone.now()), **packed}


def _pack(values: Sequence[Any]) -> Any:
    listed = [as_json(value) for value in values]
    is_constant = all(value == listed[0] for value in listed) and not isinstance(listed[0], list)
    return listed[0] if is_constant else listed


def unpack_batch(entry: RowChange) -> Iterator[tuple[int, dict[str, tuple[Any, Any]]]]:
    """`(key, {column: (before, after)})` for each row of a batch, with the model's types."""
    vals, table = dict(entry.vals or {}), table_named(entry.kept)
    keys, _ = vals.pop("pk"), vals.pop("at", "")
    for at, key in enumerate(keys):
        pairs: dict[str, tuple[Any, Any]] = {}
        for name, pair in vals.items():
            old, new = (each[at] if isinstance(each, list) else each for each in pair)
            pairs[name] = table.typed(name, old), table.typed(name, new)
        yield key, pairs


def rows_of_log(entries: Sequence[AuditEntry]) -> list[FormerRow]:
    """What changes of 0.3.0 did to memories, from their log rows.

    Raises:
        Conflict: the log does not say it, or a purge destroyed what it says.
    """
    rows = list[FormerRow]()
    for entry in entries:
        if not hasattr(entry, "payload_row"):
            raise Conflict("This change cannot be taken back any more: its text was purged.")
        memory = Memory.objects.filter(id=entry.memory_id).only("key").first() if entry.memory_id else None
        changed = entry.payload.get("changes", {})
        # A wording was kept, not merged by a person.
        is_wording = entry.operation == Operation.MERGE and "moved" not in entry.payload
        if memory is not None and (entry.operation == Operation.STORE or is_wording):
            rows.append(FormerRow(MEMORY, memory.key, made=True))
        elif memory is not None and entry.operation in _CHANGED and changed and "moved" not in entry.payload:
            rows.append(FormerRow(MEMORY, memory.key, values=dict(_columns(changed))))
        else:
            label = Operation(entry.operation).value
            raise Conflict(
                f"'{label}' was done by Loci 0.3.0, which kept too little to take it back.",
                hint="Nothing was changed. Inspect the memory, and use a verb.",
            )
    return rows


def _columns(changed: dict[str, list[Any]]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, (old, new) in changed.items():
        if name in _KEYS:
            named = Memory.objects.filter(id__in=filter(None, (old, new))).values_list("id", "key")
            keys = {str(id_): key for id_, key in named}
            yield _KEYS[name], (keys.get(old), keys.get(new))
        elif name in MEMORY.columns and name not in _BOOKKEEPING:
            yield name, (MEMORY.typed(name, old), MEMORY.typed(name, new))


def changes_of(entries: Iterable[AuditEntry]) -> frozenset[int]:
    """The numbers of the changes that log rows are parts of; none for those of 0.3.0."""
    return frozenset(entry.change for entry in entries if entry.change is not None)
