"""Superseded facts whose successor is dated ahead count until then: the vector index learns which rows these may be."""

from django.db import migrations

from memories.search.schema import apply_index_schema

# Writing a piece's vector again writes its row of the index.
_WRITE_AGAIN = """
UPDATE memories_piece SET embedding = embedding WHERE embedding IS NOT NULL AND memory_id IN (
    SELECT memory FROM memories_vec_row WHERE standing = 3
)
"""


def write_again(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    apply_index_schema(schema_editor.connection)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_WRITE_AGAIN)


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_proposal")]

    operations = [migrations.RunPython(write_again, migrations.RunPython.noop)]
