"""Saved filters go: the address of a list holds its filter, so a bookmark keeps it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0016_group_limits")]

    operations = [migrations.DeleteModel("SavedFilter")]
