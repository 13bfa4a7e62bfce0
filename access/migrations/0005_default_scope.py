from django.db import migrations, models


def keep_old_rule(apps, schema_editor):
    """Facts stay global by default in a store that has memories: its agents rely on it.

    `memories` depends on this app, so its tables are looked for by name; a new store does not have them yet.
    """
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        if "memories_memory" not in connection.introspection.table_names(cursor):
            return
        cursor.execute("SELECT 1 FROM memories_memory LIMIT 1")
        if cursor.fetchone() is not None:
            cursor.execute("INSERT INTO index_state (name, value) VALUES ('default_scope', 'by-type')")


class Migration(migrations.Migration):
    dependencies = [("access", "0004_idempotency")]

    operations = [
        migrations.AddField(
            "group",
            "default_scope",
            models.CharField(
                blank=True,
                choices=[
                    ("group", "group: only the group sees it"),
                    (
                        "by-type",
                        "by-type: every group sees facts, procedures and entities; events stay in the group",
                    ),
                    ("global", "global: every group sees it"),
                ],
                default="",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            "group",
            models.CheckConstraint(
                name="group_default_scope_known",
                condition=models.Q(default_scope__in=["", "group", "by-type", "global"]),
            ),
        ),
        migrations.RunPython(keep_old_rule, migrations.RunPython.noop),
    ]
