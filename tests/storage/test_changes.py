"""Rows of a change are kept wherever its transaction begins, and errors in it stay what they are."""

import pytest
from django.db import IntegrityError, transaction

from access.models import Group, RowChange
from storage.changes import changing, current_change, keeping_nothing

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_transaction_that_begins_within_a_change_keeps_rows() -> None:
    group = Group.objects.create(slug="ledger", instructions="old")
    with changing() as change, transaction.atomic():
        Group.objects.filter(pk=group.pk).update(instructions="new")
    with transaction.atomic():
        Group.objects.filter(pk=group.pk).update(instructions="newer")
    kept = RowChange.objects.filter(kept=Group._meta.db_table, row=group.pk)
    assert [(row.change, row.vals) for row in kept] == [(change, {"instructions": ["old", "new"]})]


def test_an_error_in_a_change_within_a_transaction_is_raised_as_it_is() -> None:
    group = Group.objects.create(slug="ledger", instructions="old")
    with changing() as outer, transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic(), changing(outer + 1):
            Group.objects.create(slug="ledger")
        assert current_change() == outer
        Group.objects.filter(pk=group.pk).update(instructions="new")
    assert RowChange.objects.get(kept=Group._meta.db_table, op="u").change == outer


def test_nothing_is_kept_within_a_purge_whatever_change_its_work_is_a_part_of() -> None:
    group = Group.objects.create(slug="ledger", instructions="old")
    for number in (None, 7):
        with keeping_nothing(), changing(number), transaction.atomic():
            Group.objects.filter(pk=group.pk).update(instructions=f"new {number}")
    assert not RowChange.objects.exists()
