"""Checks and repairs of the columns derived from each memory's text: word forms, and the hash of its folded text.

Another version of Loci, or of Python with a newer Unicode, may fold a rare letter differently.
"""

from collections.abc import Callable, Iterator

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from maintenance.doctor.report import Finding, stale_or_ok
from memories.language.dress import fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory
from storage.bulk import batches, write_columns

BATCH_ROWS = 500


def check_forms() -> Finding:
    """The word forms of every memory match this version of Loci."""
    problem = gettext("{count} memories have outdated word forms")
    stale = _stale_of_text("forms", forms_of)
    return stale_or_ok("forms", stale, problem=problem, fine=gettext("all word forms are up to date"))


def _stale_of_text(column: str, derive: Callable[[str], str]) -> Iterator[Memory]:
    """Memories whose column differs from `derive(content)`; the fresh value is set on each, not saved."""
    for memory in Memory.objects.only("key", "content", column).order_by("key").iterator(BATCH_ROWS):
        fresh = derive(memory.content)
        if fresh != getattr(memory, column):
            setattr(memory, column, fresh)
            yield memory


def repair_forms() -> str:
    """Rewrite outdated word forms and return the number as a sentence, empty if there were none."""
    stale = list(_stale_of_text("forms", forms_of))
    for batch in batches(stale, BATCH_ROWS):
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
