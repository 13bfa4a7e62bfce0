"""System checks of the maintenance room."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register

from access.errors import Unavailable
from maintenance.cycle.compaction.summary import get_summariser


@register("loci")
def summariser_is_usable(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """The class that maintenance.summariser names can be imported and used."""
    try:
        get_summariser()
    except Unavailable as fault:
        return [Error(fault.message, hint=fault.hint, id="maintenance.E001")]
    return []
