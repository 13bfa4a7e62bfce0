"""What each person has written lately, over all tokens."""

from django.conf import settings
from django.db import models


class PersonWrites(models.Model):
    """When a person may write in full again (microseconds since the epoch), by access.limits.throttle's meters."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="written"
    )
    burst_at = models.BigIntegerField(default=0)
    chars_at = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"writes of {self.user}"
