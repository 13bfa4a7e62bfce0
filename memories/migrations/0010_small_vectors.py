"""vec0's vectors take a byte for each number; the pieces keep them whole."""

from django.db import migrations

from memories.search.schema import apply_index_schema

_OUTDATED = "SELECT 1 FROM sqlite_master WHERE name = 'memories_vec' AND sql LIKE '%FLOAT[%'"
_TRIGGERS = ("memories_vec_insert", "memories_vec_update")


def make_small(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        if cursor.execute(_OUTDATED).fetchone() is None:
            return
        cursor.execute("DROP TABLE memories_vec")
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
        apply_index_schema(connection)
        # The update trigger writes the row of each piece that has a vector.
        cursor.execute("UPDATE memories_piece SET embedding = embedding WHERE embedding IS NOT NULL")


class Migration(migrations.Migration):
    dependencies = [("memories", "0009_vector_field")]

    operations = [migrations.RunPython(make_small, migrations.RunPython.noop)]
