"""A person's time of the last write in place of that when a number of changes is refilled."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0019_group_cleanup")]
    operations = [migrations.RenameField("PersonWrites", "burst_at", "last_at")]
