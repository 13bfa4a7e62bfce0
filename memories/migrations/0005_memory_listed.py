from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_word_forms")]
    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["key", "group", "scope", "type", "state", "trust", "pinned"], name="memory_listed"
            ),
        ),
    ]
