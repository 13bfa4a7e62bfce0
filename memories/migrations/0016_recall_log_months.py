"""On PostgreSQL the recall log has a partition for each month."""

from django.db import migrations
from django.utils import timezone

from storage.postgresql.months import is_parted, make_months, part_by_month

TABLE, COLUMN = "memories_recalllog", "at"
_REFERENCE = """
ALTER TABLE memories_recalllog ADD CONSTRAINT memories_recalllog_group FOREIGN KEY (group_id)
REFERENCES access_group (key) DEFERRABLE INITIALLY DEFERRED
"""


def part(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql" or is_parted(TABLE):
        return
    with schema_editor.connection.cursor() as cursor:
        part_by_month(cursor, TABLE, COLUMN)
        for column in (COLUMN, "group_id"):
            cursor.execute(f"CREATE INDEX memories_recalllog_{column} ON memories_recalllog ({column})")
        cursor.execute(_REFERENCE)
        cursor.execute("ALTER TABLE memories_recalllog ALTER COLUMN query SET STATISTICS 0")
    make_months(TABLE, COLUMN, timezone.now())


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_tombstone_global")]

    operations = [migrations.RunPython(part, migrations.RunPython.noop)]
