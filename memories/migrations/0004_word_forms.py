"""The words' other forms: a column, filled for what is stored, and the keyword index made anew with it."""

from itertools import islice

from django.db import migrations, models

from memories.language.word_forms import forms_of
from memories.search.schema import apply_index_schema

ROWS_AT_ONCE = 500
TRIGGERS = ("memories_fts_insert", "memories_fts_delete", "memories_fts_update")


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for trigger in TRIGGERS:
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        schema_editor.execute("DROP TABLE IF EXISTS memories_fts")


def fill(apps, schema_editor):
    """Write the forms of the rows that have any: few, where the texts are English."""
    Memory = apps.get_model("memories", "Memory")
    rows = ((m, forms_of(m.content)) for m in Memory.objects.only("key", "content").iterator(ROWS_AT_ONCE))
    changed = (_with(memory, forms) for memory, forms in rows if forms)
    while batch := [*islice(changed, ROWS_AT_ONCE)]:
        Memory.objects.bulk_update(batch, ["forms"])


def _with(memory, forms):
    memory.forms = forms
    return memory


def make_index(apps, schema_editor):
    apply_index_schema(schema_editor.connection)
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_piece_model")]

    operations = [
        migrations.RunPython(drop_index, migrations.RunPython.noop),
        migrations.AddField(
            model_name="memory",
            name="forms",
            field=models.TextField(blank=True, default="", editable=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(make_index, drop_index),
    ]
