"""System checks of the maintenance package."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register

from access.errors import Unavailable
from maintenance.cycle.compaction.summary import get_summariser


@register("loci")
def summariser_is_usable(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Check that the class named by maintenance.summariser can be imported and used."""
    try:
        get_summariser()
    except Unavailable as error:
        return [Error(error.message, hint=error.hint, id="maintenance.E001")]
    return []
