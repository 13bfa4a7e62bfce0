"""A group's rule for what is not used for long."""

from django.db import migrations, models

RULES = [
    ("sleep", "sleep: it is in no list, and found when nothing else answers"),
    ("delete", "delete: it is forgotten, and destroyed when its retention ends"),
]


class Migration(migrations.Migration):
    dependencies = [("access", "0018_head_key")]

    operations = [
        migrations.AddField(
            "group", "cleanup", models.CharField(choices=RULES, default="sleep", max_length=8)
        ),
        migrations.AddConstraint(
            "group",
            models.CheckConstraint(
                condition=models.Q(("cleanup__in", [name for name, _ in RULES])), name="group_cleanup_known"
            ),
        ),
    ]
