"""Compacted events stay live, behind their summary; a memory that was not used for long is dormant."""

from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

STATES = [
    ("live", "live: current"),
    ("superseded", "superseded: was true, replaced by a newer memory"),
    ("retracted", "retracted: withdrawn because it was wrong"),
    ("forgotten", "forgotten: hidden, can be restored"),
    ("merged", "merged: combined into another memory"),
    ("expired", "expired: its time to live ended"),
    ("dormant", "dormant: not used for long, found when nothing else answers"),
]
_SUMMARIES = ("loci:compact", "loci:conversation")


def put_behind_summaries(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make each compacted event live behind its summary; a summary that a newer one replaced is superseded."""
    memories = apps.get_model("memories", "Memory").objects
    compacted = memories.filter(state="compacted")
    compacted.filter(source__in=_SUMMARIES).update(state="superseded")
    standing = memories.filter(state="live", source__in=_SUMMARIES).values("key")
    behind = compacted.filter(superseded_by__in=standing)
    behind.update(state="live", summary=models.F("superseded_by"), superseded_by=None)
    compacted.update(state="live", superseded_by=None)
    changes = apps.get_model("access", "RowChange").objects.filter(kept="memories_memory", op="u")
    for change in changes.filter(vals__has_key="state").iterator():
        if "compacted" in change.vals["state"]:
            change.vals = _translate(change.vals)
            change.save(update_fields=["vals"])
    # PostgreSQL alters no table with foreign keys that are still to be checked.
    schema_editor.connection.check_constraints()


def _translate(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The former and new values of a row in today's columns, so that a run of 0.3.0 can be undone."""
    states, successors = values["state"], values.get("superseded_by_id", [None, None])
    was = [state == "compacted" for state in states]
    new = values | {
        "state": ["live" if behind else state for behind, state in zip(was, states, strict=True)],
        "summary_id": [key if behind else None for behind, key in zip(was, successors, strict=True)],
        "superseded_by_id": [None if behind else key for behind, key in zip(was, successors, strict=True)],
    }
    return {name: pair for name, pair in new.items() if pair[0] != pair[1]}


class Migration(migrations.Migration):
    dependencies = [("memories", "0021_text_hashes"), ("maintenance", "0002_row_changes")]

    operations = [
        migrations.AddField(
            "memory",
            "summary",
            models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="compacted",
                to="memories.memory",
            ),
        ),
        migrations.RunPython(put_behind_summaries, migrations.RunPython.noop),
        migrations.RemoveConstraint("memory", "memory_state_known"),
        migrations.AlterField(
            "memory", "state", models.CharField(choices=STATES, default="live", max_length=10)
        ),
        migrations.AddConstraint(
            "memory",
            models.CheckConstraint(
                condition=models.Q(("state__in", [name for name, _ in STATES])), name="memory_state_known"
            ),
        ),
        migrations.AddIndex(
            "memory",
            models.Index(
                condition=models.Q(("summary__isnull", False)), fields=["summary"], name="memory_summary"
            ),
        ),
        migrations.RemoveIndex("memory", "memory_listed"),
        migrations.AddIndex(
            "memory",
            models.Index(
                fields=["key", "group", "scope", "type", "state", "trust", "pinned", "summary"],
                name="memory_listed",
            ),
        ),
    ]
