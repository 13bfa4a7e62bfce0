from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class SourcesConfig(AppConfig):
    name = "sources"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register uploads, chunks of files and captured turns with purges, packs, searches for persons and the daily cleanup."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - models are ready only now
        from access.tokens.pairing import delete_old_codes  # noqa: PLC0415 - as above
        from memories.lifecycle.regroup.plan import register_stay_reason  # noqa: PLC0415 - as above
        from memories.search.schema import OTHER_SCHEMAS  # noqa: PLC0415 - as above
        from memories.sessions.conversations.change import ON_DELETE, ON_RESTORE  # noqa: PLC0415 - as above
        from memories.sessions.outside_parts import OutsidePart, register_outside_part  # noqa: PLC0415 - as above
        from memories.store.places import register_outside_copies, register_places  # noqa: PLC0415 - as above
        from sources.artifacts import proofs  # noqa: F401, PLC0415 - registers its kind of proposal
        from sources.artifacts.evidence import evidence_text  # noqa: PLC0415 - as above
        from sources.artifacts.purged import CHUNK_PLACES  # noqa: PLC0415 - as above
        from sources.artifacts.schema import CHUNKS  # noqa: PLC0415 - as above
        from sources.artifacts.upkeep import delete_retired  # noqa: PLC0415 - as above
        from sources.captures.removed import CAPTURES_PLACE, BrowserCopies, mark_kept, mark_removed  # noqa: PLC0415 - as above
        from sources.rooms.copies import WATCHED_PLACES, FilesOnDisk  # noqa: PLC0415 - as above
        from sources.uploads import delete_old_uploads  # noqa: PLC0415 - as above
        from sources.uploads.files import UPLOADS_PLACE, UploadedFiles  # noqa: PLC0415 - as above
        from sources.watching.moves import why_watched_stay  # noqa: PLC0415 - as above

        register_stay_reason("watched folders", why_watched_stay)
        register_outside_copies("files", FilesOnDisk())
        register_outside_copies("uploads", UploadedFiles())
        register_places(*CHUNK_PLACES, CAPTURES_PLACE, UPLOADS_PLACE, *WATCHED_PLACES)
        register_outside_copies("browsers", BrowserCopies())
        if mark_removed not in ON_DELETE:
            ON_DELETE.append(mark_removed)
            ON_RESTORE.append(mark_kept)
        if delete_old_codes not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_codes)
        OTHER_SCHEMAS["chunks"] = CHUNKS
        register_outside_part(OutsidePart("files", "From files", evidence_text))
        post_migrate.connect(restore_chunk_indexes, sender=self, dispatch_uid="sources.chunks")
        if delete_retired not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_retired)
        if delete_old_uploads not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_uploads)


def restore_chunk_indexes(*, using: str, **_: Any) -> None:
    """Create missing indexes and triggers of chunks once their table exists."""
    from sources.artifacts.schema import CHUNKS  # noqa: PLC0415 - models are ready only now

    CHUNKS.apply(connections[using])
