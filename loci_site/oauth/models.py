"""What a person has allowed a program: a token of Loci's own stands for it, so that rights and attribution are the same."""

from django.conf import settings
from django.db import models

from access.models import ApiToken


class Connection(models.Model):
    """One person's consent to one program.

    `token` holds the scopes and groups that were allowed and is what memories and the log name. Its secret is not known to
    anybody: the program comes with OAuth tokens. Revoking it ends them.
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
        return f"{self.user_id} lets {self.application_id} in"
