"""Every table's rows, to compare before and after."""

from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import BinaryField, CharField, JSONField, Model, TextField

# Virtual tables' shadow tables say the same in another form; migrations and content types never change in a test.
_LEFT_OUT = ("django_", "sqlite_", "memories_fts_", "memories_vec_")


def all_rows() -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table, sorted."""
    with connection.cursor() as cursor:
        names = [n for n in connection.introspection.table_names(cursor) if not n.startswith(_LEFT_OUT)]
        return {name: _rows(cursor, name) for name in names}


def _rows(cursor: Any, name: str) -> list[tuple[Any, ...]]:
    cursor.execute(f'SELECT * FROM "{name}"')
    return sorted(cursor.fetchall(), key=repr)


def text_columns() -> list[tuple[type[Model], str]]:
    """The columns that can hold a text, with their models."""
    return [
        (model, field.column)
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, (CharField, TextField, JSONField, BinaryField)) and not field.choices
    ]
