"""Conditions with database-specific SQL."""

from typing import Any

from django.db.models import BooleanField, F, Func


class HasTag(Func):
    """True if a JSON list column contains a text."""

    output_field = BooleanField()
    conditional = True

    def __init__(self, column: F, tag: str, **extra: Any) -> None:
        super().__init__(column, **extra)
        self.tag = tag

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[str | int, ...]]:
        """Render over json_each."""
        column, params = compiler.compile(self.source_expressions[0])
        return f"EXISTS (SELECT 1 FROM json_each({column}) WHERE json_each.value = %s)", (*params, self.tag)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        """Render as containment of jsonb."""
        column, params = compiler.compile(self.source_expressions[0])
        return f"{column} @> jsonb_build_array(%s::text)", [*params, self.tag]
