"""Conditions with database-specific SQL."""

import json
from typing import Any

from django.db.models import BooleanField, F, Func


class HasTag(Func):
    """True if a JSON list column contains each of the texts: one condition, however many there are."""

    output_field = BooleanField()
    conditional = True

    def __init__(self, column: F, *tags: str, **extra: Any) -> None:
        super().__init__(column, **extra)
        self.tags = tags

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[str | int, ...]]:
        """Render over json_each."""
        column, params = compiler.compile(self.source_expressions[0])
        if len(self.tags) == 1:
            has = f"EXISTS (SELECT 1 FROM json_each({column}) WHERE json_each.value = %s)"
            return has, (*params, *self.tags)
        # A condition for each would be too deep for SQLite's parser from 1,000 tags on; for one, this takes three times as long.
        inside = f"SELECT json_each.value FROM json_each({column})"
        lacks = f"SELECT 1 FROM json_each(%s) AS wanted WHERE wanted.value NOT IN ({inside})"
        return f"NOT EXISTS ({lacks})", (json.dumps(self.tags), *params)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        """Render as containment of jsonb."""
        column, params = compiler.compile(self.source_expressions[0])
        return f"{column} @> to_jsonb(%s::text[])", [*params, list(self.tags)]
