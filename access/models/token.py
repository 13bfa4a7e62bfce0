"""API tokens: an agent acts for a user, never with more rights than that user has."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from access.models.group import Group
from storage.ids import new_id


class ApiToken(models.Model):
    """One agent's token; only the SHA-256 of its secret is stored."""

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    name = models.CharField(max_length=120)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(
        max_length=16, editable=False, default=""
    )  # the first characters, for recognition
    scopes = models.JSONField(default=list)
    all_groups = models.BooleanField(default=True)
    groups = models.ManyToManyField(Group, blank=True, related_name="tokens")
    default_group = models.ForeignKey(
        Group, null=True, blank=True, on_delete=models.SET_NULL, related_name="default_of"
    )
    include_global = models.BooleanField(default=True)  # False: no global memories of groups other than these
    # Of a browser extension: requests with another Origin are refused; empty for tokens of programs.
    origin = models.CharField(max_length=200, blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    suspended_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    def is_valid(self) -> bool:
        """True if the token can be used now."""
        return self.state == "valid"

    @property
    def state(self) -> str:
        """The state now: valid, suspended, revoked or expired."""
        if self.revoked_at is not None:
            return "revoked"
        if self.suspended_at is not None:
            return "suspended"
        return "valid" if self.expires_at is None or self.expires_at > timezone.now() else "expired"


class StoredAnswer(models.Model):
    """The answer to one write. Key and request are keyed hashes; a purge deletes the answers that hold its text."""

    key = models.BigAutoField(primary_key=True)
    digest = models.CharField(max_length=64, unique=True)  # of the writer and the key it sent
    fingerprint = models.CharField(max_length=64)  # of the request
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "stored_answer"
        indexes = [models.Index(name="stored_answer_age", fields=["created_at"])]

    def __str__(self) -> str:
        return f"{self.status} of {self.created_at:%Y-%m-%d %H:%M}"


class Pairing(models.Model):
    """The code shown to a person, as a keyed hash; one open code per person and `client`, empty for a browser's extension.

    It is not known whose code a wrong one of a browser was meant to be, so each wrong try counts against all of these.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    client = models.CharField(max_length=40, default="")
    code_hash = models.CharField(max_length=64, db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="pairing_once", fields=["user", "client"])]

    def __str__(self) -> str:
        return f"{self.user} until {self.expires_at:%H:%M}"
