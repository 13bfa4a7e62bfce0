import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import storage.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("access", "0001_release_0_3_0"),
        ("memories", "0001_release_0_3_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Relation",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("predicate", models.CharField(max_length=80)),
                ("confidence", models.FloatField(default=0.7)),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
                ("valid_to_known_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("author_name", models.CharField(default="", max_length=300)),
                ("run", models.UUIDField(null=True)),
                ("metadata", models.JSONField(blank=True, default=dict)),
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
                        related_name="relations",
                        to="access.group",
                    ),
                ),
                (
                    "object",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="relations_in",
                        to="memories.memory",
                    ),
                ),
                (
                    "subject",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="relations_out",
                        to="memories.memory",
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["subject", "predicate"], name="relation_from"),
                    models.Index(fields=["object", "predicate"], name="relation_to"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("subject", models.F("object")), _negated=True),
                        name="relation_two_ends",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="relation_confidence_range",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("retired_at", None), ("valid_to", None)),
                        fields=("group", "subject", "predicate", "object"),
                        name="relation_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RelationEvidence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="proves",
                        to="memories.memory",
                    ),
                ),
                (
                    "relation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evidence",
                        to="relations.relation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("relation", "memory"), name="relation_evidence_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityAlias",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("fold", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("run", models.UUIDField(null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="access.group"
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="aliases",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entity aliases",
                "indexes": [models.Index(fields=["group", "fold"], name="alias_lookup")],
                "constraints": [models.UniqueConstraint(fields=("memory", "fold"), name="alias_once")],
            },
        ),
    ]
