"""Old log rows can be dropped, and the rest still proves that nothing else is missing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.audit import append
from access.audit import retention as audit_retention
from access.audit.retention import LogDrop, drop_log
from access.audit.verify import chain_names, verify_chain
from access.errors import Conflict, NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from tests.people import agent, person

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


def moment(day: int) -> datetime:
    return START + timedelta(days=day)


@pytest.fixture
def days(alice: User) -> User:
    """Ten rows, one per day from 0 to 9."""
    for day in range(10):
        append(person(alice), "run", subject=f"day {day}", payload={"day": day}, at=moment(day))
    return alice


def rows() -> list[tuple[int, str]]:
    return list(AuditEntry.objects.order_by("seq").values_list("seq", "subject"))


def test_old_rows_go_and_the_rest_is_proved(days: User) -> None:
    hash_of_4 = AuditEntry.objects.get(seq=4).hash
    assert drop_log(person(days), before=moment(4)) == LogDrop(rows=4, through={"instance": 4})
    assert rows() == [
        (4, f"after:{hash_of_4}"),
        (5, "day 4"),
        (6, "day 5"),
        (7, "day 6"),
        (8, "day 7"),
        (9, "day 8"),
        (10, "day 9"),
        (11, "dropped:4"),
    ]
    report = verify_chain()
    assert (report.is_whole, report.rows, report.dropped, report.purged_payloads) == (True, 7, 4, 0)
    assert report.head == AuditHead.objects.get().hash


def test_the_anchor_keeps_nothing_of_the_row_it_was(days: User) -> None:
    AuditEntry.objects.filter(seq=4).update(client="someone's laptop")
    AuditEntry.objects.filter(seq=4).update(client="")
    drop_log(person(days), before=moment(4))
    anchor = AuditEntry.objects.get(seq=4)
    kept = (
        anchor.operation,
        anchor.actor,
        anchor.via,
        anchor.client,
        anchor.digest,
        anchor.memory_id,
        anchor.token,
    )
    assert kept == ("anchor", "", "", "", "", None, None)
    assert anchor.at == moment(3)
    assert set(AuditPayload.objects.values_list("entry__seq", flat=True)) == {5, 6, 7, 8, 9, 10, 11}


def test_the_drop_is_logged_with_who_did_it(days: User) -> None:
    drop_log(person(days), before=moment(4))
    said = AuditEntry.objects.get(subject="dropped:4")
    assert (said.operation, said.actor) == ("anchor", "alice")
    assert said.payload_row.payload == {"rows": 4, "through": 4, "before": "2026-01-05T00:00:00+00:00"}


def test_a_second_time_nothing_is_written(days: User) -> None:
    drop_log(person(days), before=moment(4))
    before = rows()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert drop_log(person(days), before=moment(4)) == LogDrop(0, {})
    assert rows() == before
    assert all(query["sql"].startswith("SELECT") for query in queries)


def test_later_the_anchor_moves_on(days: User) -> None:
    drop_log(person(days), before=moment(4))
    assert drop_log(person(days), before=moment(8)) == LogDrop(rows=4, through={"instance": 8})
    assert [seq for seq, _ in rows()] == [8, 9, 10, 11, 12]
    report = verify_chain()
    assert (report.is_whole, report.rows, report.dropped) == (True, 4, 8)


def test_where_all_rows_are_old_the_row_that_tells_of_the_drop_is_left(days: User) -> None:
    assert drop_log(person(days), before=moment(30)) == LogDrop(rows=10, through={"instance": 10})
    assert [seq for seq, _ in rows()] == [10, 11]
    assert verify_chain().is_whole
    append(person(days), "run", subject="afterwards")
    report = verify_chain()
    assert (report.is_whole, report.rows) == (True, 2)


def test_nothing_goes_while_the_first_row_is_young(days: User) -> None:
    before = rows()
    assert drop_log(person(days), before=moment(0)) == LogDrop(0, {})
    assert rows() == before


def test_a_young_row_in_front_keeps_what_follows_it(days: User) -> None:
    """The clock was wrong for one row: the rows after it stay, since a chain has no holes."""
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()
    for at in (0, 1, 50, 2):
        append(person(days), "run", subject=f"day {at}", at=moment(at))
    assert drop_log(person(days), before=moment(10)) == LogDrop(rows=2, through={"instance": 2})
    assert [subject for _, subject in rows()][1:] == ["day 50", "day 2", "dropped:2"]


def test_killed_midway_the_chain_is_whole_and_the_next_call_goes_on(days: User) -> None:
    def killed(rows: int) -> None:
        raise KeyboardInterrupt

    with patch.object(audit_retention, "BATCH_ROWS", 3):
        with pytest.raises(KeyboardInterrupt):
            drop_log(person(days), before=moment(8), on_rows=killed)
        assert [seq for seq, _ in rows()] == [3, 4, 5, 6, 7, 8, 9, 10, 11]
        report = verify_chain()
        assert (report.is_whole, report.dropped) == (True, 3)
        assert drop_log(person(days), before=moment(8)) == LogDrop(rows=5, through={"instance": 8})
    assert [subject for _, subject in rows() if subject.startswith("dropped")] == ["dropped:8"]
    assert verify_chain().is_whole


def test_progress_is_told_batch_by_batch(days: User) -> None:
    heard: list[int] = []
    with patch.object(audit_retention, "BATCH_ROWS", 3):
        drop_log(person(days), before=moment(8), on_rows=heard.append)
    assert heard == [3, 3, 2]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda: AuditEntry.objects.filter(seq=4).delete(), "row 5 is missing|no later row|row 1 is missing"),
        (lambda: AuditEntry.objects.filter(seq__lte=6).delete(), "row 1 is missing"),
        (
            lambda: AuditEntry.objects.filter(seq=4).update(subject="after:" + "0" * 64),
            "the anchor was changed",
        ),
        (lambda: AuditEntry.objects.filter(seq=4).update(hash="0" * 64), "the anchor was changed"),
        (lambda: AuditEntry.objects.filter(seq=6).update(actor="mallory"), "the row does not follow"),
        (lambda: AuditEntry.objects.filter(seq=11).delete(), "no later row announces"),
        (lambda: AuditEntry.objects.filter(seq=10).delete(), "row 10 is missing"),
    ],
    ids=[
        "no anchor",
        "cut further",
        "anchor's subject",
        "anchor's hash",
        "changed row",
        "no row tells",
        "removed row",
    ],
)
def test_damage_behind_an_anchor_is_found(days: User, damage: Callable[[], object], why: str) -> None:
    drop_log(person(days), before=moment(4))
    damage()
    report = verify_chain()
    assert not report.is_whole
    assert any(part in report.why for part in why.split("|")), report.why


def test_a_forged_anchor_further_on_is_found(days: User) -> None:
    """Somebody removes rows from the front and turns the last one into an anchor, as retention does."""
    drop_log(person(days), before=moment(4))
    AuditEntry.objects.filter(seq__lt=7).delete()
    last = AuditEntry.objects.get(seq=7)
    AuditEntry.objects.filter(seq=7).update(operation="anchor", subject=f"after:{last.hash}")
    report = verify_chain()
    assert (report.is_whole, report.broken_at) == (False, 7)
    assert report.why == "no later row announces that the rows before the anchor were dropped"


@pytest.mark.parametrize(
    "damage",
    [
        lambda: AuditEntry.objects.filter(seq=3).update(actor="mallory"),
        lambda: AuditEntry.objects.filter(seq=2).delete(),
        lambda: AuditPayload.objects.filter(entry__seq=3).update(payload={"day": 99}),
        lambda: AuditEntry.objects.filter(seq=4).delete(),
    ],
    ids=["changed row", "removed row", "changed payload", "last row removed"],
)
def test_rows_that_somebody_changed_are_never_dropped(days: User, damage: Callable[[], object]) -> None:
    damage()
    there = [row for row in rows() if row[0] <= 10]
    with pytest.raises(Conflict, match="The audit log is broken at row"):
        drop_log(person(days), before=moment(4))
    assert [row for row in rows() if row[0] <= 10] == there


def test_another_stores_chain_is_left_alone(days: User) -> None:
    foreign = "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"
    own = AuditEntry.objects.get(seq=1)
    own.pk, own.origin = None, foreign
    own.save(force_insert=True)
    AuditHead.objects.create(origin=foreign, chain="instance", seq=1, hash=own.hash)
    drop_log(person(days), before=moment(4))
    assert chain_names() == [("", "instance"), (foreign, "instance")]
    assert verify_chain(origin=foreign).is_whole
    assert AuditEntry.objects.filter(origin=foreign).count() == 1


def test_only_an_admin_of_everything_may_drop_rows(days: User, ledger: Group, bob: User) -> None:
    for actor in (person(bob), agent(days, groups=[ledger], scopes=["read", "write"])):
        with pytest.raises(NotPermitted):
            drop_log(actor, before=moment(4))
