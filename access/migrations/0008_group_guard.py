from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0007_captures")]

    operations = [
        migrations.AddField("group", "guard", models.CharField(blank=True, default="", max_length=500)),
    ]
