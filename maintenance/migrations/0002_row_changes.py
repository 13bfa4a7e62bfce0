"""The changes of runs are kept where those of every other change are."""

from django.db import migrations

from storage.changes import change_of

STEPS = ("decay", "compact", "promote", "expire", "cleanup", "findings", "conversations")
KEPT = {
    "memories_memory": {
        "state", "trust", "superseded_by_id", "retired_at", "confidence", "decayed_at", "valid_from", "valid_to",
        "valid_to_known_at", "expires_at",
    },
    "memories_link": {"status", "settled_at", "settled_by"},
}  # fmt: skip


def move_changes(apps, schema_editor):
    runs = {run.pk: run.id for run in apps.get_model("maintenance", "Run").objects.all()}
    row_change = apps.get_model("access", "RowChange")
    made = []
    for old in apps.get_model("maintenance", "RunChange").objects.order_by("key").iterator():
        part = STEPS.index(old.step) if old.step in STEPS else len(STEPS)
        change = change_of(runs[old.run_id], part)
        kept, before, after = KEPT.get(old.table), old.before, old.after or {}
        if kept is None:
            continue
        vals, op = None, "i"
        if before is not None:
            op = "b" if old.is_batch else "u"
            vals = {name: [before.get(name), value] for name, value in after.items() if name in kept}
            if old.is_batch:
                vals["pk"] = after["pk"]
        undone_by = change if old.undone_at else None
        made.append(
            row_change(change=change, op=op, kept=old.table, row=old.row, vals=vals, undone_by=undone_by)
        )
        if len(made) >= 500:
            row_change.objects.bulk_create(made)
            made = []
    row_change.objects.bulk_create(made)


class Migration(migrations.Migration):
    dependencies = [
        ("maintenance", "0001_schema"),
        ("access", "0015_changes"),
        ("memories", "0021_text_hashes"),
    ]

    operations = [
        migrations.RunPython(move_changes, migrations.RunPython.noop),
        migrations.DeleteModel("RunChange"),
    ]
