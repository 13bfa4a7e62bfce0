"""Vectors as pgvector's own type on PostgreSQL; on SQLite the column stays as it is."""

from django.db import migrations

from memories.models.vector_field import VectorField
from memories.search.schema import apply_index_schema


def change_type(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    # The type of a column that a trigger names cannot be changed.
    schema_editor.execute("DROP TRIGGER piece_search_changed ON memories_piece")
    schema_editor.execute("ALTER TABLE memories_piece ALTER COLUMN embedding TYPE vector USING NULL")
    apply_index_schema(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("memories", "0008_feedback")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(change_type, migrations.RunPython.noop)],
            state_operations=[
                migrations.AlterField(model_name="piece", name="embedding", field=VectorField(null=True)),
            ],
        )
    ]
