"""Names of a table's indexes and constraints."""

from django.db import connection

_NAMES = """
SELECT relname FROM pg_class JOIN pg_index ON indexrelid = oid WHERE indrelid = to_regclass(%s)
UNION SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(%s)
"""


def rule_names(table: str) -> set[str]:
    """The names of a table's indexes and constraints."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, [table, table])
        return {name for (name,) in cursor.fetchall()}
