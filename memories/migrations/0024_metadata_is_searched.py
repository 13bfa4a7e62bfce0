"""The words of metadata are part of the context, by which the keyword index finds a memory."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from memories.language.metadata import metadata_words

_BATCH_ROWS = 500


def add_words(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    memory = apps.get_model("memories", "Memory")
    rows = memory.objects.exclude(metadata={}).only("key", "context", "metadata", "source").order_by("key")
    last = 0
    while batch := list(rows.filter(key__gt=last)[:_BATCH_ROWS]):
        last = batch[-1].key
        changed = [row for row in batch if metadata_words(row.metadata, row.source)]
        for row in changed:
            found = metadata_words(row.metadata, row.source)
            row.context = "\n".join(filter(None, [row.context, found]))
        memory.objects.bulk_update(changed, ["context"])


class Migration(migrations.Migration):
    dependencies = [("memories", "0023_confirmed_at")]

    operations = [migrations.RunPython(add_words, migrations.RunPython.noop)]
