"""New memories as new files: how far the group's log was read, and which files Loci made."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sources", "0005_artifacts")]

    operations = [
        migrations.AddField("watchedfolder", "written_seq", models.BigIntegerField(null=True)),
        migrations.AddField("watchedfile", "is_made", models.BooleanField(default=False)),
    ]
