"""What changes did to rows, and the number of the change that a log row is a part of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0014_person_writes")]

    operations = [
        migrations.AddField("auditentry", "change", models.BigIntegerField(null=True)),
        migrations.AddIndex(
            "auditentry",
            models.Index(
                condition=models.Q(("change__isnull", False)), fields=["change"], name="memory_log_change"
            ),
        ),
        migrations.CreateModel(
            name="RowChange",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("change", models.BigIntegerField()),
                ("op", models.CharField(max_length=1)),
                ("kept", models.CharField(max_length=40)),
                ("row", models.BigIntegerField()),
                ("vals", models.JSONField(null=True)),
                ("undone_by", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "row_change",
                "ordering": ["key"],
                "indexes": [
                    models.Index(fields=["change", "key"], name="row_change_change"),
                    models.Index(fields=["kept", "row", "key"], name="row_change_row"),
                ],
            },
        ),
    ]
