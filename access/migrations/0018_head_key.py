"""The primary key of the chains' heads, which stores of 0.3.0 on PostgreSQL lack."""

from django.db import migrations

_HAS_KEY = "SELECT 1 FROM pg_constraint WHERE conrelid = 'memory_log_head'::regclass AND contype = 'p'"


def add_key(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_HAS_KEY)
        if cursor.fetchone() is None:
            cursor.execute("ALTER TABLE memory_log_head ADD PRIMARY KEY (key)")


class Migration(migrations.Migration):
    dependencies = [("access", "0017_drop_saved_filters")]

    operations = [migrations.RunPython(add_key, migrations.RunPython.noop)]
