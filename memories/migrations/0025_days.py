"""The days that a text names. Those of older texts are read at each question until the nightly cycle has read them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0024_metadata_is_searched")]

    operations = [migrations.AddField("memory", "days", models.TextField(editable=False, null=True))]
