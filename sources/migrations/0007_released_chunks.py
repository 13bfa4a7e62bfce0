"""Who released a chunk that the guard had held back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sources", "0006_files_that_loci_made")]

    operations = [
        migrations.AddField("chunk", "released_by", models.CharField(blank=True, default="", max_length=300)),
    ]
