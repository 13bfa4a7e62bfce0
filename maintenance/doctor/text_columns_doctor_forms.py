"""The words' other forms, by which the keyword index finds scripts without spaces and identifiers: are they up to date?"""

from collections.abc import Callable, Iterator

from django.db import transaction

from maintenance.doctor.report import Finding, stale_or_ok
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
