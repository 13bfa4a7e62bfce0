from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0011_findings")]

    operations = [
        migrations.AddField("checkpoint", "held", models.CharField(blank=True, default="", max_length=36)),
    ]
