from django.db import migrations, models


def drop_old_key(apps, schema_editor):
    """PostgreSQL wants the old primary key gone before the new one; SQLite makes the table anew."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE memory_log_head DROP CONSTRAINT memory_log_head_pkey")


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
        migrations.RunPython(drop_old_key, migrations.RunPython.noop),
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
