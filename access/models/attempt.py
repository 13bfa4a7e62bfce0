"""Counted attempts: failed logins, registered programs, invalid tokens."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from storage.ids import new_id


class Attempts(models.Model):
    """The number of attempts with one key, and the end of the lock that they caused.

    The typed name is stored as a hash only, because people type passwords there. `user` is the account that it names, if
    there is one.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    kind = models.CharField(max_length=12)
    key_hash = models.CharField(max_length=64)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    address = models.CharField(max_length=64)
    count = models.IntegerField(default=0)
    last_at = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key_hash"], name="attempts_of_one")]
        verbose_name_plural = "attempts"

    def __str__(self) -> str:
        return f"{self.kind} from {self.address}"
