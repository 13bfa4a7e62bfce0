"""The tables of 0.3.0, in one piece."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("hooks", "0001_sessions"),
        ("hooks", "0002_repository_heads"),
    ]
    dependencies = [("access", "0001_release_0_3_0"), ("memories", "0001_release_0_3_0")]

    operations = [
        migrations.CreateModel(
            name="HookSession",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("client", models.CharField(max_length=40)),
                ("session", models.CharField(max_length=200)),
                ("folder", models.CharField(default="", max_length=1000)),
                ("origin", models.CharField(default="", max_length=500)),
                ("state", models.JSONField(default=dict)),
                ("start_hash", models.CharField(default="", max_length=64)),
                ("is_off", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                (
                    "checkpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memories.checkpoint",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.group",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.apitoken"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("token", "client", "session"), name="hook_session_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="HookInjection",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("memory_id", models.UUIDField(db_index=True)),
                ("event", models.CharField(max_length=20)),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("tokens", models.PositiveIntegerField()),
                ("is_forgotten", models.BooleanField(default=False)),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="injections",
                        to="hooks.hooksession",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RepositoryHead",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("origin", models.CharField(default="", max_length=500)),
                ("branch", models.CharField(default="", max_length=200)),
                ("head", models.CharField(max_length=64)),
                ("known", models.JSONField(default=dict)),
                ("seen_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.apitoken"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("token", "origin", "head"), name="repository_head_once")
                ],
            },
        ),
    ]
