"""Files read as evidence: artifacts, their chunks with both indexes, and the memories that a chunk proves."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import memories.models.vector_field
import storage.ids
from memories.search.schema import drop_index_schema
from sources.artifacts.schema import CHUNKS


def add_indexes(apps, schema_editor):
    CHUNKS.apply(schema_editor.connection)


def drop_indexes(apps, schema_editor):
    drop_index_schema(schema_editor.connection, CHUNKS)


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0008_group_guard"),
        ("memories", "0011_findings"),
        ("sources", "0004_captures"),
    ]

    operations = [
        migrations.CreateModel(
            name="Artifact",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("source", models.CharField(max_length=200)),
                ("path", models.CharField(max_length=500)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("markdown", "markdown: by headings"),
                            ("code", "code: by functions and blocks"),
                            ("text", "text: by paragraphs"),
                            ("pdf", "pdf: by pages"),
                            ("docx", "docx: by headings"),
                        ],
                        max_length=12,
                    ),
                ),
                ("size", models.BigIntegerField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("live", "live: as it was last read"),
                            ("retired", "retired: the file is gone, or is no longer read"),
                        ],
                        default="live",
                        max_length=8,
                    ),
                ),
                ("chunk_count", models.PositiveIntegerField(default=0)),
                ("words", models.PositiveIntegerField(default=0)),
                ("findings", models.JSONField(blank=True, default=dict)),
                ("author_name", models.CharField(blank=True, default="", max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="artifacts",
                        to="access.group",
                    ),
                ),
            ],
            options={
                "ordering": ["-key"],
                "indexes": [
                    models.Index(fields=["group", "state", "chunk_count", "words"], name="artifact_counts")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("group", "source", "path"), name="artifact_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["markdown", "code", "text", "pdf", "docx"]),
                            ("state__in", ["live", "retired"]),
                        ),
                        name="artifact_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("live", "live: found as evidence"),
                            ("held", "held: the guard keeps it out of every answer"),
                            ("retired", "retired: the file no longer has this text"),
                        ],
                        default="live",
                        max_length=8,
                    ),
                ),
                ("words", models.PositiveIntegerField()),
                ("tokens", models.PositiveIntegerField()),
                ("weight", models.FloatField(default=1.0)),
                ("start_line", models.PositiveIntegerField()),
                ("end_line", models.PositiveIntegerField()),
                ("locator", models.CharField(max_length=560)),
                ("text_hash", models.CharField(max_length=64)),
                ("heading", models.CharField(blank=True, default="", max_length=300)),
                ("content", models.TextField()),
                ("forms", models.TextField(blank=True, default="")),
                ("findings", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("model", models.CharField(blank=True, default="", max_length=120)),
                ("embedding", memories.models.vector_field.VectorField(null=True)),
                (
                    "artifact",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="sources.artifact",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="chunks",
                        to="access.group",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["key", "group", "state", "words"], name="chunk_search"),
                    models.Index(fields=["artifact", "state", "start_line"], name="chunk_place"),
                    models.Index(
                        condition=models.Q(("state", "live")), fields=["model", "key"], name="chunk_owed"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "retired"), _negated=True),
                        fields=("artifact", "locator", "text_hash"),
                        name="chunk_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("end_line__gte", models.F("start_line")),
                            ("start_line__gte", 1),
                            ("state__in", ["live", "held", "retired"]),
                        ),
                        name="chunk_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChunkProof",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("locator", models.CharField(max_length=560)),
                ("author_name", models.CharField(blank=True, default="", max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("stale_at", models.DateTimeField(blank=True, null=True)),
                (
                    "chunk",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="proofs",
                        to="sources.chunk",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="file_proofs",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("memory", "locator"), name="proof_once")],
            },
        ),
        migrations.RunPython(add_indexes, drop_indexes),
    ]
