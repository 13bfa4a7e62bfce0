from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate


class MemoriesConfig(AppConfig):
    name = "memories"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register checks and places of texts; restore the indexes' tables and triggers after every migrate."""
        from access.groups import register_group_text_check  # noqa: PLC0415 - models are ready only now
        from access.groups.moving import register_part_moves  # noqa: PLC0415 - as above
        from access.groups.narrowing import register_scope_changes  # noqa: PLC0415 - as above
        from memories.lifecycle.purge.places import MEMORY_PLACES  # noqa: PLC0415 - as above
        from memories.lifecycle.regroup.carry_out import AFTER_MOVE  # noqa: PLC0415 - as above
        from memories.lifecycle.regroup.left_behind import (  # noqa: PLC0415 - as above
            purge_left_behind,
        )
        from memories.lifecycle.regroup.narrow import narrow_memories, widen_back  # noqa: PLC0415 - as above
        from memories.lifecycle.regroup.part import move_part, undo_part  # noqa: PLC0415 - as above
        from memories.lifecycle.undo.tables import KeptRows  # noqa: PLC0415 - as above
        from memories.review import instructions  # noqa: F401, PLC0415 - registers itself
        from memories.review.moved_pairs import link_moved_pairs  # noqa: PLC0415 - as above
        from memories.search import checks  # noqa: F401, PLC0415 - registers itself
        from memories.search.schema import OTHER_SCHEMAS  # noqa: PLC0415 - as above
        from memories.store.places import register_places  # noqa: PLC0415 - as above
        from memories.store.withdrawn.texts import check_group_text  # noqa: PLC0415 - as above

        OTHER_SCHEMAS["changes"] = KeptRows()
        if link_moved_pairs not in AFTER_MOVE:
            AFTER_MOVE.append(link_moved_pairs)
        register_part_moves(move_part, undo_part, purge_left_behind)
        register_scope_changes(narrow=narrow_memories, widen_back=widen_back)
        register_group_text_check(check_group_text)
        register_places(*MEMORY_PLACES)
        pre_migrate.connect(drop_kept_triggers, sender=self, dispatch_uid="memories.kept")
        post_migrate.connect(restore_indexes, sender=self, dispatch_uid="memories.indexes")


def drop_kept_triggers(*, using: str, **_: Any) -> None:
    """Drop the triggers that keep former values: they name columns, which a migration may take away."""
    from memories.lifecycle.undo.tables import KeptRows  # noqa: PLC0415 - models are ready only now

    KeptRows().drop(connections[using])


def restore_indexes(*, using: str, plan: Any = None, **_: Any) -> None:
    """Create missing virtual tables and triggers once the memories tables exist."""
    from memories.lifecycle.undo.tables import KeptRows  # noqa: PLC0415 - models are ready only now
    from memories.search.schema import apply_index_schema  # noqa: PLC0415 - as above

    connection = connections[using]
    if {"memories_memory", "memories_piece", "index_change"} <= set(connection.introspection.table_names()):
        apply_index_schema(connection)
        KeptRows().apply(connection)
