"""Short ids: the last characters of a memory's id, which are random; the first ones are the clock's."""

from typing import Any, Final
from uuid import UUID

from django.db.models import CharField, F, Func, Index
from django.db.models.lookups import Exact

SHORT_ID_CHARS: Final = 8
NAME: Final = "memory_short_id"


class _LastOfId(Func):
    """SQL for the last characters of an id, with a literal length: SQLite matches no bound value with the index."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        """Render over the 32 digits of the column."""
        return self.as_sql(compiler, connection, template=f"SUBSTR(%(expressions)s, {33 - SHORT_ID_CHARS})")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        """Render over the text of a uuid."""
        return self.as_sql(compiler, connection, template=f"RIGHT((%(expressions)s)::text, {SHORT_ID_CHARS})")


def short_id(id_: UUID) -> str:
    """The short form of a memory's id."""
    return id_.hex[-SHORT_ID_CHARS:]


def short_id_index() -> Index:
    """The index that finds a memory by its short id."""
    return Index(_LastOfId(F("id")), name=NAME)


def id_ends_with(digits: str) -> Exact:
    """Condition: the id ends like `digits`, of which only the last SHORT_ID_CHARS are compared. It uses the index."""
    return Exact(_LastOfId(F("id")), digits[-SHORT_ID_CHARS:])
