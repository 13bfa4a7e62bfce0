"""The tables of 0.3.0, in one piece, and the indexes of chunks: raw SQL of the database's own."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
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
    initial = True
    replaces = [
        ("sources", "0001_schema"),
        ("sources", "0002_formats_and_undo"),
        ("sources", "0003_watched_folders"),
        ("sources", "0004_captures"),
        ("sources", "0005_artifacts"),
        ("sources", "0006_files_that_loci_made"),
        ("sources", "0007_released_chunks"),
    ]
    dependencies = [
        ("access", "0001_release_0_3_0"),
        ("memories", "0001_release_0_3_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("size", models.BigIntegerField()),
                ("source", models.CharField(max_length=200)),
                ("group", models.CharField(blank=True, default="", max_length=80)),
                ("type", models.CharField(blank=True, default="", max_length=12)),
                ("scope", models.CharField(max_length=12)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("check", "check: waiting to be checked"),
                            ("checked", "checked: waiting for confirmation"),
                            ("import", "import: waiting to be imported"),
                            ("done", "done: imported"),
                            ("failed", "failed: not imported"),
                            ("discarded", "discarded: removed before it was imported"),
                            ("undo", "undo: waiting to be taken back"),
                            ("undone", "undone: taken back"),
                        ],
                        default="check",
                        max_length=12,
                    ),
                ),
                ("line_count", models.IntegerField(default=0)),
                ("lines_done", models.IntegerField(default=0)),
                ("report", models.JSONField(default=list)),
                ("faults", models.JSONField(default=list)),
                ("fault_count", models.IntegerField(default=0)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("working_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uploads",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("format", models.CharField(blank=True, default="", max_length=24)),
                ("left_out", models.JSONField(default=list)),
                ("recognised", models.CharField(blank=True, default="", max_length=24)),
                ("run", models.UUIDField(null=True)),
                ("sample", models.JSONField(default=list)),
                ("waiting", models.CharField(blank=True, default="", max_length=12)),
            ],
            options={
                "ordering": ["-key"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "check",
                                    "checked",
                                    "import",
                                    "done",
                                    "failed",
                                    "discarded",
                                    "undo",
                                    "undone",
                                ],
                            )
                        ),
                        name="upload_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WatchedFolder",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("name", models.CharField(max_length=80, unique=True)),
                ("path", models.TextField(unique=True)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("read", "read: files are only read"),
                            ("sync", "sync: changed memories are written into their files"),
                        ],
                        default="read",
                        max_length=8,
                    ),
                ),
                ("poll", models.BooleanField(default=False)),
                ("as_own", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "active: kept in step"),
                            ("paused", "paused: left alone until it is resumed"),
                            (
                                "asking",
                                "asking: much is gone at once, and a person has to say whether that is meant",
                            ),
                            ("missing", "missing: the folder or its marker file is not there"),
                        ],
                        default="active",
                        max_length=8,
                    ),
                ),
                ("note", models.TextField(blank=True, default="")),
                ("marker", models.CharField(blank=True, default="", max_length=64)),
                ("gone_meant", models.BooleanField(default=False)),
                ("from_config", models.BooleanField(default=False)),
                ("added_by", models.CharField(max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("scanned_at", models.DateTimeField(null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="watched_folders",
                        to="access.group",
                    ),
                ),
                ("written_seq", models.BigIntegerField(null=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["active", "paused", "asking", "missing"])),
                        name="watched_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["read", "sync"])), name="watched_mode_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WatchedFile",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.TextField()),
                ("sha", models.CharField(blank=True, default="", max_length=64)),
                ("written", models.CharField(blank=True, default="", max_length=64)),
                ("signature", models.CharField(blank=True, default="", max_length=100)),
                ("problem", models.TextField(blank=True, default="")),
                ("gone_since", models.DateTimeField(null=True)),
                (
                    "folder",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="sources.watchedfolder",
                    ),
                ),
                ("is_made", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("folder", "path"), name="watched_file_once")],
            },
        ),
        migrations.CreateModel(
            name="WatchedSection",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("ref", models.CharField(max_length=300)),
                ("source_ref", models.CharField(max_length=300)),
                ("body_hash", models.CharField(max_length=64)),
                ("labels_hash", models.CharField(blank=True, default="", max_length=64)),
                ("memory_hash", models.CharField(blank=True, default="", max_length=64)),
                ("is_own", models.BooleanField(default=True)),
                ("is_exact", models.BooleanField(default=True)),
                ("in_conflict", models.BooleanField(default=False)),
                ("gone_since", models.DateTimeField(null=True)),
                ("disputed_from", models.CharField(blank=True, default="", max_length=12)),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sections",
                        to="sources.watchedfile",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="watched_sections",
                        to="memories.memory",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Inbox",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.group"
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CapturedTurn",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("platform", models.CharField(max_length=40)),
                ("conversation", models.CharField(max_length=120)),
                ("turn", models.CharField(max_length=160)),
                ("memory_id", models.UUIDField(db_index=True)),
                ("removed_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("removed_at__isnull", False)),
                        fields=["user", "removed_at"],
                        name="captured_removed",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "platform", "conversation", "turn"), name="captured_turn_once"
                    )
                ],
            },
        ),
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
                ("released_by", models.CharField(blank=True, default="", max_length=300)),
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
