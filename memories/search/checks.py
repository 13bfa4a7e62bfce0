"""System checks of the search indexes."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from access.errors import Unavailable
from memories.search.base import search_index


@register(Tags.database)
def indexes_are_whole(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Report virtual tables, views and triggers of the SQL files that the database lacks."""
    errors: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if "memories_memory" not in connection.introspection.table_names():
            continue
        try:
            missing = search_index().missing_objects()
        except Unavailable as error:
            errors.append(Error(error.message, hint=error.hint, id="memories.E002"))
            continue
        if missing:
            errors.append(
                Error(
                    f"The search indexes lack {', '.join(missing)}: new memories cannot be found.",
                    hint="Run 'loci migrate' (restores them), then 'loci doctor --repair'.",
                    id="memories.E001",
                )
            )
    return errors
