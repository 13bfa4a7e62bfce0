"""A text folded by another version is found again once the doctor has rewritten its hash."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from maintenance.doctor.repairs import check_folds, repair_folds
from maintenance.doctor.report import CheckStatus
from memories.models import Memory
from tests.memories.builders import fresh, keep, row
from tests.people import person

pytestmark = pytest.mark.django_db
TEXT = "The port of the café is 8081."
OTHER = "0" * 64


def test_a_text_of_another_folding_is_told_and_written_anew(alice: User, ledger: Group) -> None:
    memory = row(ledger, TEXT)
    right = memory.fold_hash
    assert check_folds().verdict is CheckStatus.OK
    Memory.objects.filter(pk=memory.pk).update(fold_hash=OTHER)
    assert check_folds().verdict is CheckStatus.WRONG
    assert repair_folds() == "rewrote the text hash of 1 memories"
    assert fresh(memory).fold_hash == right
    assert (check_folds().verdict, repair_folds()) == (CheckStatus.OK, "")
    assert keep(person(alice), TEXT, group="ledger", scope="group").outcome == "reinforced"


def test_two_live_memories_of_one_text_are_left_for_a_person_to_merge(ledger: Group) -> None:
    old = row(ledger, TEXT)
    Memory.objects.filter(pk=old.pk).update(fold_hash=OTHER)
    twin, third = row(ledger, TEXT), row(ledger, "Another text.")
    Memory.objects.filter(pk=third.pk).update(fold_hash=OTHER)
    told = "rewrote the text hash of 1 memories; 1 have the same text as another live memory: merge them"
    assert repair_folds() == told
    assert fresh(old).fold_hash == OTHER
    assert check_folds().verdict is CheckStatus.WRONG
    Memory.objects.filter(pk=old.pk).update(state="merged", superseded_by=twin)
    assert repair_folds() == "rewrote the text hash of 1 memories"
