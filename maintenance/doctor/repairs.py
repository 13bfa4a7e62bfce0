"""Repairs of everything that can be derived from the memories; each returns one sentence, empty if nothing was wrong."""

import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from access.actor import Actor
from maintenance.doctor import environment, rows
from maintenance.embeddings.backfill import embed_owed
from memories.embedding import ModelUnavailable
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.threads import refresh_context
from storage.bulk import batches

BATCH_ROWS = 100  # per transaction


def repair_modes() -> str:
    """Make files and folders with private contents readable by their owner only."""
    home = Path(settings.LOCI.home)
    folders = [folder for folder in (home, home / "keys") if _is_open(folder)]
    # List the exposed files first: once the folder above them is closed, they no longer count as exposed.
    keys = [path for path in [home / "keys" / "django.key"] if _is_open(path)]
    paths = list(dict.fromkeys([*environment.exposed_files(), *keys]))
    for folder in folders:
        folder.chmod(0o700)
    for path in paths:
        path.chmod(0o600)
    count = len(folders) + len(paths)
    text = gettext("made {count} files and folders readable by their owner only")
    return text.format(count=count) if count else ""


def _is_open(path: Path) -> bool:
    return os.name != "nt" and path.exists() and bool(path.stat().st_mode & environment.OTHERS)


def repair_indexes() -> str:
    """Rebuild the search indexes if they disagree with the memories."""
    faults = search_index().find_errors()
    if not faults:
        return ""
    search_index().rebuild()
    return gettext("rebuilt the search indexes ({faults})").format(faults=gettext("; ").join(faults))


def repair_pieces() -> str:
    """Create one piece, without a vector yet, for each memory that has none."""
    count = 0
    while lacking := list(rows.without_pieces().order_by("key")[:BATCH_ROWS]):
        with transaction.atomic():
            still = rows.without_pieces().filter(key__in=[memory.key for memory in lacking])
            made = Piece.objects.bulk_create(
                [Piece(memory=m, ordinal=0, start=0, end=len(m.content), tokens=0) for m in still]
            )
        count += len(made)
    return gettext("created the missing pieces of {count} memories").format(count=count) if count else ""


def repair_contexts() -> str:
    """Rewrite the contexts that are out of date."""
    stale = [memory.key for memory in rows.stale_contexts()]
    count = 0
    for keys in batches(stale, BATCH_ROWS):
        with transaction.atomic():
            count += sum(refresh_context(memory) for memory in Memory.objects.filter(key__in=keys))
    return gettext("rewrote {count} contexts").format(count=count) if count else ""


def repair_vectors(actor: Actor) -> Iterator[str]:
    """Embed up to 10,000 memories whose vectors are missing; nothing happens without a model."""
    try:
        result = embed_owed(actor, limit=10_000)
    except ModelUnavailable:
        return
    if result.memories:
        yield gettext("embedded {count} memories").format(count=result.memories)
