"""Triggers that keep the former values of rows: one row of `row_change` for each row that a change writes.

`vals` is JSON: `{column: [before, after]}` of the columns that an update changed; null for a new row; all kept columns,
with null after, for a deleted one. Nothing is kept outside of a change, or of columns that are not named here.
"""

from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

TABLE = "row_change"
FUNCTION = "loci_change"  # SQLite's; PostgreSQL has a setting of the transaction


@dataclass(frozen=True)
class KeptTable:
    """A table whose former values are kept: its key, the columns, which of them hold fractions, and whether deleted rows are."""

    table: str
    key: str
    columns: tuple[str, ...]
    fractions: frozenset[str] = frozenset()
    keeps_deleted: bool = False

    def statements(self, vendor: str) -> list[tuple[str, str]]:
        """The statements that make the triggers, each with the name of its trigger or function."""
        return _postgresql(self) if vendor == "postgresql" else _sqlite(self)


def _sqlite(kept: KeptTable) -> list[tuple[str, str]]:
    def value(row: str, name: str) -> str:
        # JSON of SQLite has 15 digits of a fraction.
        return f"format('%!.17g', {row}.{name})" if name in kept.fractions else f"{row}.{name}"

    def insert(op: str, row: str, values: str) -> str:
        return (
            f"INSERT INTO {TABLE} (change, op, kept, row, vals) VALUES ({FUNCTION}(), '{op}', '{kept.table}', "
            f"{row}.{kept.key}, {values});"
        )

    pairs = " UNION ALL ".join(
        f"SELECT '{name}' AS k, json_array({value('OLD', name)}, {value('NEW', name)}) AS v "
        f"WHERE OLD.{name} IS NOT NEW.{name}"
        for name in kept.columns
    )
    whole = ", ".join(f"'{name}', json_array({value('OLD', name)}, NULL)" for name in kept.columns)
    differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in kept.columns)
    made = [
        (
            f"{kept.table}_kept_insert",
            f"CREATE TRIGGER IF NOT EXISTS {kept.table}_kept_insert AFTER INSERT ON {kept.table} "
            f"WHEN {FUNCTION}() IS NOT NULL BEGIN {insert('i', 'NEW', 'NULL')} END",
        ),
        (
            f"{kept.table}_kept_update",
            f"CREATE TRIGGER IF NOT EXISTS {kept.table}_kept_update AFTER UPDATE OF {', '.join(kept.columns)} "
            f"ON {kept.table} WHEN {FUNCTION}() IS NOT NULL AND ({differs}) BEGIN "
            + insert("u", "NEW", f"(SELECT json_group_object(k, json(v)) FROM ({pairs}))")
            + " END",
        ),
    ]
    if kept.keeps_deleted:
        made.append(
            (
                f"{kept.table}_kept_delete",
                f"CREATE TRIGGER IF NOT EXISTS {kept.table}_kept_delete AFTER DELETE ON {kept.table} "
                f"WHEN {FUNCTION}() IS NOT NULL BEGIN {insert('d', 'OLD', f'json_object({whole})')} END",
            )
        )
    return made


def _postgresql(kept: KeptTable) -> list[tuple[str, str]]:
    rows = ", ".join(f"('{name}', to_jsonb(OLD.{name}), to_jsonb(NEW.{name}))" for name in kept.columns)
    whole = ", ".join(f"'{name}', jsonb_build_array(OLD.{name}, NULL)" for name in kept.columns)

    def insert(op: str, row: str, values: str) -> str:
        return (
            f"INSERT INTO {TABLE} (change, op, kept, row, vals) "
            f"VALUES (change, '{op}', '{kept.table}', {row}.{kept.key}, {values});"
        )

    name = f"{kept.table}_kept"
    body = f"""CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  change bigint := nullif(current_setting('loci.change', true), '')::bigint;
  found jsonb;
BEGIN
  IF change IS NULL THEN RETURN NULL; END IF;
  IF TG_OP = 'INSERT' THEN
    {insert("i", "NEW", "NULL")}
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT jsonb_object_agg(k, jsonb_build_array(b, a)) INTO found
      FROM (VALUES {rows}) AS pair(k, b, a) WHERE b IS DISTINCT FROM a;
    IF found IS NOT NULL THEN {insert("u", "NEW", "found")} END IF;
  ELSE
    {insert("d", "OLD", f"jsonb_build_object({whole})")}
  END IF;
  RETURN NULL;
END $$"""
    events = f"INSERT OR UPDATE OF {', '.join(kept.columns)}" + (" OR DELETE" if kept.keeps_deleted else "")
    trigger = f"CREATE OR REPLACE TRIGGER {name} AFTER {events} ON {kept.table} FOR EACH ROW EXECUTE FUNCTION {name}()"
    return [(name, body), (name, trigger)]


def drop_triggers(connection: BaseDatabaseWrapper, kept: KeptTable) -> None:
    """Drop the triggers of a table."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"DROP FUNCTION IF EXISTS {kept.table}_kept() CASCADE")
            return
        for event in ("insert", "update", "delete"):
            cursor.execute(f"DROP TRIGGER IF EXISTS {kept.table}_kept_{event}")
