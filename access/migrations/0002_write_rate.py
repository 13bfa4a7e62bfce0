from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0001_schema")]

    operations = [
        migrations.AddField("apitoken", "writes_left", models.FloatField(null=True, editable=False)),
        migrations.AddField("apitoken", "writes_left_at", models.FloatField(null=True, editable=False)),
    ]
