"""A person may have a one-time code for each client, next to that of a browser's extension."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def delete_client_codes(apps, schema_editor):
    """Backwards a person has one code; those of clients live ten minutes."""
    apps.get_model("access", "Pairing").objects.exclude(client="").delete()


class Migration(migrations.Migration):
    dependencies = [("access", "0020_last_write"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField("Pairing", "client", models.CharField(default="", max_length=40)),
        migrations.AlterField(
            "Pairing",
            "user",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, delete_client_codes),
        migrations.AddConstraint(
            "Pairing", models.UniqueConstraint(name="pairing_once", fields=["user", "client"])
        ),
    ]
