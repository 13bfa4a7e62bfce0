"""Repairs of everything that can be derived from the memories, and the checks of the columns derived from a text.

A repair returns one sentence, empty if nothing was wrong. Another version of Loci, or of Python with a newer Unicode, may fold a
rare letter differently.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from access.actor import Actor
from maintenance.doctor import environment, rows
from maintenance.doctor.report import Finding, stale_or_ok
from maintenance.embeddings.backfill import embed_owed
from memories.embedding import ModelUnavailable
from memories.language.dress import fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.threads import refresh_context
from storage.bulk import batches, write_columns

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


_TEXT_ROWS = 500


def check_forms() -> Finding:
    """The word forms of every memory match this version of Loci."""
    problem = gettext("{count} memories have outdated word forms")
    stale = _stale_of_text("forms", forms_of)
    return stale_or_ok("forms", stale, problem=problem, fine=gettext("all word forms are up to date"))


def _stale_of_text(column: str, derive: Callable[[str], str]) -> Iterator[Memory]:
    """Memories whose column differs from `derive(content)`; the fresh value is set on each, not saved."""
    for memory in Memory.objects.only("key", "content", column).order_by("key").iterator(_TEXT_ROWS):
        fresh = derive(memory.content)
        if fresh != getattr(memory, column):
            setattr(memory, column, fresh)
            yield memory


def repair_forms() -> str:
    """Rewrite outdated word forms and return the number as a sentence, empty if there were none."""
    stale = list(_stale_of_text("forms", forms_of))
    for batch in batches(stale, _TEXT_ROWS):
        with transaction.atomic():
            write_columns(Memory, [row.key for row in batch], {"forms": [row.forms for row in batch]})
    return gettext("rewrote the word forms of {count} memories").format(count=len(stale)) if stale else ""


def check_folds() -> Finding:
    """The text hash of every memory matches this version of Loci, so lookups by text find it."""
    problem = gettext("{count} memories have an outdated text hash, so a lookup by their text misses them")
    stale = _stale_of_text("fold_hash", fold_hash)
    return stale_or_ok("folds", stale, problem=problem, fine=gettext("all text hashes are up to date"))


def repair_folds() -> str:
    """Rewrite outdated text hashes and return the numbers as a sentence, empty if there were none.

    If two live memories turn out to have the same text, one keeps its old hash until a person merges them.
    """
    written, duplicates = 0, 0
    for memory in list(_stale_of_text("fold_hash", fold_hash)):
        try:
            with transaction.atomic():
                written += write_columns(Memory, [memory.key], {"fold_hash": [memory.fold_hash]})
        except IntegrityError:
            duplicates += 1
    repairs = [gettext("rewrote the text hash of {count} memories").format(count=written)] if written else []
    if duplicates:
        text = gettext("{count} have the same text as another live memory: merge them")
        repairs.append(text.format(count=duplicates))
    return "; ".join(repairs)
