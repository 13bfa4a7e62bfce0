import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0002_write_rate")]

    operations = [
        migrations.CreateModel(
            name="StoredAnswer",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField()),
                ("answer", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "stored_answer",
                "indexes": [models.Index(fields=["created_at"], name="stored_answer_age")],
            },
        ),
    ]
