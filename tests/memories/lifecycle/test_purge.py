"""Purging leaves no byte of the text: not in the file, the WAL, the keyword index, the vectors or the log."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from access.audit.verify import is_log_whole, verify_log
from access.errors import NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, AuditPayload, Group, RowChange, StoredAnswer
from access.tokens import operator
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.undo.large import reverse_batch
from memories.lifecycle.undo.reverse import Terms
from memories.lifecycle.undo.rows import pack_batch
from memories.lifecycle.verbs import forget, merge, purge, retract
from memories.models import Checkpoint, Link, Memory, Piece, RecallLog, Thread, Tombstone
from memories.queries.visibility import listed_by
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER, PendingRecall, unpack_hits, write_recalls
from memories.search.base import search_index
from memories.search.schema import begin_purge, end_purge
from memories.sessions.checkpoints import save_checkpoint
from memories.store.pieces import available_encoder
from storage.dialect import dialect
from tests.file_bytes import bytes_of, held_log
from tests.memories.builders import keep, kept
from tests.memories.tables import all_rows
from tests.people import agent, person
from tests.settings import IS_POSTGRES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

SECRET = "Quokkazebu rides to Xanthippolis with the Vlkodlak manuscript."
LATER = "Quokkazebu rides to Yggdrasilheim with the Vlkodlak manuscript."
TRACES = [b"quokkazebu", b"xanthippoli", b"yggdrasilheim", b"vlkodlak"]  # stemmed, in lower case


@pytest.fixture(autouse=True)
def clean_file(transactional_db: None) -> None:
    """Begin with a file without traces: emptying the tables between tests is no purge.

    What was deleted before a purge is overwritten only by connections that overwrite always.
    """
    if IS_POSTGRES:
        return
    begin_purge(connection)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    assert traces_in(stored_bytes()) == []


def stored_bytes() -> bytes:
    """All bytes of the database file and its WAL, after a checkpoint; on PostgreSQL those of the rows in all tables."""
    if IS_POSTGRES:
        return repr(all_rows()).encode()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("PRAGMA database_list")
        path = Path(cursor.fetchone()[2])
    wal = path.with_name(path.name + "-wal")
    return bytes_of(path) + (bytes_of(wal) if wal.exists() else b"")


def traces_in(data: bytes) -> list[bytes]:
    lower = data.lower()
    return [trace for trace in TRACES if trace in lower]


def vectors_of(memories: list[Memory]) -> list[bytes]:
    return [bytes(piece.embedding) for piece in Piece.objects.filter(memory__in=memories)]


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_no_byte_is_left_of_any_version(alice: User, ledger: Group) -> None:
    around = [kept(person(alice), f"Plain turn number {n}.", group="ledger", thread="t") for n in range(40)]
    first = kept(
        person(alice), SECRET, group="ledger", thread="t", tags=("vlkodlak",), metadata={"of": SECRET}
    )
    kept(person(alice), "The turn after it.", group="ledger", thread="t")
    second = kept(person(alice), LATER, supersedes=first.id)
    keep(agent(alice), f"{LATER[:-1]}", group="ledger")  # another wording, merged or reinforced
    recall(person(alice), RecallRequest(f"is it true that {LATER}", group="ledger"))
    COUNTER.flush()
    vectors = vectors_of(list(Memory.objects.filter(content__startswith="Quokkazebu")))
    assert len(vectors) >= 2
    before = stored_bytes()
    assert traces_in(before) == TRACES
    assert all(vector in before for vector in vectors)

    done = purge(person(alice), second.id, reason="asked for")

    assert done.certificate is not None
    assert {first.id, second.id} <= set(done.certificate.ids)
    after = stored_bytes()
    assert traces_in(after) == []
    assert [vector for vector in vectors if vector in after] == []
    assert Memory.objects.filter(key__in=[m.key for m in around]).count() == 40
    assert search_index().find_errors() == []
    assert is_log_whole()
    assert sum(report.purged_payloads for report in verify_log()) >= 3


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_every_connection_overwrites_what_it_deletes() -> None:
    """A row that was rewritten before it was purged must not stay in free space either."""
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        assert cursor.fetchone() == (1,)


def test_the_log_tells_that_it_was_purged_and_not_what_it_said(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    purge(person(alice), memory.id, reason="asked for")
    rows = AuditEntry.objects.filter(memory_id=memory.id).order_by("seq")
    assert [(r.operation, AuditPayload.objects.filter(entry=r).exists()) for r in rows] == [
        ("store", False),
        ("purge", True),
    ]
    assert rows[1].payload_row.payload == {"reason": "asked for"}


def test_a_recall_that_is_not_written_yet_does_not_bring_the_text_back(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    recall(person(alice), RecallRequest(SECRET, group="ledger"))
    purge(person(alice), memory.id)
    COUNTER.flush()
    assert not RecallLog.objects.filter(query__contains="Quokkazebu").exists()


def test_what_was_absent_stays_absent_after_a_rebuild(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    kept(person(alice), "The queue holds ten jobs.", group="ledger")
    purge(person(alice), memory.id)
    search_index().rebuild()
    answer = recall(person(alice), RecallRequest("where does Quokkazebu ride", group="ledger"))
    assert memory.id not in {item.memory.id for item in (*answer.items, *answer.nearest)}
    encoder = available_encoder()
    assert encoder is not None
    hits = search_index().nearest(encoder.encode_query(SECRET), listed_by(person(alice), ledger), limit=10)
    assert hits
    assert max(hit.score for hit in hits) < 0.5


def test_ties_and_names_go_with_it(alice: User, ledger: Group) -> None:
    relation = store_relation(person(alice), RelationDraft("Quokkazebu", "owns", "Ledger", group="ledger"))
    done = purge(person(alice), relation.subject.id)
    assert done.certificate is not None
    assert not Link.objects.exists()
    assert not relation.subject.aliases.exists()
    assert traces_in(stored_bytes()) == []


def test_a_chain_that_took_anothers_place_is_purged_with_it(alice: User, ledger: Group) -> None:
    first = kept(person(alice), SECRET, group="ledger")
    second = kept(person(alice), LATER, supersedes=first.id)
    third = kept(person(alice), "It was all made up, the horse as well.", group="ledger")
    keep(person(alice), third.content, group="ledger", supersedes=second.id)
    purge(person(alice), third.id)
    assert Memory.objects.count() == 0
    assert traces_in(stored_bytes()) == []


def test_only_a_curator_purges(alice: User, ledger: Group, bob: User) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    with pytest.raises(NotPermitted):
        purge(agent(bob), memory.id)
    assert Memory.objects.count() == 1


def test_no_neighbour_keeps_its_words_in_whatever_state(alice: User, ledger: Group) -> None:
    first = kept(person(alice), "Turn one.", group="ledger", thread="t")
    second = kept(person(alice), SECRET, group="ledger", thread="t")
    kept(person(alice), "Turn three.", group="ledger", thread="t")
    forget(person(alice), first.id)
    assert "Quokkazebu" in Memory.objects.get(key=first.key).context
    done = purge(person(alice), second.id)
    assert done.certificate is not None
    assert done.certificate.remains == dialect().purge_leaves
    assert traces_in(stored_bytes()) == []


@pytest.mark.sqlite(reason="what its certificate says of its files")
def test_the_certificate_says_where_the_text_still_stands(alice: User, ledger: Group, garden: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger", scope="group")
    quote = kept(person(alice), f"Bob said: {SECRET}", group="garden", scope="group")
    stored = AuditEntry.objects.get(memory_id=quote.id)
    done = purge(person(alice), memory.id)
    assert done.certificate is not None
    assert done.certificate.remains == (
        f"1 other memories quote it: {quote.id}",
        f"1 rows of the audit log quote it: {stored.name}",
        f"{Path(connection.settings_dict['NAME']).name} contains a sentence of it",
    )
    assert done.certificate.scan == "done"


def test_questions_that_found_it_are_blanked(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    kept(person(alice), "The queue holds ten jobs.", group="ledger")
    for question in ("who has the Vlkodlak manuscript", f"is it true that {SECRET}"):
        assert recall(person(alice), RecallRequest(question, group="ledger")).items
    COUNTER.flush()
    write_recalls(
        [
            PendingRecall(
                memory.created_at, ledger.key, "bob", "mcp", "hybrid", "how many jobs", (), 1.0, True, False
            )
        ]
    )
    done = purge(person(alice), memory.id)
    assert done.certificate is not None
    assert (done.certificate.recall_logs, done.certificate.recalls_blanked) == (1, 1)
    assert sorted(RecallLog.objects.values_list("query", flat=True)) == ["[purged]", "how many jobs"]
    assert done.certificate.remains == dialect().purge_leaves
    assert traces_in(stored_bytes()) == []


def test_names_reasons_and_instructions_of_its_group_lose_the_text(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger", thread=f"about {SECRET}")
    other = kept(person(alice), "A wrong text.", group="ledger")
    retract(person(alice), other.id, reason=f"not so: {SECRET}")
    AuditPayload.objects.filter(entry__memory_id=other.id).delete()  # the log would name the reason as well
    Group.objects.filter(pk=ledger.pk).update(instructions=f"Mind: {SECRET} Always.", title=SECRET)
    done = purge(person(alice), memory.id, reason=f"nobody may read: {SECRET}")
    assert done.certificate is not None
    cleared = done.certificate.cleared
    assert cleared == {"instructions": 1, "tombstones": 1, "thread names": 1, "row changes": 1}
    ledger.refresh_from_db()
    assert (ledger.title, ledger.instructions) == ("[purged]", "Mind: [purged] Always.")
    thread = Thread.objects.get()
    assert thread.name == f"about [purged] {thread.id.hex[-12:]}"
    reasons = set(Tombstone.objects.values_list("reason", flat=True))
    assert reasons == {"not so: [purged]", "nobody may read: [purged]"}
    assert done.certificate.remains == dialect().purge_leaves
    assert traces_in(stored_bytes()) == []


def test_of_other_groups_a_curator_learns_numbers_alone(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    set_member(person(alice), ledger, user=bob, role="curator")
    memory = kept(person(bob), SECRET, group="ledger", scope="group")
    quote = kept(person(bob), f"Bob said: {SECRET}", group="ledger", scope="group")
    for text in (f"Alice said: {SECRET}", f"Charlie said: {SECRET}"):
        kept(person(alice), text, group="garden", scope="group", thread=SECRET)
    Group.objects.filter(pk=garden.pk).update(instructions=SECRET)
    done = purge(person(bob), memory.id)
    assert done.certificate is not None
    remains = done.certificate.remains
    assert remains[:2] == (
        f"1 other memories quote it: {quote.id}",
        "2 other memories quote it, in groups that you may not read",
    )
    assert "1 titles or instructions of groups contain it, in groups that you may not read" in remains
    assert "1 names of threads contain it, in groups that you may not read" in remains
    assert not [line for line in remains if "garden" in line]
    garden.refresh_from_db()
    assert garden.instructions == SECRET


@pytest.mark.sqlite(reason="bytes of the database's file and its write-ahead log")
def test_a_reader_that_holds_the_log_of_pages_is_told_of(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    with held_log():
        done = purge(person(alice), memory.id)
    assert done.certificate is not None
    assert done.certificate.remains[0].startswith("the write-ahead log still holds earlier pages")
    assert end_purge(connection)
    connection.close()
    assert traces_in(stored_bytes()) == []


def test_checkpoints_and_former_values_lose_the_text(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    other = kept(person(alice), "The queue holds ten jobs.", group="ledger")
    save_checkpoint(person(alice), group="ledger", thread="", state={"next": [f"Check: {SECRET}"], "n": 1})
    for row in (memory, other):
        RowChange.objects.create(
            change=1, op="u", kept="memories_memory", row=row.key, vals={"tags": [[SECRET], []]}
        )
    done = purge(person(alice), memory.id)
    assert done.certificate is not None
    assert done.certificate.cleared == {
        "checkpoints": 1,
        "row changes": 3,
    }  # one more: that the memory was stored
    assert Checkpoint.objects.get().state == {"next": ["Check: [purged]"], "n": 1}
    kept_rows = RowChange.objects.filter(change=1)
    assert [(c.row, c.vals) for c in kept_rows] == [(other.key, {"tags": [["[purged]"], []]})]
    assert traces_in(stored_bytes()) == []


@pytest.mark.parametrize(("query", "brought"), [(SECRET.upper(), False), (f"is it so that {SECRET}", True)])
def test_a_recall_that_waits_in_another_process_does_not_bring_it_back(
    alice: User, ledger: Group, query: str, brought: bool
) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    hits = ((memory.key, 1.0),) if brought else ()
    waiting = PendingRecall(
        memory.created_at, ledger.key, "bob", "mcp", "hybrid", query, hits, 1.0, False, False
    )
    harmless = PendingRecall(
        memory.created_at, ledger.key, "bob", "mcp", "hybrid", "which port", (), 1.0, True, False
    )
    purge(person(alice), memory.id)
    write_recalls([waiting, harmless])
    assert [log.query for log in RecallLog.objects.all()] == ["which port"]


def test_the_log_is_read_before_the_write_lock(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    recall(person(alice), RecallRequest("who has the Vlkodlak manuscript", group="ledger"))
    COUNTER.flush()
    locked = []

    def noting(blob: bytes) -> list[tuple[int, float]]:
        locked.append(connection.in_atomic_block)
        return unpack_hits(blob)

    monkeypatch.setattr("memories.lifecycle.purge.places.unpack_hits", noting)
    purge(person(alice), memory.id)
    assert locked == [False]
    assert [log.query for log in RecallLog.objects.all()] == ["[purged]"]


def test_a_dry_run_says_what_a_purge_would_leave(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    tried, done = (purge(person(alice), memory.id, dry_run=dry_run) for dry_run in (True, False))
    assert (tried.state, done.state) == ("purged", "purged")
    assert not Memory.objects.filter(id=memory.id).exists()


def test_a_purge_needs_the_right_to_curate_all_that_goes_along(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    far = kept(person(alice), LATER, group="ledger", scope="global")
    near = kept(person(alice), SECRET, group="ledger", scope="global")
    merge(person(alice), far.id, near.id)
    Memory.objects.filter(pk=far.pk).update(group=garden)  # 0.3.0 merged global memories of two groups
    set_member(operator(), ledger, user=bob, role="curator")
    with pytest.raises(NotPermitted, match="belongs to a group that you may not curate"):
        purge(person(bob), near.id)
    assert Memory.objects.count() == 2


def test_a_plan_is_purged_and_what_holds_until_its_day_stays(alice: User, ledger: Group) -> None:
    today = kept(person(alice), SECRET, group="ledger")
    plan = kept(person(alice), LATER, supersedes=today.id, valid_from=timezone.now() + timedelta(days=9))
    purge(person(alice), plan.id)
    assert [(row.content, row.state, row.valid_to) for row in Memory.objects.all()] == [
        (SECRET, "live", None)
    ]


def test_a_run_is_undone_for_the_others_after_a_memory_of_it_was_purged(alice: User, ledger: Group) -> None:
    rows = [kept(person(alice), text, group="ledger", confidence=0.5) for text in (SECRET, "It is quiet.")]
    vals = pack_batch([row.key for row in rows], {"confidence": [0.9, 0.8]}, {"confidence": [0.5, 0.5]})
    batch = RowChange.objects.create(change=7, op="b", kept=Memory._meta.db_table, row=rows[0].key, vals=vals)
    purge(person(alice), rows[0].id)
    assert reverse_batch(RowChange.objects.get(pk=batch.pk), Terms("test")).restored == 1
    assert Memory.objects.get().confidence == 0.8


def test_a_stored_answer_goes_if_it_names_the_memory_alone(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), SECRET, group="ledger")
    for digest, named in (("a", str(memory.id)), ("b", "another")):
        StoredAnswer.objects.create(digest=digest, fingerprint="f", status=200, answer={"id": named})
    purge(person(alice), memory.id)
    assert [answer.digest for answer in StoredAnswer.objects.all()] == ["b"]
