"""Whether the database holds the tables, columns, indexes and triggers that this version of Loci stands on."""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

from maintenance.doctor.report import Finding, first_of, notice, ok, wrong
from memories.search.schema import created_names

# Made by the databases and by virtual tables (each keeps shadow tables of its own name).
FOREIGN_PREFIXES = ("sqlite_", "pg_", "django_migrations")
BACKUP = "restore a backup, or make the database anew from an export"


def check_migrations() -> Finding:
    """All migrations are applied."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        return wrong("migrations", f"{len(plan)} are not applied", "run 'loci migrate'")
    return ok("migrations", "all applied")


def check_schema() -> Finding:
    """Tables, columns, indexes and constraints are those of the models."""
    with connection.cursor() as cursor:
        there = {info.name for info in connection.introspection.get_table_list(cursor) if info.type == "t"}
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    wanted = {model._meta.db_table: model for model in models}
    faults = [f"the table {name} is missing" for name in sorted(wanted.keys() - there)]
    for name in sorted(wanted.keys() & there):
        faults += _column_faults(wanted[name])
    if faults:
        return wrong("schema", first_of(faults), BACKUP)
    extra = sorted(name for name in there - wanted.keys() if not _is_known(name))
    if extra:
        return notice(
            "schema", f"tables that are not Loci's: {first_of(extra)}", "drop them if nobody needs them"
        )
    return ok("schema", f"{len(wanted)} tables as the models have them")


def _is_known(name: str) -> bool:
    virtual = tuple(created_names(connection.vendor))
    return name.startswith((*FOREIGN_PREFIXES, *virtual))


def _column_faults(model: type[Model]) -> Iterator[str]:
    table = model._meta.db_table
    rules = {str(rule.name) for rule in (*model._meta.indexes, *model._meta.constraints)}
    with connection.cursor() as cursor:
        columns = {info.name for info in connection.introspection.get_table_description(cursor, table)}
        # Reading a table's constraints means parsing its SQL: 20 ms for each.
        named = set(connection.introspection.get_constraints(cursor, table)) if rules else set()
    wanted = {str(field.column) for field in model._meta.local_concrete_fields}
    yield from (f"{table} lacks the column {name}" for name in sorted(wanted - columns))
    yield from (f"{table} has a column {name} that no model knows" for name in sorted(columns - wanted))
    yield from (f"{table} lacks the index or constraint {name}" for name in sorted(rules - named))
