from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0006_preference")]

    operations = [
        migrations.AddField(
            "group",
            "captures",
            models.CharField(
                choices=[
                    ("review", "review: a person decides about each"),
                    ("live", "live: it counts at once; decisions still wait"),
                ],
                default="review",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            "group",
            models.CheckConstraint(
                name="group_captures_known", condition=models.Q(captures__in=["review", "live"])
            ),
        ),
    ]
