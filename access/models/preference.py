"""What each person set for their own pages."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy


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
