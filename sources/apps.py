from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class SourcesConfig(AppConfig):
    name = "sources"
    default_auto_field = "django.db.models.BigAutoField"
    adds = {
        "places": (
            "sources.artifacts.purged.CHUNK_PLACES",
            "sources.captures.removed.CAPTURES_PLACE",
            "sources.uploads.files.UPLOADS_PLACE",
            "sources.rooms.copies.WATCHED_PLACES",
        ),
        "outside copies": (
            "sources.rooms.copies.FilesOnDisk",
            "sources.uploads.files.UploadedFiles",
            "sources.captures.removed.BrowserCopies",
        ),
        "schemas": ("sources.artifacts.schema.CHUNKS",),
        "proposals": ("sources.artifacts.proofs.STALE_PROPOSAL",),
        "reasons to stay": ("sources.watching.moves.why_watched_stay",),
        "parts of a context pack": ("sources.artifacts.evidence.FILES_PART",),
        "scans": ("sources.artifacts.upkeep.scan_chunks",),
        "after deleting a conversation": ("sources.captures.removed.mark_removed",),
        "after restoring a conversation": ("sources.captures.removed.mark_kept",),
        "cleanups": (
            "sources.artifacts.upkeep.delete_retired",
            "sources.uploads.delete_old_uploads",
        ),
        "embed_chunks": ("sources.artifacts.vectors.is_waiting", "sources.artifacts.vectors.embed_waiting"),
        "verbs of a person": ("sources.personal.verbs.PERSON_VERBS",),
        "import": ("sources.uploads.is_waiting", "sources.uploads.process_waiting"),
    }

    def ready(self) -> None:
        """Restore the chunks' indexes and triggers after every migrate."""
        post_migrate.connect(_restore_chunk_indexes, sender=self, dispatch_uid="sources.chunks")


def _restore_chunk_indexes(*, using: str, **_: Any) -> None:
    """Create missing indexes and triggers of chunks once their table exists."""
    from sources.artifacts.schema import CHUNKS  # noqa: PLC0415 - models are ready only now

    CHUNKS.apply(connections[using])
