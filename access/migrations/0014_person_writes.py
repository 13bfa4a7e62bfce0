import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0001_release_0_3_0"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            "PersonWrites",
            [
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="written",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("burst_at", models.BigIntegerField(default=0)),
                ("chars_at", models.BigIntegerField(default=0)),
            ],
        ),
        # How much a token had left counts for a few minutes only.
        migrations.RemoveField("apitoken", "burst_at"),
    ]
