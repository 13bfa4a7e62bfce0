"""When a memory was last confirmed; of those that count, at the latest when their row was last changed."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import Coalesce


def take_last_change(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """What was verified or stored again before is not asked about at once: its row tells no better time."""
    rows = apps.get_model("memories", "Memory").objects.filter(
        state="live", type__in=["semantic", "procedural"]
    )
    rows.filter(updated_at__gt=models.F("created_at")).update(confirmed_at=models.F("updated_at"))


class Migration(migrations.Migration):
    dependencies = [("memories", "0022_compacted_behind_summaries")]

    operations = [
        migrations.AddField(
            "memory", "confirmed_at", models.DateTimeField(blank=True, editable=False, null=True)
        ),
        migrations.RunPython(take_last_change, migrations.RunPython.noop),
        migrations.AddIndex(
            "memory",
            models.Index(
                models.F("group"),
                models.OrderBy(models.F("importance"), descending=True),
                Coalesce("confirmed_at", "created_at"),
                models.F("type"),
                condition=models.Q(
                    ("expires_at", None),
                    ("state", "live"),
                    ("trust__in", ["active", "verified"]),
                    ("type__in", ["semantic", "procedural"]),
                    ("valid_to", None),
                ),
                name="memory_asked",
            ),
        ),
    ]
