import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import storage.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
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
            ],
            options={
                "ordering": ["-key"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["check", "checked", "import", "done", "failed", "discarded"])
                        ),
                        name="upload_state_known",
                    )
                ],
            },
        ),
    ]
