"""An index on the last characters of memories' ids."""

from django.db import migrations

from memories.models.short_id import short_id_index


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_moments")]

    operations = [migrations.AddIndex(model_name="memory", index=short_id_index())]
