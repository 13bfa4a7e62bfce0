"""The treatment of a finding before a scan listed it again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0017_moved_source")]

    operations = [
        migrations.AddField(
            "memoryfinding", "former_treatment", models.CharField(blank=True, default="", max_length=10)
        ),
    ]
