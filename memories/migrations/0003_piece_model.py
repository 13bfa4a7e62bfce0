from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_indexes")]

    operations = [
        migrations.AddIndex(
            model_name="piece", index=models.Index(fields=["model", "key"], name="piece_model")
        ),
    ]
