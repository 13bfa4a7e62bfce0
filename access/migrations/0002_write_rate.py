from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0001_schema")]

    operations = [
        migrations.AddField("apitoken", "burst_at", models.BigIntegerField(null=True, editable=False)),
    ]
