from django.db import migrations, models


class Migration(migrations.Migration):
    """One chain for each group. Rows written before keep the chain "", which the new chains follow."""

    dependencies = [("access", "0002_write_rate")]

    operations = [
        migrations.RemoveConstraint("auditentry", "memory_log_seq_once"),
        migrations.AddField("auditentry", "chain", models.CharField(max_length=36, blank=True, default="")),
        migrations.AddConstraint(
            "auditentry",
            models.UniqueConstraint(name="memory_log_seq_once", fields=["origin", "chain", "seq"]),
        ),
        # SQLite takes the new primary key from here on; `origin` loses its own in the same rebuild of the table.
        migrations.AddField("audithead", "key", models.BigAutoField(primary_key=True, serialize=False)),
        migrations.AlterField("audithead", "origin", models.CharField(max_length=36, blank=True, default="")),
        migrations.AddField("audithead", "chain", models.CharField(max_length=36, blank=True, default="")),
        migrations.AddField("audithead", "linked", models.BigIntegerField(default=0)),
        migrations.AddField("audithead", "linked_in", models.BigIntegerField(default=0)),
        migrations.AddConstraint(
            "audithead",
            models.UniqueConstraint(name="memory_log_head_once", fields=["origin", "chain"]),
        ),
    ]
