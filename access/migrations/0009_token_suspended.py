from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0008_group_guard")]

    operations = [
        migrations.AddField(
            "apitoken", "suspended_at", models.DateTimeField(blank=True, editable=False, null=True)
        ),
    ]
