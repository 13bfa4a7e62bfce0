"""The hash of each text without what only looks different, by which texts are looked up: is it what this Loci makes of it?

Another version of Loci, or of Python with its newer Unicode, may fold a rare letter in another way.
"""

from collections.abc import Iterator

from django.db import IntegrityError, transaction

from maintenance.doctor.report import Finding, stale_or_ok
from maintenance.doctor.text_columns_doctor_forms import stale_of_text
from memories.language.cleaning import fold_hash
from memories.models import Memory
from storage.bulk_update import write_columns


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
