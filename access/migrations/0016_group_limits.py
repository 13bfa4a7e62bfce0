"""How much each group may hold."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0015_changes")]

    operations = [
        migrations.AddField("group", "max_memories", models.PositiveBigIntegerField(default=0)),
        migrations.AddField("group", "max_bytes", models.PositiveBigIntegerField(default=0)),
    ]
