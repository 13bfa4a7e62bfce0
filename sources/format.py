"""The format of an export: its tables, their columns, and how a row is written."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model

from access.models import ApiToken, AuditEntry, Group
from memories.draft.registry import OLDER_VALUES
from memories.language.cleaning import format_count
from memories.models import Checkpoint, Doubt, Link, Memory, Thread, Tombstone
from memories.queries.snapshot import FIELDS, as_json
from relations.models import EntityAlias, Relation

FORMAT = "loci-export"
VERSION = 2
READABLE_VERSIONS = frozenset({1, VERSION})  # 1: the log was one chain


@dataclass(frozen=True)
class RecordKind:
    """One table of an export. `references` are foreign keys, written as their target's portable name.

    `moving` columns change through use: a stored row and a line that differ only in them count as the same. `older` are
    the values of columns that an older export does not have. `natural` columns find a row that has another id here. `texts` pass the guard at an import; a thread is named by what
    is in it, so its name is masked there in the same way.
    """

    name: str
    model: type[Model]
    fields: tuple[str, ...]
    references: tuple[str, ...] = ()
    moving: frozenset[str] = field(default_factory=frozenset)
    older: Mapping[str, Any] = field(default_factory=dict, hash=False)
    natural: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


GROUP = RecordKind(
    "group",
    Group,
    (
        "id", "slug", "title", "instructions", "policy", "policy_confidence", "private", "archived", "created_at",
        "updated_at", "created_by", "default_scope", "captures", "guard", "cleanup",
    ),
    moving=frozenset({"updated_at"}),
    older={"default_scope": "", "captures": "review", "guard": "", "cleanup": "sleep"},
    natural=("slug",),
    texts=("title", "instructions", "created_by"),
)  # fmt: skip
THREAD = RecordKind(
    "thread",
    Thread,
    ("id", "name", "created_at", "title", "url", "platform", "tags", "active_at", "deleted_at"),
    ("group",),
    moving=frozenset({"title", "url", "tags", "active_at", "deleted_at"}),
    older={"title": "", "url": "", "platform": "", "tags": [], "active_at": None, "deleted_at": None},
    natural=("group", "name"),
    texts=("name", "title", "url", "platform", "tags"),
)
MEMORY = RecordKind(
    "memory",
    Memory,
    ("id", *FIELDS),
    ("group", "thread", "root", "superseded_by", "summary", "token", "author"),
    moving=frozenset(
        {
            "access_count",
            "last_accessed",
            "decayed_at",
            "updated_at",
            "confirmed_at",
            "superseded_by",
            "summary",
            "token",
            "author",
        }
    ),
    older=ChainMap({"summary": None}, OLDER_VALUES),
    # The content is looked at by itself.
    texts=("tags", "metadata", "source", "source_ref", "thread", "client", "author_name", "anchor_commit"),
)
LINK = RecordKind(
    "link",
    Link,
    (
        "id", "kind", "status", "score", "reason", "evidence", "created_at", "author_name", "run", "settled_at",
        "settled_by",
    ),
    ("source", "target"),
    texts=("reason", "evidence", "author_name", "settled_by"),
)  # fmt: skip
DOUBT = RecordKind(
    "doubt",
    Doubt,
    ("id", "author_name", "token", "reason", "at", "status", "settled_by", "settled_at", "how"),
    ("memory", "author"),
    moving=frozenset({"status", "settled_by", "settled_at", "how", "author"}),
    texts=("reason", "author_name", "settled_by"),
)
RELATION = RecordKind(
    "relation",
    Relation,
    (
        "id", "predicate", "confidence", "valid_from", "valid_to", "valid_to_known_at", "created_at", "retired_at",
        "updated_at", "author_name", "run", "metadata",
    ),
    ("group", "subject", "object", "token", "author"),
    moving=frozenset({"updated_at", "token", "author"}),
    texts=("predicate", "metadata", "author_name"),
)  # fmt: skip
ALIAS = RecordKind(
    "alias",
    EntityAlias,
    ("name", "fold", "created_at", "run"),
    ("group", "memory"),
    natural=("memory", "fold"),
    texts=("name", "fold"),
)
CHECKPOINT = RecordKind(
    "checkpoint",
    Checkpoint,
    ("id", "state", "created_at", "author_name"),
    ("group", "thread", "token", "author"),
    moving=frozenset({"token", "author"}),
    texts=("state", "thread", "author_name"),
)
TOMBSTONE = RecordKind(
    "tombstone",
    Tombstone,
    (
        "id", "hmac", "dress", "spelling", "key_id", "kind", "scope", "memory_id", "reason", "created_at",
        "author_name", "lifted_at", "lifted_by",
    ),
    ("group",),
    older={"dress": "", "spelling": "", "scope": "group"},
    texts=("reason", "author_name", "lifted_by"),
)  # fmt: skip
LOG = RecordKind(
    "log",
    AuditEntry,
    (
        "origin", "chain", "seq", "at", "operation", "memory_id", "group", "subject", "actor", "via", "token", "client", "run",
        "digest", "hash",
    ),
)  # fmt: skip
# In the order of an export: each kind refers only to kinds before it.
KINDS = (GROUP, THREAD, MEMORY, LINK, DOUBT, RELATION, ALIAS, CHECKPOINT, TOMBSTONE)


def counts_text(counts: Mapping[str, int]) -> str:
    """Counts by kind in words: "2 groups, 1 memory, 17 log rows"."""
    parts = (format_count(count, "log row" if kind == LOG.name else kind) for kind, count in counts.items())
    return ", ".join(parts) or "nothing"


def record_of(kind: RecordKind, row: Model, names: Iterable[str] = ()) -> dict[str, Any]:
    """A row, or these columns of it, as JSON values: references by portable name, None for an empty one."""
    return {
        name: _portable_name(getattr(row, name)) if name in kind.references else as_json(getattr(row, name))
        for name in names or (*kind.fields, *kind.references)
    }


def _portable_name(target: Model | None) -> str | None:
    """Name of a row that is valid in any store: a group's slug, a thread's or a user's name, else the id."""
    match target:
        case None:
            return None
        case Group():
            return target.slug
        case Thread():
            return target.name
        case User():
            return target.get_username()
        case Memory() | ApiToken():
            return str(target.id)
    raise TypeError(f"{type(target).__name__} has no portable name")


def differences(kind: RecordKind, row: Model, record: dict[str, Any]) -> list[str]:
    """Columns in which a stored row differs from a line, without those that change through use."""
    stored = record_of(kind, row)
    return [
        name
        for name, value in stored.items()
        if name not in kind.moving and record.get(name, kind.older.get(name)) != value
    ]
