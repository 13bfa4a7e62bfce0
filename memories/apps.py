from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

_UNHIDES = ("memories", "0022_compacted_behind_summaries")


class MemoriesConfig(AppConfig):
    name = "memories"
    default_auto_field = "django.db.models.BigAutoField"
    adds = {
        "places": ("memories.lifecycle.purge.places.MEMORY_PLACES",),
        "schemas": ("memories.lifecycle.undo.rows.KEPT_ROWS",),
        "proposals": (
            "memories.review.proposals.MEMORY_PROPOSALS",
            "memories.review.instructions.INSTRUCTIONS_PROPOSAL",
            "memories.sessions.conversations.move.ASSIGN_PROPOSAL",
        ),
        "comparisons of what counts anew": ("memories.review.find_pairs.link_near",),
        "checks of group texts": ("memories.store.withdrawn.marks.check_group_text",),
    }

    def ready(self) -> None:
        """Restore the indexes' tables and triggers after every migrate."""
        pre_migrate.connect(_drop_kept_triggers, sender=self, dispatch_uid="memories.kept")
        post_migrate.connect(_restore_indexes, sender=self, dispatch_uid="memories.indexes")


def _drop_kept_triggers(*, using: str, **_: Any) -> None:
    """Drop the triggers that keep former values: they name columns, which a migration may take away."""
    from memories.lifecycle.undo.rows import KEPT_ROWS  # noqa: PLC0415 - models are ready only now

    KEPT_ROWS.drop(connections[using])


def _restore_indexes(*, using: str, plan: Any = None, **_: Any) -> None:
    """Create missing virtual tables and triggers once the memories tables exist."""
    from memories.lifecycle.undo.rows import KEPT_ROWS  # noqa: PLC0415 - models are ready only now
    from memories.search.schema import apply_index_schema  # noqa: PLC0415 - as above

    connection = connections[using]
    if {"memories_memory", "memories_piece", "index_change"} <= set(connection.introspection.table_names()):
        apply_index_schema(connection)
        KEPT_ROWS.apply(connection)
        if any((step.app_label, step.name) == _UNHIDES and not is_back for step, is_back in plan or ()):
            _refresh_unhidden()


def _refresh_unhidden() -> None:
    """Write the contexts of the threads whose compacted events count again."""
    from memories.models import Memory  # noqa: PLC0415 - models are ready only now
    from memories.store.threads import refresh_threads  # noqa: PLC0415 - as above

    threads = Memory.objects.filter(summary__isnull=False, thread__isnull=False)
    refresh_threads(threads.order_by("thread").values_list("thread", flat=True).distinct())
