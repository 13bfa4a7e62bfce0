"""What was tried too often: logins that failed, programs that registered themselves."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from storage.ids import new_id


class Attempts(models.Model):
    """How often one thing was tried, by whom and from where, and until when it is refused.

    The name that was typed is kept as a hash: people type passwords there. `user` is who it names, where there is one.
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
