"""Tombstones for rejected texts too, a second mark on each, and the texts that wait for a comparison."""

import django.db.models.deletion
from django.db import migrations, models

from memories.search.schema import apply_index_schema
from memories.store.withdrawn.upgrade import lay_marks


def apply_indexes(apps, schema_editor):
    apply_index_schema(schema_editor.connection)


def upgrade_tombstones(apps, schema_editor):
    lay_marks(*(apps.get_model("memories", name) for name in ("Tombstone", "Memory", "IndexState")))


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0001_schema"),
        ("memories", "0004_search_rows"),
    ]

    operations = [
        migrations.CreateModel(
            name="Unprobed",
            fields=[
                (
                    "memory",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="unprobed",
                        serialize=False,
                        to="memories.memory",
                    ),
                ),
                ("trust", models.CharField(blank=True, default="", max_length=12)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="tombstone",
            name="tombstone_kind_known",
        ),
        migrations.AddField(
            model_name="tombstone",
            name="dress",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="tombstone",
            name="spelling",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="tombstone",
            name="scope",
            field=models.CharField(
                choices=[
                    ("global", "global: visible in every group"),
                    ("group", "group: visible only in its own group"),
                ],
                default="group",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="tombstone",
            name="kind",
            field=models.CharField(
                choices=[
                    ("rejected", "rejected: declined in review"),
                    ("retracted", "retracted: it was wrong"),
                    ("purged", "purged: destroyed on request"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="tombstone",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["rejected", "retracted", "purged"])),
                name="tombstone_kind_known",
            ),
        ),
        migrations.RunPython(apply_indexes, migrations.RunPython.noop),
        migrations.RunPython(upgrade_tombstones, migrations.RunPython.noop),
    ]
