import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import storage.ids


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0008_group_guard"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "apitoken",
            "origin",
            models.CharField(blank=True, default="", editable=False, max_length=200),
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
