"""Identities of people at OpenID Connect providers."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from storage.ids import new_id


class Identity(models.Model):
    """A provider's subject for a person: permanent, and never reassigned to another person."""

    key = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(name="identity_once", fields=["issuer", "subject"])]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class Theme(models.TextChoices):
    """The colours of the pages."""

    SYSTEM = "", gettext_lazy("As the device")
    LIGHT = "light", gettext_lazy("Light")
    DARK = "dark", gettext_lazy("Dark")


class Preference(models.Model):
    """One person's language, theme, time zone and keys; without a row, the defaults count.

    An empty `language` is the browser's, an empty `time_zone` UTC.
    """

    key = models.BigAutoField(primary_key=True)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference")
    theme = models.CharField(max_length=5, choices=Theme, blank=True, default=Theme.SYSTEM)
    time_zone = models.CharField(max_length=64, blank=True, default="")
    language = models.CharField(max_length=16, blank=True, default="")
    shortcuts = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"preferences of {self.user}"


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


class PersonWrites(models.Model):
    """When a person last wrote, and may write in full again, by access.limits.throttle; microseconds since the epoch."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="written"
    )
    last_at = models.BigIntegerField(default=0)
    chars_at = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"writes of {self.user}"
