import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import storage.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("access", "0001_release_0_3_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobLock",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("holder", models.CharField(blank=True, default="", max_length=120)),
                ("held_until", models.DateTimeField(null=True)),
                ("paused_at", models.DateTimeField(null=True)),
                ("paused_by", models.CharField(blank=True, default="", max_length=300)),
                ("asked_at", models.DateTimeField(null=True)),
                ("asked_by", models.CharField(blank=True, default="", max_length=300)),
                ("expected_since", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_started", models.DateTimeField(null=True)),
                ("last_finished", models.DateTimeField(null=True)),
                ("last_took_s", models.FloatField(null=True)),
                ("last_failed", models.DateTimeField(null=True)),
                ("last_error", models.TextField(blank=True, default="")),
                ("failures", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("kind", models.CharField(max_length=20)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "running: in progress, or interrupted and to be resumed"),
                            ("done", "done: finished"),
                            ("failed", "failed: stopped by an error"),
                            ("stopped", "stopped: it would have changed too many memories"),
                            ("undone", "undone: its changes were reverted"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("actor", models.CharField(max_length=300)),
                ("dry_run", models.BooleanField(default=False)),
                ("steps", models.JSONField(default=list)),
                ("counts", models.JSONField(default=dict)),
                ("cursor", models.JSONField(default=dict)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(null=True)),
                ("now", models.DateTimeField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                ("undone_by", models.CharField(blank=True, default="", max_length=300)),
                ("error", models.TextField(blank=True, default="")),
                (
                    "group",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="access.group",
                    ),
                ),
            ],
            options={
                "ordering": ["-key"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["running", "done", "failed", "stopped", "undone"])
                        ),
                        name="run_status_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RunChange",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("step", models.CharField(max_length=20)),
                ("table", models.CharField(max_length=40)),
                ("row", models.BigIntegerField()),
                ("is_batch", models.BooleanField(default=False)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="maintenance.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "key"], name="run_change_order"),
                    models.Index(fields=["table", "row"], name="run_change_row"),
                ],
            },
        ),
    ]
