"""A person's language, theme, time zone and keys: read, checked and stored."""

from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings

from access.actor import Actor
from access.errors import InvalidInput, NotPermitted
from access.models import Preference, Theme

UTC = "UTC"


def preference_of_user(user: Any) -> Preference:
    """The user's preferences, read together with the user of a request; the defaults, unsaved, if there are none."""
    return getattr(user, "preference", None) or Preference()


@lru_cache(maxsize=1)
def _known_zones() -> frozenset[str]:
    """The names of time zones, read from this machine's files once."""
    return frozenset(available_timezones())


def zone_of(preference: Preference, of_browser: str = "") -> ZoneInfo:
    """The person's time zone, else that of the browser, which may send anything; UTC if this machine knows neither."""
    known = (name for name in (preference.time_zone, of_browser) if name in _known_zones())
    return ZoneInfo(next(known, UTC))  # which keeps the zones that it read


def set_preference(
    actor: Actor, *, theme: str, time_zone: str, shortcuts: bool, language: str = ""
) -> Preference:
    """Store the caller's own preferences. One statement.

    Raises:
        NotPermitted: the caller is not a person, such as an operator.
        InvalidInput: an unknown theme, time zone or language.
    """
    if actor.user_id is None:
        raise NotPermitted("Only a person has preferences.", hint="Log in.")
    if theme not in Theme.values:
        allowed = ", ".join(value or "empty" for value in Theme.values)
        raise InvalidInput(f"'{theme[:20]}' is not a theme.", hint=f"Use {allowed}.", field="theme")
    if time_zone and time_zone not in _known_zones():
        raise InvalidInput(
            f"'{time_zone[:64]}' is not a time zone.",
            hint="Use a name such as Europe/Berlin.",
            field="time_zone",
        )
    known = dict(settings.LANGUAGES)
    if language and language not in known:
        raise InvalidInput(
            f"'{language[:16]}' is not a language of Loci's pages.",
            hint=f"Use {', '.join(known)} or leave it empty.",
            field="language",
        )
    values = {"theme": theme, "time_zone": time_zone, "shortcuts": shortcuts, "language": language}
    return Preference.objects.update_or_create(user_id=actor.user_id, defaults=values)[0]
