"""The tables of 0.3.0, in one piece."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import storage.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("access", "0001_schema"),
        ("access", "0002_write_rate"),
        ("access", "0003_audit_chains"),
        ("access", "0004_idempotency"),
        ("access", "0005_default_scope"),
        ("access", "0006_preference"),
        ("access", "0007_captures"),
        ("access", "0008_group_guard"),
        ("access", "0009_identity"),
        ("access", "0010_token_suspended"),
        ("access", "0011_pairing"),
        ("access", "0012_language"),
    ]
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("origin", models.CharField(blank=True, default="", max_length=36)),
                ("seq", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("operation", models.CharField(max_length=12)),
                ("memory_id", models.UUIDField(null=True)),
                ("group", models.UUIDField(null=True)),
                ("subject", models.CharField(blank=True, default="", max_length=200)),
                ("actor", models.CharField(max_length=300)),
                ("via", models.CharField(max_length=12)),
                ("token", models.UUIDField(null=True)),
                ("client", models.CharField(blank=True, default="", max_length=120)),
                ("run", models.UUIDField(null=True)),
                ("digest", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                ("chain", models.CharField(blank=True, default="", max_length=36)),
            ],
            options={
                "db_table": "memory_log",
                "ordering": ["key"],
                "indexes": [
                    models.Index(fields=["memory_id", "key"], name="memory_log_memory"),
                    models.Index(fields=["group", "key"], name="memory_log_group"),
                    models.Index(fields=["at"], name="memory_log_at"),
                    models.Index(
                        condition=models.Q(("run__isnull", False)), fields=["run"], name="memory_log_run"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("origin", "chain", "seq"), name="memory_log_seq_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditHead",
            fields=[
                ("origin", models.CharField(blank=True, default="", max_length=36)),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("chain", models.CharField(blank=True, default="", max_length=36)),
                ("linked", models.BigIntegerField(default=0)),
                ("linked_in", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "memory_log_head",
                "constraints": [
                    models.UniqueConstraint(fields=("origin", "chain"), name="memory_log_head_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Group",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                (
                    "slug",
                    models.CharField(
                        max_length=80,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9][a-z0-9._-]{0,79}$",
                                "Use a-z, 0-9, dot, dash and underscore; at most 80.",
                            )
                        ],
                    ),
                ),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                ("instructions", models.TextField(blank=True, default="")),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("none", "none: writes take effect at once"),
                            ("below", "below: writes below the group's confidence wait for review"),
                            ("agents", "agents: writes through a token wait for review"),
                            ("all", "all: every write waits for review"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("policy_confidence", models.FloatField(default=0.5)),
                ("private", models.BooleanField(default=False)),
                ("archived", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("created_by", models.CharField(blank=True, default="", editable=False, max_length=300)),
                (
                    "default_scope",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("group", "group: only the group sees it"),
                            (
                                "by-type",
                                "by-type: every group sees facts, procedures and entities; events stay in the group",
                            ),
                            ("global", "global: every group sees it"),
                        ],
                        default="",
                        max_length=8,
                    ),
                ),
                (
                    "captures",
                    models.CharField(
                        choices=[
                            ("review", "review: a person decides about each"),
                            ("live", "live: it counts at once; decisions still wait"),
                        ],
                        default="review",
                        max_length=8,
                    ),
                ),
                ("guard", models.CharField(blank=True, default="", max_length=500)),
            ],
            options={
                "ordering": ["slug"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("policy__in", ["none", "below", "agents", "all"])),
                        name="group_policy_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("policy_confidence__gte", 0), ("policy_confidence__lte", 1)),
                        name="group_policy_confidence_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("default_scope__in", ["", "group", "by-type", "global"])),
                        name="group_default_scope_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("captures__in", ["review", "live"])), name="group_captures_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer: reads"),
                            ("contributor", "contributor: reads and writes"),
                            ("curator", "curator: also approves, merges, retracts and purges"),
                            ("admin", "admin: also changes the group and its members"),
                        ],
                        default="viewer",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="access.group",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["group__slug", "user__username"],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "group"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["viewer", "contributor", "curator", "admin"])),
                        name="membership_role_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("list_name", models.CharField(max_length=60)),
                ("name", models.CharField(max_length=60)),
                ("asked", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_filters",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "list_name", "name"), name="saved_filter_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("token_hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("hint", models.CharField(default="", editable=False, max_length=16)),
                ("scopes", models.JSONField(default=list)),
                ("all_groups", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "default_group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="default_of",
                        to="access.group",
                    ),
                ),
                ("groups", models.ManyToManyField(blank=True, related_name="tokens", to="access.group")),
                ("burst_at", models.BigIntegerField(editable=False, null=True)),
                ("suspended_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("origin", models.CharField(blank=True, default="", editable=False, max_length=200)),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Attempts",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("kind", models.CharField(max_length=12)),
                ("key_hash", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=64)),
                ("count", models.IntegerField(default=0)),
                ("last_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("until", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "attempts",
                "constraints": [models.UniqueConstraint(fields=("kind", "key_hash"), name="attempts_of_one")],
            },
        ),
        migrations.CreateModel(
            name="AuditPayload",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="payload_row",
                        serialize=False,
                        to="access.auditentry",
                    ),
                ),
                ("salt", models.CharField(max_length=32)),
                ("payload", models.JSONField()),
            ],
            options={
                "db_table": "memory_log_payload",
            },
        ),
        migrations.CreateModel(
            name="StoredAnswer",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField()),
                ("answer", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "stored_answer",
                "indexes": [models.Index(fields=["created_at"], name="stored_answer_age")],
            },
        ),
        migrations.CreateModel(
            name="Preference",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "theme",
                    models.CharField(
                        blank=True,
                        choices=[("", "As the device"), ("light", "Light"), ("dark", "Dark")],
                        default="",
                        max_length=5,
                    ),
                ),
                ("time_zone", models.CharField(blank=True, default="", max_length=64)),
                ("shortcuts", models.BooleanField(default=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="preference",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("language", models.CharField(blank=True, default="", max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name="Identity",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("issuer", models.CharField(max_length=300)),
                ("subject", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("issuer", "subject"), name="identity_once")],
            },
        ),
        migrations.CreateModel(
            name="Pairing",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("code_hash", models.CharField(db_index=True, max_length=64)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
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
    ]
