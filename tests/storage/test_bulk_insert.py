"""Many rows in few statements are the rows, with the keys, that the ORM would have written one by one."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from access.models import AuditEntry, AuditPayload, CandidatePolicy, Group
from storage.bulk import MAX_ROWS, SIZES, ManyInsert
from storage.canonical_json import encode_rows
from tests.settings import IS_POSTGRES

pytestmark = pytest.mark.django_db

ENTRIES, PAYLOADS, GROUPS = ManyInsert(AuditEntry), ManyInsert(AuditPayload), ManyInsert(Group)
TYPE_OF = "pg_typeof" if IS_POSTGRES else "typeof"
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
WORDS = ["store", "100 %s", "größe", "line\nend", "'quoted'", ""]


def entry(seq: int) -> AuditEntry:
    """An unsaved row: some columns are equal in all rows, some differ, some are empty in some rows or in all."""
    return AuditEntry(
        seq=seq,
        at=NOON + timedelta(microseconds=seq // 3),
        operation="store",
        memory_id=UUID(int=seq) if seq % 2 else None,
        group=UUID(int=9),
        subject=WORDS[seq % len(WORDS)],
        actor="alice",
        via="rest",
        digest="d",
        hash=f"h{seq}",
    )


def columns_of(seqs: range) -> list[tuple[object, ...]]:
    """All columns of the rows with these numbers, except keys and numbers, as stored."""
    names = [f.column for f in AuditEntry._meta.concrete_fields if f.name not in ("key", "seq", "hash")]
    chosen = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {chosen}, {TYPE_OF}(token), {TYPE_OF}(seq) FROM memory_log"
            " WHERE seq BETWEEN %s AND %s ORDER BY key",
            [seqs.start, seqs.stop - 1],
        )
        rows: list[tuple[object, ...]] = cursor.fetchall()
    return rows


@pytest.mark.parametrize("count", [0, 1, 3, 4, 77, SIZES[0] + 21, MAX_ROWS + 70])
def test_rows_are_what_the_orm_writes_one_by_one(count: int) -> None:
    ENTRIES.add([entry(seq) for seq in range(count)])
    written = columns_of(range(count))
    AuditEntry.objects.all().delete()
    for seq in range(count):
        entry(seq).save(force_insert=True)
    assert written == columns_of(range(count))
    assert len(written) == count


def test_each_object_knows_its_key_and_that_it_is_stored() -> None:
    made = [entry(seq) for seq in range(77)]
    ENTRIES.add(made)
    assert list(AuditEntry.objects.order_by("key").values_list("key", "seq")) == [
        (row.pk, row.seq) for row in made
    ]
    assert not any(row._state.adding for row in made)


def test_a_key_that_was_given_once_is_never_given_again() -> None:
    first = [entry(seq) for seq in range(8)]
    ENTRIES.add(first)
    AuditEntry.objects.all().delete()
    later, alone = [entry(seq) for seq in range(8)], entry(8)
    ENTRIES.add(later)
    alone.save(force_insert=True)
    given = [row.pk for row in (*first, *later, alone)]
    assert given == list(range(first[0].pk, first[0].pk + 17))


@pytest.mark.sqlite(reason="values of a batch that are bound once, and keys that are known beforehand")
def test_a_batch_is_one_statement_and_says_once_what_is_the_same() -> None:
    ENTRIES.add([entry(seq) for seq in range(4)])
    rows = [entry(1000 + seq) for seq in range(MAX_ROWS)]
    with CaptureQueriesContext(connection) as seen:
        ENTRIES.add(rows)
    inserts = [query["sql"] for query in seen.captured_queries if query["sql"].startswith("INSERT")]
    assert len(inserts) == 1
    assert len(seen) == 2  # and the one that asks for the next key
    assert inserts[0].count("'alice'") == 1
    assert inserts[0].count("'100 %s'") > 10
    assert '"token"' not in inserts[0]


@pytest.mark.parametrize("count", [1, 5])
def test_what_was_tied_before_it_was_saved_has_its_key(count: int) -> None:
    made = [entry(seq) for seq in range(count)]
    said = [AuditPayload(entry=row, salt="s", payload={"after": [1, "é", None]}) for row in made]
    ENTRIES.add(made)
    PAYLOADS.add(said)
    assert sorted(AuditPayload.objects.values_list("entry_id", flat=True)) == [row.pk for row in made]
    assert AuditPayload.objects.get(pk=made[-1].pk).payload == {"after": [1, "é", None]}


@pytest.mark.parametrize("count", [1, 5])
def test_what_is_tied_to_an_unsaved_row_is_refused(count: int) -> None:
    said = [AuditPayload(entry=entry(seq), salt="s", payload={}) for seq in range(count)]
    with pytest.raises(ValueError, match="unsaved related object"):
        PAYLOADS.add(said)


def test_rows_may_be_given_by_their_columns_with_json_that_is_ready() -> None:
    made = [entry(seq) for seq in range(5)]
    ENTRIES.add(made)
    ready = encode_rows("after", {"text": ["a", "é", "100 %", "\x7f", ""], "n": [1] * 5})
    keys = PAYLOADS.add_columns({"entry_id": [row.pk for row in made], "salt": ["s"] * 5, "payload": ready})
    assert len(keys) == 5
    found = AuditPayload.objects.order_by("pk").values_list("payload", flat=True)
    assert [said["after"]["text"] for said in found] == ["a", "é", "100 %", "\x7f", ""]


def test_what_is_equal_and_yet_other_json_stays_what_it_is() -> None:
    made = [entry(seq) for seq in range(5)]
    ENTRIES.add(made)
    said = [{"n": 1}, {"n": 1.0}, {"n": True}, {"n": 1}, {"n": True}]
    PAYLOADS.add(
        [AuditPayload(entry=row, salt="s", payload=each) for row, each in zip(made, said, strict=True)]
    )
    found = AuditPayload.objects.order_by("pk").values_list("payload", flat=True)
    assert [repr(each["n"]) for each in found] == ["1", "1.0", "True", "1", "True"]


def test_one_row_by_its_columns_may_have_nothing_of_its_own() -> None:
    alone = entry(1)
    alone.save(force_insert=True)
    PAYLOADS.add_columns({"entry_id": [alone.pk], "salt": ["s"], "payload": [{"n": 1}]})
    assert AuditPayload.objects.get(pk=alone.pk).payload == {"n": 1}


@pytest.mark.parametrize("count", [1, 6])
def test_a_word_of_choices_is_written_as_its_text_and_a_moment_of_every_save_is_set(count: int) -> None:
    made = [
        Group(slug=f"group-{n}", policy=CandidatePolicy.ALL, policy_confidence=n / 8) for n in range(count)
    ]
    GROUPS.add(made)
    found = {group.slug: group for group in Group.objects.all()}
    assert {group.policy for group in found.values()} == {"all"}
    assert [found[f"group-{n}"].policy_confidence for n in range(count)] == [n / 8 for n in range(count)]
    assert all(found[group.slug].updated_at == group.updated_at for group in made)


@pytest.mark.parametrize("refused", [("atlas", "ledger"), ("atlas", "garden", "ledger", "tea")])
def test_a_row_that_is_refused_keeps_the_whole_statement_out(refused: tuple[str, ...]) -> None:
    GROUPS.add([Group(slug="ledger")])
    with pytest.raises(IntegrityError), transaction.atomic():
        GROUPS.add([Group(slug=slug) for slug in refused])
    assert [group.slug for group in Group.objects.all()] == ["ledger"]
    again = [Group(slug=slug) for slug in ("atlas", "garden", "tea", "port")]
    GROUPS.add(again)
    assert Group.objects.count() == 5
