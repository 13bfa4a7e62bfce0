"""What the keyword search must know of each memory and group, so that it counts over the visible groups alone."""

from django.db import migrations

from memories.search.schema import apply_index_schema, fill_search_rows


def add_search_rows(apps, schema_editor):
    apply_index_schema(schema_editor.connection)
    fill_search_rows(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_outlasting")]

    operations = [migrations.RunPython(add_search_rows, migrations.RunPython.noop)]
