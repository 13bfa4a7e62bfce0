"""Counts what each group holds."""

from django.db import migrations

from memories.search.schema import apply_index_schema, fill_group_use


def count(apps, schema_editor):
    apply_index_schema(schema_editor.connection)
    fill_group_use(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("maintenance", "0002_row_changes"), ("memories", "0021_text_hashes")]

    operations = [migrations.RunPython(count, migrations.RunPython.noop)]
