"""The full-text and vector indexes: raw SQL of the database's own, chosen when the migration runs."""

from django.db import migrations

from memories.search.schema import apply_index_schema, drop_index_schema


def apply(apps, schema_editor):
    apply_index_schema(schema_editor.connection)


def drop(apps, schema_editor):
    drop_index_schema(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]
    operations = [migrations.RunPython(apply, drop)]
