"""Codes that pair a person's browser extension with this server."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from storage.ids import new_id


class Pairing(models.Model):
    """The code shown to a person, as a keyed hash; one open code per person.

    Nobody knows whose code a wrong one was meant to be, so each wrong try counts against all open codes.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    code_hash = models.CharField(max_length=64, db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} until {self.expires_at:%H:%M}"
