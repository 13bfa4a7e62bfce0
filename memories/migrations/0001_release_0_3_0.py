"""The tables of 0.3.0, in one piece, and the full-text and vector indexes: raw SQL of the database's own.

The indexes keep their order: SQLite takes the one created first where it holds two plans for equal.
"""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import memories.models.vector_field
import storage.ids
from memories.models.short_id import short_id_index
from memories.search.schema import apply_index_schema, drop_index_schema
from storage.postgresql.months import make_months, part_by_month

TABLE, COLUMN = "memories_recalllog", "at"
_REFERENCE = """
ALTER TABLE memories_recalllog ADD CONSTRAINT memories_recalllog_group FOREIGN KEY (group_id)
REFERENCES access_group (key) DEFERRABLE INITIALLY DEFERRED
"""


def add_extensions(apps, schema_editor):
    """The type of the vectors' column on PostgreSQL."""
    apply_index_schema(schema_editor.connection, ("extensions.sql",))


def apply_indexes(apps, schema_editor):
    apply_index_schema(schema_editor.connection)


def drop_indexes(apps, schema_editor):
    drop_index_schema(schema_editor.connection)


def part_recall_log(apps, schema_editor):
    """On PostgreSQL the recall log has a partition for each month."""
    if schema_editor.connection.vendor != "postgresql":
        return
    # Its indexes and its reference are made here: those that Django makes at the end would come twice.
    schema_editor.deferred_sql = [
        sql for sql in schema_editor.deferred_sql if not sql.references_table(TABLE)
    ]
    with schema_editor.connection.cursor() as cursor:
        part_by_month(cursor, TABLE, COLUMN)
        for column in (COLUMN, "group_id"):
            cursor.execute(f"CREATE INDEX memories_recalllog_{column} ON memories_recalllog ({column})")
        cursor.execute(_REFERENCE)
        cursor.execute("ALTER TABLE memories_recalllog ALTER COLUMN query SET STATISTICS 0")
    make_months(TABLE, COLUMN, django.utils.timezone.now())


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("memories", "0001_schema"),
        ("memories", "0002_proposal"),
        ("memories", "0003_outlasting"),
        ("memories", "0004_search_rows"),
        ("memories", "0005_withdrawn_texts"),
        ("memories", "0006_moments"),
        ("memories", "0007_short_ids"),
        ("memories", "0008_feedback"),
        ("memories", "0009_vector_field"),
        ("memories", "0010_small_vectors"),
        ("memories", "0011_findings"),
        ("memories", "0012_checkpoint_held"),
        ("memories", "0013_conversations"),
        ("memories", "0014_anchor_commit"),
        ("memories", "0015_tombstone_global"),
        ("memories", "0016_recall_log_months"),
        ("memories", "0017_moved_source"),
        ("memories", "0018_former_treatment"),
    ]
    dependencies = [
        ("access", "0001_release_0_3_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(add_extensions, migrations.RunPython.noop),
        migrations.CreateModel(
            name="IndexChange",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("piece", models.BigIntegerField()),
                ("op", models.CharField(max_length=1)),
            ],
            options={
                "db_table": "index_change",
            },
        ),
        migrations.CreateModel(
            name="IndexState",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("value", models.CharField(max_length=200)),
            ],
            options={
                "db_table": "index_state",
            },
        ),
        migrations.CreateModel(
            name="RecallLog",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_index=True)),
                ("actor", models.CharField(max_length=300)),
                ("via", models.CharField(max_length=12)),
                ("mode", models.CharField(max_length=10)),
                ("query", models.TextField()),
                ("hits", models.BinaryField(default=bytes)),
                ("duration_ms", models.FloatField()),
                ("abstained", models.BooleanField(default=False)),
                ("degraded", models.BooleanField(default=False)),
                (
                    "group",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.group",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Thread",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="threads", to="access.group"
                    ),
                ),
                ("active_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("platform", models.CharField(blank=True, default="", max_length=40)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("group", "name"), name="thread_once")],
            },
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("content", models.TextField()),
                ("content_hash", models.CharField(editable=False, max_length=64)),
                ("fold_hash", models.CharField(editable=False, max_length=64)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("episodic", "episodic: an event"),
                            ("semantic", "semantic: a fact"),
                            ("procedural", "procedural: how to do something"),
                            ("entity", "entity: a person or thing"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("global", "global: visible in every group"),
                            ("group", "group: visible only in its own group"),
                        ],
                        max_length=6,
                    ),
                ),
                ("position", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("live", "live: current"),
                            ("superseded", "superseded: was true, replaced by a newer memory"),
                            ("retracted", "retracted: withdrawn because it was wrong"),
                            ("forgotten", "forgotten: hidden, can be restored"),
                            ("merged", "merged: combined into another memory"),
                            ("compacted", "compacted: replaced by a summary"),
                            ("expired", "expired: its time to live ended"),
                        ],
                        default="live",
                        max_length=10,
                    ),
                ),
                (
                    "trust",
                    models.CharField(
                        choices=[
                            ("candidate", "candidate: waits for review"),
                            ("active", "active: in use"),
                            ("verified", "verified: a person confirmed it"),
                            ("disputed", "disputed: reported as possibly wrong"),
                            ("rejected", "rejected: declined in review"),
                            ("quarantined", "quarantined: held back as unsafe"),
                        ],
                        default="active",
                        max_length=11,
                    ),
                ),
                ("tags", models.JSONField(blank=True, default=list)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("source", models.CharField(blank=True, default="", max_length=200)),
                ("source_ref", models.CharField(blank=True, default="", max_length=300)),
                ("confidence", models.FloatField(default=0.7)),
                ("importance", models.PositiveSmallIntegerField(default=5)),
                ("pinned", models.BooleanField(default=False)),
                ("access_count", models.PositiveIntegerField(default=0, editable=False)),
                ("last_accessed", models.DateTimeField(blank=True, editable=False, null=True)),
                ("decayed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
                ("valid_to_known_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("state_changed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("author_name", models.CharField(blank=True, default="", editable=False, max_length=300)),
                ("client", models.CharField(blank=True, default="", editable=False, max_length=120)),
                ("run", models.UUIDField(blank=True, editable=False, null=True)),
                ("context", models.TextField(blank=True, default="", editable=False)),
                ("filter", models.CharField(blank=True, default="", editable=False, max_length=200)),
                ("forms", models.TextField(blank=True, default="", editable=False)),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memories",
                        to="access.group",
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="memories.memory",
                    ),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="supersedes",
                        to="memories.memory",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apitoken",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memories",
                        to="memories.thread",
                    ),
                ),
                ("outside", models.BooleanField(default=False)),
                ("anchor_commit", models.CharField(blank=True, default="", max_length=64)),
            ],
            options={
                "verbose_name_plural": "memories",
                "ordering": ["-key"],
                "indexes": [
                    models.Index(fields=["group", "state", "key"], name="memory_group_state"),
                    models.Index(
                        condition=models.Q(("thread__isnull", False)),
                        fields=["thread", "position"],
                        name="memory_thread_order",
                    ),
                    models.Index(
                        condition=models.Q(("thread__isnull", False)), fields=["thread"], name="memory_thread"
                    ),
                    models.Index(
                        condition=models.Q(("superseded_by__isnull", False)),
                        fields=["superseded_by"],
                        name="memory_superseded_by",
                    ),
                    models.Index(
                        condition=models.Q(("root__isnull", False)), fields=["root"], name="memory_root"
                    ),
                    models.Index(
                        condition=models.Q(("author__isnull", False)), fields=["author"], name="memory_author"
                    ),
                    models.Index(
                        condition=models.Q(("token__isnull", False)), fields=["token"], name="memory_token"
                    ),
                    models.Index(
                        condition=models.Q(("expires_at__isnull", False)),
                        fields=["expires_at"],
                        name="memory_expiry",
                    ),
                    models.Index(
                        condition=models.Q(("pinned", True), ("trust", "verified"), _connector="OR"),
                        fields=["group", "key"],
                        name="memory_kept",
                    ),
                    models.Index(
                        condition=models.Q(("trust__in", ["active", "verified"]), _negated=True),
                        fields=["trust", "key"],
                        name="memory_waiting",
                    ),
                    models.Index(
                        fields=["key", "group", "scope", "type", "state", "trust", "pinned"],
                        name="memory_listed",
                    ),
                    short_id_index(),
                    models.Index(
                        condition=models.Q(("anchor_commit", ""), _negated=True),
                        fields=["anchor_commit"],
                        name="memory_anchor",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("source_ref", ""), _negated=True),
                        fields=("group", "source", "source_ref"),
                        name="memory_source_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("thread__isnull", False), ("position__isnull", False), ("root", None)
                        ),
                        fields=("thread", "position"),
                        name="memory_position_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("type__in", ["episodic", "semantic", "procedural", "entity"])),
                        name="memory_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["global", "group"])), name="memory_scope_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "live",
                                    "superseded",
                                    "retracted",
                                    "forgotten",
                                    "merged",
                                    "compacted",
                                    "expired",
                                ],
                            )
                        ),
                        name="memory_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "trust__in",
                                ["candidate", "active", "verified", "disputed", "rejected", "quarantined"],
                            )
                        ),
                        name="memory_trust_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="memory_confidence_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("importance__gte", 1), ("importance__lte", 10)),
                        name="memory_importance_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_from", None),
                            ("valid_to", None),
                            ("valid_to__gte", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="memory_valid_in_order",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("superseded_by", models.F("key")), _negated=True),
                        name="memory_not_own_successor",
                    ),
                    models.UniqueConstraint(
                        models.Func(
                            models.F("fold_hash"),
                            output_field=models.CharField(),
                            template="SUBSTR(%(expressions)s, 1, 16)",
                        ),
                        models.F("group"),
                        models.F("type"),
                        models.F("scope"),
                        models.Func(
                            models.F("content_hash"),
                            output_field=models.CharField(),
                            template="SUBSTR(%(expressions)s, 1, 32)",
                        ),
                        models.Case(
                            models.When(
                                models.Q(("state", "live"), models.Q(("type", "episodic"), _negated=True)),
                                then=1,
                            )
                        ),
                        name="memory_texts",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="thread",
            name="summary",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memories.memory",
            ),
        ),
        migrations.AddField(
            model_name="thread",
            name="tags",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="thread",
            name="title",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="thread",
            name="url",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("state", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("author_name", models.CharField(default="", max_length=300)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkpoints",
                        to="access.group",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apitoken",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkpoints",
                        to="memories.thread",
                    ),
                ),
                ("held", models.CharField(blank=True, default="", max_length=36)),
            ],
            options={
                "indexes": [models.Index(fields=["group", "thread", "-key"], name="checkpoint_latest")],
            },
        ),
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("hmac", models.CharField(max_length=64)),
                ("key_id", models.CharField(max_length=16)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("rejected", "rejected: declined in review"),
                            ("retracted", "retracted: it was wrong"),
                            ("purged", "purged: destroyed on request"),
                        ],
                        max_length=10,
                    ),
                ),
                ("memory_id", models.UUIDField()),
                ("reason", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("author_name", models.CharField(default="", max_length=300)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.CharField(blank=True, default="", max_length=300)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tombstones",
                        to="access.group",
                    ),
                ),
                ("dress", models.CharField(blank=True, default="", max_length=64)),
                ("spelling", models.CharField(blank=True, default="", max_length=64)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("global", "global: visible in every group"),
                            ("group", "group: visible only in its own group"),
                        ],
                        default="group",
                        max_length=10,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at", None)),
                        fields=("group", "hmac", "key_id"),
                        name="tombstone_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["rejected", "retracted", "purged"])),
                        name="tombstone_kind_known",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("lifted_at", None), ("scope", "global")),
                        fields=["key"],
                        name="tombstone_global",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Link",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("duplicate", "duplicate: may state the same fact"),
                            ("conflict", "conflict: cannot both be true"),
                            ("derived", "derived: the first was made from the second"),
                            ("evidence", "evidence: the second supports the first"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "open: waits for a decision"),
                            ("settled", "settled: a person acted on it"),
                            ("dismissed", "dismissed: no action needed"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("score", models.FloatField(null=True)),
                ("reason", models.TextField(blank=True, default="")),
                ("evidence", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("author_name", models.CharField(default="", max_length=300)),
                ("run", models.UUIDField(null=True)),
                ("settled_at", models.DateTimeField(null=True)),
                ("settled_by", models.CharField(blank=True, default="", max_length=300)),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links_from",
                        to="memories.memory",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links_to",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "open")), fields=["kind", "key"], name="link_open"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["duplicate", "conflict", "derived", "evidence"])),
                        name="link_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "settled", "dismissed"])),
                        name="link_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source", models.F("target")), _negated=True),
                        name="link_two_ends",
                    ),
                    models.UniqueConstraint(fields=("kind", "source", "target"), name="link_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Piece",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("ordinal", models.PositiveIntegerField()),
                ("start", models.PositiveIntegerField()),
                ("end", models.PositiveIntegerField()),
                ("tokens", models.PositiveIntegerField()),
                ("embedding", memories.models.vector_field.VectorField(null=True)),
                ("model", models.CharField(blank=True, default="", max_length=120)),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["model", "key"], name="piece_model"),
                    models.Index(
                        condition=models.Q(("embedding__isnull", True)), fields=["key"], name="piece_owed"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "ordinal", "model"), name="piece_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("verb", models.CharField(max_length=32)),
                ("subject", models.CharField(blank=True, default="", max_length=200)),
                ("version", models.CharField(max_length=64)),
                ("arguments", models.JSONField(blank=True, default=dict)),
                ("reason", models.TextField(blank=True, default="")),
                ("why", models.TextField(blank=True, default="")),
                ("actor", models.CharField(max_length=300)),
                ("via", models.CharField(max_length=12)),
                ("token", models.UUIDField(null=True)),
                ("client", models.CharField(blank=True, default="", max_length=120)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting: a curator has to decide"),
                            ("approved", "approved: carried out"),
                            ("rejected", "rejected: declined in review"),
                            ("stale", "stale: its target changed meanwhile"),
                            ("expired", "expired: it was not decided in time"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, default="", max_length=300)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="proposals",
                        to="access.group",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="proposals",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "waiting")),
                        fields=["group", "key"],
                        name="proposal_waiting",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["waiting", "approved", "rejected", "stale", "expired"])
                        ),
                        name="proposal_status_known",
                    )
                ],
            },
        ),
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
        migrations.CreateModel(
            name="Feedback",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("recall", models.BigIntegerField(default=0)),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("used", "used: it helped"),
                            ("wrong", "wrong: it misled, or did not fit the question"),
                        ],
                        max_length=8,
                    ),
                ),
                ("actor", models.CharField(max_length=300)),
                ("via", models.CharField(max_length=12)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="feedback",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "actor", "recall"), name="feedback_once"),
                    models.CheckConstraint(
                        condition=models.Q(("verdict__in", ["used", "wrong"])), name="feedback_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryFinding",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=40)),
                ("places", models.PositiveIntegerField(default=1)),
                ("treatment", models.CharField(max_length=10)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("treated", "treated: the policy was applied when the text was stored"),
                            ("open", "open: a scan found it, and a person decides"),
                            ("held", "held: a scan or a person quarantined the memory"),
                            ("kept", "kept: a person looked at it and kept the text"),
                        ],
                        default="treated",
                        max_length=8,
                    ),
                ),
                ("scan", models.UUIDField(blank=True, null=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("settled_by", models.CharField(blank=True, default="", max_length=300)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guard_findings",
                        to="memories.memory",
                    ),
                ),
                ("former_treatment", models.CharField(blank=True, default="", max_length=10)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("status", "open")), fields=["key"], name="finding_open")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "kind"), name="finding_once"),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["treated", "open", "held", "kept"])),
                        name="finding_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MovedSource",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("source", models.CharField(blank=True, default="", max_length=200)),
                ("source_ref", models.CharField(max_length=300)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.group"
                    ),
                ),
                (
                    "to",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.group"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["source_ref"], name="moved_source_ref")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "source_ref", "source"), name="moved_source_once"
                    )
                ],
            },
        ),
        migrations.RunPython(apply_indexes, drop_indexes),
        migrations.RunPython(part_recall_log, migrations.RunPython.noop),
    ]
