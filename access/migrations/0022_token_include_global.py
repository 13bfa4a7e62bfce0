"""A token may be kept from the global memories of other groups."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0021_pairing_client")]
    operations = [migrations.AddField("ApiToken", "include_global", models.BooleanField(default=True))]
