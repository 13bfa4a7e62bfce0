"""Indexes over the day of a memory, for questions about a time."""

from django.db import migrations

from memories.search.schema import apply_index_schema


def apply_indexes(apps, schema_editor):
    apply_index_schema(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_withdrawn_texts")]

    operations = [migrations.RunPython(apply_indexes, migrations.RunPython.noop)]
