"""The hash that finds a text recognises it in other dress: recomputed for every memory."""

from django.db import migrations

from memories.language.dress import fold_hash

BATCH_ROWS = 1_000


def recompute_hashes(apps, schema_editor):
    memories, last = apps.get_model("memories", "Memory").objects, 0
    while rows := list(
        memories.filter(key__gt=last).only("content", "fold_hash").order_by("key")[:BATCH_ROWS]
    ):
        last, stale = rows[-1].key, []
        for row in rows:
            fresh = fold_hash(row.content)
            if fresh != row.fold_hash:
                row.fold_hash = fresh
                stale.append(row)
        memories.bulk_update(stale, ["fold_hash"], batch_size=200)


class Migration(migrations.Migration):
    dependencies = [("memories", "0019_doubt")]

    operations = [migrations.RunPython(recompute_hashes, migrations.RunPython.noop, elidable=True)]
