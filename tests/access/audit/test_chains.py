"""Each group has a chain of its own, the instance another, and the chain of heads reveals a chain that was rewritten."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from access.audit import (
    GENESIS,
    HEADS,
    INSTANCE,
    OLD,
    AuditEvent,
    LockedChains,
    append,
    append_many,
    chain_hash,
    find_row,
    start_hash,
)
from access.audit.operations import Operation
from access.audit.retention import drop_log, has_unlinked, link_heads
from access.audit.verify import (
    ChainReport,
    chain_names,
    find_kept_error,
    is_log_whole,
    verify_chain,
    verify_log,
)
from access.errors import InvalidInput
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from access.tokens import operator
from memories.lifecycle.verbs import purge
from storage.ids import new_id
from tests.memories.builders import kept
from tests.people import person

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


def numbers(chain: str) -> list[int]:
    return list(AuditEntry.objects.filter(chain=chain).order_by("seq").values_list("seq", flat=True))


def report_of(chain: str) -> ChainReport:
    return next(report for report in verify_log() if (report.origin, report.chain) == ("", chain))


def make_old(chain: str = INSTANCE) -> None:
    """Turn a chain into the one chain of a store of before, as if it had been written then."""
    previous = GENESIS
    for entry in AuditEntry.objects.filter(chain=chain).order_by("seq"):
        entry.chain, entry.hash = OLD, chain_hash(previous, entry)
        previous = entry.hash
        entry.save()
    AuditHead.objects.filter(chain=chain).update(chain=OLD, hash=previous)


@pytest.fixture
def logged(alice: User, ledger: Group, garden: Group) -> User:
    """Rows of two groups and the instance in turns."""
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()
    for day in range(4):
        for group in (ledger.id, garden.id, None):
            append(person(alice), "run", group=group, subject=f"day {day}", at=START + timedelta(days=day))
    return alice


def test_numbers_count_in_one_group_alone(logged: User, ledger: Group, garden: Group) -> None:
    assert [numbers(chain) for chain in (str(ledger.id), str(garden.id), INSTANCE)] == [[1, 2, 3, 4]] * 3
    assert is_log_whole()


def test_many_rows_of_several_groups_go_to_their_chains(alice: User, ledger: Group, garden: Group) -> None:
    before = {chain: len(numbers(chain)) for chain in (str(ledger.id), str(garden.id), INSTANCE)}
    groups = [ledger.id, None, garden.id, ledger.id] * 4
    append_many(person(alice), [AuditEvent("run", group=group, payload={"x": 1}) for group in groups])
    after = {chain: len(numbers(chain)) for chain in before}
    assert [after[chain] - before[chain] for chain in before] == [8, 4, 4]
    rows = AuditEntry.objects.filter(operation="run").order_by("key")
    assert [row.group for row in rows] == groups
    assert is_log_whole()


def test_equal_payloads_have_different_digests(alice: User) -> None:
    rows = [append(operator(), "run", payload={"reason": "it was wrong"}) for _ in range(2)]
    assert rows[0].digest != rows[1].digest


def test_a_chain_under_another_groups_name_does_not_begin_there(
    logged: User, ledger: Group, garden: Group
) -> None:
    AuditEntry.objects.filter(chain=str(garden.id)).delete()
    AuditHead.objects.filter(chain=str(garden.id)).delete()
    for model in (AuditEntry, AuditHead):
        model.objects.filter(chain=str(ledger.id)).update(chain=str(garden.id))
    assert report_of(str(garden.id)).broken_at == 1


def test_a_purge_of_what_a_memory_left_excuses_the_rows_before_it_alone(logged: User, ledger: Group) -> None:
    moved = {"memory_id": new_id(), "group": ledger.id}
    before, _, after = (append(operator(), name, **moved) for name in ("move", Operation.CLEAR, "store"))
    before.payload_row.delete()
    assert report_of(str(ledger.id)).is_whole
    after.payload_row.delete()
    assert report_of(str(ledger.id)).broken_at == after.seq


def test_an_end_that_moved_meanwhile_is_not_moved_back(logged: User) -> None:
    with transaction.atomic():
        chains = LockedChains([INSTANCE])
        late = append(operator(), "run")
        with pytest.raises(RuntimeError, match="appended to the log meanwhile"):
            chains.save()
    assert AuditHead.objects.get(chain=INSTANCE).hash == late.hash
    assert is_log_whole()


def test_a_row_is_found_by_its_name(logged: User, ledger: Group) -> None:
    row = find_row(f"{ledger.id}.3")
    assert row is not None
    assert (row.name, row.subject) == (f"{ledger.id}.3", "day 2")
    for name in (
        "instance.99",
        "nowhere.1",
        "3",
        "",
        ".3",
        "instance.",
        "instance.-1",
        "instance.٣",
        f"heads.{2**70}",
    ):
        assert find_row(name) is None


def test_the_ends_of_all_chains_are_linked_once(logged: User, ledger: Group, garden: Group) -> None:
    assert has_unlinked()
    assert report_of(str(ledger.id)).unlinked == 4
    link_heads(person(logged))
    link = AuditEntry.objects.get(chain=HEADS)
    assert (link.seq, link.operation, link.group) == (1, "heads", None)
    heads = AuditHead.objects.exclude(chain=HEADS)
    assert link.payload_row.payload == {"chains": {head.chain: [head.seq, head.hash] for head in heads}}
    with CaptureQueriesContext(connection) as queries:
        link_heads(person(logged))
    assert (numbers(HEADS), len(queries)) == ([1], 1)
    append(person(logged), "run", group=garden.id)
    assert [report.unlinked for report in verify_log()].count(1) == 1
    link_heads(person(logged))
    second = AuditEntry.objects.get(chain=HEADS, seq=2)
    assert list(second.payload_row.payload["chains"]) == [str(garden.id)]
    assert sum(report.unlinked for report in verify_log()) == 0


def rewrite(chain: str) -> None:
    """Change a row and compute all later hashes and the head anew, as somebody with the database can."""
    head = AuditHead.objects.get(chain=chain)
    AuditEntry.objects.filter(chain=chain, seq=2).update(actor="mallory")
    previous = start_hash(chain, GENESIS)
    for entry in AuditEntry.objects.filter(chain=chain).order_by("seq"):
        entry.hash = previous = chain_hash(previous, entry)
        entry.save(update_fields=["hash"])
    AuditHead.objects.filter(pk=head.pk).update(hash=previous)


def cut(chain: str) -> None:
    """Remove the last rows and set the head back."""
    AuditEntry.objects.filter(chain=chain, seq__gt=2).delete()
    AuditHead.objects.filter(chain=chain).update(seq=2, hash=AuditEntry.objects.get(chain=chain, seq=2).hash)


def remove(chain: str) -> None:
    """Remove the whole chain."""
    AuditEntry.objects.filter(chain=chain).delete()
    AuditHead.objects.filter(chain=chain).delete()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (rewrite, "row 4 of the chain ledger, which it links, is another one now"),
        (cut, "row 4 of the chain ledger, which it links, is missing"),
        (remove, "row 4 of the chain ledger, which it links, is missing"),
    ],
)
def test_a_chain_made_anew_does_not_fit_its_link(
    logged: User, ledger: Group, damage: Callable[[str], None], why: str
) -> None:
    link_heads(person(logged))
    append(person(logged), "run")
    damage(str(ledger.id))
    link_heads(person(logged))  # a later link does not hide it
    broken = [(report.chain, report.broken_at, report.why) for report in verify_log() if not report.is_whole]
    assert broken == [(HEADS, 1, why)]


def test_the_chain_of_before_is_the_first_link_of_the_new_ones(logged: User, ledger: Group) -> None:
    AuditEntry.objects.exclude(chain=INSTANCE).delete()
    AuditHead.objects.exclude(chain=INSTANCE).delete()
    make_old()
    append(person(logged), "run", group=ledger.id)
    append(person(logged), "run")
    link_heads(person(logged))
    assert chain_names() == [("", OLD), ("", str(ledger.id)), ("", HEADS), ("", INSTANCE)]
    assert numbers(OLD) == [1, 2, 3, 4]
    assert is_log_whole()
    rewrite(OLD)
    assert verify_chain(OLD).is_whole
    assert [report_of(chain).broken_at for chain in (str(ledger.id), INSTANCE)] == [1, 1]


def test_retention_drops_from_every_chain(logged: User, ledger: Group, garden: Group) -> None:
    link_heads(person(logged))
    done = drop_log(person(logged), before=START + timedelta(days=2))
    assert (done.rows, done.through) == (6, {str(ledger.id): 2, str(garden.id): 2, INSTANCE: 2})
    for chain in (str(ledger.id), str(garden.id), INSTANCE):
        assert numbers(chain) == [2, 3, 4, 5]
        assert report_of(chain).dropped == 2
    assert is_log_whole()
    announced = AuditEntry.objects.get(chain=str(ledger.id), subject="dropped:2")
    assert announced.group == ledger.id


def test_the_old_chain_goes_at_last_and_what_follows_it_stays_proved(logged: User, ledger: Group) -> None:
    AuditEntry.objects.exclude(chain=INSTANCE).delete()
    AuditHead.objects.exclude(chain=INSTANCE).delete()
    make_old()
    append(person(logged), "run", group=ledger.id, at=START + timedelta(days=9))
    link_heads(person(logged))
    drop_log(person(logged), before=START + timedelta(days=8))
    assert numbers(OLD) == [4]
    assert is_log_whole()
    AuditEntry.objects.filter(chain=INSTANCE).update(at=START)  # the announcement itself grows old
    previous = start_hash(INSTANCE, AuditHead.objects.get(chain=OLD).hash)
    for entry in AuditEntry.objects.filter(chain=INSTANCE).order_by("seq"):
        entry.hash = previous = chain_hash(previous, entry)
        entry.save(update_fields=["hash"])
    AuditHead.objects.filter(chain=INSTANCE).update(hash=previous)
    drop_log(person(logged), before=START + timedelta(days=8))
    assert AuditEntry.objects.filter(chain=INSTANCE, subject="dropped-legacy:4").count() == 1
    assert is_log_whole()


def test_chains_whose_link_was_dropped_are_linked_anew(logged: User, ledger: Group, garden: Group) -> None:
    link_heads(person(logged))
    append(person(logged), "run", group=garden.id)
    link_heads(person(logged))
    assert not has_unlinked()
    early, late = START - timedelta(days=9), START + timedelta(days=60)
    AuditEntry.objects.filter(chain=HEADS, seq=1).update(at=early)
    AuditEntry.objects.filter(chain=HEADS, seq=2).update(at=late)
    previous = start_hash(HEADS, GENESIS)
    for entry in AuditEntry.objects.filter(chain=HEADS).order_by("seq"):
        entry.hash = previous = chain_hash(previous, entry)
        entry.save(update_fields=["hash"])
    AuditHead.objects.filter(chain=HEADS).update(hash=previous)
    drop_log(person(logged), before=START - timedelta(days=1))
    assert numbers(HEADS) == [1, 2, 3]
    assert report_of(str(ledger.id)).unlinked == 4
    link_heads(person(logged))
    assert [report_of(str(group.id)).unlinked for group in (ledger, garden)] == [0, 0]
    assert is_log_whole()


def test_a_link_that_was_changed_is_found(logged: User) -> None:
    link_heads(person(logged))
    AuditPayload.objects.filter(entry__chain=HEADS).update(payload={"chains": {}})
    assert report_of(HEADS).why == "the payload of the row was changed"
    AuditPayload.objects.filter(entry__chain=HEADS).delete()
    assert report_of(HEADS).why == "the payload of the row is missing"


# Faults that no hash shows


def test_links_that_vanished_with_their_chain_are_missed(logged: User, ledger: Group) -> None:
    link_heads(operator())
    AuditEntry.objects.filter(chain=HEADS).delete()
    AuditHead.objects.filter(chain=HEADS).delete()
    assert not is_log_whole()
    assert "is missing" in report_of(HEADS).why


def test_an_end_that_says_more_is_linked_than_is_stops_nothing_unseen(logged: User, ledger: Group) -> None:
    link_heads(operator())
    AuditHead.objects.filter(chain=str(ledger.id)).update(linked=1000)
    assert "the link of row 1000 of the chain ledger is missing" in report_of(HEADS).why


@pytest.mark.parametrize("chain", ["instance", "ledger"])
def test_a_payload_may_only_miss_where_a_purge_is_logged(logged: User, ledger: Group, chain: str) -> None:
    name = str(ledger.id) if chain == "ledger" else chain
    row = AuditEntry.objects.filter(chain=name, seq=2).get()
    AuditPayload.objects.filter(entry=row).delete()
    found = report_of(name)
    assert (found.broken_at, found.why) == (2, "the payload of the row is missing, and no purge is logged")


def test_the_payloads_of_a_purged_memory_are_counted(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The gate code is 7719.", group="ledger")
    purge(person(alice), memory.id)
    assert is_log_whole()
    assert report_of(str(ledger.id)).purged_payloads == 1


@pytest.mark.sqlite(reason="columns that take values of any type")
@pytest.mark.parametrize("change", ["at = 'zz'", "memory_id = 'zz'", "\"group\" = 'zz'"])
def test_a_value_that_no_column_holds_is_named_with_its_row(logged: User, ledger: Group, change: str) -> None:
    row = AuditEntry.objects.filter(chain=str(ledger.id), seq=3).get()
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE memory_log SET {change} WHERE key = %s", [row.key])
    found = report_of(str(ledger.id))
    assert (found.broken_at, found.why) == (3, "the row holds a value that cannot be read")


def test_a_row_is_compared_with_what_was_kept(logged: User, ledger: Group) -> None:
    link_heads(operator())
    head = AuditHead.objects.get(chain=HEADS)
    kept_hash = f"heads.{head.seq}:{head.hash}"
    assert find_kept_error(kept_hash) == ""
    assert "another hash" in find_kept_error(f"heads.{head.seq}:{'0' * 64}")
    assert "it is missing" in find_kept_error(f"heads.99:{head.hash}")
    for wrong in ("", "heads.1", "1:abc", f"{head.hash}"):
        with pytest.raises(InvalidInput, match="not a row with its hash"):
            find_kept_error(wrong)
