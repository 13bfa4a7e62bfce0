"""Rows made by copying one: the same as the model would make, and nothing shared that a row may change."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from access.models import AuditEntry, AuditPayload, Group, Membership, Role
from storage.bulk_insert import copy_row

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
EXAMPLE = AuditEntry(at=NOON, operation="store", actor="alice", via="rest", digest="d", hash="h")


def test_a_copy_has_the_examples_values_but_those_given() -> None:
    made = copy_row(EXAMPLE, {"seq": 7, "memory_id": UUID(int=3), "operation": "purge"})
    assert isinstance(made, AuditEntry)
    assert (made.seq, made.memory_id, made.operation) == (7, UUID(int=3), "purge")
    assert (made.at, made.actor, made.origin, made.token, made.pk) == (NOON, "alice", "", None, None)


def test_a_copy_is_unsaved_and_leaves_the_example_as_it_was() -> None:
    made = copy_row(EXAMPLE, {"seq": 7})
    made.actor = "bob"
    assert (made._state.adding, made._state.db) == (True, None)
    assert EXAMPLE.actor == "alice"
    assert EXAMPLE.seq is None


@pytest.mark.django_db
def test_a_copy_that_is_saved_is_the_row_that_the_model_would_write() -> None:
    made = copy_row(EXAMPLE, {"seq": 1})
    made.save(force_insert=True)
    found = AuditEntry.objects.get()
    assert found.pk == made.pk
    assert not made._state.adding
    assert EXAMPLE._state.adding


@pytest.mark.django_db
def test_ties_hold_the_row_and_its_key() -> None:
    ledger, atlas = (Group.objects.create(slug=slug) for slug in ("ledger", "atlas"))
    example = Membership(group=ledger, role=Role.VIEWER)
    made = copy_row(example, {"user_id": 5}, {"group": atlas})
    assert (made.group, made.group_id, made.role) == (atlas, atlas.pk, "viewer")
    assert (example.group, example.group_id) == (ledger, ledger.pk)


def test_a_tie_to_what_is_not_saved_yet_waits_for_its_key() -> None:
    entry = copy_row(EXAMPLE, {"seq": 1})
    said = copy_row(AuditPayload(), {"salt": "s", "payload": {}}, {"entry": entry})
    assert said.entry is entry
    assert said.entry_id is None
