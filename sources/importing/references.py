"""Rows of this store that an export's lines name: those that a line is about, and those that it refers to."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Model, Q

from access.models import ApiToken, Group
from memories.models import Link, Memory, Thread
from sources.format import RecordKind, record_of

_MEMORY_REFERENCES = frozenset({"source", "target", "subject", "object", "memory", "root", "superseded_by"})

_BY: Final = {"group": "group__slug", "memory": "memory__id"}  # how a natural column is looked for
OTHER_GROUP = "its {column} names a memory of another group"


class _MissingTarget(ValueError):
    """A line refers to a row that is neither in the file nor in the store."""


class Targets:
    """The rows that lines refer to: groups and threads by their names in the file, memories by id.

    Tokens and users that do not exist here resolve to None: they belong to the machine they were made on.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.threads: dict[tuple[str, str], Thread] = {}
        self._users = {user.get_username(): user for user in User.objects.all()}
        self._tokens = {str(token.id): token for token in ApiToken.objects.all()}
        self._memories: dict[str, Memory] = {}
        self.brought: set[str] = set()  # ids of memories that the file has as they are here

    def fetch_memories(self, records: Sequence[dict[str, Any]], also: Sequence[str] = ()) -> None:
        """Fetch the memories that the records refer to, and those with the ids in `also`, in one query."""
        named = [record[name] for record in records for name in _MEMORY_REFERENCES & record.keys()]
        ids = {UUID(id_) for id_ in [*named, *also] if is_id(id_)}
        # Most memories refer to none, and an empty query takes longer than no query.
        rows = Memory.objects.filter(id__in=ids) if ids else []
        self._memories = {str(row.id): row for row in rows}

    def find(self, column: str, name: Any, record: dict[str, Any]) -> Model | None:
        """The row that a record's column refers to; None for an empty one, or an unknown token or user."""
        if not name:
            return None
        if not isinstance(name, str):
            raise _MissingTarget(f"'{column}' is {name!r}")
        match column:
            case "group":
                return _found(self.groups.get(name), f"group '{name}'")
            case "thread":
                return _found(self.threads.get((record["group"], name)), f"thread '{name}'")
            case "author":
                return self._users.get(name)
            case "token":
                return self._tokens.get(name)
        return _found(self._memories.get(name), f"memory {name}, its {column},")

    def check_group(self, row: Model, record: dict[str, Any]) -> None:
        """Refuse a chain that leads into another group, and a link to a memory of another group that the file does not have.

        Raises:
            ValueError: such a reference; the message names its column.
        """
        if isinstance(row, Memory):
            for name in ("root", "superseded_by"):
                other = self._memories.get(str(record[name]))
                if other is not None and other.group_id != row.group_id:
                    raise ValueError(OTHER_GROUP.format(column=name))
        elif isinstance(row, Link) and row.source.group_id != row.target.group_id:
            for name in ("source", "target"):
                if record[name] not in self.brought:
                    raise ValueError(OTHER_GROUP.format(column=name))

    def memory(self, id_: str) -> Memory | None:
        """A memory that fetch_memories() found."""
        return self._memories.get(id_)


def _found(row: Model | None, what: str) -> Model:
    if row is None:
        raise _MissingTarget(f"its {what} is neither in the file nor in the store")
    return row


def is_id(text: Any) -> bool:
    """True if a record's value is an id."""
    try:
        return isinstance(text, str) and bool(UUID(text))
    except ValueError:
        return False


def names_of(kind: RecordKind, record: Mapping[str, Any]) -> list[str]:
    """The names by which a record finds its stored row: its id, then its natural key."""
    names = [f"id {record.get('id')}"] if "id" in kind.fields else []
    if kind.natural:
        names.append("/".join(str(record.get(column)) for column in kind.natural))
    return names


def stored_rows(kind: RecordKind, records: Sequence[Mapping[str, Any]]) -> dict[str, Model]:
    """Stored rows of the records, by each of their names."""
    columns = ["id", *kind.natural] if "id" in kind.fields else [*kind.natural]
    wanted = Q(id__in=_values_of(records, "id")) if "id" in columns else Q()
    if kind.natural:
        wanted |= Q(**{f"{_BY.get(name, name)}__in": _values_of(records, name) for name in kind.natural})
    rows = kind.model._default_manager.filter(wanted).select_related(*kind.references)
    return {name: row for row in rows for name in names_of(kind, record_of(kind, row, columns))}


def _values_of(records: Sequence[Mapping[str, Any]], column: str) -> set[str]:
    texts = {value for record in records if isinstance(value := record.get(column), str)}
    # No stored text has a NUL, and PostgreSQL refuses even to look for one.
    return {text for text in texts if (is_id(text) if column in ("id", "memory") else "\x00" not in text)}
