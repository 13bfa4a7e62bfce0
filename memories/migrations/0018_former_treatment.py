"""What milder rules said about a finding that a scan lists again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0017_moved_source")]

    operations = [
        migrations.AddField(
            "memoryfinding", "former_treatment", models.CharField(blank=True, default="", max_length=10)
        ),
    ]
