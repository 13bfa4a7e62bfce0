"""Consent of a person to a program, backed by a token of Loci's own, so that rights and attribution work alike."""

from django.conf import settings
from django.db import models

from access.models import ApiToken


class Connection(models.Model):
    """One person's consent to one program.

    `token` holds the allowed scopes and groups; memories and the audit log name it. Its secret is unknown: the program
    uses OAuth tokens, which end when it is revoked.
    """

    key = models.BigAutoField(primary_key=True)
    application = models.ForeignKey(
        "oauth2_provider.Application", on_delete=models.CASCADE, related_name="connections"
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections")
    token = models.OneToOneField(ApiToken, on_delete=models.CASCADE, related_name="connection")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["application", "user"], name="one_connection")]

    def __str__(self) -> str:
        return f"access of {self.application_id} for {self.user_id}"
