"""The audit chain reveals every changed, removed or cut-off row."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.audit import AuditEvent, append, append_many
from access.audit.verify import verify_chain
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from memories.browse.listing import list_log
from memories.lifecycle.verbs import purge
from storage.canonical_json import ReadyJson, encode_rows
from tests.memories.builders import kept
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain(alice: User) -> None:
    """Five rows."""
    for number in range(1, 6):
        append(person(alice), "run", subject=f"step {number}", payload={"number": number, "ä": 0.1})


def test_rows_follow_one_another(chain: None) -> None:
    assert list(AuditEntry.objects.values_list("seq", flat=True)) == [1, 2, 3, 4, 5]
    report = verify_chain()
    assert (report.is_whole, report.rows, report.purged_payloads) == (True, 5, 0)
    assert report.head == AuditHead.objects.get().hash


def test_the_payload_stands_apart_and_may_be_purged(chain: None, alice: User) -> None:
    id_ = UUID("0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f")
    for operation in ("store", "purge"):
        append(person(alice), operation, memory_id=id_, payload={"text": "7719"})
    AuditPayload.objects.filter(entry__operation="store").delete()
    report = verify_chain()
    assert (report.is_whole, report.rows, report.purged_payloads) == (True, 7, 1)


@pytest.mark.parametrize(
    ("damage", "at", "why"),
    [
        (lambda: AuditEntry.objects.filter(seq=3).update(actor="mallory"), 3, "the row does not follow"),
        (lambda: AuditEntry.objects.filter(seq=3).delete(), 4, "row 3 is missing"),
        (lambda: AuditPayload.objects.filter(entry__seq=4).update(payload={"number": 9}), 4, "was changed"),
        (lambda: AuditEntry.objects.filter(seq__gte=4).delete(), 4, "rows are missing at the end"),
        (lambda: AuditEntry.objects.all().delete(), 1, "rows are missing at the end"),
        (lambda: AuditHead.objects.all().delete(), 6, "head is missing"),
    ],
    ids=["changed row", "removed row", "changed payload", "removed tail", "removed all", "removed head"],
)
def test_damage_is_found(chain: None, damage: Callable[[], object], at: int, why: str) -> None:
    damage()
    report = verify_chain()
    assert not report.is_whole
    assert report.broken_at == at
    assert why in report.why


def test_an_empty_chain_is_whole() -> None:
    assert verify_chain().is_whole


@pytest.mark.model
def test_a_groups_log_still_tells_of_what_was_purged(alice: User, ledger: Group) -> None:
    actor = person(alice)
    memory = kept(actor, "The vault code is written on the door.", group="ledger")
    purge(actor, memory.id, reason="asked for")
    told = [(row.operation, row.memory_id) for row in list_log(actor, group="ledger").rows]
    assert told[:2] == [("purge", memory.id), ("store", memory.id)]


def test_many_rows_follow_one_another_as_single_ones_do(alice: User) -> None:
    actor, moment = person(alice), timezone.now()
    append(actor, "run", subject="before")
    said = [{"number": n, "ä": [0.1, None]} for n in range(6)]
    ready = encode_rows("after", {"text": ["é", "100 %", '"'], "n": [1, 1, 1]})
    payloads: list[Mapping[str, Any] | ReadyJson] = [*said, *ready]
    events = [
        AuditEvent("run", UUID(int=n + 1), None, f"step «{n}»", payload) for n, payload in enumerate(payloads)
    ]
    append_many(actor, events, at=moment)
    append(actor, "run", subject="after")
    rows = list(AuditEntry.objects.order_by("seq").select_related("payload_row"))
    assert [row.seq for row in rows] == list(range(1, 12))
    assert [row.payload_row.payload for row in rows[1:-1]] == [*said, *[each.value() for each in ready]]
    assert {(row.actor, row.via, row.at) for row in rows[1:-1]} == {(actor.name, actor.via, moment)}
    report = verify_chain()
    assert (report.is_whole, report.rows) == (True, 11)
    AuditPayload.objects.filter(entry__seq=9).update(payload={"after": {"text": "100", "n": 1}})
    assert (verify_chain().broken_at, verify_chain().why) == (9, "the payload of the row was changed")


def test_few_rows_may_say_json_that_is_ready(alice: User) -> None:
    append_many(
        person(alice), [AuditEvent("run", payload=ready) for ready in encode_rows("after", {"n": [1, 2]})]
    )
    assert sorted(str(row.payload) for row in AuditPayload.objects.all()) == [
        "{'after': {'n': 1}}",
        "{'after': {'n': 2}}",
    ]
    assert verify_chain().is_whole
