"""The tables whose rows a change can be taken back in: the columns that come back, and what becomes of a new row.

To add a table, add a line to `TABLES`: the next migrate makes its triggers (storage/journal.py).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Field, FloatField, JSONField, Model

from access.actor import Actor
from access.models import Group
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
from memories.search.schema import SqlStatement
from relations.models import EntityAlias, Relation, RelationEvidence
from storage.journal import KeptTable, drop_triggers

Closing = Callable[[Actor, datetime], dict[str, Any]]
DELETED: Final = "deleted"
STAYS: Final = "stays"


@dataclass(frozen=True)
class ReversibleTable:
    """A model with the columns that a reversal puts back.

    `made` says what becomes of a row that the change made: DELETED, STAYS, or the values that close it. Memories have a
    rule of their own: they are hidden.
    """

    model: type[Model]
    columns: tuple[str, ...]
    made: str | Closing = STAYS

    @property
    def name(self) -> str:
        """The database's name of the table."""
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


def _withdrawn(actor: Actor, now: datetime) -> dict[str, Any]:
    return {"status": ProposalStatus.STALE, "closed_at": now, "closed_by": actor.name}


def _lifted(actor: Actor, now: datetime) -> dict[str, Any]:
    return {"lifted_at": now, "lifted_by": actor.name}


def _taken_back(actor: Actor, now: datetime) -> dict[str, Any]:
    return {"status": DoubtStatus.SETTLED, "settled_by": actor.name[:300], "settled_at": now, "how": "undo"}


def _retired(_actor: Actor, now: datetime) -> dict[str, Any]:
    return {"retired_at": now, "updated_at": now}


MEMORY: Final = ReversibleTable(
    Memory,
    (
        "group_id", "scope", "thread_id", "position", "state", "trust", "tags", "metadata", "source", "source_ref",
        "confidence", "importance", "access_count", "last_accessed", "pinned", "outside", "anchor_commit", "decayed_at", "superseded_by_id", "root_id", "version",
        "valid_from", "valid_to", "valid_to_known_at", "retired_at", "state_changed_at", "expires_at",
    ),
)  # fmt: skip
# In the order in which a reversal takes them: relations keep a memory in use, and a link stays if its memory does.
TABLES: Final = (
    ReversibleTable(Proposal, ("status", "closed_at", "closed_by", "group_id", "memory_id"), _withdrawn),
    ReversibleTable(RelationEvidence, ("relation_id", "memory_id"), DELETED),
    ReversibleTable(
        Relation,
        ("group_id", "subject_id", "object_id", "confidence", "valid_from", "valid_to", "valid_to_known_at", "retired_at", "metadata"),
        _retired,
    ),
    ReversibleTable(EntityAlias, ("group_id", "memory_id", "name", "fold", "created_at", "run"), DELETED),
    ReversibleTable(MovedSource, ("group_id", "source", "source_ref", "to_id"), DELETED),
    ReversibleTable(
        Tombstone, ("kind", "scope", "memory_id", "reason", "author_name", "lifted_at", "lifted_by"), _lifted
    ),
    ReversibleTable(
        MemoryFinding,
        (
            "id", "memory_id", "kind", "places", "treatment", "status", "scan", "former_treatment", "at", "settled_by",
        ),
        DELETED,
    ),
    ReversibleTable(
        Checkpoint,
        ("id", "group_id", "thread_id", "state", "created_at", "author_id", "author_name", "token_id", "held"),
        DELETED,
    ),
    ReversibleTable(Thread, ("group_id", "title", "url", "tags", "deleted_at", "summary_id")),
    ReversibleTable(Group, ("instructions",)),
    ReversibleTable(Doubt, ("memory_id", "status", "settled_by", "settled_at", "how"), _taken_back),
    MEMORY,
    ReversibleTable(
        Link,
        (
            "id", "kind", "source_id", "target_id", "status", "score", "reason", "evidence", "created_at", "author_name", "run",
            "settled_at", "settled_by",
        ),
        DELETED,
    ),
)  # fmt: skip
RANKS: Final = {table.name: rank for rank, table in enumerate(TABLES)}


@cache
def table_named(name: str) -> ReversibleTable:
    """The entry of a table."""
    return TABLES[RANKS[name]]


class KeptRows:
    """The triggers of all tables, among the objects that the store has besides the search's own."""

    table: Final = MEMORY.name

    def statements(self, vendor: str) -> tuple[SqlStatement, ...]:
        """The statements that make the triggers."""
        return tuple(
            SqlStatement(name, sql) for table in TABLES for name, sql in table.kept.statements(vendor)
        )

    def drop(self, connection: BaseDatabaseWrapper) -> None:
        """Drop the triggers."""
        for table in TABLES:
            drop_triggers(connection, table.kept)

    def apply(self, connection: BaseDatabaseWrapper) -> None:
        """Make the triggers anew, since a table's columns may have changed."""
        self.drop(connection)
        existing = set(connection.introspection.table_names())
        with connection.cursor() as cursor:
            for table in TABLES:
                if table.name in existing:
                    for _, sql in table.kept.statements(connection.vendor):
                        cursor.execute(sql)


KEPT_ROWS: Final = KeptRows()
