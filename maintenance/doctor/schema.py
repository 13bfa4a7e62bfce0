"""Checks of the schema: migrations, tables, columns, indexes and constraints."""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.models import Model
from django.utils.translation import gettext, gettext_noop

from access.errors import Unavailable
from maintenance.backups.open_copy import pending_migrations
from maintenance.doctor.report import Finding, first_of, notice, ok, wrong
from memories.search.schema import own_names
from storage.dialect import dialect

# Tables of the database itself; virtual tables add shadow tables with their own name as the prefix.
_FOREIGN_PREFIXES = ("sqlite_", "pg_", "django_migrations")
BACKUP = gettext_noop("restore a backup, or import an export into a new database")


def check_migrations() -> Finding:
    """All migrations are applied."""
    try:
        pending = pending_migrations()
    except Unavailable as error:
        return wrong("migrations", error.message, error.hint)
    if pending:
        detail = gettext("{count} are not applied").format(count=len(pending))
        return wrong("migrations", detail, gettext("run 'loci migrate'"))
    return ok("migrations", gettext("all applied"))


def check_schema() -> Finding:
    """Tables, columns, indexes and constraints match the models."""
    with connection.cursor() as cursor:
        there = {info.name for info in connection.introspection.get_table_list(cursor) if info.type == "t"}
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    wanted = {model._meta.db_table: model for model in models}
    faults = [
        gettext("the table {name} is missing").format(name=name) for name in sorted(wanted.keys() - there)
    ]
    for name in sorted(wanted.keys() & there):
        faults += _column_faults(wanted[name])
    if faults:
        return wrong("schema", first_of(faults), gettext(BACKUP))
    known = (*_FOREIGN_PREFIXES, *own_names(connection.vendor))
    extra = sorted(name for name in there - wanted.keys() if not name.startswith(known))
    if extra:
        return notice(
            "schema",
            gettext("tables that do not belong to Loci: {names}").format(names=first_of(extra)),
            gettext("drop them if they are not needed"),
        )
    return ok("schema", gettext("{count} tables match the models").format(count=len(wanted)))


def _column_faults(model: type[Model]) -> Iterator[str]:
    """Differences between a model and its table: missing and unknown columns, missing indexes and constraints."""
    table = model._meta.db_table
    rules = {str(rule.name) for rule in (*model._meta.indexes, *model._meta.constraints)}
    with connection.cursor() as cursor:
        columns = {info.name for info in connection.introspection.get_table_description(cursor, table)}
    named = dialect().rule_names(table)
    wanted = {str(field.column) for field in model._meta.local_concrete_fields}
    for text, names in (
        (gettext("{table} lacks the column {name}"), wanted - columns),
        (gettext("{table} has an unknown column {name}"), columns - wanted),
        (gettext("{table} lacks the index or constraint {name}"), rules - named),
    ):
        yield from (text.format(table=table, name=name) for name in sorted(names))
