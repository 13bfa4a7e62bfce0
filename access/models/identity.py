"""Identities of people at OpenID Connect providers."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Identity(models.Model):
    """A provider's subject for a person: permanent, and never reassigned to somebody else."""

    key = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(name="identity_once", fields=["issuer", "subject"])]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"
