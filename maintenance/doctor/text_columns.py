"""The hash of each text without what only looks different, by which texts are looked up: is it what this Loci makes of it?

Another version of Loci, or of Python with its newer Unicode, may fold a rare letter in another way.
"""

from collections.abc import Callable, Iterator

from django.db import IntegrityError, transaction

from maintenance.doctor.report import Finding, stale_or_ok
from memories.language.cleaning import fold_hash
from memories.language.word_forms import forms_of
from memories.models import Memory
from storage.bulk_update import write_columns

ROWS_AT_ONCE = 500


def check_forms() -> Finding:
    """Every memory has the forms of its words that this version of Loci searches by."""
    fine = "the forms of all words are up to date"
    return stale_or_ok("forms", stale_forms(), said="are out of date", fine=fine)


def stale_forms() -> Iterator[Memory]:
    """Give the memories whose forms are not what they should be, with the fresh ones set."""
    return stale_of_text("forms", forms_of)


def stale_of_text(column: str, make: Callable[[str], str]) -> Iterator[Memory]:
    """Give the memories whose column is not what `make` gives of their text, with the fresh value set."""
    for memory in Memory.objects.only("key", "content", column).order_by("key").iterator(ROWS_AT_ONCE):
        fresh = make(memory.content)
        if fresh != getattr(memory, column):
            setattr(memory, column, fresh)
            yield memory


def repair_forms() -> str:
    """Write the forms that are out of date; say how many, empty where none was."""
    stale = list(stale_forms())
    for start in range(0, len(stale), ROWS_AT_ONCE):
        batch = stale[start : start + ROWS_AT_ONCE]
        with transaction.atomic():
            write_columns(Memory, [row.key for row in batch], {"forms": [row.forms for row in batch]})
    return f"wrote the word forms of {len(stale)} memories anew" if stale else ""


def check_folds() -> Finding:
    """Every memory is found by the folded text that this version of Loci looks for."""
    said = "are found by another spelling than their own"
    return stale_or_ok("folds", stale_folds(), said=said, fine="all texts are found by their own spelling")


def stale_folds() -> Iterator[Memory]:
    """Give the memories whose folded text's hash is not what it should be, with the fresh one set."""
    return stale_of_text("fold_hash", fold_hash)


def repair_folds() -> str:
    """Write the hashes that are not right; say how many, empty where none was.

    One of two live memories with one text stays as it is, for a person to merge.
    """
    written, twins = 0, 0
    for memory in list(stale_folds()):
        try:
            with transaction.atomic():
                written += write_columns(Memory, [memory.key], {"fold_hash": [memory.fold_hash]})
        except IntegrityError:
            twins += 1
    said = [f"wrote the spelling of {written} memories anew"] if written else []
    if twins:
        said.append(f"{twins} say what another live memory says: merge them")
    return "; ".join(said)
